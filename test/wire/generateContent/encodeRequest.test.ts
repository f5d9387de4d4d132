import { describe, expect, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Schema from "effect/Schema"
import type { Conversation, ContentPart, GenerationSettings, Tool, Turn } from "#schemas/wire/conversation.ts"
import { unsignedCall } from "#src/wire/generateContent/request/encodeRequest.ts"
import { none } from "#src/wire/neutral/settings.ts"
import { conversation, encoded, fixture, fixtures, json, model, refused, user } from "./support.ts"

/** What JSON.parse makes of a number of 64 bits. */
const large: unknown = JSON.parse("12345678901234567890")

const golden = (name: string): Conversation => conversation(json(fixture("requests", name)))
const text = (value: string, over: object = {}): ContentPart => ({ kind: "text", text: value, cache: null, annotations: [], signature: null, ...over })
const turn = (role: Turn["role"], parts: ReadonlyArray<ContentPart>, i = 0): Turn => ({ role, parts, name: null, path: `messages[${i}]` })
const call = (id: string, over: object = {}): ContentPart =>
  ({ kind: "toolCall", id, name: "f", arguments: '{"n":12345678901234567890}', custom: false, cache: null, signature: null, ...over })
const result = (id: string, content: ReadonlyArray<ContentPart> = [text("ok")], over: object = {}): ContentPart =>
  ({ kind: "toolResult", id, name: null, content, isError: false, cache: null, ...over }) as ContentPart
const image = (over: object = {}): ContentPart => ({
  kind: "image", source: { kind: "base64", mediaType: "image/png", data: "AAAA" }, detail: null, name: null, context: null, citations: null, cache: null,
  signature: null, ...over
}) as ContentPart
const reasoning = (over: object = {}): ContentPart => ({ kind: "reasoning", text: "hm", summary: false, signature: null, id: null, redacted: false, ...over })

/** A conversation of a chat client. */
const chat = (turns: ReadonlyArray<Turn>, over: Partial<Omit<Conversation, "settings">> & { readonly settings?: Partial<GenerationSettings> } = {}): Conversation =>
  ({ format: "chat-completions", turns, tools: [], toolChoice: null, extras: [], ...over, settings: { ...none, ...over.settings } })
const say = [turn("user", [text("x")])]
const fn = (name: string, over: object = {}) => ({ kind: "function", name, description: null, parameters: null, strict: null, cache: null, ...over }) as const

describe("what this format can say survives its own round trip", () => {
  it.each(fixtures("requests"))("%s", (_, bytes) => {
    const first = conversation(json(bytes))
    if (first.extras.some((extra) => extra.field.includes("["))) return
    // Budgets belong to the models before Gemini 3, levels to the later ones.
    const budget = first.settings.reasoning?.budget ?? null
    const again = conversation(encoded(first, { model: budget === null ? "gemini-3-flash-preview" : "gemini-2.5-flash" }).body)
    const essence = (one: Conversation) => ({
      ...one, settings: { ...one.settings, serviceTier: null },
      turns: one.turns.map(({ parts, role }) => ({
        role,
        parts: parts.map((part) => part.kind === "toolCall" || part.kind === "toolResult"
          ? { ...part, id: "", signature: null }
          : part.kind === "opaque" ? { ...part, field: "" } : part.kind === "document" ? { ...part, name: null } : part)
      }))
    })
    // Results come back in the order of their calls.
    const sorted = (one: Conversation): Conversation => ({
      ...one, turns: one.turns.map((each) => each.role !== "tool" ? each : { ...each, parts: each.parts.toSorted((a, b) => JSON.stringify(a).localeCompare(JSON.stringify(b))) })
    })
    expect(essence(sorted(again))).toEqual(essence(sorted(first)))
  })

  it.prop("texts of any kind, in any order of roles", {
    turns: Arbitrary.schema(Schema.NonEmptyArray(Schema.Struct({ mine: Schema.Boolean, texts: Schema.NonEmptyArray(Schema.NonEmptyString) })))
  }, ({ turns }) => {
    const given = turns.map(({ mine, texts }, i) => turn(mine ? "user" : "assistant", texts.map((one) => text(one)), i))
    const again = conversation(encoded(chat(given)).body)
    const said = (list: ReadonlyArray<Turn>) => list.map((one) => [one.role, one.parts.map((part) => part.kind === "text" ? part.text : part.kind)] as const)
      .reduce<ReadonlyArray<readonly [string, string]>>((all, [role, texts]) => {
        const last = all[all.length - 1]
        return last !== undefined && last[0] === role ? [...all.slice(0, -1), [role, last[1] + texts.join("")]] : [...all, [role, texts.join("")]]
      }, [])
    expect(said(again.turns)).toEqual(said(given))
  })
})

describe("contents", () => {
  it("gathers system and developer texts; alone they are what the user says", () => {
    const turns = [turn("system", [text("a", { cache: { ttl: null } })]), ...say, turn("developer", [text("b")])]
    const { body, omitted } = encoded(chat(turns))
    expect([body["systemInstruction"], body.contents, omitted]).toEqual([{ parts: [{ text: "a" }, { text: "b" }] }, [user({ text: "x" })], ["cache_control"]])
    expect(encoded(chat([turn("system", [text("only")])])).body).toEqual({ contents: [user({ text: "only" })] })
    expect(refused(chat([turn("user", [text("")])]))[0]).toBe("messages[0]")
  })

  it("writes calls with their arguments as the model spelt them, and results right behind", () => {
    const { body } = encoded(chat([...say, turn("assistant", [text("wait"), call("a"), call("b", { arguments: "" }), call("c", { arguments: "[1]" })]), turn("tool", [result("b"), result("a"), result("c")])]), { model: "other" })
    expect(JSON.stringify(body.contents[1])).toBe(JSON.stringify(model(
      { text: "wait" }, { functionCall: { id: "a", name: "f", args: { n: large } } }, { functionCall: { id: "b", name: "f", args: {} } },
      { functionCall: { id: "c", name: "f", args: { arguments: "[1]" } } }
    )))
    expect(body.contents[2]).toEqual(user(...["a", "b", "c"].map((id) => ({ functionResponse: { id, name: "f", response: { result: "ok" } } }))))
  })

  it("keeps the digits of large numbers", async () => {
    const { upstream } = await import("#src/wire/generateContent/index.ts")
    const written = upstream.encodeRequest(chat([...say, turn("assistant", [call("a")]), turn("tool", [result("a")])]), { model: "m", stream: false, maxOutputTokens: null, reasoning: null, streamOptions: true, previousResponseId: "auto" })
    expect((written as { body: string }).body).toContain('"args":{"n":12345678901234567890}')
  })

  it("leaves ids to Gemini 3 and later, and signs what those would refuse", () => {
    const turns = [...say, turn("assistant", [call("a"), call("b")]), turn("tool", [result("a"), result("b")])]
    const old = JSON.stringify(encoded(chat(turns), { model: "gemini-2.5-pro" }).body)
    expect([old.includes('"id"'), old.includes(unsignedCall)]).toEqual([false, false])
    const parts = encoded(chat(turns), { model: "gemini-3.1-pro-preview" }).body.contents[1]?.parts
    expect(parts).toMatchObject([{ functionCall: { id: "a" }, thoughtSignature: unsignedCall }, { functionCall: { id: "b" } }])
    expect(parts?.[1]).not.toHaveProperty("thoughtSignature")
  })

  it("gives signatures back to this family only, and never a thought of another", () => {
    const own = { family: "generateContent", value: "c2ln" } as const
    const foreign = { family: "messages", value: "claude" } as const
    const parts = (list: ReadonlyArray<ContentPart>) => encoded(chat([...say, turn("assistant", list), turn("tool", list.filter((part) => part.kind === "toolCall").map((part) => result((part as { id: string }).id)))])).body.contents[1]?.parts
    expect(parts([call("a", { signature: own })])).toMatchObject([{ thoughtSignature: "c2ln" }])
    expect(parts([reasoning({ signature: foreign }), call("a", { signature: foreign })])).toEqual([{ functionCall: { id: "a", name: "f", args: { n: large } }, thoughtSignature: unsignedCall }])
    expect(parts([reasoning(), text("t")])).toEqual([{ text: "t" }])
    // A format that signs thoughts gave it back on the thought; it belongs to the call behind.
    expect(parts([reasoning({ signature: own }), text("t"), call("a")])).toEqual([
      { text: "hm", thought: true }, { text: "t" }, { functionCall: { id: "a", name: "f", args: { n: large } }, thoughtSignature: "c2ln" }
    ])
    expect(parts([reasoning({ text: "", signature: own }), text("t")])).toEqual([{ text: "t", thoughtSignature: "c2ln" }])
    expect(parts([text("t"), reasoning({ text: "", signature: own })])).toEqual([{ text: "t" }, { text: "", thoughtSignature: "c2ln" }])
  })

  it("writes media inside results where the model knows them, else beside", () => {
    const turns = [...say, turn("assistant", [call("a")]), turn("tool", [result("a", [text("see"), image()], { isError: true })])]
    const medium = { inlineData: { mimeType: "image/png", data: "AAAA" } }
    expect(encoded(chat(turns)).body.contents[2]?.parts).toEqual([{ functionResponse: { id: "a", name: "f", response: { error: "see" }, parts: [medium] } }])
    expect(encoded(chat(turns), { model: "gemini-2.5-flash" }).body.contents[2]?.parts).toEqual([{ functionResponse: { name: "f", response: { error: "see" } } }, medium])
  })

  it("writes addresses with a media type, and refuses files of another store", () => {
    const at = (source: object) => chat([turn("user", [image({ source })])])
    expect(encoded(at({ kind: "url", url: "https://a.test/x.webp?y", mediaType: null })).body.contents[0]?.parts).toEqual([{ fileData: { mimeType: "image/webp", fileUri: "https://a.test/x.webp?y" } }])
    expect(encoded(at({ kind: "url", url: "https://a.test/x", mediaType: null })).body.contents[0]?.parts).toMatchObject([{ fileData: { mimeType: "image/jpeg" } }])
    expect(encoded(at({ kind: "text", text: "plain ü", mediaType: null })).body.contents[0]?.parts).toEqual([{ inlineData: { mimeType: "text/plain", data: "cGxhaW4gw7w=" } }])
    expect(refused(at({ kind: "file", family: "responses", id: "file-1", mediaType: null }))[0]).toBe("messages[0]")
  })

  it("lists what it leaves out of a part", () => {
    const parts = [image({ detail: "high", name: "a.png", cache: { ttl: "1h" }, citations: true, context: "about it" })]
    const { body, omitted } = encoded(chat([{ ...turn("user", parts), name: "ann" }]))
    expect(body.contents[0]?.parts).toMatchObject([{ text: "about it" }, { inlineData: {} }])
    expect(omitted).toEqual(["messages[0].name", "cache_control", "filename", "citations", "detail"])
  })

  it("refuses orphans and what only other vendors understand", () => {
    expect(refused(chat([...say, turn("tool", [result("nope")], 1)]))[0]).toBe("messages[1]")
    const opaque: ContentPart = { kind: "opaque", format: "messages", field: "messages[0].content[0]", value: {}, listed: "messages[].content[].x", fallback: null }
    expect(refused(chat([turn("user", [opaque])]))[0]).toBe("messages[0].content[0]")
  })
})

describe("tools", () => {
  it("declares functions with their JSON schema as it is", () => {
    const parameters = { type: "object", properties: { a: { oneOf: [{ type: "string" }, { const: 1 }] } }, $defs: {}, additionalProperties: false }
    const { body } = encoded(chat(say, { tools: [fn("f", { description: "d", parameters }), fn("g")], toolChoice: { kind: "tool", name: "g" } }))
    expect(body).toMatchObject({
      tools: [{ functionDeclarations: [{ name: "f", description: "d", parametersJsonSchema: parameters }, { name: "g" }] }],
      toolConfig: { functionCallingConfig: { mode: "ANY", allowedFunctionNames: ["g"] } }
    })
  })

  it.each([
    [{ kind: "auto" }, false, { mode: "AUTO" }],
    [{ kind: "auto" }, true, { mode: "VALIDATED" }],
    [null, true, { mode: "VALIDATED" }],
    [{ kind: "none" }, true, { mode: "NONE" }],
    [{ kind: "required" }, false, { mode: "ANY" }],
    [{ kind: "allowed", names: ["f"], required: true }, false, { mode: "ANY", allowedFunctionNames: ["f"] }],
    [{ kind: "allowed", names: ["f"], required: false }, false, { mode: "VALIDATED", allowedFunctionNames: ["f"] }]
  ] as const)("choice %j, strict %s", (toolChoice, strict, config) => {
    expect(encoded(chat(say, { tools: [fn("f", { strict })], toolChoice })).body["toolConfig"]).toEqual({ functionCallingConfig: config })
  })

  it("leaves foreign hosted tools out, wraps free text and rewrites names that are none", () => {
    const declared = (tool: Tool) => encoded(chat(say, { tools: [tool] })).body["tools"]
    expect(declared({ kind: "custom", name: "c", description: null, format: null })).toMatchObject([{ functionDeclarations: [{ name: "c", parametersJsonSchema: { required: ["input"] } }] }])
    expect(encoded(chat(say, { tools: [{ kind: "hosted", format: "messages", type: "web_search_20250305", value: {} }] }))).toMatchObject({ omitted: ["tools.web_search_20250305"] })
    expect(declared(fn("3d"))).toMatchObject([{ functionDeclarations: [{ name: "_3d" }] }])
    expect(encoded(golden("hosted-tools")).body["tools"]).toEqual([{ googleSearch: {} }, { codeExecution: {} }])
    expect(encoded(chat(say, { tools: [fn("f")], settings: { parallelToolCalls: false } })).omitted).toEqual(["parallel_tool_calls"])
  })
})

describe("settings", () => {
  const config = (settings: Partial<GenerationSettings>, name = "gemini-2.5-flash") => encoded(chat(say, { settings }), { model: name }).body["generationConfig"]
  const think = (over: object) => ({ reasoning: { enabled: null, effort: null, budget: null, summary: null, ...over } })

  it("writes what the format knows", () => {
    expect(config({ maxTokens: 5, temperature: 0.2, topP: 0.9, topK: 3, stop: ["a"], seed: 2 ** 40 + 5, choices: 3, presencePenalty: 2, frequencyPenalty: -2, logprobs: true, topLogprobs: 4 })).toEqual({
      maxOutputTokens: 5, temperature: 0.2, topP: 0.9, topK: 3, stopSequences: ["a"], seed: 5, candidateCount: 3, presencePenalty: 1.9999, frequencyPenalty: -2,
      responseLogprobs: true, logprobs: 4
    })
    expect(config({ output: { kind: "json" } })).toEqual({ responseMimeType: "application/json" })
    expect(config({ output: { kind: "schema", name: "n", description: "d", schema: { type: "object" }, strict: true } }))
      .toEqual({ responseMimeType: "application/json", responseJsonSchema: { type: "object", description: "d" } })
    expect(config({ modalities: ["image"] })).toEqual({ responseModalities: ["TEXT", "IMAGE"] })
    expect(config({ modalities: ["audio"] })).toEqual({ responseModalities: ["AUDIO"] })
    expect(config({ choices: 1 })).toBeUndefined()
  })

  it.each([
    [{ logitBias: { 5: 1 } }, "logit_bias"], [{ stop: ["a", "b", "c", "d", "e", "f"] }, "stop"], [{ choices: 9 }, "n"], [{ logprobs: true, topLogprobs: 21 }, "top_logprobs"]
  ] as const)("refuses %j", (settings, field) => {
    expect(refused(chat(say, { settings }))[0]).toBe(field)
  })

  it("refuses JSON with functions before Gemini 3", () => {
    const both = chat(say, { tools: [fn("f")], settings: { output: { kind: "json" } } })
    expect(refused(both, { model: "gemini-2.5-pro" })[0]).toBe("response_format")
    expect(encoded(both).body["generationConfig"]).toEqual({ responseMimeType: "application/json" })
  })

  it("lists settings without a word here, by the client's names", () => {
    const settings = { minP: 0.1, verbosity: "low", serviceTier: "flex", user: "u", safetyIdentifier: "s", promptCacheKey: "k", metadata: {}, store: true }
    expect(encoded(chat(say, { settings })).omitted).toEqual(["min_p", "verbosity", "service_tier", "user", "safety_identifier", "prompt_cache_key", "metadata", "store"])
    expect(encoded(chat(say, { settings: { store: false, parallelToolCalls: true } })).omitted).toEqual([])
    expect(encoded(chat(say, { extras: [{ field: "web_thing", weight: "hint", value: 1 }] })).omitted).toEqual(["web_thing"])
    expect(refused(chat(say, { extras: [{ field: "audio", weight: "essential", value: {} }] }))[0]).toBe("audio")
    expect(encoded(golden("cached-content")).body["cachedContent"]).toBe("cachedContents/xyz")
    expect(encoded(golden("safety-and-labels")).body).toMatchObject({ labels: { team: "blue" }, generationConfig: { mediaResolution: "MEDIA_RESOLUTION_LOW" } })
  })

  it.each([
    ["gemini-2.5-flash", { effort: "low" }, { thinkingBudget: 1024, includeThoughts: true }],
    ["gemini-2.5-flash", { effort: "medium", summary: "omitted" }, { thinkingBudget: 8192, includeThoughts: false }],
    ["gemini-2.5-flash", { effort: "high" }, { thinkingBudget: 24_576, includeThoughts: true }],
    ["gemini-2.5-pro", { effort: "max" }, { thinkingBudget: 32_768, includeThoughts: true }],
    ["gemini-2.5-pro", { enabled: false }, { thinkingBudget: 128, includeThoughts: false }],
    ["gemini-2.5-flash", { effort: "none" }, { thinkingBudget: 0, includeThoughts: false }],
    ["gemini-2.5-flash", { budget: -1 }, { thinkingBudget: -1, includeThoughts: true }],
    ["gemini-2.5-flash", { budget: -1, effort: "low" }, { thinkingBudget: 1024, includeThoughts: true }],
    ["gemini-2.5-flash-lite", { budget: 100 }, { thinkingBudget: 512, includeThoughts: true }],
    ["gemini-2.5-flash", { enabled: true }, { includeThoughts: true }],
    ["gemini-3-flash-preview", { effort: "minimal" }, { thinkingLevel: "MINIMAL", includeThoughts: true }],
    ["gemini-3.1-pro-preview", { effort: "minimal" }, { thinkingLevel: "LOW", includeThoughts: true }],
    ["gemini-3.8-flash", { effort: "none" }, { thinkingLevel: "LOW", includeThoughts: false }],
    ["gemini-3-flash-preview", { effort: "medium" }, { thinkingLevel: "MEDIUM", includeThoughts: true }],
    ["gemini-3-flash-preview", { effort: "xhigh" }, { thinkingLevel: "HIGH", includeThoughts: true }],
    ["gemini-3-flash-preview", { budget: 20_000 }, { thinkingLevel: "HIGH", includeThoughts: true }],
    ["gemini-3-flash-preview", { budget: -1 }, { includeThoughts: true }],
    ["models/gemini-4-argon", { effort: "low" }, { thinkingLevel: "LOW", includeThoughts: true }]
  ])("%s thinks as %j", (name, reasoning, written) => {
    expect(config(think(reasoning), name)).toEqual({ thinkingConfig: written })
  })

  it("says when a model cannot stop thinking, or cannot think", () => {
    expect(encoded(chat(say, { settings: think({ enabled: false }) }), { model: "gemini-2.5-pro" }).omitted).toEqual(["reasoning_effort"])
    const without = encoded(chat(say, { settings: think({ effort: "high" }) }), { model: "gemma", reasoning: false })
    expect([without.omitted, without.body["generationConfig"]]).toEqual([["reasoning_effort"], undefined])
  })
})
