/** Coding agents on the gateway's machine: found, pointed at the gateway, restored; and only for callers with admin rights. */
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest"
import type { Applied, ToolStatus } from "#src/features/cliTools/api.ts"
import { inProcess, type InProcess } from "#test/support/gateway.ts"
import * as Http from "#test/support/http.ts"

interface Refused {
  readonly error: { readonly message: string; readonly code: string; readonly details?: ReadonlyArray<{ readonly field: string; readonly message: string }> }
  readonly containerEphemeralTarget?: boolean
  readonly hostSetupCommand?: string
}

const KEY = "sk-canary-of-a-key-0123456789"
const BASE = "http://localhost:4711"
const root = fs.mkdtempSync(path.join(os.tmpdir(), "cli-tools-"))
const bin = path.join(root, "bin")
const machine = { home: root, path: `${bin}:relative:/nonexistent:${process.env["PATH"]}`, container: null as string | null, mounts: () => machine.container }

let gateway: InProcess
beforeAll(async () => {
  fs.mkdirSync(bin)
  process.env["GATEWAY_CANARY"] = "a variable of the gateway alone"
  gateway = await inProcess({ machine })
})
afterAll(async () => {
  delete process.env["GATEWAY_CANARY"]
  await gateway.close()
  fs.rmSync(root, { recursive: true, force: true })
})
/** Each test has a home of its own. */
beforeEach(() => {
  machine.home = fs.mkdtempSync(path.join(root, "home-"))
  machine.container = null
  for (const name of fs.readdirSync(bin)) fs.rmSync(path.join(bin, name))
})

const program = (name: string, script: string): void => fs.writeFileSync(path.join(bin, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 })
const inHome = (...names: ReadonlyArray<string>): string => path.join(machine.home, ...names)
const give = (name: string, text: string | Uint8Array, mode = 0o644): string => {
  fs.mkdirSync(path.dirname(inHome(name)), { recursive: true })
  fs.writeFileSync(inHome(name), text, { mode })
  return inHome(name)
}
const text = (name: string): string => fs.readFileSync(inHome(name), "utf8")
const get = <A>(to: string) => gateway.operator.call<A>("GET", to)
const post = <A>(to: string, body: unknown) => gateway.operator.call<A>("POST", to, body)
const refused = async (method: string, to: string, body?: unknown): Promise<readonly [number, Refused]> => {
  const reply = await gateway.operator.raw(method, to, body)
  return [reply.status, JSON.parse(reply.text) as Refused]
}
const codex = { tool: "codex", baseUrl: `${BASE}/v1/`, apiKey: KEY, model: "openai/gpt-5" }
const apply = (more: Record<string, unknown> = {}) => post<Applied>("/api/cli-tools/apply", { ...codex, ...more })
const status = (tool: string) => get<ToolStatus>(`/api/cli-tools/status?tool=${tool}`)

describe("who may ask", () => {
  const calls = [
    ["GET", "/api/cli-tools/all-statuses"], ["GET", "/api/cli-tools/status?tool=codex"], ["POST", "/api/cli-tools/apply"], ["POST", "/api/cli-tools/pi-settings"], ["GET", "/api/cli-tools/backups"],
    ["POST", "/api/cli-tools/backups"], ["GET", "/api/cli-tools/keys"], ["GET", "/api/acp/agents"], ["POST", "/api/acp/agents"], ["DELETE", "/api/acp/agents?id=x"]
  ] as const

  it("are sessions and credentials with scope admin, also while no sign-in is asked for", async () => {
    const token = async (scope: string) => (await post<{ token: string }>("/api/cli/tokens", { name: scope, scope })).token
    const manage = await gateway.operator.createKey("manage", { scopes: ["manage"] })
    const [write, admin] = [await token("write"), await token("admin")]
    await post("/api/settings/require-login", { requireLogin: false })
    try {
      for (const [method, to] of calls) {
        const as = async (bearer: string | null) => (await Http.send(gateway.url, {
          method, path: to, ...(method === "POST" ? { body: {} } : {}), ...(bearer === null ? {} : { headers: { authorization: `Bearer ${bearer}` } })
        })).status
        expect([to, await as(null), await as(manage.key), await as(write)]).toEqual([to, 401, 403, 403])
        expect([to, [200, 400, 404].includes(await as(admin))]).toEqual([to, true])
      }
    } finally {
      await post("/api/settings/require-login", { requireLogin: true })
    }
  })
})

describe("statuses", () => {
  it("tell what is installed, runs, and is configured, all asked at once", async () => {
    program("codex", "echo codex-cli 1.2.3-beta.1; env > \"$HOME/seen\"")
    program("gemini", "echo broken; exit 3")
    program("qwen", "sleep 600")
    fs.writeFileSync(path.join(bin, "pi"), "not executable", { mode: 0o644 })
    give(".qwen/settings.json", "{ no json")
    const began = Date.now()
    const all = await get<Record<string, ToolStatus>>("/api/cli-tools/all-statuses")
    expect(Date.now() - began).toBeLessThan(20_000)
    const installed = (command: string) => ({ installed: true, command, commandPath: path.join(bin, command) })
    expect(all).toEqual({
      codex: { detection: { ...installed("codex"), runnable: true, version: "1.2.3-beta.1" }, config: { status: "not_configured" } },
      gemini: { detection: { ...installed("gemini"), runnable: false, reason: "--version ended with exit code 3" }, config: { status: "not_configured" } },
      qwen: {
        detection: { ...installed("qwen"), runnable: false, reason: "--version did not answer within 5 s" }, config: { status: "unknown" },
        error: `${inHome(".qwen/settings.json")} cannot be read: line 1 is no JSON: the name of a member is expected`
      },
      pi: { detection: { installed: false, runnable: false, command: "pi", reason: "pi is not in the gateway's PATH" }, config: { status: "not_installed" } }
    })
    expect(text("seen")).not.toContain("GATEWAY_")
    expect(text("seen")).toContain(`HOME=${machine.home}`)
  }, 40_000)

  it("run a program again only when it or a file of its configuration changed", async () => {
    program("codex", "echo x >> \"$HOME/runs\"; echo 1.0.0")
    const runs = () => text("runs").split("x").length - 1
    await Promise.all([status("codex"), status("codex"), get("/api/cli-tools/all-statuses")])
    expect([(await status("codex")).detection.version, (await status("codex")).detection.version, runs()]).toEqual(["1.0.0", "1.0.0", 1])
    give(".codex/config.toml", "model_provider = \"mine\"\n")
    expect([(await status("codex")).config.status, runs()]).toEqual(["other", 2])
    program("codex", "echo x >> \"$HOME/runs\"; echo 2.0.0 and more")
    expect([(await status("codex")).detection.version, runs()]).toEqual(["2.0.0", 3])
  })

  it("tell where a tool sends its requests, without credentials", async () => {
    give(".codex/config.toml", "model_provider = \"gateway\"\n[model_providers.gateway]\nbase_url = \"http://u:secret@elsewhere:1/v1?key=secret\"\n")
    expect((await status("codex")).config).toEqual({ status: "other", endpoint: "http://elsewhere:1/v1" })
    await apply()
    const { lastConfiguredAt, ...config } = (await status("codex")).config
    expect(config).toEqual({ status: "configured", endpoint: `${BASE}/v1` })
    expect(Math.abs(Date.now() - Date.parse(lastConfiguredAt ?? ""))).toBeLessThan(60_000)
  })

  it("are refused for a tool that nobody proved", async () => {
    expect((await refused("GET", "/api/cli-tools/status?tool=vi"))[0]).toBe(400)
  })
})

describe("apply", () => {
  it("shows the texts without credentials, writes nothing on a dry run, and then what it showed", async () => {
    give(".codex/config.toml", "# sk-comment\nnotify = [\"sk-argument\"]\n\n[mcp_servers.x]\nurl = \"https://sk-url\"\n", 0o640)
    const shown = await apply({ dryRun: true })
    expect(shown).toEqual({
      success: true, tool: "codex", dryRun: true, backupId: null,
      files: [{
        path: inHome(".codex/config.toml"),
        before: "# [redacted]\nnotify = [\"[redacted]\"]\n\n[mcp_servers.x]\nurl = \"[redacted]\"\n",
        after: `# [redacted]\nnotify = ["[redacted]"]\nmodel = "openai/gpt-5"\nmodel_provider = "gateway"\n\n[mcp_servers.x]\nurl = "[redacted]"\n\n[model_providers.gateway]\nname = "gateway"\nbase_url = "${BASE}/v1"\nexperimental_bearer_token = "[redacted]"\nwire_api = "responses"\nsupports_websockets = true\n`
      }]
    })
    expect(fs.readdirSync(inHome(".codex"))).toEqual(["config.toml"])
    const written = await apply()
    expect(written.files).toEqual(shown.files)
    expect(text(".codex/config.toml")).toBe(`# sk-comment\nnotify = ["sk-argument"]\nmodel = "openai/gpt-5"\nmodel_provider = "gateway"\n\n[mcp_servers.x]\nurl = "https://sk-url"\n\n[model_providers.gateway]\nname = "gateway"\nbase_url = "${BASE}/v1"\nexperimental_bearer_token = "${KEY}"\nwire_api = "responses"\nsupports_websockets = true\n`)
    expect(fs.statSync(inHome(".codex/config.toml")).mode & 0o777).toBe(0o640)
    expect(fs.readdirSync(inHome(".codex")).sort()).toEqual([".gateway-backups", "config.toml"])
    expect(await apply()).toMatchObject({ backupId: null })
    const audit = await get<ReadonlyArray<{ readonly target: string; readonly details: unknown }>>("/api/compliance/audit-log?action=cli_tool.applied&limit=1")
    expect(audit[0]).toMatchObject({ target: "codex", details: { baseUrl: BASE, models: ["openai/gpt-5"], backupId: written.backupId, newKey: true } })
    expect(JSON.stringify([shown, written, audit])).not.toMatch(/sk-/)
    expect(gateway.output()).not.toContain(KEY)
  })

  it("keeps the file's key for the address it was stored for, and for no other", async () => {
    expect(await refused("POST", "/api/cli-tools/apply", { ...codex, apiKey: undefined })).toMatchObject([400, { error: { details: [{ field: "apiKey" }] } }])
    expect(fs.readdirSync(machine.home)).toEqual([])
    await apply()
    await apply({ apiKey: undefined, model: "openai/gpt-5-mini" })
    expect(text(".codex/config.toml")).toContain(`experimental_bearer_token = "${KEY}"`)
    expect(text(".codex/config.toml")).toContain("model = \"openai/gpt-5-mini\"")
    expect(await refused("POST", "/api/cli-tools/apply", { ...codex, apiKey: undefined, baseUrl: "http://elsewhere:1" })).toMatchObject([400, { error: { details: [{ field: "apiKey" }] } }])
  })

  it("replaces what a link names, and keeps the link", async () => {
    const real = give("dotfiles/codex.toml", "a = 1\n", 0o600)
    fs.mkdirSync(inHome(".codex"))
    fs.symlinkSync(real, inHome(".codex/config.toml"))
    await apply()
    expect(fs.lstatSync(inHome(".codex/config.toml")).isSymbolicLink()).toBe(true)
    expect(text("dotfiles/codex.toml")).toContain(KEY)
    expect(fs.readdirSync(inHome("dotfiles"))).toEqual(["codex.toml"])
  })

  it.each([
    ["a file that is no TOML", "a = [", "config_not_kept"],
    ["a table that cannot be added to", "model_providers = {}\n", "config_not_kept"],
    ["a file that is not UTF-8", Uint8Array.of(0x61, 0xff), "config_unreadable"],
    ["a file that is too large", `# ${"x".repeat(1_048_576)}`, "config_unreadable"]
  ])("leaves %s as it is", async (_what, content, code) => {
    const file = give(".codex/config.toml", content)
    const before = fs.readFileSync(file)
    const [code400, { error }] = await refused("POST", "/api/cli-tools/apply", codex)
    expect([code400, error.code]).toEqual([409, code])
    expect(error.message).toContain(file)
    expect(error.message).not.toMatch(/ at \w+ \(|node:|\.ts/)
    expect(fs.readFileSync(file).equals(before)).toBe(true)
    expect(fs.readdirSync(inHome(".codex"))).toEqual(["config.toml"])
  })

  it("writes all files of a tool or none", async () => {
    give(".gemini/.env", "A=1\n")
    give(".gemini/settings.json", "{ \"model\": \"text\" }")
    const gemini = { ...codex, tool: "gemini", baseUrl: BASE }
    expect(await refused("POST", "/api/cli-tools/apply", gemini)).toMatchObject([409, { error: { code: "config_not_kept" } }])
    expect(text(".gemini/.env")).toBe("A=1\n")
    give(".gemini/settings.json", "{}")
    await post("/api/cli-tools/apply", gemini)
    expect(text(".gemini/.env")).toBe(`A=1\nGOOGLE_GEMINI_BASE_URL=${BASE}\nGEMINI_API_KEY=${KEY}\n`)
  })

  it("hides no file that the tool reads now", async () => {
    const gemini = { ...codex, tool: "gemini", baseUrl: BASE }
    const other = give(".env", "GEMINI_API_KEY=mine\n")
    const [code, { error }] = await refused("POST", "/api/cli-tools/apply", gemini)
    expect([code, error.message.includes(other)]).toEqual([409, true])
    expect(fs.readdirSync(machine.home)).toEqual([".env"])
    give(".gemini/.env", "")
    await post("/api/cli-tools/apply", gemini)
  })

  it.each(["codex", "gemini", "qwen", "pi"])("does the same by the own path of %s", async (tool) => {
    const { tool: _codex, ...body } = { ...codex, baseUrl: BASE }
    const shown = await post<Applied>("/api/cli-tools/apply", { ...body, tool, dryRun: true })
    const written = await post<Applied>(`/api/cli-tools/${tool}-settings`, body)
    expect(written).toEqual({ ...shown, dryRun: false, backupId: written.backupId })
    expect((await status(tool)).config).toMatchObject({ status: "configured" })
    expect((await refused("POST", "/api/cli-tools/vi-settings", body))[0]).toBe(404)
  })

  it("adds models to those that a tool has", async () => {
    give(".pi/agent/models.json", "{ \"providers\": { \"gateway\": { \"models\": [{ \"id\": \"a/b\", \"contextWindow\": 9 }] } } }")
    const pi = { tool: "pi", baseUrl: BASE, apiKey: KEY, wireApi: "responses", models: ["c/d", "a/b"] }
    await post("/api/cli-tools/apply", pi)
    expect(JSON.parse(text(".pi/agent/models.json"))).toEqual({
      providers: { gateway: { models: [{ id: "a/b", contextWindow: 9 }, { id: "c/d" }], baseUrl: `${BASE}/v1`, apiKey: KEY, api: "openai-responses" } }
    })
    expect(JSON.parse(text(".pi/agent/settings.json"))).toEqual({ defaultProvider: "gateway", defaultModel: "c/d" })
  })

  it.each([
    [{ baseUrl: "ftp://x" }, "baseUrl"], [{ baseUrl: "http://u:p@x" }, "baseUrl"], [{ baseUrl: "http://x/?a=1" }, "baseUrl"], [{ baseUrl: "http://x/$HOME" }, "baseUrl"],
    [{ tool: "gemini", baseUrl: "http://gateway.lan" }, "baseUrl"],
    [{ apiKey: "!rm" }, "apiKey"], [{ apiKey: "$HOME" }, "apiKey"], [{ model: "a'b" }, "model"], [{ model: "$x" }, "model"], [{ model: undefined }, "model"],
    [{ models: ["a/b", "c/d"] }, "models"], [{ wireApi: "chat" }, "wireApi"], [{ tool: "gemini", wireApi: "responses" }, "wireApi"], [{ tool: "qwen", reasoningEffort: "low" }, "reasoningEffort"],
    [{ reasoningEffort: "most" }, "reasoningEffort"], [{ tool: "vi" }, "tool"], [{ path: "/etc/passwd" }, "path"], [{ modelMappings: { a: "b" } }, "modelMappings"]
  ])("refuses %j by its field", async (more, field) => {
    const [code, { error }] = await refused("POST", "/api/cli-tools/apply", { ...codex, ...more })
    expect([code, error.details?.[0]?.field]).toEqual([400, field])
    expect(error.code).toBe(field === "modelMappings" ? "not_supported_yet" : "bad_request")
    expect(fs.readdirSync(machine.home)).toEqual([])
  })
})

describe("in a container", () => {
  const overlay = "1 0 0:1 / / rw - overlay overlay rw\n"

  it("writes nothing where the host has no directory, and names what to do instead", async () => {
    machine.container = overlay
    const [code, body] = await refused("POST", "/api/cli-tools/apply", codex)
    expect([code, body.containerEphemeralTarget, body.error.code]).toEqual([422, true, "container_ephemeral_target"])
    expect(body.hostSetupCommand).toContain(`base_url="${BASE}/v1"`)
    expect(JSON.stringify(body)).not.toContain(KEY)
    const [, pi] = await refused("POST", "/api/cli-tools/apply", { ...codex, tool: "pi" })
    expect([pi.containerEphemeralTarget, "hostSetupCommand" in pi]).toEqual([true, false])
    expect(await refused("POST", "/api/cli-tools/backups", { tool: "codex" })).toMatchObject([422, { containerEphemeralTarget: true }])
    expect(fs.readdirSync(machine.home)).toEqual([])
    expect((await apply({ dryRun: true })).files).toHaveLength(1)
  })

  it("writes into a directory of the host, and into no volume of the engine", async () => {
    fs.mkdirSync(inHome(".codex"))
    const real = fs.realpathSync(inHome(".codex"))
    machine.container = `${overlay}2 1 8:1 /var/lib/docker/volumes/v/_data ${real} rw - ext4 /dev/sda rw\n`
    expect((await refused("POST", "/api/cli-tools/apply", codex))[0]).toBe(422)
    machine.container = `${overlay}2 1 8:1 /home/u/.codex ${real} rw - ext4 /dev/sda rw\n`
    await apply()
    expect(text(".codex/config.toml")).toContain(KEY)
  })
})

describe("backups", () => {
  interface Backups {
    readonly backups: ReadonlyArray<{ readonly id: string; readonly tool: string; readonly createdAt: string; readonly file: string; readonly files: ReadonlyArray<string> }>
  }
  const list = async () => (await get<Backups>("/api/cli-tools/backups")).backups

  it("bring back what was there, a missing file and the mode included", async () => {
    expect(await list()).toEqual([])
    give(".pi/agent/settings.json", "{ \"mine\": 1 }", 0o604)
    const { backupId } = await post<Applied>("/api/cli-tools/apply", { ...codex, tool: "pi" })
    fs.chmodSync(inHome(".pi/agent/settings.json"), 0o600)
    const [first] = await list()
    expect(first).toMatchObject({ id: backupId, tool: "pi", file: inHome(".pi/agent/.gateway-backups", String(backupId)), files: ["settings.json"] })
    expect(first?.id).toBe(first?.createdAt.replaceAll(/[-:.]/g, ""))
    const restored = await post<{ backupId: string }>("/api/cli-tools/backups", { toolId: "pi", backupId })
    expect([text(".pi/agent/settings.json"), fs.existsSync(inHome(".pi/agent/models.json")), fs.statSync(inHome(".pi/agent/settings.json")).mode & 0o777]).toEqual(["{ \"mine\": 1 }", false, 0o604])
    await post("/api/cli-tools/backups", { tool: "pi", backupId: restored.backupId })
    expect(text(".pi/agent/models.json")).toContain(KEY)
    expect(await get("/api/compliance/audit-log?action=cli_tool.restored&limit=5")).toHaveLength(2)
  })

  it("are made when they are asked for, and the oldest go", async () => {
    give(".codex/config.toml", "a = 1\n")
    const ids: Array<string> = []
    for (let i = 0; i < 22; i++) ids.push((await post<{ backupId: string }>("/api/cli-tools/backups", { tool: "codex" })).backupId)
    expect((await list()).map(({ id }) => id)).toEqual(ids.slice(2).reverse())
    expect(new Set(ids).size).toBe(22)
  }, 30_000)

  it.each(["20260101T000000000Z", "../../.ssh", "..", "applied.json"])("refuse the id %s", async (backupId) => {
    await apply()
    expect((await refused("POST", "/api/cli-tools/backups", { tool: "codex", backupId }))[0]).toBe(404)
  })

  it("need a tool", async () => {
    expect((await refused("POST", "/api/cli-tools/backups", {}))[0]).toBe(400)
    expect((await refused("POST", "/api/cli-tools/backups", { tool: "codex", toolId: "pi" }))[0]).toBe(400)
  })
})

describe("keys to choose from", () => {
  it("are masked", async () => {
    const { id, key } = await gateway.operator.createKey("picked")
    const { keys } = await get<{ keys: ReadonlyArray<{ readonly id: string }> }>("/api/cli-tools/keys")
    expect(keys.find((one) => one.id === id)).toEqual({ id, name: "picked", key: `${key.slice(0, 8)}****${key.slice(-4)}`, isActive: true })
  })
})
