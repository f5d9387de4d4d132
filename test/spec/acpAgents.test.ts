/** Agents that editors start: those that this release knows, and those that operators add. */
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest"
import { inProcess, type InProcess } from "#test/support/gateway.ts"
import * as Http from "#test/support/http.ts"

interface Agent {
  readonly id: string
  readonly version: string | null
  readonly installed: boolean
}
interface List {
  readonly agents: ReadonlyArray<Agent>
  readonly summary: unknown
  readonly cacheTtlMs: number
  readonly cacheAge: number
  readonly refreshed?: boolean
}

const PATH = "/api/acp/agents"
const home = fs.mkdtempSync(path.join(os.tmpdir(), "acp-agents-"))
let gateway: InProcess
beforeAll(async () => {
  gateway = await inProcess({ machine: { home, path: `${home}:${process.env["PATH"]}`, mounts: () => null } })
})
afterAll(async () => {
  await gateway.close()
  fs.rmSync(home, { recursive: true, force: true })
})
afterEach(() => gateway.operator.call("PATCH", "/api/settings", { customAgents: [] }))

const program = (name: string, script: string): void => fs.writeFileSync(path.join(home, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 })
const list = () => gateway.operator.call<List>("GET", PATH)
const refresh = () => gateway.operator.call<List>("POST", PATH, { action: "refresh" })
const add = (more: Record<string, unknown> = {}) => gateway.operator.raw("POST", PATH, { id: "mine", name: "Mine", binary: "acp-mine", versionCommand: "acp-mine --version", ...more })
const statusOf = async (more: Record<string, unknown>): Promise<number> => (await add(more)).status
const agent = { id: "my-agent-2", name: "Mine", binary: "acp-mine", protocol: "stdio", providerAlias: null, spawnArgs: [], isCustom: true }

describe("agents", () => {
  it("are looked for once a minute, and again when that is asked", async () => {
    program("acp-mine", `echo x >> '${home}/runs'; echo acp-mine 3.2.1`)
    const added = await add({ id: "My Agent_2!" })
    expect([added.status, JSON.parse(added.text)]).toEqual([201, { agent: { ...agent, version: "3.2.1", installed: true } }])
    const first = await list()
    expect(first.agents.map(({ id }) => id)).toEqual(["gemini", "qwen", "my-agent-2"])
    expect(first.agents[2]).toEqual({ ...agent, version: "3.2.1", installed: true })
    expect(first.summary).toMatchObject({ total: 3, builtIn: 2, custom: 1 })
    const runs = () => fs.readFileSync(path.join(home, "runs"), "utf8").length
    const before = runs()
    const second = await list()
    expect([runs(), second.cacheTtlMs, second.cacheAge < 60_000]).toEqual([before, 60_000, true])
    fs.rmSync(path.join(home, "acp-mine"))
    expect((await list()).agents[2]?.installed).toBe(true)
    const looked = await refresh()
    expect([looked.refreshed, looked.agents[2]]).toEqual([true, { ...agent, version: null, installed: false }])
  })

  it("stand once, go by their id, and are audited", async () => {
    expect(await statusOf({ spawnArgs: ["--acp"], protocol: "http", providerAlias: "openai" })).toBe(201)
    expect([await statusOf({}), await statusOf({ id: "MINE" }), await statusOf({ id: "gemini" })]).toEqual([409, 409, 409])
    const settings = await gateway.operator.call<{ customAgents: unknown }>("GET", "/api/settings")
    expect(settings.customAgents).toEqual([{ ...agent, id: "mine", spawnArgs: ["--acp"], protocol: "http", providerAlias: "openai", versionCommand: "acp-mine --version", isCustom: undefined }])
    const remove = async (id: string) => (await gateway.operator.raw("DELETE", `${PATH}?id=${id}`)).status
    expect([await remove("mine"), await remove("mine"), await remove("gemini")]).toEqual([200, 404, 409])
    expect((await list()).agents.map(({ id }) => id)).toEqual(["gemini", "qwen"])
    const audit = await gateway.operator.call<ReadonlyArray<{ readonly action: string; readonly target: string }>>("GET", "/api/compliance/audit-log?limit=20")
    expect(audit.filter(({ target }) => target === "mine").map(({ action }) => action)).toEqual(["acp_agent.removed", "acp_agent.added"])
  })

  it("keep both of two that are added at once", async () => {
    expect(await Promise.all([statusOf({ id: "a" }), statusOf({ id: "b" }), statusOf({ id: "a" })]).then((all) => all.sort())).toEqual([201, 201, 409])
    expect((await list()).agents.map(({ id }) => id).sort()).toEqual(["a", "b", "gemini", "qwen"])
  })

  it.each([
    [{ versionCommand: "acp-mine" }, "versionCommand"], [{ versionCommand: "other --version" }, "versionCommand"], [{ versionCommand: "acp-mine --version; rm x" }, "versionCommand"],
    [{ versionCommand: "acp-mine -c reboot" }, "versionCommand"], [{ versionCommand: "acp-mine --version x" }, "versionCommand"], [{ versionCommand: "acp-mine $(id)" }, "versionCommand"],
    [{ binary: "/bin/sh", versionCommand: "/bin/sh --version" }, "binary"], [{ binary: "../sh", versionCommand: "../sh --version" }, "binary"], [{ binary: "-x", versionCommand: "-x -v" }, "binary"],
    [{ id: "!" }, "id"], [{ name: "" }, "name"], [{ protocol: "tcp" }, "protocol"]
  ])("refuse %j by its field", async (more, field) => {
    const reply = await add(more)
    const { error } = JSON.parse(reply.text) as { readonly error: { readonly details?: ReadonlyArray<{ readonly field: string }> } }
    expect([reply.status, error.details?.map((one) => one.field).includes(field)]).toEqual([400, true])
  })

  it("are added by the general settings under the same rules, and by admins alone", async () => {
    const patch = (customAgents: unknown) => gateway.operator.raw("PATCH", "/api/settings", { customAgents })
    const stored = { id: "x", name: "X", binary: "acp-mine", versionCommand: "acp-mine version", providerAlias: null, spawnArgs: [], protocol: "stdio" }
    for (const wrong of [{ ...stored, id: "X" }, { ...stored, binary: "/bin/sh" }, { ...stored, versionCommand: "acp-mine -c x" }]) expect((await patch([wrong])).status).toBe(400)
    expect((await patch([stored, stored])).status).toBe(400)
    const { token } = await gateway.operator.call<{ token: string }>("POST", "/api/cli/tokens", { name: "w", scope: "write" })
    const byToken = await Http.send(gateway.url, { method: "PATCH", path: "/api/settings", body: { customAgents: [stored] }, headers: { authorization: `Bearer ${token}` } })
    expect(byToken.status).toBe(403)
    expect((await patch([stored])).status).toBe(200)
    expect((await list()).agents.map(({ id }) => id)).toEqual(["gemini", "qwen", "x"])
  })
})
