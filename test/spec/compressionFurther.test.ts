/** Further steps of compression (rtkConfig, aggressive.toolStrategies), over HTTP: what the upstream is told, and what the operator can read. */
import * as Effect from "effect/Effect"
import * as SqlClient from "effect/sql/SqlClient"
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest"
import { type Family, families, type Matrix, startMatrix } from "#test/support/families.ts"
import * as Http from "#test/support/http.ts"
import { eventually } from "#test/support/operator.ts"

let matrix: Matrix
beforeAll(async () => {
  matrix = await startMatrix()
})
afterAll(() => matrix.close())
afterEach(() => put({
  enabled: false, defaultMode: "off", contextEditing: { enabled: false }, rtkConfig: { enableGrouping: false, applyToCodeBlocks: false, applyToAssistantMessages: false, stripCodeComments: false, rawOutputRetention: "never", rawOutputMaxBytes: 1_048_576, customFilters: [], trustProjectFilters: false },
  aggressive: { toolStrategies: { fileContent: false, grepSearch: false, errorMessage: false } }
}))

const put = (change: Record<string, unknown>) => matrix.gateway.operator.call("PUT", "/api/settings/compression", change)
const familyOf = (name: string): Family => families.find((one) => one.name === name) as Family
const send = async (path: string, body: Record<string, unknown>) => {
  const reply = await Http.send(matrix.gateway.url, { path, headers: { authorization: `Bearer ${matrix.key}` }, body })
  expect(reply.status, reply.text).toBe(200)
  return reply
}
const told = async (name: string): Promise<string> => JSON.stringify((await matrix.entries(name)).at(-1)?.body ?? {})
const inJson = (text: string): string => JSON.stringify(text).slice(1, -1)
const call = (id: string, name: string, args: object) => ({ role: "assistant", content: null, tool_calls: [{ id, type: "function", function: { name, arguments: JSON.stringify(args) } }] })
const answered = (id: string, content: string) => ({ role: "tool", tool_call_id: id, content })
const talk = (turns: number) => Array.from({ length: turns }, () => [{ role: "assistant", content: "Yes." }, { role: "user", content: "Go on." }]).flat()

const found = "src/a.ts:1:a\nsrc/a.ts:22:b\nsrc/a.ts:3:c"
const grouped = "src/a.ts:\n1:a\n22:b\n3:c"
const pasted = "Look:\n```ts\n// of x\nconst x = 1\n```\n```console\n$ git status\nOn branch main\n  (use \"git add <file>...\" to update)\n```"
const shortPasted = "Look:\n```ts\nconst x = 1\n```\n```console\n$ git status\nOn branch main\n```"
const log = Array.from({ length: 300 }, (_, i) => `request ${i} served`).join("\n")
const file = "export const the = 1\n".repeat(20)

describe("further steps of compression", () => {
  it.each(families.map((family) => [family.name, family] as const))("group matches and shorten pasted code where the operator says so, to %s", async (_name, family) => {
    const model = await matrix.model(family, "chat-completions", "further")
    const body = { model: model.id, messages: [{ role: "user", content: pasted }, call("call_1", "bash", { command: "rg -n x src" }), answered("call_1", found)] }
    await put({ enabled: true, defaultMode: "rtk" })
    await send("/v1/chat/completions", body)
    for (const part of [found, pasted]) expect(await told(model.name)).toContain(inJson(part))
    await put({ rtkConfig: { enableGrouping: true, applyToCodeBlocks: true, stripCodeComments: true } })
    expect((await send("/v1/chat/completions", body)).headers["x-gateway-compression"]).toBe("rtk; source=default")
    for (const part of [grouped, shortPasted]) expect(await told(model.name)).toContain(inJson(part))
  })

  it("name an older content of a file that was read again, in mode aggressive", async () => {
    const model = await matrix.model(familyOf("chat-completions"), "chat-completions", "reads")
    const read = (id: string, content: string) => [call(id, "read_file", { path: "a" }), answered(id, content)]
    await put({ enabled: true, defaultMode: "aggressive", aggressive: { toolStrategies: { fileContent: true }, minSavingsThreshold: 0 } })
    await send("/v1/chat/completions", { model: model.id, messages: [{ role: "user", content: "Hi." }, ...read("call_1", file), ...read("call_2", `${file}// new`), ...talk(6)] })
    const text = await told(model.name)
    expect(text.split(inJson(file)).length - 1).toBe(1)
    expect(text).toContain(`[An earlier content of this file, ${file.length} characters: a later result of the same call holds it.]`)
    expect(text).toContain(inJson(`${file}// new`))
  })

  it("are tried in a preview without being stored", async () => {
    const preview = await matrix.gateway.operator.call<{ readonly compressed: ReadonlyArray<unknown>; readonly techniquesUsed: ReadonlyArray<string> }>("POST", "/api/compression/preview", {
      mode: "rtk", config: { rtkConfig: { applyToCodeBlocks: true, stripCodeComments: true } }, messages: [{ role: "user", content: pasted }]
    })
    expect([preview.compressed, preview.techniquesUsed]).toEqual([[{ role: "user", content: shortPasted }], ["rtk:fenced_code"]])
    expect(await matrix.gateway.operator.call("GET", "/api/context/rtk/config")).toMatchObject({ applyToCodeBlocks: false, stripCodeComments: false })
  })
})

interface RawOutput {
  readonly id: string
  readonly text: string
  readonly bytes: number
  readonly cut: boolean
  readonly keptAt: string
}

describe("whole outputs of tools", () => {
  const readRaw = (id: string, headers?: Readonly<Record<string, string>>) => headers === undefined
    ? matrix.gateway.operator.raw("GET", `/api/context/rtk/raw-output/${id}`)
    : Http.send(matrix.gateway.url, { method: "GET", path: `/api/context/rtk/raw-output/${id}`, headers })
  const codeOf = (reply: { readonly text: string }) => (JSON.parse(reply.text) as { readonly error: { readonly code: string } }).error.code
  const idIn = (text: string): string | undefined => /\[Whole output: ([\w-]{20})\]/.exec(text)?.[1]
  const kept = async (id: string): Promise<RawOutput> => JSON.parse((await eventually(() => readRaw(id), ({ status }) => status === 200, "the whole output")).text) as RawOutput
  const body = (model: string, output: string) => ({ model, messages: [call("call_1", "bash", { command: "docker logs web" }), answered("call_1", output)] })

  it("are kept where the operator asks for it, sealed, and named by what the model is told", async () => {
    const model = await matrix.model(familyOf("chat-completions"), "chat-completions", "raw")
    await put({ enabled: true, defaultMode: "rtk" })
    await send("/v1/chat/completions", body(model.id, log))
    expect(await told(model.name)).toContain("lines left out]")
    expect(idIn(await told(model.name))).toBeUndefined()
    await put({ rtkConfig: { rawOutputRetention: "always", rawOutputMaxBytes: 2_000 } })
    await send("/v1/chat/completions", body(model.id, log))
    const id = idIn(await told(model.name)) ?? ""
    const raw = await kept(id)
    expect(raw).toEqual({ id, text: log.slice(0, 2_000), bytes: log.length, cut: true, keptAt: raw.keptAt })
    expect(Math.abs(Date.parse(raw.keptAt) - Date.now())).toBeLessThan(60_000)
    // The same in the next turn, and in a body that a thread writes.
    await send("/v1/chat/completions", { ...body(model.id, log), messages: [...body(model.id, log).messages, ...talk(1)] })
    expect(idIn(await told(model.name))).toBe(id)
    const large = `${log}\n${"a long line of the log of the house ".repeat(30_000)}`
    await send("/v1/chat/completions", body(model.id, large))
    const other = idIn(await told(model.name)) ?? ""
    expect(await kept(other)).toMatchObject({ text: large.slice(0, 2_000), bytes: large.length, cut: true })
    const rows = await Effect.runPromise(Effect.flatMap(SqlClient.SqlClient, (sql) => sql<{ readonly sealed: string }>`SELECT sealed FROM call_bodies WHERE id = ${`rtk:${id}`}`).pipe(Effect.provide(matrix.gateway.services()))) as ReadonlyArray<{ readonly sealed: string }>
    expect(rows).toHaveLength(1)
    expect(rows[0]?.sealed).not.toContain("request 1 served")
    const entries = await matrix.gateway.operator.call<ReadonlyArray<{ readonly action: string; readonly target: string }>>("GET", "/api/compliance/audit-log?limit=5")
    expect(entries.some((entry) => entry.action === "compression.raw-output.read" && entry.target === other)).toBe(true)
  })

  it("are never those of a key with noLog, and only those of failures where the operator says so", async () => {
    const model = await matrix.model(familyOf("chat-completions"), "chat-completions", "quiet")
    const quiet = await matrix.gateway.operator.createKey("raw-quiet", { noLog: true })
    await put({ enabled: true, defaultMode: "rtk", rtkConfig: { rawOutputRetention: "failures" } })
    const failed = `${log}\nERROR: it broke`
    const reply = await Http.send(matrix.gateway.url, { path: "/v1/chat/completions", headers: { authorization: `Bearer ${quiet.key}` }, body: body(model.id, failed) })
    expect(reply.status).toBe(200)
    expect(await told(model.name)).toContain("lines left out]")
    expect(idIn(await told(model.name))).toBeUndefined()
    await send("/v1/chat/completions", body(model.id, log))
    expect(idIn(await told(model.name))).toBeUndefined()
    await send("/v1/chat/completions", body(model.id, failed))
    expect((await kept(idIn(await told(model.name)) ?? "")).text).toBe(failed)
  })

  it("are read with rights of management alone, and an unknown one is 404", async () => {
    expect((await readRaw("01234567890123456789", {})).status).toBe(401)
    expect([401, 403]).toContain((await readRaw("01234567890123456789", { authorization: `Bearer ${matrix.key}` })).status)
    const unknown = await readRaw("01234567890123456789")
    expect([unknown.status, codeOf(unknown)]).toEqual([404, "raw_output_not_kept"])
  })
})

describe("an operator's filters", () => {
  const filter = {
    id: "our-build", label: "our build", description: "", category: "build", priority: 10, match: { outputTypes: [], commands: ["make all"], patterns: [] },
    rules: { includePatterns: [], dropPatterns: ["^compiled "], collapsePatterns: [], deduplicate: true, maxLines: 0, headLines: 0, tailLines: 0 },
    preserve: { errorPatterns: [], summaryPatterns: [] }, tests: [{ name: "drops", command: "make all", input: "compiled a\nlinked", expected: "linked" }]
  }
  const change = (customFilters: ReadonlyArray<unknown>, more: Record<string, unknown> = {}) => matrix.gateway.operator.raw("PUT", "/api/context/rtk/config", { customFilters, ...more })
  const fieldOf = (reply: { readonly text: string }) => (JSON.parse(reply.text) as { readonly error: { readonly details: ReadonlyArray<{ readonly field: string }> } }).error.details[0]?.field

  it("shorten the output of their commands, and are listed with the gateway's own", async () => {
    const model = await matrix.model(familyOf("chat-completions"), "chat-completions", "own-filters")
    await put({ enabled: true, defaultMode: "rtk" })
    expect((await change([filter])).status).toBe(200)
    const { filters } = await matrix.gateway.operator.call<{ readonly filters: ReadonlyArray<{ readonly id: string }> }>("GET", "/api/context/rtk/filters")
    expect([filters[0]?.id, filters.some(({ id }) => id === "git-status")]).toEqual(["our-build", true])
    const body = { model: model.id, messages: [call("call_1", "bash", { command: "make all" }), answered("call_1", "compiled a\ncompiled b\nlinked x")] }
    await send("/v1/chat/completions", body)
    expect((JSON.parse(await told(model.name)) as typeof body).messages.at(-1)).toMatchObject({ content: "linked x" })
    // In a thread.
    await send("/v1/chat/completions", { ...body, messages: [{ role: "user", content: "Hello. ".repeat(5_000) }, ...body.messages] })
    expect((JSON.parse(await told(model.name)) as typeof body).messages.at(-1)).toMatchObject({ content: "linked x" })
    expect(fieldOf(await change([], { enabledFilters: ["our-build"] }))).toBe("enabledFilters.0")
    await put({ rtkConfig: { customFiltersEnabled: false } })
    await send("/v1/chat/completions", body)
    expect((JSON.parse(await told(model.name)) as typeof body).messages.at(-1)).toMatchObject({ content: "compiled a\ncompiled b\nlinked x" })
    await put({ rtkConfig: { customFiltersEnabled: true } })
  })

  it("are refused without an example that holds, unless the setting or the flag trusts them", async () => {
    const unproved = { ...filter, tests: [] }
    expect([(await change([unproved])).status, fieldOf(await change([unproved]))]).toEqual([400, "customFilters.0.tests"])
    expect((await change([unproved], { trustProjectFilters: true })).status).toBe(200)
    expect(fieldOf(await change([unproved], { trustProjectFilters: false }))).toBe("customFilters.0.tests")
    await change([], { trustProjectFilters: false })
    await matrix.gateway.operator.setFlag("GATEWAY_RTK_TRUST_PROJECT_FILTERS", "true")
    expect((await change([unproved])).status).toBe(200)
    await matrix.gateway.operator.setFlag("GATEWAY_RTK_TRUST_PROJECT_FILTERS", "false")
  })
})

describe("clearing by the vendor", () => {
  const beta = "context-management-2025-06-27"
  const asked = { edits: [{ type: "clear_tool_uses_20250919" }] }
  const last = async (name: string) => {
    const entry = (await matrix.entries(name)).at(-1)
    return { body: entry?.body as Record<string, unknown> | undefined, beta: entry?.headers["anthropic-beta"] }
  }
  const messages = [{ role: "user", content: "Hi." }]
  const ask = async (model: string, more: Record<string, unknown> = {}, headers: Readonly<Record<string, string>> = {}, path = "/v1/messages") => {
    const reply = await Http.send(matrix.gateway.url, { path, headers: { authorization: `Bearer ${matrix.key}`, ...headers }, body: { model, max_tokens: 9, messages, ...more } })
    expect(reply.status, reply.text).toBe(200)
  }

  it("is asked of models that can, in the vendor's own words, from clients of every format", async () => {
    const model = await matrix.model(familyOf("messages"), "messages", "claude-sonnet-4-5-clears")
    await ask(model.id)
    expect(await last(model.name)).toMatchObject({ body: { messages }, beta: undefined })
    expect((await last(model.name)).body).not.toHaveProperty("context_management")
    await put({ enabled: true, contextEditing: { enabled: true } })
    await ask(model.id)
    expect(await last(model.name)).toMatchObject({ body: { context_management: asked, messages }, beta })
    await ask(model.id, {}, { "anthropic-beta": "one, two" })
    expect(await last(model.name)).toMatchObject({ body: { context_management: asked }, beta: `one, two,${beta}` })
    await ask(model.id, {}, {}, "/v1/chat/completions")
    expect(await last(model.name)).toMatchObject({ body: { context_management: asked, messages }, beta })
    // A large body is written by a thread.
    await ask(model.id, { messages: [{ role: "user", content: "word ".repeat(80_000) }] })
    expect(await last(model.name)).toMatchObject({ body: { context_management: asked }, beta })
    await ask(model.id, { messages: [{ role: "user", content: "word ".repeat(80_000) }] }, {}, "/v1/chat/completions")
    expect(await last(model.name)).toMatchObject({ body: { context_management: asked }, beta })
  })

  it("is left to a client that says it itself, and is not asked where compression is off for the request or the model cannot", async () => {
    const model = await matrix.model(familyOf("messages"), "messages", "claude-opus-4-1-own")
    const [prefix] = model.id.split("/")
    await put({ enabled: true, contextEditing: { enabled: true } })
    const own = { edits: [{ type: "clear_thinking_20251015" }] }
    await ask(model.id, { context_management: own }, { "anthropic-beta": beta })
    expect(await last(model.name)).toMatchObject({ body: { context_management: own }, beta })
    for (const [id, name, headers] of [[`${prefix}/compatible-1`, "compatible-1", {}], [`${prefix}/claude-3-5-haiku-20241022`, "claude-3-5-haiku-20241022", {}], [model.id, model.name, { "x-gateway-compression": "off" }]] as const) {
      await ask(id, {}, headers)
      expect((await last(name)).body).not.toHaveProperty("context_management")
      expect((await last(name)).beta).toBeUndefined()
    }
    await put({ enabled: false })
    await ask(model.id)
    expect((await last(model.name)).body).not.toHaveProperty("context_management")
  })
})
