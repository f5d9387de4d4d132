/** Coding agents whose files the gateway itself wrote: each vendor's own program finds its way to the gateway with nothing but its home. */
import { spawn } from "node:child_process"
import { once } from "node:events"
import * as fs from "node:fs"
import * as path from "node:path"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import type { FormatName } from "#schemas/wire/conversation.ts"
import type { AgentView, Applied, ToolStatus } from "#src/features/cliTools/api.ts"
import { type ToolId, tools } from "#src/features/cliTools/tools.ts"
import { families, type Family, type Matrix, startMatrix } from "#test/support/families.ts"
import { type Agent, areInstalled, codex, commands, gemini, makeHome, pi, type Prepared, qwen, run } from "./agents.ts"

/** What a user had in the files before, and how the program is started afterwards. */
interface Case {
  readonly agent: Agent
  readonly face: FormatName
  readonly files: Readonly<Record<string, string>>
  /** Texts of them that stay. */
  readonly kept?: ReadonlyArray<string>
  readonly options: Readonly<Record<string, unknown>>
  /** Behind the name of the command. */
  readonly args: (prompt: string) => ReadonlyArray<string>
}

const vendorSettings = JSON.stringify({ privacy: { usageStatisticsEnabled: false }, telemetry: { enabled: false }, general: { enableAutoUpdate: false } }, null, 2)
const commented = `// mine\n${vendorSettings.replace("{", "{ // first")}\n`

const codexArgs = (prompt: string) => ["exec", "--skip-git-repo-check", "-s", "danger-full-access", prompt]
const geminiArgs = (prompt: string) => ["-p", prompt, "-o", "json", "--approval-mode", "yolo", "--skip-trust"]
const qwenArgs = (prompt: string) => ["--approval-mode", "yolo", "--output-format", "json", "-p", prompt]
const piArgs = (prompt: string) => ["--mode", "json", prompt]

const cases: Readonly<Record<ToolId, ReadonlyArray<Case>>> = {
  codex: [
    { agent: codex, face: "responses", files: {}, options: {}, args: codexArgs },
    {
      agent: codex, face: "responses", options: { reasoningEffort: "low", wireApi: "responses" }, args: codexArgs,
      kept: ["# mine\n", " # old\n", "enabled = false # no\n", "stream_max_retries = 0\n"],
      files: { ".codex/config.toml": "# mine\nmodel = 'gpt-5' # old\ncheck_for_update_on_startup = false\n\n[analytics]\nenabled = false # no\n\n[model_providers.gateway]\nname = \"old\"\nstream_max_retries = 0\n" }
    }
  ],
  gemini: [
    { agent: gemini, face: "generateContent", files: {}, options: {}, args: geminiArgs },
    { agent: gemini, face: "generateContent", options: {}, args: geminiArgs, kept: ["// mine\n", "{ // first\n", "# mine\n", "\nMINE=\"1\"\n"], files: { ".gemini/settings.json": commented, ".gemini/.env": "# mine\nGEMINI_MODEL=gemini-2.5-pro\nMINE=\"1\"" } }
  ],
  qwen: [
    { agent: qwen, face: "chat-completions", files: {}, options: {}, args: qwenArgs },
    { agent: qwen, face: "chat-completions", options: { wireApi: "chat" }, args: qwenArgs, kept: ["// mine\n", "{ // first\n"], files: { ".qwen/settings.json": commented } }
  ],
  pi: [
    { agent: pi, face: "chat-completions", files: {}, options: {}, args: piArgs },
    {
      agent: pi, face: "responses", options: { wireApi: "responses" }, args: piArgs, kept: ["\"apiKey\": \"k\", \"api\": \"openai-completions\", \"models\": [{ \"id\": \"m\" }] }", "\"defaultThinkingLevel\": \"off\""],
      files: { ".pi/agent/models.json": "{ \"providers\": { \"mine\": { \"baseUrl\": \"http://127.0.0.1:1/v1\", \"apiKey\": \"k\", \"api\": \"openai-completions\", \"models\": [{ \"id\": \"m\" }] } } }", ".pi/agent/settings.json": "{\n  \"defaultThinkingLevel\": \"off\"\n}" }
    }
  ]
}

describe.skipIf(!areInstalled())("coding agents that the gateway configured", () => {
  let matrix: Matrix
  const machine = { home: "", path: `${commands}:${path.dirname(process.execPath)}:${process.env["PATH"] ?? ""}`, container: null as string | null, mounts: () => machine.container }
  beforeAll(async () => {
    matrix = await startMatrix({}, { machine })
  })
  afterAll(() => matrix.close())

  const call = <A>(method: string, to: string, body?: unknown) => matrix.gateway.operator.call<A>(method, to, body)
  const familyOf = (name: FormatName) => families.find((one) => one.name === name) as Family
  const alone = { NO_COLOR: "1", PATH: machine.path }

  /** The agent with what the gateway made of its home; the address is known once the way to the gateway stands. */
  const prepared = (agent: Agent, prepare: (url: string, prompt: string) => Promise<Prepared>): Agent => ({ ...agent, prepare: ({ url }, prompt) => prepare(url, prompt) })

  const works = async (agent: Agent, face: FormatName, home: string, kind: string, prepare: (url: string, model: string, prompt: string) => Promise<Prepared>) => {
    const family = familyOf(face)
    const note = path.join(home, "work", "note.txt")
    const thoughts = face === "generateContent" ? { reasoning: "A note is to be written." } : {}
    const model = await matrix.model(family, face, `${agent.name.replace(/\W/g, "").toLowerCase()}-${kind}`, { toolCalls: [agent.write(note, "lighthouse\n")], ...thoughts }, { text: "The note is written, captain." })
    const ran = await run(prepared(agent, (url, prompt) => prepare(url, model.id, prompt)), { url: matrix.url, key: matrix.key, model: model.id, face, home }, "Write the word lighthouse into note.txt.")
    expect(ran.output).toContain("The note is written, captain.")
    expect(ran.code).toBe(0)
    expect(ran.upgrades > 0).toBe(agent === codex)
    expect(fs.readFileSync(note, "utf8")).toContain("lighthouse")
    const rows = await matrix.rowsOf(model.name, 2)
    expect(rows.slice(0, 2)).toMatchObject([{ sourceFormat: face, outcome: "completed", status: 200 }, { sourceFormat: face, outcome: "completed", status: 200 }])
    return model
  }

  for (const tool of tools) describe(tool.name, () => {
    const at = (name: string) => path.join(machine.home, ...tool.directory, name)

    for (const [index, { agent, args, face, files, kept = [], options }] of cases[tool.id].entries()) {
      it(`works with ${Object.keys(files).length === 0 ? "no file before" : "the user's own files kept"}, and is restored`, async () => {
        const { home } = makeHome()
        machine.home = home
        for (const [name, text] of Object.entries(files)) {
          fs.mkdirSync(path.dirname(path.join(home, name)), { recursive: true })
          fs.writeFileSync(path.join(home, name), text, { mode: 0o640 })
        }
        const before = tool.files.map(({ name }) => fs.existsSync(at(name)) ? fs.readFileSync(at(name), "utf8") : null)
        let written: Applied | null = null
        await works(agent, face, home, `applied-${index}`, async (url, model, prompt) => {
          const body = { tool: tool.id, baseUrl: url, apiKey: matrix.key, model, ...options }
          const shown = await call<Applied>("POST", "/api/cli-tools/apply", { ...body, dryRun: true })
          expect(tool.files.map(({ name }) => fs.existsSync(at(name)) ? fs.readFileSync(at(name), "utf8") : null)).toEqual(before)
          written = await call<Applied>("POST", "/api/cli-tools/apply", body)
          expect(written.files).toEqual(shown.files)
          expect(JSON.stringify(written)).not.toContain(matrix.key)
          const after = tool.files.map(({ name }) => fs.readFileSync(at(name), "utf8")).join("")
          for (const text of kept) expect(after).toContain(text)
          for (const [i, { name }] of tool.files.entries()) {
            expect(fs.statSync(at(name)).mode & 0o777).toBe(before[i] === null ? 0o600 : 0o640)
          }
          const status = await call<ToolStatus>("GET", `/api/cli-tools/status?tool=${tool.id}`)
          expect(status.config).toMatchObject({ status: "configured", endpoint: `${url}${tool.suffix}` })
          expect(status.detection).toMatchObject({ installed: true, command: tool.command, commandPath: path.join(commands, tool.command) })
          // A busy machine's program may need longer than it is given.
          expect(status.detection.version ?? status.detection.reason).toMatch(/^(?:\d+\.\d+\.\d+|--version did not answer within 5 s$)/)
          return { program: path.join(commands, tool.command), args: args(prompt), environment: { ...alone, PI_OFFLINE: "1" } }
        })
        await call("POST", "/api/cli-tools/backups", { tool: tool.id, backupId: (written as Applied | null)?.backupId })
        expect(tool.files.map(({ name }) => fs.existsSync(at(name)) ? fs.readFileSync(at(name), "utf8") : null)).toEqual(before)
      }, 180_000)
    }

    const { recipe } = tool
    if (recipe !== null) it("works on the host with the command that a container's refusal names", async () => {
      const { home } = makeHome()
      machine.home = home
      machine.container = "1 0 0:1 / / rw - overlay overlay rw"
      const [{ agent, args, face } = {} as Case] = cases[tool.id]
      try {
        await works(agent, face, home, "host", async (url, model, prompt) => {
          const reply = await matrix.gateway.operator.raw("POST", "/api/cli-tools/apply", { tool: tool.id, baseUrl: url, apiKey: matrix.key, model })
          const refusal = JSON.parse(reply.text) as { readonly containerEphemeralTarget: boolean; readonly hostSetupCommand: string }
          expect([reply.status, refusal.containerEphemeralTarget]).toEqual([422, true])
          expect(fs.readdirSync(home)).not.toContain(tool.directory[0])
          return { program: "/bin/sh", args: ["-c", `${refusal.hostSetupCommand.replace("<key>", matrix.key)} "$@"`, "sh", ...args(prompt)], environment: alone }
        })
      } finally {
        machine.container = null
      }
    }, 180_000)
  })

  it("lists those that editors can start, and they answer over the Agent Client Protocol", async () => {
    const { home } = makeHome()
    machine.home = home
    const { agents } = await call<{ agents: ReadonlyArray<AgentView> }>("GET", "/api/acp/agents")
    expect(agents.map(({ id, installed, protocol }) => [id, installed, protocol])).toEqual([["gemini", true, "stdio"], ["qwen", true, "stdio"]])
    for (const { binary, spawnArgs } of agents) {
      const child = spawn(path.join(commands, binary), [...spawnArgs], { detached: true, stdio: ["pipe", "pipe", "ignore"], env: { ...alone, HOME: home } })
      try {
        child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params: { protocolVersion: 1, clientCapabilities: {} } })}\n`)
        let answer = ""
        while (!answer.includes("\n")) answer += String((await once(child.stdout, "data"))[0])
        expect(JSON.parse(answer.slice(0, answer.indexOf("\n")))).toMatchObject({ jsonrpc: "2.0", id: 1, result: { protocolVersion: 1 } })
      } finally {
        process.kill(-(child.pid as number), "SIGKILL")
      }
    }
  }, 60_000)
})
