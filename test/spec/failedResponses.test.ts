/** A responses stream that breaks after its first content ends with the whole response object, as the format promises it. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import * as Http from "#test/support/http.ts"
import { type Lab, startLab } from "#test/support/lab.ts"

let lab: Lab
beforeAll(async () => {
  lab = await startLab()
  const own = await lab.gateway.operator.createNode({ prefix: "own", baseUrl: `${lab.sim.url}/v1`, apiType: "responses" })
  await lab.gateway.operator.createConnection({ provider: own, apiKey: "own-credential-number-0" })
})
afterAll(() => lab.close())

type Fields = Readonly<Record<string, unknown>>
const frame = (data: { readonly type: string } & Fields): string => `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`
const head = { id: "resp_vendor", object: "response", created_at: 1_790_000_000, model: "vendor-model-2026", metadata: { team: "a" }, temperature: 0.25 }
const item = { type: "message", id: "msg_1", status: "incomplete", role: "assistant", content: [{ type: "output_text", text: "Hello", annotations: [], logprobs: [] }] }
const usage = { input_tokens: 11, input_tokens_details: { cached_tokens: 3 }, output_tokens: 2, output_tokens_details: { reasoning_tokens: 0 }, total_tokens: 13 }
const begun = [
  frame({ type: "response.created", sequence_number: 0, response: { ...head, status: "in_progress", output: [], usage: null } }),
  frame({ type: "response.output_item.added", sequence_number: 1, output_index: 0, item: { ...item, content: [] } }),
  frame({ type: "response.output_text.delta", sequence_number: 2, item_id: "msg_1", output_index: 0, content_index: 0, delta: "Hello", logprobs: [] })
].join("")

/** Streams the events, after which the upstream says no more; answers the responses that the client was given. */
const ask = async (model: string, end: string) => {
  await lab.sim.rule({ match: { model }, script: { body: begun + end, contentType: "text/event-stream" } })
  const reply = await Http.send(lab.gateway.url, { path: "/v1/responses", body: { model: `own/${model}`, input: "Hello", stream: true, instructions: "Be brief.", temperature: 0.25, metadata: { team: "a" } } })
  const events = Http.payloads(reply.text).map((data) => JSON.parse(data) as Fields)
  const of = (type: string) => events.filter((event) => event["type"] === type).map((event) => event["response"] as Fields)
  expect([reply.status, of("response.failed").length, events.at(-1)?.["type"], events.at(-1)?.["sequence_number"]]).toEqual([200, 1, "response.failed", 3])
  return { created: of("response.created")[0] as Fields, failed: of("response.failed")[0] as Fields, rows: await lab.rows(reply) }
}

const error = { code: "server_error", message: "the key own-credential-number-0 broke" }
const told = { code: "server_error", message: "the key [redacted] broke" }

describe("response.failed", () => {
  it("repeats what the upstream's own event says", async () => {
    const { created, failed, rows } = await ask("told", frame({ type: "response.failed", sequence_number: 3, response: { ...head, status: "failed", error, output: [item], usage, secret: "own-credential-number-0" } }))
    expect(failed).toEqual({ ...created, status: "failed", error: told, output: [item], usage })
    expect(rows).toMatchObject([{ tokensIn: 11, tokensOut: 2, estimated: false }])
  })

  it("has the members of response.created where the upstream's event has few", async () => {
    const { created, failed } = await ask("few", frame({ type: "response.failed", sequence_number: 3, response: { id: "resp_vendor", status: "failed", error } }))
    expect(failed).toEqual({ ...created, status: "failed", error: told })
  })

  it("has them after an event of type error, and after an end without a word", async () => {
    const broken = await ask("error", frame({ type: "error", sequence_number: 3, ...error }))
    expect(broken.failed).toEqual({ ...broken.created, status: "failed", error: told })
    const cut = await ask("cut", "")
    expect(cut.failed).toEqual({ ...cut.created, status: "failed", error: { code: "upstream_reset", message: expect.any(String) } })
  })
})
