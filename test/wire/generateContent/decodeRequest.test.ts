import { describe, expect, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Schema from "effect/Schema"
import { PublicError } from "#schemas/errors.ts"
import type { Conversation } from "#schemas/wire/conversation.ts"
import { client, upstream } from "#src/wire/generateContent/index.ts"
import { seal } from "#src/wire/signatures.ts"
import { conversation, fixture, fixtures, json, model, traits, user } from "./support.ts"

const golden = (name: string): Conversation => conversation(json(fixture("requests", name)))
const parts = (name: string, turn: number) => golden(name).turns[turn]?.parts ?? []

describe("head", () => {
  it("reads model and stream flag that the HTTP layer put there", () => {
    expect(client.head({ model: "google/gemini-3-flash", stream: true, contents: [user({ text: "x" })] }))
      .toEqual({ model: "google/gemini-3-flash", stream: true, wantsUsage: true })
    expect(client.head({ model: "m", contents: [{}] })).toMatchObject({ stream: false })
  })

  it.each([
    [{ contents: [user({ text: "x" })] }, "model", "Field 'model' must be a non-empty string."],
    [{ model: "", contents: [user({ text: "x" })] }, "model", "Field 'model' must be a non-empty string."],
    [{ model: "m" }, "contents", "Field 'contents' must be a non-empty array."],
    [{ model: "m", contents: [] }, "contents", "Field 'contents' must be a non-empty array."]
  ])("refuses %j", (body, param, message) => {
    const refused = client.head(body)
    expect(refused).toBeInstanceOf(PublicError)
    expect(refused).toMatchObject({ status: 400, message, extra: { param } })
  })
})

describe("contents", () => {
  it("reads system, turns and texts", () => {
    expect(golden("text-system-multi-turn").turns.map((turn) => [turn.role, turn.path, turn.parts.map((part) => part.kind === "text" ? part.text : part.kind)])).toEqual([
      ["system", "systemInstruction", ["You are terse.", "Answer in English."]],
      ["user", "contents[0]", ["Hello"]],
      ["assistant", "contents[1]", ["Hi. How can I help?"]],
      ["user", "contents[2]", ["Grüße aus 東京 👩‍🚀", "What is 2 + 2?"]]
    ])
  })

  it("takes both spellings, nulls and a bare system text", () => {
    const snake = golden("snake-case")
    expect(snake.turns[1]?.parts[1]).toMatchObject({ kind: "image", source: { kind: "base64", mediaType: "image/png" } })
    expect(snake.tools).toMatchObject([{ kind: "function", name: "search_docs", parameters: { properties: { search_query: { type: "string" } } } }])
    expect(snake.toolChoice).toEqual({ kind: "tool", name: "search_docs" })
    expect(snake.settings).toMatchObject({ maxTokens: 64, topP: 0.9, topK: 40, stop: ["END"], reasoning: { enabled: true, effort: null, budget: 1024, summary: "auto" } })
    const loose = golden("nulls-and-string-instruction")
    expect(loose.turns.map((turn) => turn.role)).toEqual(["system", "user"])
    expect([loose.tools, loose.settings.temperature, loose.settings.maxTokens]).toEqual([[], null, 5])
  })

  it("tells files of the vendor from addresses, and media by their types", () => {
    expect(parts("images", 0)[2]).toMatchObject({ kind: "image", source: { kind: "url", url: "https://images.test/cat.jpg", mediaType: "image/jpeg" } })
    expect(parts("files-of-the-vendor", 0).slice(1)).toMatchObject([
      { kind: "document", source: { kind: "file", family: "generateContent", id: "https://generativelanguage.googleapis.com/v1beta/files/abc-123" } },
      { kind: "video", source: { kind: "file", id: "gs://bucket/clip.mp4", mediaType: "video/mp4" } }
    ])
    expect(parts("audio-and-document", 0)).toMatchObject([{ kind: "audio" }, { kind: "document", name: "report.pdf" }, { kind: "text" }])
    const url = conversation({ contents: [user({ fileData: { fileUri: "https://www.youtube.com/watch?v=x" } }, { fileData: { fileUri: "https://a.test/b.PNG?c" } })] })
    expect(url.turns[0]?.parts).toMatchObject([{ kind: "video" }, { kind: "image" }])
  })

  it("gives base64 in the alphabet that every vendor takes", () => {
    const read = conversation({ contents: [user({ inlineData: { mimeType: "image/png", data: "-_8\n-_8=" } })] })
    expect(read.turns[0]?.parts[0]).toMatchObject({ source: { data: "+/8+/8=" } })
  })

  it("joins calls and results by id, by name and order where there are none", () => {
    const withIds = golden("tools-parallel-with-ids")
    expect(withIds.turns.map((turn) => turn.role)).toEqual(["user", "assistant", "tool"])
    expect(withIds.turns[1]?.parts.slice(1)).toMatchObject([
      { id: "fc_1", arguments: '{"city":"Zürich","unit":"celsius"}' }, { id: "fc_2", arguments: '{"city":"東京 🗼"}' }, { id: "fc_3", arguments: "{}" }
    ])
    expect(withIds.turns[2]?.parts).toMatchObject([
      { id: "fc_2", content: [{ text: "雨 ☔" }] }, { id: "fc_1", content: [{ text: "sunny" }] }, { id: "fc_3", content: [{ text: '{"hour":9,"minute":30}' }] }
    ])
    const without = golden("tools-without-ids")
    expect(without.turns[1]?.parts).toMatchObject([{ id: "call_1_0" }, { id: "call_1_1" }])
    expect(without.turns[2]?.parts).toMatchObject([{ id: "call_1_0", name: "get_weather", content: [{ text: "hot" }] }, { id: "call_1_1", content: [{ text: "cold" }] }])
    expect(without.turns[6]?.parts).toMatchObject([{ id: "call_5_0", content: [{ text: "09:30" }] }])
  })

  it("reads errors and pictures in results, and splits what the user says beside them", () => {
    const { turns } = golden("tool-result-error-and-image")
    expect(turns.map((turn) => [turn.role, turn.path])).toEqual([["user", "contents[0]"], ["assistant", "contents[1]"], ["tool", "contents[2]"], ["user", "contents[2]"]])
    expect(turns[2]?.parts).toMatchObject([
      { isError: false, content: [{ kind: "text", text: "done" }, { kind: "image" }] }, { isError: true, content: [{ text: "it broke" }] }
    ])
    expect(turns[1]?.parts[1]).toMatchObject({ arguments: '{"deep":{"list":[1,2.5,null,true,{"k":"ü"}]}}' })
  })

  it("keeps thoughts and signatures on their parts", () => {
    const { settings, turns } = golden("thinking-with-signatures")
    expect(turns[1]?.parts).toMatchObject([
      { kind: "reasoning", text: "**Looking up** the weather.", signature: null, summary: true },
      { kind: "toolCall", signature: { family: "generateContent", value: "CiQBcsjafF5kXc6sYzHtlJ0zFgEGq1Yw0S1cSCKkbEv0wZ8KRQFyyNp8" } }
    ])
    expect(turns[3]?.parts[0]).toMatchObject({ kind: "text", signature: { family: "generateContent" } })
    expect(settings.reasoning).toEqual({ enabled: true, effort: "high", budget: null, summary: "auto" })
  })

  it("opens a signature of another family", () => {
    const foreign = seal({ family: "messages", value: "claude" }, "generateContent")
    const read = conversation({ contents: [user({ text: "x" }), model({ text: "t", thought: true }, { text: "", thought: true, thoughtSignature: foreign }, { text: "", thought: true, thoughtSignature: foreign })] })
    expect(read.turns[1]?.parts).toMatchObject([
      { kind: "reasoning", text: "t", redacted: false, signature: { family: "messages", value: "claude" } },
      { kind: "reasoning", text: "", redacted: true, signature: { family: "messages", value: "claude" } }
    ])
  })

  it("puts the pieces of a streamed answer together again", () => {
    expect(golden("history-in-stream-pieces").turns.map((turn) => [turn.role, turn.parts.map((part) => part.kind === "text" || part.kind === "reasoning" ? [part.kind, part.text, part.signature !== null] : null)])).toEqual([
      ["user", [["text", "Hello", false]]],
      ["assistant", [["reasoning", "thinking", false], ["text", "Hello!", true]]],
      ["user", [["text", "Go on.", false]]]
    ])
  })

  it("keeps parts that only this vendor knows", () => {
    expect(parts("code-execution-history", 1)).toMatchObject([
      { kind: "opaque", format: "generateContent", field: "contents[1].parts[0].executableCode", value: { executableCode: { language: "PYTHON" } } },
      { kind: "opaque", field: "contents[1].parts[1].codeExecutionResult" },
      { kind: "text", text: "55" }
    ])
  })
})

describe("tools and settings", () => {
  it.each([
    ["forced-tool", { kind: "tool", name: "get_weather" }],
    ["required-tool-of-some", { kind: "allowed", names: ["get_weather", "get_time"], required: true }],
    ["tools-off", { kind: "none" }],
    ["tools-parallel-with-ids", { kind: "auto" }],
    ["tools-without-ids", null]
  ])("%s", (name, choice) => {
    expect(golden(name).toolChoice).toEqual(choice)
  })

  it("turns the OpenAPI subset into JSON schema", () => {
    expect(golden("forced-tool").tools[0]).toEqual({
      kind: "function", name: "get_weather", description: "Weather of a city.", strict: null, cache: null,
      parameters: {
        type: "object", required: ["city"],
        properties: { city: { type: "string", description: "City name" }, unit: { type: ["string", "null"], enum: ["celsius", "fahrenheit", null] } }
      }
    })
    const { output } = golden("structured-output-openapi").settings
    expect(output).toMatchObject({ kind: "schema", schema: { properties: { population: { type: ["integer", "null"] }, tags: { minItems: 1, items: { type: "string" } } } } })
    expect(JSON.stringify(output)).toMatch(/"population".*"name".*"tags"/)
  })

  it("reads VALIDATED as strict", () => {
    const read = golden("strict-tools")
    expect(read.toolChoice).toEqual({ kind: "auto" })
    expect(read.tools).toMatchObject([{ strict: true, parameters: { additionalProperties: false } }])
  })

  it("reads output formats, sampling, candidates and log probabilities", () => {
    expect(golden("json-mode").settings.output).toEqual({ kind: "json" })
    expect(golden("structured-output").settings.output).toMatchObject({ kind: "schema", schema: { required: ["cities"] } })
    expect(golden("sampling").settings).toMatchObject({
      maxTokens: 200, temperature: 0, topP: 0.95, topK: 20, seed: 7, stop: ["\n\n", "THE END"], presencePenalty: 0.5, frequencyPenalty: -0.25
    })
    expect(golden("logprobs").settings).toMatchObject({ logprobs: true, topLogprobs: 3 })
    expect(golden("two-candidates").settings.choices).toBe(2)
  })

  it.each([
    ["thinking-off", { enabled: false, effort: null, budget: 0, summary: "omitted" }],
    ["thinking-dynamic", { enabled: true, effort: null, budget: -1, summary: "auto" }]
  ])("%s", (name, reasoning) => {
    expect(golden(name).settings.reasoning).toEqual(reasoning)
  })

  it("weighs the fields that only this format has", () => {
    expect(golden("cached-content").extras).toEqual([{ field: "cachedContent", weight: "essential", value: "cachedContents/xyz" }])
    expect(golden("safety-and-labels").extras.map((extra) => [extra.field, extra.weight])).toEqual([
      ["safetySettings", "hint"], ["labels", "hint"], ["generationConfig.mediaResolution", "hint"]
    ])
    expect(golden("safety-and-labels").settings.serviceTier).toBe("flex")
    const unknown = conversation({ model: "m", stream: true, contents: [user({ text: "x", videoMetadata: { fps: 1 } })], newField: 1, generationConfig: { speechConfig: {}, newer: 2 } })
    expect(unknown.extras.map((extra) => [extra.field, extra.weight])).toEqual([
      ["contents[0].parts[0].videoMetadata", "essential"], ["newField", "hint"], ["generationConfig.speechConfig", "essential"], ["generationConfig.newer", "hint"]
    ])
    expect(golden("hosted-tools").tools).toEqual([
      { kind: "hosted", format: "generateContent", type: "googleSearch", value: { googleSearch: {} } },
      { kind: "hosted", format: "generateContent", type: "codeExecution", value: { codeExecution: {} } }
    ])
  })
})

describe("malformed requests", () => {
  it("of a megabyte that a pattern could stumble over are read in a moment", () => {
    const began = performance.now()
    for (const data of [`${" ".repeat(1e6)}%`, `${"= ".repeat(5e5)}%`]) {
      expect(client.decodeRequest({ contents: [user({ inlineData: { mimeType: "image/png", data } })] })).toMatchObject({ extra: { param: "contents[0].parts[0].inlineData.data" } })
    }
    const name = "_".repeat(1e6)
    expect(conversation({ contents: [user({ text: "x" })], [name]: 1 }).extras).toMatchObject([{ field: name }])
    // The square of their length would be minutes.
    expect(performance.now() - began).toBeLessThan(10_000)
  })

  it.each(fixtures("bad"))("%s", (_, bytes) => {
    const { param, request } = json(bytes)
    const refused = client.decodeRequest(request as Record<string, unknown>)
    expect(refused).toBeInstanceOf(PublicError)
    expect(refused).toMatchObject({ status: 400, extra: { param } })
    expect((refused as PublicError).message).toContain(String(param))
  })
})

/** Replaces the value at a random place of a document. */
const mutated = (value: unknown, path: ReadonlyArray<number>, by: unknown): unknown => {
  const [first, ...rest] = path
  if (first === undefined || typeof value !== "object" || value === null) return by
  const keys = Object.keys(value)
  const key = keys[first % Math.max(1, keys.length)]
  if (key === undefined) return by
  const inner = mutated((value as Record<string, unknown>)[key], rest, by)
  return Array.isArray(value) ? value.map((one: unknown, i) => String(i) === key ? inner : one) : { ...value, [key]: inner }
}

describe("whatever comes", () => {
  const requests = fixtures("requests").map(([, bytes]) => json(bytes))
  const survives = (body: unknown): void => {
    if (typeof body !== "object" || body === null || Array.isArray(body)) return
    const read = client.decodeRequest(body as Record<string, unknown>)
    if (read instanceof PublicError) {
      expect(read.status).toBe(400)
      return
    }
    for (const name of ["gemini-2.5-pro", "gemini-3-flash", "other"]) {
      const written = upstream.encodeRequest(read, { ...traits, model: name })
      if (written instanceof PublicError) expect(written.status).toBe(400)
      else JSON.parse(written.body)
    }
  }

  it.prop("random JSON is read or refused", { body: Arbitrary.schema(Schema.Record(Schema.String, Schema.Json)), contents: Arbitrary.schema(Schema.Json) }, ({ body, contents }) => {
    survives({ ...body, contents })
    survives({ ...body, contents: [{ role: "model", parts: [contents] }] })
    survives({ contents: [{ parts: [{ text: "x" }] }], generationConfig: body, tools: [body], toolConfig: body })
  })

  it.prop("a golden request with one value replaced is read or refused", {
    which: Arbitrary.schema(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1000 }))),
    path: Arbitrary.schema(Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 20 })))),
    by: Arbitrary.schema(Schema.Json)
  }, ({ by, path, which }) => {
    survives(mutated(requests[which % requests.length], path, by))
  })
})
