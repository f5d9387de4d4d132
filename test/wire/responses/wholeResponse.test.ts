/** Response objects of servers that leave members out: what the public schema asks for is added, and nothing else is touched. */
import { describe, expect, it } from "vitest"
import { upstream } from "#src/wire/responses/index.ts"
import { passBorrowed } from "#test/support/wire/borrowed.ts"
import { randomCut } from "#test/support/wire/splits.ts"
import { fixture, options, parsed } from "./support.ts"

const request = { instructions: "Be brief.", temperature: 0.5, metadata: { a: "b" }, tools: [{ type: "function", name: "f" }], previous_response_id: "resp_before" }
const known = options(request)

/** What every response object has. */
const needed = {
  object: "response", created_at: 1_790_000_000, error: null, incomplete_details: null, instructions: "Be brief.", temperature: 0.5, metadata: { a: "b" },
  tools: [{ type: "function", name: "f", parameters: null, strict: true, description: null }], tool_choice: "auto", truncation: "disabled", parallel_tool_calls: true,
  text: { format: { type: "text" } }, top_p: 1, presence_penalty: 0, frequency_penalty: 0, top_logprobs: 0, reasoning: { effort: null, summary: null }, user: null,
  max_output_tokens: null, max_tool_calls: null, background: false, service_tier: "default", safety_identifier: null, prompt_cache_key: null,
  previous_response_id: "resp_before"
}
const usage = { input_tokens: 1, output_tokens: 2, total_tokens: 3 }
const message = { type: "message", id: "msg_1", status: "completed", role: "assistant", content: [{ type: "output_text", text: "Häß \u{1f600}", annotations: [] }] }
const sparse = { id: "resp_1", status: "completed", output: [message], usage, top_p: 0.25, text: null, own_member: 1.50 }

const stream = (pieces: ReadonlyArray<Buffer>): string => {
  const tap = upstream.makePassThroughTap({ forwardUsage: true }, known)
  const out = [...pieces, null].map((piece) => piece === null ? tap.end() : passBorrowed(tap, piece))
  return Buffer.concat(out.filter((bytes) => bytes !== null)).toString("utf8")
}
const frame = (data: object, end = "\n\n"): string => `event: ${(data as { type: string }).type}\ndata: ${JSON.stringify(data)}${end}`
const delta = frame({ type: "response.output_text.delta", item_id: "msg_1", output_index: 0, content_index: 0, delta: "Hä", logprobs: [] })

describe("a response object that lacks members", () => {
  it("gets them, and keeps its own", () => {
    const body = Buffer.from(JSON.stringify(sparse).replace("1.5}", "1.50}"))
    const made = upstream.wholeAnswer!(body, parsed(body), known)!
    expect(parsed(made)).toEqual({
      ...needed, ...sparse, text: needed.text, completed_at: 1_790_000_000, model: "lab/model", store: false,
      usage: { ...usage, input_tokens_details: { cached_tokens: 0 }, output_tokens_details: { reasoning_tokens: 0 } }
    })
    expect(made.toString()).toContain('"own_member":1.50')
    expect(upstream.wholeAnswer!(made, parsed(made), known)).toBeNull()
  })

  it("of a stream gets them in each event that holds it, however the bytes are cut; all other bytes stay", () => {
    const head = frame({ type: "response.created", sequence_number: 0, response: { id: "resp_1" } })
    const end = frame({ type: "response.completed", sequence_number: 2, response: { ...sparse, status: undefined } }, "\r\n\r\n")
    const bytes = Buffer.from(head + delta + end)
    const text = stream([bytes])
    const events = text.split("\n\n").filter((one) => one !== "").map((one) => JSON.parse(one.slice(one.indexOf("data: ") + 6)) as { type: string; response?: object })
    expect(events).toMatchObject([
      { type: "response.created", response: { ...needed, id: "resp_1", status: "in_progress", completed_at: null, output: [], usage: null } },
      { type: "response.output_text.delta" }, { type: "response.completed", response: { ...needed, status: "completed", completed_at: 1_790_000_000, output: [message], top_p: 0.25 } }
    ])
    expect(text).toContain(delta)
    for (let seed = 1; seed <= 50; seed++) expect(stream(randomCut(bytes, seed))).toBe(text)
  })

  it("names the conversation and the response that it goes on with", () => {
    const made = (asked: object) => {
      const body = Buffer.from(JSON.stringify({ ...sparse, previous_response_id: null, conversation: null }))
      return parsed(upstream.wholeAnswer!(body, parsed(body), options(asked as Record<string, unknown>))!)
    }
    expect(made({ conversation: "conv_1" })).toMatchObject({ conversation: { id: "conv_1" }, previous_response_id: null })
    expect(made({ conversation: { id: "conv_2" } })).toMatchObject({ conversation: { id: "conv_2" } })
    expect(made({ previous_response_id: "resp_0" })).toMatchObject({ conversation: null, previous_response_id: "resp_0" })
  })
})

describe("a response object that lacks nothing", () => {
  it("is forwarded as it came", () => {
    const bytes = fixture("streams", "plain")
    const first = stream([bytes])
    const known = options({})
    const tap = upstream.makePassThroughTap({ forwardUsage: true }, known)
    const again = Buffer.from(first)
    expect(first).not.toBe(bytes.toString("utf8"))
    expect(tap.push(again)).toBe(again)
  })
})
