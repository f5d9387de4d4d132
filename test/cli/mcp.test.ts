/** `gateway mcp`: the official client over standard input and output, against a gateway that runs. */
import { Client } from "@modelcontextprotocol/sdk/client/index.js"
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js"
import { spawn } from "node:child_process"
import * as path from "node:path"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { spawned, type Spawned } from "#test/support/gateway.ts"
import { eventually } from "#test/support/operator.ts"
import { startFlags } from "#test/support/startFlags.ts"

let gateway: Spawned
const cwd = path.resolve(import.meta.dirname, "../..")
const args = [...startFlags, "src/main.ts", "mcp"]
const environment = () => ({ PATH: process.env["PATH"] ?? "", HOME: process.env["HOME"] ?? "", GATEWAY_DATA_DIR: gateway.dataDir })

beforeAll(async () => {
  gateway = await spawned()
  await gateway.operator.call("PATCH", "/api/settings", { mcpEnabled: true, mcpTransport: "stdio" })
})

afterAll(() => gateway.close())

const status = () => gateway.operator.call<{ readonly online: boolean; readonly heartbeat: unknown }>("GET", "/api/mcp/status")

/** What the command prints for these lines. */
const printed = (lines: ReadonlyArray<string>): Promise<ReadonlyArray<string>> => new Promise((resolve, reject) => {
  const child = spawn(process.execPath, args, { cwd, env: environment(), stdio: ["pipe", "pipe", "ignore"] })
  let text = ""
  child.stdout.on("data", (chunk: Buffer) => {
    text += chunk.toString("utf8")
  })
  child.once("error", reject)
  child.once("close", () => resolve(text.split("\n").filter((line) => line !== "")))
  child.stdin.end(`${lines.join("\n")}\n`)
})

describe("gateway mcp", () => {
  it("the official client lists and calls tools, and the status shows a heartbeat while it is connected", async () => {
    expect(await status()).toMatchObject({ online: false, heartbeat: null })
    const client = new Client({ name: "a test", version: "1" })
    await client.connect(new StdioClientTransport({ command: process.execPath, args, cwd, env: environment(), stderr: "ignore" }))
    expect((await client.listTools()).tools.length).toBeGreaterThan(10)
    expect(JSON.stringify(await client.callTool({ name: "gateway_get_health", arguments: {} }))).toContain("uptime")
    await eventually(status, ({ heartbeat, online }) => online && heartbeat !== null, "the heartbeat")
    const narrow = await client.callTool({ name: "gateway_list_combos", arguments: {}, _meta: { scopes: ["read:models"] } })
    expect(JSON.stringify(narrow)).toContain("scope_denied:read:combos")
    await client.close()
  })

  it("a line that is no JSON gets -32700, a call without an opening -32000, and a call while MCP is off says so", async () => {
    const call = JSON.stringify({ jsonrpc: "2.0", id: 5, method: "tools/list" })
    const [broken, early] = await printed(["{", call])
    expect(JSON.parse(broken ?? "")).toMatchObject({ id: null, error: { code: -32700 } })
    expect(JSON.parse(early ?? "")).toMatchObject({ id: 5, error: { code: -32000 } })
    await gateway.operator.call("PATCH", "/api/settings", { mcpEnabled: false })
    const [off] = await printed([call])
    expect(JSON.parse(off ?? "")).toMatchObject({ id: 5, error: { code: -32000, message: expect.stringContaining("mcpEnabled") as unknown } })
    await gateway.operator.call("PATCH", "/api/settings", { mcpEnabled: true })
  })
})
