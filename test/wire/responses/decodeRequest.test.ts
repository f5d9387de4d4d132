import { describe, expect, it } from "@effect/vitest"
import { PublicError } from "#schemas/errors.ts"
import type { Conversation, ContentPart } from "#schemas/wire/conversation.ts"
import { client } from "#src/wire/responses/index.ts"
import { seal } from "#src/wire/signatures.ts"
import { anyJson, fixtures, parsed, request } from "./support.ts"

const read = (body: Record<string, unknown>): Conversation => {
  const result = client.decodeRequest(body)
  if (result instanceof PublicError) throw new Error(result.message)
  return result
}

/** Roles and part kinds of a conversation. */
const outline = (name: string) => read(request(name)).turns.map((turn) => [turn.role, ...turn.parts.map((part) => part.kind)])

const text = (content: string): ContentPart => ({ kind: "text", text: content, cache: null, annotations: [], signature: null })

describe("decodeRequest", () => {
  for (const { bytes, name } of fixtures("requests")) {
    it(`reads ${name}`, () => {
      expect(client.decodeRequest(parsed(bytes))).not.toBeInstanceOf(PublicError)
    })
  }

  for (const { bytes, name } of fixtures("bad")) {
    it(`refuses ${name} by its path`, () => {
      const { param, request: body } = parsed(bytes)
      const refused = client.decodeRequest(body as Record<string, unknown>)
      expect(refused).toBeInstanceOf(PublicError)
      expect([(refused as PublicError).status, (refused as PublicError).extra?.["param"]]).toEqual([400, param])
    })
  }

  it("a string is one user turn, instructions are the first system turn", () => {
    expect(read(request("plain-string")).turns).toEqual([{ role: "user", parts: [text("Say hello.")], name: null, path: "input" }])
    expect(outline("instructions-and-roles")).toEqual([["system", "text"], ["developer", "text"], ["user", "text"], ["assistant", "text"], ["system", "text"], ["user", "text"]])
    expect(read(request("instructions-and-roles")).turns[0]).toMatchObject({ path: "instructions" })
  })

  it("items of the assistant in a row are one turn, results stand behind their calls", () => {
    expect(outline("tools-parallel-results")).toEqual([["user", "text"], ["assistant", "text", "toolCall", "toolCall"], ["tool", "toolResult", "toolResult"], ["user", "text"]])
    expect(outline("output-after-other-messages")).toEqual([["user", "text"], ["assistant", "toolCall"], ["tool", "toolResult"], ["user", "text"]])
  })

  it("images, documents and audio keep their bytes, addresses and names", () => {
    expect(read(request("images")).turns[0]?.parts).toMatchObject([
      { kind: "text" }, { kind: "image", detail: "high", source: { kind: "url", url: "https://example.com/cat.png" } },
      { kind: "image", detail: "low", source: { kind: "base64", mediaType: "image/png" } }
    ])
    expect(read(request("image-file-id")).turns[0]?.parts).toMatchObject([{ kind: "image", source: { kind: "file", family: "responses", id: "file-abc123" } }])
    expect(read(request("documents")).turns[0]?.parts).toMatchObject([
      { kind: "document", name: "report.pdf", source: { kind: "base64", mediaType: "application/pdf" } },
      { kind: "document", source: { kind: "url", url: "https://example.com/letter.pdf" } }, { kind: "text" }
    ])
    expect(read(request("audio")).turns[0]?.parts).toMatchObject([{ kind: "audio", source: { kind: "base64", mediaType: "audio/wav" } }, { kind: "text" }])
    expect(read(request("tool-result-image")).turns[2]?.parts).toMatchObject([{ kind: "toolResult", content: [{ kind: "text" }, { kind: "image" }] }])
  })

  it("tools of every kind, forced and allowed", () => {
    expect(read(request("tools-parallel-results")).tools).toMatchObject([{ kind: "function", name: "get_weather", strict: true }, { kind: "function", name: "get_time" }])
    expect(read(request("custom-tool")).tools).toMatchObject([{ kind: "custom", name: "code_exec", format: { type: "grammar" } }])
    expect(read(request("namespace-tools")).tools).toMatchObject([{ kind: "function", name: "crm__find" }, { kind: "function", name: "crm__create" }])
    expect(read(request("namespace-tools")).turns[1]?.parts).toMatchObject([{ kind: "toolCall", name: "crm__find" }])
    expect(read(request("hosted-tools")).tools).toMatchObject([{ kind: "hosted", format: "responses", type: "web_search", value: { search_context_size: "low" } }, { kind: "function" }])
    expect(read(request("tool-choice-forced")).toolChoice).toEqual({ kind: "tool", name: "get_weather" })
    expect(read(request("tool-choice-allowed")).toolChoice).toEqual({ kind: "allowed", names: ["get_time"], required: true })
    expect(read({ ...request("hosted-tools"), tool_choice: { type: "web_search" } })).toMatchObject({ toolChoice: { kind: "hosted", type: "web_search" } })
  })

  it("reasoning items keep summary, id and proof", () => {
    expect(read(request("reasoning-encrypted")).turns[1]?.parts[0]).toEqual({
      kind: "reasoning", text: "**Adding**\n\nSimple.", summary: true, id: "rs_1", redacted: false, signature: { family: "responses", value: "rs_1|gAAAAABencrypted==" }
    })
    expect(read(request("reasoning-before-call")).turns[1]?.parts).toMatchObject([{ kind: "reasoning", text: "", signature: { value: "rs_2|gAAAAABcall==" } }, { kind: "toolCall", signature: null }])
  })

  it("a proof of another family comes back as it was given out", () => {
    const signature = { family: "messages", value: "ErUBsigned" } as const
    const item = (id: string, family: typeof signature | { family: "generateContent"; value: string }) =>
      ({ type: "reasoning", id, summary: [{ type: "summary_text", text: "Hm" }], encrypted_content: seal(family, "responses") })
    expect(read({ model: "m", input: [item("rs_x", signature)] }).turns[0]?.parts).toMatchObject([{ kind: "reasoning", text: "Hm", signature }])
    const google = { family: "generateContent", value: "CsIB" } as const
    const signed = read({
      model: "m", input: [
        { role: "assistant", content: "a" }, item("rs_text_1", google), item("rs_call_1", google),
        { type: "function_call", call_id: "c", name: "f", arguments: "{}" }
      ]
    })
    expect(signed.turns[0]?.parts).toMatchObject([{ kind: "text", signature: google }, { kind: "toolCall", signature: google }])
    expect(signed.turns[0]?.parts).toHaveLength(2)
  })

  it("settings, and extras by their weight", () => {
    expect(read(request("metadata-and-tiers"))).toMatchObject({
      settings: { user: "user-1", safetyIdentifier: "safe-1", promptCacheKey: "key-1", serviceTier: "priority", store: true, metadata: { team: "blue" } },
      extras: [{ field: "truncation", weight: "hint" }, { field: "max_tool_calls", weight: "hint" }]
    })
    expect(read(request("structured-output")).settings).toMatchObject({ output: { kind: "schema", name: "person", strict: true }, verbosity: "low" })
    expect(read(request("logprobs")).settings).toMatchObject({ logprobs: true, topLogprobs: 2 })
    expect(read(request("reasoning-encrypted"))).toMatchObject({ settings: { store: false, reasoning: { enabled: true, effort: "high", summary: "detailed" } }, extras: [] })
    expect(read(request("previous-response")).extras).toMatchObject([{ field: "previous_response_id", weight: "essential" }])
    expect(read(request("unknown-fields")).extras.map(({ field, weight }) => [field, weight])).toEqual([["prompt_cache_retention", "hint"], ["brand_new", "hint"], ["reasoning.context", "hint"]])
    expect(outline("hosted-items")).toEqual([["user", "text"], ["assistant", "opaque", "opaque"], ["user", "text"]])
  })

  it.prop("answers any JSON with a conversation or a refusal", { body: anyJson, input: anyJson, tools: anyJson }, ({ body, input, tools }) => {
    const record = typeof body === "object" && body !== null && !Array.isArray(body) ? body as Record<string, unknown> : {}
    for (const one of [record, { model: "m", input }, { model: "m", input: [input] }, { model: "m", input: "x", tools, tool_choice: body, text: input, reasoning: tools }]) {
      const result = client.decodeRequest(one)
      if (!(result instanceof PublicError)) expect(result.format).toBe("responses")
      client.head(one)
    }
  })

  it.prop("a fixture with any value anywhere is read or refused, never an exception", { value: anyJson }, ({ value }) => {
    for (const { bytes } of fixtures("requests")) {
      for (const body of mutations(parsed(bytes), value)) client.decodeRequest(body)
    }
    // Each run replaces some thousand members.
  }, { arbitrary: { runs: 50 } })
})

/** The document with one member replaced, for every member at every depth; the member stands as it was when the next is asked for. */
function* mutations(document: Record<string, unknown>, value: unknown): Generator<Record<string, unknown>> {
  const places: Array<readonly [holder: Record<string | number, unknown>, key: string | number]> = []
  const walk = (node: unknown): void => {
    if (typeof node !== "object" || node === null) return
    const holder = node as Record<string | number, unknown>
    for (const key of Object.keys(holder)) {
      places.push([holder, key])
      walk(holder[key])
    }
  }
  walk(document)
  for (const [holder, key] of places) {
    const before = holder[key]
    holder[key] = value
    yield document
    holder[key] = before
  }
}
