/** Prompt compression (PUT /api/settings/compression, X-Gateway-Compression), over HTTP: what every upstream is told, and what the client reads of it. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest"
import type { FormatName } from "#schemas/wire/conversation.ts"
import { type Family, families, type Matrix, startMatrix } from "#test/support/families.ts"
import * as Http from "#test/support/http.ts"

let matrix: Matrix
beforeAll(async () => {
  matrix = await startMatrix()
})
afterAll(() => matrix.close())
afterEach(() => put({
  enabled: false, defaultMode: "off", autoTriggerMode: "lite", autoTriggerTokens: 0, comboOverrides: {}, preserveSystemPrompt: true,
  cavemanConfig: { enabled: true, compressRoles: ["user"], skipRules: [], intensity: "full" }, rtkConfig: { disabledFilters: [] }
}))

const path = "/api/settings/compression"
const put = (change: Record<string, unknown>) => matrix.gateway.operator.call<Record<string, unknown>>("PUT", path, change)
const familyOf = (name: string): Family => families.find((one) => one.name === name) as Family

const long = "Hello there, could you please explain, in order to help me, why the tests fail in `the file` of https://x.org/the/a?b=1 at the moment?"
const short = "explain, to help me, why tests fail in `the file` of https://x.org/the/a?b=1 at moment?"
const output = 'On branch main\nChanges not staged for commit:\n  (use "git add <file>..." to update what will be committed)\n\tmodified:   src/a.ts'
const shortOutput = "On branch main\nChanges not staged for commit:\n\tmodified:   src/a.ts"
const file = "The file of the house:  \n\n\n\n\tthe text\r\n   "
const own = "You are the assistant of the house, and please answer the questions of the people."

interface Said {
  readonly path: string
  readonly body: Record<string, unknown>
}
/** The command and the file read by the same tool, with their results. */
const chatCall = (id: string, command: string) => ({ id, type: "function", function: { name: "bash", arguments: JSON.stringify({ command }) } })
const chatMessages = [
  { role: "system", content: own }, { role: "user", content: long }, { role: "assistant", content: null, tool_calls: [chatCall("call_1", "git status"), chatCall("call_2", "cat a")] },
  { role: "tool", tool_call_id: "call_1", content: output }, { role: "tool", tool_call_id: "call_2", content: file }
]
const use = (id: string, command: string) => ({ type: "tool_use", id, name: "Bash", input: { command } })
const call = (id: string, command: string) => ({ type: "function_call", call_id: id, name: "shell", arguments: JSON.stringify({ command: ["bash", "-lc", command] }) })
const run = (id: string, command: string) => ({ thoughtSignature: "c2lnbmF0dXJl", functionCall: { id, name: "run_shell_command", args: { command } } })
const ran = (id: string, text: string) => ({ functionResponse: { id, name: "run_shell_command", response: { output: text } } })
const faces: ReadonlyArray<readonly [FormatName, (model: string) => Said]> = [
  ["chat-completions", (model) => ({ path: "/v1/chat/completions", body: { model, messages: chatMessages } })],
  ["messages", (model) => ({
    path: "/v1/messages", body: {
      model, max_tokens: 100, system: own, messages: [
        { role: "user", content: [{ type: "text", text: long }] }, { role: "assistant", content: [use("call_1", "git status"), use("call_2", "cat a")] },
        { role: "user", content: [{ type: "tool_result", tool_use_id: "call_1", content: output }, { type: "tool_result", tool_use_id: "call_2", content: [{ type: "text", text: file }] }] }
      ]
    }
  })],
  ["responses", (model) => ({
    path: "/v1/responses", body: {
      model, instructions: own, input: [
        { role: "user", content: [{ type: "input_text", text: long }] }, call("call_1", "git status"), call("call_2", "cat a"),
        { type: "function_call_output", call_id: "call_1", output }, { type: "function_call_output", call_id: "call_2", output: file }
      ]
    }
  })],
  ["generateContent", (model) => ({
    path: `/v1beta/models/${model}:generateContent`, body: {
      systemInstruction: { parts: [{ text: own }] }, contents: [
        { role: "user", parts: [{ text: long }] }, { role: "model", parts: [run("call_1", "git status"), run("call_2", "cat a")] }, { role: "user", parts: [ran("call_1", output), ran("call_2", file)] }
      ]
    }
  })],
  ["local-model-server", (model) => ({
    path: "/v1/api/chat", body: {
      model, stream: false, messages: [
        { role: "system", content: own }, { role: "user", content: long }, { role: "assistant", content: "", tool_calls: [{ function: { name: "bash", arguments: { command: "git status" } } }] },
        { role: "tool", tool_name: "bash", content: output }
      ]
    }
  })]
]

const send = async (said: Said, headers: Readonly<Record<string, string>> = {}, key = matrix.key): Promise<Http.Reply> => {
  const reply = await Http.send(matrix.gateway.url, { path: said.path, headers: { authorization: `Bearer ${key}`, ...headers }, body: said.body })
  expect(reply.status, reply.text).toBe(200)
  return reply
}
const told = async (name: string): Promise<string> => JSON.stringify((await matrix.entries(name)).at(-1)?.body ?? {})
const inJson = (text: string): string => JSON.stringify(text).slice(1, -1)
const chat = (model: string, content: unknown, more: Record<string, unknown> = {}): Said => ({ path: "/v1/chat/completions", body: { model, messages: [{ role: "user", content }], ...more } })
const headerOf = (reply: Http.Reply): string | undefined => reply.headers["x-gateway-compression"]

const grid = faces.flatMap(([face, say]) => families.map((family) => [face, family.name, say, family] as const))

describe("compression of what a request says", () => {
  it.each(grid)("says a question and an output shorter, and a file as it is, from a client of %s to %s", async (face, _name, say, family) => {
    await put({ enabled: true, defaultMode: "stacked" })
    const model = await matrix.model(family, face, "short")
    const reply = await send(say(model.id))
    expect(headerOf(reply)).toBe("stacked; source=default")
    const text = await told(model.name)
    for (const part of [own, short, shortOutput, ...face === "local-model-server" ? [] : [file]]) expect([part, text.includes(inJson(part))], text).toEqual([part, true])
    for (const part of ["Hello there", "use \\\"git add"]) expect([part, text.includes(part)], text).toEqual([part, false])
  })

  it("leaves every byte while it is off, whatever the header asks", async () => {
    const model = await matrix.model(familyOf("chat-completions"), "chat-completions", "off")
    for (const header of ["engine:caveman", "default", "stacked", ""]) {
      expect(headerOf(await send(chat(model.id, long), header === "" ? {} : { "x-gateway-compression": header }))).toBe("off; source=off")
      expect(JSON.parse(await told(model.name))).toEqual({ model: model.name, messages: [{ role: "user", content: long }] })
    }
  })

  it("follows the header, the combo, the length and the default, in this order", async () => {
    const model = await matrix.model(familyOf("chat-completions"), "chat-completions", "order")
    const combo = await matrix.gateway.operator.call<{ id?: string; combo?: { id: string } }>("POST", "/api/combos", { name: "short", models: [model.id] })
    const id = combo.id ?? combo.combo?.id ?? ""
    const by = async (name: string, header?: string) => headerOf(await send(chat(name, long), header === undefined ? {} : { "x-gateway-compression": header }))
    await put({ enabled: true })
    expect(await by(model.id)).toBe("off; source=off")
    await put({ defaultMode: "lite" })
    expect(await by(model.id)).toBe("lite; source=default")
    await put({ autoTriggerMode: "stacked", autoTriggerTokens: 10 })
    expect(await by(model.id)).toBe("stacked; source=auto-trigger")
    await put({ autoTriggerTokens: 10_000 })
    expect(await by(model.id)).toBe("lite; source=default")
    await put({ autoTriggerTokens: 10 })
    expect(await by("combo/short")).toBe("stacked; source=auto-trigger")
    await matrix.gateway.operator.call("PUT", `/api/combos/${id}`, { compressionOverride: "rtk" })
    expect(await by("combo/short")).toBe("rtk; source=routing-override")
    await put({ comboOverrides: { [id]: "off" } })
    expect(await by("combo/short")).toBe("off; source=routing-override")
    expect(await by("combo/short", "engine:Caveman")).toBe("standard; source=request-header")
    expect(await told(model.name)).toContain(inJson(short))
    expect(await by("combo/short", "default")).toBe("lite; source=request-header")
    expect(await by(model.id, "off")).toBe("off; source=request-header")
    // Unknown words say nothing, and so does an engine that is switched off.
    await put({ comboOverrides: {}, cavemanConfig: { enabled: false } })
    for (const header of ["engine:caveman", "engine:nothing", "stacked", "x; y"]) expect([header, await by("combo/short", header)]).toEqual([header, "rtk; source=routing-override"])
  })

  it("leaves the requests of a key that has it off", async () => {
    await put({ enabled: true, defaultMode: "standard" })
    const { key } = await matrix.gateway.operator.createKey("long", { compressionEnabled: false })
    const model = await matrix.model(familyOf("messages"), "chat-completions", "key")
    expect(headerOf(await send(chat(model.id, long), { "x-gateway-compression": "engine:caveman" }, key))).toBe("off; source=off")
    expect(await told(model.name)).toContain(inJson(long))
    expect(headerOf(await send(chat(model.id, long)))).toBe("standard; source=default")
    expect(await told(model.name)).toContain(inJson(short))
  })

  it("leaves what stands before a mark for the vendor's cache, and the instructions with it", async () => {
    await put({ enabled: true, defaultMode: "stacked", cavemanConfig: { compressRoles: ["user", "system"] }, preserveSystemPrompt: false })
    const model = await matrix.model(familyOf("messages"), "messages", "marked")
    const marked = { type: "text", text: long, cache_control: { type: "ephemeral" } }
    const body = { model: model.id, max_tokens: 9, system: own, messages: [{ role: "user", content: [marked] }, { role: "assistant", content: "Yes." }, { role: "user", content: long }] }
    await send({ path: "/v1/messages", body })
    expect(JSON.parse(await told(model.name))).toEqual({ ...body, model: model.name, messages: [body.messages[0], body.messages[1], { role: "user", content: short }] })
  })

  it("keeps every byte that is not of a text that it changes", async () => {
    await put({ enabled: true, defaultMode: "standard" })
    const model = await matrix.model(familyOf("chat-completions"), "chat-completions", "bytes")
    const body = `{"model": "${model.id}" , "seed":7.0e0, "messages" : [ {"role":"assistant","content":"the\\u0020a"} , {"role":"user", "content":${JSON.stringify(long)}} ], "temperature":1.0}`
    const reply = await Http.send(matrix.gateway.url, { path: "/v1/chat/completions", headers: { authorization: `Bearer ${matrix.key}` }, body })
    expect(reply.status, reply.text).toBe(200)
    const entry = (await matrix.entries(model.name)).at(-1)
    expect(entry?.body).toMatchObject({ messages: [{ content: "the a" }, { content: short }] })
    expect(entry?.bodyBytes).toBe(Buffer.byteLength(body.replace(model.id, model.name).replace(JSON.stringify(long), JSON.stringify(short))))
  })

  it.each([["of some size", 200], ["that is large", 3_000]])("is said of a body %s, which a thread reads", async (_name, times) => {
    await put({ enabled: true, defaultMode: "stacked" })
    const filler = { role: "assistant", content: "the answer of the house, and of no other one. ".repeat(2) }
    for (const family of [familyOf("chat-completions"), familyOf("messages")]) {
      const model = await matrix.model(family, "chat-completions", `sized${times}`)
      const messages = [...Array.from({ length: times }, () => filler), { role: "user", content: long }]
      expect(headerOf(await send({ path: "/v1/chat/completions", body: { model: model.id, messages } }))).toBe("stacked; source=default")
      const text = await told(model.name)
      expect(text.split(inJson(short)).length - 1, family.name).toBe(1)
      expect(text.split("of no other one").length - 1).toBe(times * 2)
    }
  })

  it("is the same for every model of a combo, one after the other and all at once", async () => {
    await put({ enabled: true, defaultMode: "standard" })
    for (const strategy of ["priority", "fusion", "pipeline"]) {
      const models = await Promise.all(["chat-completions", "messages"].map((name, i) =>
        matrix.model(familyOf(name), "chat-completions", `${strategy}${i}`, ...strategy === "priority" && i === 0 ? [{ status: 500 }] : [])))
      await matrix.gateway.operator.call("POST", "/api/combos", { name: `compressed-${strategy}`, strategy, models: models.map(({ id }) => id), config: { maxRetries: 0 } })
      expect(headerOf(await send(chat(`combo/compressed-${strategy}`, long)))).toBe("standard; source=default")
      for (const { name } of models) {
        const text = await told(name)
        expect([strategy, text.includes(inJson(short)), text.includes("Hello there")], text).toEqual([strategy, true, false])
      }
    }
  })

  it("is told in the head of a stream", async () => {
    await put({ enabled: true, defaultMode: "standard" })
    for (const family of [familyOf("chat-completions"), familyOf("messages")]) {
      const model = await matrix.model(family, "chat-completions", "streamed")
      const reply = await send(chat(model.id, long, { stream: true }))
      expect([headerOf(reply), reply.text.includes("data: [DONE]")]).toEqual(["standard; source=default", true])
      expect(await told(model.name)).toContain(inJson(short))
    }
  })

  it("makes other answers than without it: the response cache tells them apart", async () => {
    const model = await matrix.model(familyOf("chat-completions"), "chat-completions", "cached")
    const ask = async (header?: string) =>
      (await send(chat(model.id, long, { temperature: 0 }), header === undefined ? {} : { "x-gateway-compression": header })).headers["x-gateway-cache"]
    expect([await ask(), await ask()]).toEqual(["MISS", "HIT"])
    await put({ enabled: true, defaultMode: "standard" })
    expect([await ask(), await ask(), await ask("off"), await ask("off")]).toEqual(["MISS", "HIT", "MISS", "HIT"])
    await put({ defaultMode: "lite" })
    expect(await ask()).toBe("MISS")
  })
})

describe("the settings of compression", () => {
  const raw = async (method: string, where: string, body?: unknown) => {
    const reply = await matrix.gateway.operator.raw(method, where, body)
    return { status: reply.status, json: JSON.parse(reply.text) as { readonly error?: { readonly code: string; readonly details?: ReadonlyArray<{ readonly field: string }> } } }
  }

  it("are read with their defaults, and changed member by member", async () => {
    expect(await put({ enabled: true, cavemanConfig: { intensity: "ultra" } })).toEqual({
      enabled: true, defaultMode: "off", autoTriggerMode: "lite", autoTriggerTokens: 0, preserveSystemPrompt: true, comboOverrides: {}, compressionComboId: null,
      mcpDescriptionCompressionEnabled: true, cavemanOutputMode: { enabled: false, intensity: "full", autoClarity: true },
      stackedPipeline: [{ engine: "rtk", intensity: "standard" }, { engine: "caveman", intensity: "full" }],
      cavemanConfig: { enabled: true, compressRoles: ["user"], skipRules: [], minMessageLength: 50, preservePatterns: [], intensity: "ultra" },
      rtkConfig: {
        enabled: true, intensity: "standard", applyToToolResults: true, enabledFilters: [], disabledFilters: [], maxLinesPerResult: 120, maxCharsPerResult: 12_000, deduplicateThreshold: 3,
        applyToCodeBlocks: false, applyToAssistantMessages: false, enableGrouping: false, groupingThreshold: 3, stripCodeComments: false, preserveDocstrings: true,
        rawOutputRetention: "never", rawOutputMaxBytes: 1_048_576, customFiltersEnabled: true, customFilters: [], trustProjectFilters: false
      },
      languageConfig: { enabled: false, defaultLanguage: "en", autoDetect: true, enabledPacks: ["en"] },
      aggressive: {
        thresholds: { fullSummary: 5, moderate: 3, light: 2, verbatim: 2 }, toolStrategies: { shellOutput: true, json: true, fileContent: false, grepSearch: false, errorMessage: false },
        summarizerEnabled: true, maxTokensPerMessage: 2_048, minSavingsThreshold: 0.05
      },
      ultra: { enabled: false, compressionRate: 0.5, minScoreThreshold: 0.3, maxTokensPerMessage: 0 },
      mcpAccessibility: { enabled: true, maxTextChars: 50_000, collapseThreshold: 30, collapseKeepHead: 10, collapseKeepTail: 5, minLengthToProcess: 2_000 },
      contextEditing: { enabled: false }, cacheMinutes: 5
    })
    expect(await matrix.gateway.operator.call("PUT", "/api/context/caveman/config", { intensity: "full", skipRules: ["please"] })).toMatchObject({ intensity: "full", skipRules: ["please"] })
    expect(await matrix.gateway.operator.call("PUT", "/api/context/rtk/config", { disabledFilters: ["ls"] })).toMatchObject({ enabled: true, disabledFilters: ["ls"] })
    expect(await matrix.gateway.operator.call("GET", path)).toMatchObject({ cavemanConfig: { intensity: "full", skipRules: ["please"] }, rtkConfig: { disabledFilters: ["ls"] } })
  })

  it.each([
    [path, { cavemanOutputMode: { intensity: "loud" } }, "bad_request", "cavemanOutputMode.intensity"], [path, { contextEditing: { enabled: "yes" } }, "bad_request", "contextEditing.enabled"],
    [path, { aggressive: { toolStrategies: { fileContent: 1 } } }, "bad_request", "aggressive.toolStrategies.fileContent"], [path, { ultra: { slmFallbackToAggressive: false } }, "not_supported_yet", "ultra.slmFallbackToAggressive"],
    [path, { aggressive: { thresholds: { verbatim: 4 } } }, "bad_request", "aggressive.thresholds"], [path, { ultra: { compressionRate: 2 } }, "bad_request", "ultra.compressionRate"],
    [path, { mcpAccessibility: { collapseThreshold: 0 } }, "bad_request", "mcpAccessibility.collapseThreshold"],
    [path, { rtkConfig: { groupingThreshold: 1 } }, "bad_request", "rtkConfig.groupingThreshold"], ["/api/context/rtk/config", { customFilters: [{ id: "x" }] }, "bad_request", "customFilters.0.label"],
    [path, { defaultMode: "loud" }, "bad_request", "defaultMode"], [path, { stackedPipeline: [] }, "bad_request", "stackedPipeline"],
    [path, { stackedPipeline: [{ engine: "nothing" }] }, "bad_request", "stackedPipeline.0.engine"],
    [path, { stackedPipeline: [{ engine: "rtk", config: { enabledFilters: ["nothing"] } }] }, "bad_request", "stackedPipeline.0.config.enabledFilters.0"], [path, { compressionComboId: "nothing" }, "bad_request", "compressionComboId"], [path, { cavemanConfig: { skipRules: ["nothing"] } }, "bad_request", "cavemanConfig.skipRules.0"],
    [path, { cavemanConfig: { preservePatterns: ["(a)\\1"] } }, "bad_request", "cavemanConfig.preservePatterns.0"], ["/api/context/rtk/config", { enabledFilters: ["nothing"] }, "bad_request", "enabledFilters.0"],
    [path, { unknown: 1 }, "bad_request", "unknown"], [path, { comboOverrides: { a: "loud" } }, "bad_request", "comboOverrides.a"]
  ])("%s refuses %j with %s, for %s", async (where, body, code, field) => {
    const { json, status } = await raw("PUT", where, body)
    expect([status, json.error?.code, json.error?.details?.[0]?.field]).toEqual([400, code, field])
  })

  it("take their neutral values", async () => {
    expect(await put({ contextEditing: { enabled: false }, ultra: { maxTokensPerMessage: 0 }, rtkConfig: { rawOutputRetention: "never" } })).toMatchObject({ contextEditing: { enabled: false } })
    const { status } = await raw("PUT", path, {})
    expect(status).toBe(400)
  })

  it("are tried on messages without being stored", async () => {
    const preview = await matrix.gateway.operator.call<Record<string, unknown>>("POST", "/api/compression/preview", {
      mode: "stacked", config: { cavemanConfig: { intensity: "ultra" }, stackedPipeline: [{ engine: "rtk" }, { engine: "caveman" }] }, messages: chatMessages
    })
    const { durationMs, ...said } = preview
    expect(durationMs).toBeGreaterThanOrEqual(0)
    expect(said).toEqual({
      original: chatMessages, mode: "stacked", intensity: "ultra", outputMode: "off", originalTokens: 98, compressedTokens: 71, tokensSaved: 27, savingsPct: 27.6,
      compressed: chatMessages.map((message) => message.content === long ? { ...message, content: short } : message.content === output ? { ...message, content: shortOutput } : message),
      diff: [{ path: "messages.1.content", before: long, after: short }, { path: "messages.3.content", before: output, after: shortOutput }],
      techniquesUsed: ["rtk:dropped_noise", "caveman:greeting", "caveman:please", "caveman:could_you", "caveman:phrases", "caveman:articles"], skippedReasons: ["no_known_command_output"],
      preservedBlocks: ["`the file`", "https://x.org/the/a?b=1", '(use "git add <file>..." to update what will be committed)'].slice(0, 2).concat(["\tmodified:   src/a.ts"]),
      ruleRemovals: [{ rule: "greeting", count: 1 }, { rule: "please", count: 1 }, { rule: "could_you", count: 1 }, { rule: "phrases", count: 1 }, { rule: "articles", count: 2 }],
      rulesApplied: ["greeting", "please", "could_you", "phrases", "articles"],
      validation: { valid: true, errors: [], warnings: [], fallbackApplied: false }, validationWarnings: [], validationErrors: [], fallbackApplied: false
    })
    expect(await matrix.gateway.operator.call("GET", path)).toMatchObject({ cavemanConfig: { intensity: "full" } })
    for (const body of [{ mode: "stacked", messages: [] }, { mode: "loud", messages: chatMessages }, { mode: "lite", messages: [{ role: "user", content: "x".repeat(300_000) }] }]) {
      expect((await raw("POST", "/api/compression/preview", body)).status).toBe(400)
    }
    expect(await matrix.gateway.operator.call("POST", "/api/compression/preview", { mode: "off", messages: chatMessages })).toMatchObject({ tokensSaved: 0, diff: [], compressed: chatMessages })
  })

  it("are tried on an output, whose filter is found by its command or by its lines", async () => {
    const attempt = (body: Record<string, unknown>) => matrix.gateway.operator.call("POST", "/api/context/rtk/test", body)
    const found = { filterId: "git-status", label: "git status" }
    expect(await attempt({ text: output, command: "git status" })).toMatchObject({ detection: { ...found, by: "command" }, compressed: shortOutput, techniquesUsed: ["dropped_noise"] })
    expect(await attempt({ text: output })).toMatchObject({ detection: { ...found, by: "output" }, compressed: shortOutput })
    expect(await attempt({ text: output, command: "cat a" })).toMatchObject({ detection: { filterId: null, label: null, by: null }, compressed: output, tokensSaved: 0 })
    expect(await attempt({ text: output, command: "git status", config: { disabledFilters: ["git-status"] } })).toMatchObject({ detection: found, compressed: output })
  })

  it("are read by what they saved, by mode, engine and combo", async () => {
    await put({ enabled: true, defaultMode: "standard" })
    interface Analytics { readonly requests: number; readonly totalOriginalTokens: number; readonly totalSavings: number; readonly [breakdown: string]: unknown }
    const read = (where = "/api/analytics/compression") => matrix.gateway.operator.call<Analytics>("GET", where)
    const model = await matrix.model(familyOf("chat-completions"), "chat-completions", "saved")
    const { id } = await matrix.gateway.operator.call<{ id: string }>("POST", "/api/combos", { name: "saving", models: [model.id] })
    const before = await read()
    const [tokens, fewer] = [Math.ceil(long.length / 4), Math.ceil(short.length / 4)]
    await send(chat("combo/saving", long))
    // A cached answer and a request without compression save nothing.
    await send(chat("combo/saving", long), { "x-gateway-compression": "off" })
    const after = await read()
    const saved = { requests: 1, originalTokens: tokens, compressedTokens: fewer, tokensSaved: tokens - fewer, savingsPct: Math.round((tokens - fewer) / tokens * 1_000) / 10 }
    expect([after.requests - before.requests, after.totalOriginalTokens - before.totalOriginalTokens, after.totalSavings - before.totalSavings]).toEqual([1, tokens, tokens - fewer])
    expect(after["comboBreakdown"]).toMatchObject({ [id]: saved })
    expect(Object.keys(after["modeBreakdown"] as object).includes("standard")).toBe(true)
    expect(Object.keys(after["engineBreakdown"] as object).includes("caveman")).toBe(true)
    for (const since of ["24h", "7d", "30d", "all"]) expect(await read(`/api/context/analytics?since=${since}`)).toEqual(after)
    expect((await raw("GET", "/api/context/analytics?since=1h")).status).toBe(400)
  })

  it("are told of each call: by how many tokens its prompt was shorter, in a body of any size, and none without compression", async () => {
    const of = async (reply: Http.Reply) => (await matrix.gateway.rows(reply.headers["x-gateway-request-id"] ?? "")).map(({ tokensCompressed }) => tokensCompressed)
    const model = await matrix.model(familyOf("messages"), "chat-completions", "rows")
    const saved = Math.ceil(long.length / 4) - Math.ceil(short.length / 4)
    expect(await of(await send(chat(model.id, long)))).toEqual([null])
    await put({ enabled: true, defaultMode: "standard" })
    expect(await of(await send(chat(model.id, long)))).toEqual([saved])
    const filler = { role: "assistant", content: "the answer of the house, and of no other one. ".repeat(2) }
    const reply = await send({ path: "/v1/chat/completions", body: { model: model.id, messages: [...Array.from({ length: 3_000 }, () => filler), { role: "user", content: long }] } })
    expect(await of(reply)).toEqual([saved])
    const [log] = await matrix.gateway.operator.call<ReadonlyArray<{ readonly tokens_compressed: number }>>("GET", `/api/usage/call-logs?requestId=${reply.headers["x-gateway-request-id"]}`)
    expect(log?.tokens_compressed).toBe(saved)
  })

  it("list their languages, rules and filters", async () => {
    const { packs } = await matrix.gateway.operator.call<{ packs: ReadonlyArray<{ language: string; ruleCount: number }> }>("GET", "/api/compression/language-packs")
    expect(packs.map(({ language }) => language)).toEqual(["en", "pt-BR", "es", "de", "fr", "ja"])
    const { rules } = await matrix.gateway.operator.call<{ rules: ReadonlyArray<{ language: string; name: string }> }>("GET", "/api/compression/rules")
    expect(await matrix.gateway.operator.call("GET", "/api/settings/compression/rules")).toEqual({ rules })
    for (const { language, ruleCount } of packs) expect([language, rules.filter((rule) => rule.language === language).length]).toEqual([language, ruleCount])
    const { filters } = await matrix.gateway.operator.call<{ filters: ReadonlyArray<{ id: string }> }>("GET", "/api/context/rtk/filters")
    expect([filters.length, filters.some(({ id }) => id === "pytest")]).toEqual([34, true])
  })
})
