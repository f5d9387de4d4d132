/**
 * The protocol's own conformance suite against the gateway. Its scenarios ask for a server with fixtures of every kind; the gateway has
 * tools only, so the baseline names what it does not offer. The suite fails for a row that passes, too.
 */
import { spawn } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type McpLab, startMcp } from "./lab.ts"

let lab: McpLab
const out = fs.mkdtempSync(path.join(os.tmpdir(), "gateway-mcp-"))
const suite = path.resolve(import.meta.dirname, "../../../node_modules/@modelcontextprotocol/conformance/dist/index.js")

beforeAll(async () => {
  lab = await startMcp("streamable-http")
  // The suite sends no credential: the gateway is open to its own machine.
  await lab.gateway.operator.call("PATCH", "/api/settings", { requireLogin: false })
})

afterAll(async () => {
  await lab.close()
  fs.rmSync(out, { recursive: true, force: true })
})

describe("conformance", () => {
  it("every scenario passes, except those of the baseline", { timeout: 300_000 }, async () => {
    const { code, text } = await new Promise<{ readonly code: number | null; readonly text: string }>((resolve, reject) => {
      const child = spawn(process.execPath, [suite, "server", "--url", `${lab.gateway.url}/api/mcp/stream`, "-o", out, "--expected-failures", path.join(import.meta.dirname, "conformance.yml")], {
        cwd: out, stdio: ["ignore", "pipe", "pipe"]
      })
      let said = ""
      for (const stream of [child.stdout, child.stderr]) {
        stream.on("data", (chunk: Buffer) => {
          said += chunk.toString("utf8")
        })
      }
      child.once("error", reject)
      child.once("close", (ended) => resolve({ code: ended, text: said }))
    })
    if (process.env["MCP_SHOW"] === "1") console.log(text)
    expect(code, text.slice(-3_000)).toBe(0)
  })
})
