import { describe, expect, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { PublicError } from "#schemas/errors.ts"
import type { Conversation, MediaPart, ContentPart, GenerationSettings, TextPart, Turn } from "#schemas/wire/conversation.ts"
import { client, upstream } from "#src/wire/localModelServer/index.ts"
import { localModelServer } from "#src/simulator/formats/localModelServer/localModelServer.ts"
import { none } from "#src/wire/neutral/settings.ts"
import { conversation, encoded, fixtures, json, readRequest, traits } from "#test/wire/localModelServer/support.ts"

const text = (value: string): TextPart => ({ kind: "text", text: value, cache: null, annotations: [], signature: null })
const turn = (role: Turn["role"], parts: ReadonlyArray<ContentPart>, path = "messages[0]"): Turn => ({ role, parts, name: null, path })
const chat = (over: Partial<Conversation>): Conversation => ({
  format: "chat-completions", turns: [turn("user", [text("hi")])], tools: [], toolChoice: null, settings: none, extras: [], ...over
})
const settings = (over: Partial<GenerationSettings>): GenerationSettings => ({ ...none, ...over })
const refused = (from: Conversation): string => {
  const written = upstream.encodeRequest(from, traits)
  return written instanceof PublicError ? `${written.code} ${String(written.extra?.["param"])}` : `sent ${written.body}`
}
const fn = (name: string, over = {}) => ({ kind: "function" as const, name, description: null, parameters: null, strict: null, cache: null, ...over })

describe("requests of a local model server", () => {
  for (const [name, bytes] of fixtures("requests")) {
    it(`${name}: read, written and read again, it means the same`, () => {
      const read = conversation(json(bytes))
      const { body, omitted } = encoded(read)
      expect(omitted).toEqual([])
      expect(Result.isSuccess(localModelServer.read(body, { headers: {}, path: "/api/chat", query: "" }))).toBe(true)
      const again = conversation(body)
      const paths = (one: Conversation) => ({ ...one, turns: one.turns.flatMap((each) => each.parts.map((part) => [each.role, part])) })
      const sorted = (one: ReturnType<typeof paths>) => one.turns.filter(([, part]) => (part as ContentPart).kind !== "toolResult")
      const results = (one: ReturnType<typeof paths>) => new Set(one.turns.filter(([, part]) => (part as ContentPart).kind === "toolResult").map((each) => JSON.stringify(each)))
      expect(sorted(paths(again))).toEqual(sorted(paths(read)))
      expect(results(paths(again))).toEqual(results(paths(read)))
      expect({ ...again, turns: [], tools: [] }).toEqual({ ...read, turns: [], tools: [] })
      expect(again.tools.map((tool) => tool.kind === "function" && [tool.name, tool.description])).toEqual(read.tools.map((tool) => tool.kind === "function" && [tool.name, tool.description]))
    })
  }

  for (const [name, bytes] of fixtures("bad")) {
    it(`${name} is refused with the path of the mistake`, () => {
      const { param, request } = json(bytes) as { request: Record<string, unknown>; param: string }
      const read = readRequest(request)
      expect(read).toBeInstanceOf(PublicError)
      expect((read as PublicError).extra).toEqual({ param })
      expect((read as PublicError).status).toBe(400)
    })
  }

  it("streams unless it is told not to", () => {
    const head = (stream: unknown) => client.head({ model: "m", messages: [{ role: "user" }], stream })
    expect([head(undefined), head(null), head(true), head(false)]).toMatchObject([{ stream: true }, { stream: true }, { stream: true }, { stream: false }])
    expect(client.head({ model: "", messages: [{ role: "user" }] })).toMatchObject({ extra: { param: "model" } })
    expect(client.head({ model: "m" })).toMatchObject({ message: "Field 'messages' must be a non-empty array." })
    expect(client.head({ model: "m", messages: [7] })).toMatchObject({ extra: { param: "messages[0]" } })
  })

  it("reads settings into the neutral ones and the rest into hints", () => {
    const read = conversation({
      model: "m", messages: [{ role: "user", content: "x" }], think: "low", format: "json", keep_alive: 0, logprobs: true, top_logprobs: 2,
      options: { num_predict: 5, stop: "END", seed: -1, top_k: 3, num_ctx: 4096, min_p: 0.1 }
    })
    expect(read.settings).toEqual(settings({
      maxTokens: 5, stop: ["END"], topK: 3, minP: 0.1, output: { kind: "json" }, logprobs: true, topLogprobs: 2,
      reasoning: { enabled: true, effort: "low", budget: null, summary: null }
    }))
    expect(read.extras).toEqual([{ field: "keep_alive", weight: "hint", value: 0 }, { field: "options.num_ctx", weight: "hint", value: 4096 }])
  })

  it("pairs results without ids by name, then by order, and gives calls ids of their own", () => {
    const read = conversation({
      model: "m",
      messages: [
        { role: "assistant", tool_calls: [{ function: { name: "a", arguments: { n: 1 } } }, { function: { name: "b" } }, { function: { name: "a" } }] },
        { role: "tool", tool_name: "b", content: "B" }, { role: "tool", content: "A1" }, { role: "tool", name: "a", content: "A2" }
      ]
    })
    const parts = read.turns.flatMap((one) => one.parts)
    expect(parts.flatMap((part) => part.kind === "toolCall" ? [[part.id, part.name, part.arguments]] : [])).toEqual([["call_0_0", "a", '{"n":1}'], ["call_0_1", "b", "{}"], ["call_0_2", "a", "{}"]])
    expect(parts.flatMap((part) => part.kind === "toolResult" ? [[part.id, part.name, part.content.map((one) => one.kind === "text" && one.text)]] : []))
      .toEqual([["call_0_1", "b", ["B"]], ["call_0_0", "a", ["A1"]], ["call_0_2", "a", ["A2"]]])
  })

  it("knows an image's type by its first bytes and takes a data URI's word", () => {
    const types = (images: ReadonlyArray<string>) => conversation({ model: "m", messages: [{ role: "user", images }] }).turns[0]?.parts.map((part) => part.kind === "image" && part.source)
    expect(types(["/9j/4AAQ", "R0lGODlh", "UklGRgAA", "data:image/webp;base64,AAAA", "iVBORw0K\nGgoAAAAN"])).toEqual([
      { kind: "base64", mediaType: "image/jpeg", data: "/9j/4AAQ", checked: true }, { kind: "base64", mediaType: "image/gif", data: "R0lGODlh", checked: true },
      { kind: "base64", mediaType: "image/webp", data: "UklGRgAA", checked: true }, { kind: "base64", mediaType: "image/webp", data: "AAAA", checked: true },
      { kind: "base64", mediaType: "image/png", data: "iVBORw0KGgoAAAAN", checked: true }
    ])
  })
})

describe("a conversation for a local model server", () => {
  it("keeps what both can say", () => {
    const image: MediaPart = { kind: "image", source: { kind: "base64", mediaType: "image/png", data: "AAAA" }, detail: "auto", name: null, context: null, citations: null, cache: null, signature: null }
    const call = (id: string, args: string): ContentPart => ({ kind: "toolCall", id, name: "f", arguments: args, custom: false, cache: null, signature: { family: "generateContent", value: "s" } })
    const { body, omitted } = encoded(chat({
      turns: [
        turn("system", [text("Be"), text("brief.")]), turn("developer", [text("And kind.")]), turn("user", [text("see"), image, text("this")]),
        turn("assistant", [
          { kind: "reasoning", text: "hm", summary: false, signature: { family: "messages", value: "sig" }, id: null, redacted: false },
          { kind: "reasoning", text: "", summary: false, signature: { family: "messages", value: "hidden" }, id: null, redacted: true },
          text("I call."), { kind: "refusal", text: "No." }, call("c1", ""), call("c2", '{"n":1.0}'), call("c3", "[broken")
        ]),
        turn("tool", [
          { kind: "toolResult", id: "c2", name: null, content: [text("two"), image], isError: true, cache: { ttl: null } },
          { kind: "toolResult", id: "c1", name: null, content: [], isError: false, cache: null }
        ])
      ],
      tools: [fn("f", { strict: true, cache: { ttl: "1h" }, parameters: { type: "object" } }), fn("g")],
      settings: settings({
        maxTokens: 9, temperature: 0, topP: 1, topK: 2, minP: 0.1, stop: ["a"], seed: 0, frequencyPenalty: 1, presencePenalty: 2, logprobs: true, topLogprobs: 4,
        output: { kind: "schema", name: "n", description: null, schema: { type: "object" }, strict: true }, user: "u", serviceTier: "flex", store: false, parallelToolCalls: true
      }),
      extras: [{ field: "prediction", weight: "hint", value: 1 }]
    }), { stream: false })
    expect(body).toEqual({
      model: "llama3.2",
      messages: [
        { role: "system", content: "Be\nbrief." }, { role: "system", content: "And kind." }, { role: "user", content: "see\nthis", images: ["AAAA"] },
        {
          role: "assistant", content: "I call.\nNo.", thinking: "hm",
          tool_calls: [
            { id: "c1", function: { name: "f", arguments: {} } }, { id: "c2", function: { name: "f", arguments: { n: 1 } } },
            { id: "c3", function: { name: "f", arguments: { arguments: "[broken" } } }
          ]
        },
        { role: "tool", content: "", tool_name: "f", tool_call_id: "c1" }, { role: "tool", content: "two", images: ["AAAA"], tool_name: "f", tool_call_id: "c2" },
        { role: "tool", content: "[No response was given for this tool call.]", tool_name: "f", tool_call_id: "c3" }
      ],
      tools: [
        { type: "function", function: { name: "f", parameters: { type: "object", properties: {} } } },
        { type: "function", function: { name: "g", parameters: { type: "object", properties: {} } } }
      ],
      format: { type: "object" }, logprobs: true, top_logprobs: 4,
      options: { num_predict: 9, temperature: 0, top_p: 1, top_k: 2, min_p: 0.1, stop: ["a"], seed: 0, frequency_penalty: 1, presence_penalty: 2 },
      stream: false
    })
    expect(omitted).toEqual(["messages[0] (tool result added)", "cache_control", "is_error", "strict", "prediction", "service_tier", "user"])
  })

  it("keeps the spelling of numbers in arguments", () => {
    const call: ContentPart = { kind: "toolCall", id: "c", name: "f", arguments: '{\n "n": 12345678901234567890}', custom: false, cache: null, signature: null }
    const written = (args: string) => upstream.encodeRequest(chat({ turns: [turn("assistant", [{ ...call, arguments: args }])] }), traits)
    expect((written('{"n":12345678901234567890}') as { body: string }).body).toContain('"arguments":{"n":12345678901234567890}')
  })

  it("refuses what would change the answer, in the client's words", () => {
    const media = (kind: "image" | "audio" | "document", source: object): Conversation => chat({ turns: [turn("user", [{ kind, source, detail: null, name: null, context: null, citations: null, cache: null, signature: null } as ContentPart])] })
    expect([
      refused(media("image", { kind: "url", url: "https://example.com/a.png", mediaType: null })),
      refused(media("image", { kind: "file", family: "messages", id: "f", mediaType: null })),
      refused(media("audio", { kind: "base64", mediaType: "audio/wav", data: "AAAA" })),
      refused(media("document", { kind: "text", text: "x", mediaType: null })),
      refused(chat({ settings: settings({ choices: 2 }) })),
      refused(chat({ settings: settings({ logitBias: { 1: 2 } }) })),
      refused(chat({ settings: settings({ modalities: ["audio"] }) })),
      refused(chat({ tools: [fn("f")], toolChoice: { kind: "required" } })),
      refused(chat({ tools: [fn("f")], toolChoice: { kind: "tool", name: "f" } })),
      refused({ ...chat({ tools: [fn("f")], toolChoice: { kind: "allowed", names: ["f"], required: true } }), format: "generateContent" }),
      refused(chat({ tools: [{ kind: "hosted", format: "messages", type: "web_search", value: {} }], toolChoice: { kind: "required" } })),
      refused(chat({ extras: [{ field: "audio", weight: "essential", value: {} }] })),
      refused(chat({ turns: [turn("user", [{ kind: "opaque", format: "messages", field: "search_result", value: {}, listed: "messages[].content[].x", fallback: null }])] })),
      refused({ ...chat({ settings: settings({ choices: 2 }) }), format: "generateContent" }),
      refused(chat({ turns: [turn("tool", [{ kind: "toolResult", id: "x", name: null, content: [], isError: false, cache: null }], "messages[3]")] }))
    ]).toEqual([
      "capability_unsupported messages[0]", "capability_unsupported messages[0]", "capability_unsupported messages[0]", "capability_unsupported messages[0]",
      "capability_unsupported n", "capability_unsupported logit_bias", "capability_unsupported modalities", "capability_unsupported tool_choice",
      "capability_unsupported tool_choice", "capability_unsupported toolConfig.functionCallingConfig", "capability_unsupported tool_choice",
      "capability_unsupported audio", "capability_unsupported search_result",
      "capability_unsupported generationConfig.candidateCount", "bad_request messages[3]"
    ])
  })

  it("says tool_choice none by sending no tools, and allowed tools by sending only those", () => {
    expect(encoded(chat({ tools: [fn("f")], toolChoice: { kind: "none" } })).body).not.toHaveProperty("tools")
    expect(encoded(chat({ tools: [fn("f"), fn("g")], toolChoice: { kind: "allowed", names: ["g"], required: false } })).body["tools"]).toMatchObject([{ function: { name: "g" } }])
    expect(encoded(chat({ tools: [fn("f")], toolChoice: { kind: "auto" } })).body["tools"]).toMatchObject([{ function: { name: "f" } }])
  })

  it.each([
    [{ enabled: true }, true], [{ enabled: false }, false], [{ effort: "none" }, false], [{ budget: 0 }, false], [{ effort: "minimal" }, "low"], [{ effort: "medium" }, "medium"],
    [{ effort: "xhigh" }, "high"], [{ effort: "max" }, "high"], [{ budget: 1000 }, "low"], [{ enabled: true, budget: -1 }, true], [{ enabled: true, budget: 30_000 }, "high"], [{ summary: "auto" }, undefined]
  ] as const)("thinking %j becomes %j", (said, think) => {
    const reasoning = { enabled: null, effort: null, budget: null, summary: null, ...said }
    expect(encoded(chat({ settings: settings({ reasoning }) })).body["think"]).toBe(think)
    const without = encoded(chat({ settings: settings({ reasoning }) }), { reasoning: false })
    expect(without.body["think"]).toBeUndefined()
    expect(without.omitted).toEqual(think === false || think === undefined ? [] : ["reasoning_effort"])
  })

  it("edits a forwarded body only where it must", () => {
    expect(upstream.passThroughEdits({ model: "llama3.2" }, traits)).toEqual([])
    expect(upstream.passThroughEdits({ model: "local/llama3.2", stream: false }, { ...traits, stream: false })).toEqual([{ key: "model", value: '"llama3.2"' }])
    expect(upstream.passThroughEdits({ model: "llama3.2" }, { ...traits, stream: false })).toEqual([{ key: "stream", value: "false" }])
  })
})

describe("any request", () => {
  const anything = Schema.Record(Schema.String, Schema.Json)
  it.prop("is read or refused, never an exception", { body: Arbitrary.schema(anything) }, ({ body }) => {
    for (const candidate of [body, { ...body, model: "m", messages: [body] }, { model: "m", messages: [{ role: "user", ...body }], ...body }]) {
      const read = readRequest(candidate)
      if (!(read instanceof PublicError)) upstream.encodeRequest(read, traits)
    }
  })

  const originals = fixtures("requests").map(([, bytes]) => json(bytes))
  const mutation = Schema.Struct({ which: Schema.Int, at: Schema.Int, value: Schema.Json })
  it.prop("mutated anywhere is read or refused, never an exception", { change: Arbitrary.schema(mutation) }, ({ change }) => {
    const body = structuredClone(originals[Math.abs(change.which) % originals.length]) as Record<string, unknown>
    const places: Array<readonly [Record<string, unknown>, string]> = []
    const walk = (value: unknown): void => {
      if (typeof value !== "object" || value === null) return
      for (const key of Object.keys(value)) {
        places.push([value as Record<string, unknown>, key])
        walk((value as Record<string, unknown>)[key])
      }
    }
    walk(body)
    const [holder, key] = places[Math.abs(change.at) % places.length] as readonly [Record<string, unknown>, string]
    holder[key] = change.value
    const read = readRequest(body)
    if (!(read instanceof PublicError)) upstream.encodeRequest(read, traits)
  })

  const message = Schema.Struct({ role: Schema.Literals(["system", "user"]), content: Schema.NonEmptyString })
  const whole = Schema.Struct({
    messages: Schema.NonEmptyArray(message),
    options: Schema.Struct({ num_predict: Schema.Int.check(Schema.isGreaterThan(0)), temperature: Schema.Finite, stop: Schema.NonEmptyArray(Schema.NonEmptyString) }),
    think: Schema.Union([Schema.Boolean, Schema.Literals(["low", "medium", "high"])])
  })
  it.prop("of plain turns survives being written and read", { body: Arbitrary.schema(whole) }, ({ body }) => {
    // As JSON would bring it: without a negative zero.
    const read = conversation(JSON.parse(JSON.stringify({ model: "m", ...body })) as Record<string, unknown>)
    expect(conversation(encoded(read).body)).toEqual(read)
  })
})
