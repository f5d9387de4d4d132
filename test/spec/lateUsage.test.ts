/** A client that asks for usage in its stream gets the gateway's estimate where the upstream counts nothing; the ledger has the same numbers. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import type { LedgerRow } from "#schemas/records/LedgerRow.ts"
import { type Family, families, type Matrix, startMatrix } from "#test/support/families.ts"
import * as Http from "#test/support/http.ts"
import { framesOf } from "#test/support/lab.ts"
import type { Script } from "#src/simulator/Simulator.ts"

let matrix: Matrix
beforeAll(async () => {
  matrix = await startMatrix()
})
afterAll(() => matrix.close())

const TEXT = "Twelve words that are counted by nobody but the gateway's own tokenizer."
const ask = "Say something that is about twelve words long, please."
let made = 0

const streamed = async (family: Family, script: Script, { asks = true, path = "/v1/chat/completions" } = {}) => {
  const model = await matrix.model(family, "chat-completions", `late-${++made}`, { text: TEXT, usage: "omit", ...script })
  const reply = await Http.send(matrix.url, {
    path, headers: { authorization: `Bearer ${matrix.key}` },
    body: {
      model: model.id, stream: true, ...(asks ? { stream_options: { include_usage: true } } : {}),
      ...(path.endsWith("/chat/completions") ? { messages: [{ role: "user", content: ask }] } : { prompt: ask })
    }
  })
  expect(reply.status, reply.text).toBe(200)
  const [row] = await matrix.rows(reply.headers["x-gateway-request-id"] ?? "")
  return { reply, row: row as LedgerRow, frames: framesOf(reply.text) }
}
const usageOf = ({ tokensIn, tokensOut }: LedgerRow) => ({ prompt_tokens: tokensIn, completion_tokens: tokensOut, total_tokens: tokensIn + tokensOut })
const withUsage = (frames: ReadonlyArray<Readonly<Record<string, unknown>>>) => frames.filter(({ usage }) => usage !== undefined && usage !== null)

describe("a stream that its upstream did not count", () => {
  it.each(families.flatMap((family) => ["/v1/chat/completions", "/v1/completions"].map((path) => [family.name, path, family] as const)))(
    "of %s, asked at %s, ends with the gateway's usage, as the ledger has it", async (_name, path, family) => {
      const { frames, reply, row } = await streamed(family, {}, { path })
      const last = frames.at(-1) as Record<string, unknown>
      expect(withUsage(frames)).toEqual([last])
      expect(last).toMatchObject({ choices: [], usage: usageOf(row), id: frames[0]?.["id"], object: frames[0]?.["object"], model: frames[0]?.["model"], created: frames[0]?.["created"] })
      expect(row.estimated).toBe(true)
      expect(row.tokensIn).toBeGreaterThan(6)
      expect(row.tokensOut).toBeGreaterThan(8)
      expect(reply.text.endsWith("data: [DONE]\n\n")).toBe(true)
      expect(reply.text.match(/\[DONE\]/g)).toHaveLength(1)
    })

  const [chat] = families as readonly [Family]
  it.each<readonly [string, Script]>([
    ["in one read", { burst: "all" }],
    ["in single bytes", { split: { every: 1 } }],
    ["with lines that end otherwise", { lineEnding: "CRLF" }],
    ["without its terminator", { omitDone: true }],
    ["without its terminator and its last blank line", { omitDone: true, finalNewline: false }],
    ["as a whole document", { contentType: "application/json", body: {
      id: "chatcmpl-whole", object: "chat.completion", created: 1_700_000_000, model: "m",
      choices: [{ index: 0, message: { role: "assistant", content: TEXT }, finish_reason: "stop" }]
    } }],
    ["as a large document", { contentType: "application/json", body: {
      id: "chatcmpl-large", object: "chat.completion", created: 1_700_000_000, model: "m",
      choices: [{ index: 0, message: { role: "assistant", content: TEXT.repeat(20_000) }, finish_reason: "stop" }]
    } }]
  ])("has it when it comes %s", async (_what, script) => {
    const { frames, reply, row } = await streamed(chat, script)
    expect(frames.at(-1)).toMatchObject({ object: "chat.completion.chunk", choices: [], usage: usageOf(row) })
    expect(withUsage(frames)).toHaveLength(1)
    expect([row.outcome, row.estimated]).toEqual(["completed", true])
    expect(Http.payloads(reply.text).at(-1)).toBe("[DONE]")
  })

  it("has none when the client did not ask", async () => {
    const { frames, row } = await streamed(chat, {}, { asks: false })
    expect([withUsage(frames).length, row.estimated]).toEqual([0, true])
  })

  it("has none when it was cut: the answer was not whole", async () => {
    const { frames, row } = await streamed(chat, { tokenSize: 4, resetAfter: { frames: 4 } })
    expect([withUsage(frames).length, row.estimated]).toEqual([0, true])
  })
})

it("a count of the upstream passes as it came, and is the only one", async () => {
  const { frames, row } = await streamed(families[0] as Family, { usage: { promptTokens: 7, completionTokens: 12, totalTokens: 19 } })
  expect(withUsage(frames)).toMatchObject([{ usage: { prompt_tokens: 7, completion_tokens: 12 } }])
  expect([row.estimated, row.tokensIn, row.tokensOut]).toEqual([false, 7, 12])
})

it.each(["/v1/messages", "/v1/responses"])("a translated stream at %s carries the estimate where its format has usage", async (path) => {
  const model = await matrix.model(families[0] as Family, path === "/v1/messages" ? "messages" : "responses", `late-${++made}`, { text: TEXT, usage: "omit" })
  const reply = await Http.send(matrix.url, {
    path, headers: { authorization: `Bearer ${matrix.key}` },
    body: { model: model.id, stream: true, ...(path === "/v1/messages" ? { max_tokens: 99, messages: [{ role: "user", content: ask }] } : { input: ask }) }
  })
  const [row] = await matrix.rows(reply.headers["x-gateway-request-id"] ?? "")
  expect(row?.tokensOut).toBeGreaterThan(8)
  expect(reply.text).toContain(`"output_tokens":${row?.tokensOut}`)
})

describe("a stream that is forwarded as it came, and that its upstream did not count", () => {
  const message = { role: "user", content: ask }
  const forwarded = [
    ["messages", "/v1/messages", { max_tokens: 99, messages: [message] }, ({ tokensOut }: LedgerRow) => `"output_tokens":${tokensOut}`],
    ["responses", "/v1/responses", { input: ask }, ({ tokensIn, tokensOut }: LedgerRow) => `"total_tokens":${tokensIn + tokensOut}`],
    ["local-model-server", "/v1/api/chat", { messages: [message] }, ({ tokensIn, tokensOut }: LedgerRow) => `"prompt_eval_count":${tokensIn},"eval_count":${tokensOut}`],
    ["generateContent", "", { contents: [{ role: "user", parts: [{ text: ask }] }] }, ({ tokensOut }: LedgerRow) => `"candidatesTokenCount":${tokensOut}`]
  ] as const
  const asked = async (face: typeof forwarded[number][0], path: string, body: object, script: Script) => {
    const family = families.find(({ name }) => name === face) as Family
    const model = await matrix.model(family, face, `late-${++made}`, { text: TEXT, ...script })
    const reply = await Http.send(matrix.url, {
      path: path === "" ? `/v1beta/models/${model.id}:streamGenerateContent?alt=sse` : path, headers: { authorization: `Bearer ${matrix.key}` },
      body: path === "" ? body : { ...body, model: model.id, stream: true }
    })
    expect(reply.status, reply.text).toBe(200)
    return { reply, row: (await matrix.rows(reply.headers["x-gateway-request-id"] ?? ""))[0] as LedgerRow }
  }

  it.each(forwarded)("of %s carries the gateway's usage, once, as the ledger has it", async (face, path, body, told) => {
    const { reply, row } = await asked(face, path, body, { usage: "omit" })
    expect([row.estimated, row.outcome]).toEqual([true, "completed"])
    expect(row.tokensOut).toBeGreaterThan(8)
    expect(reply.text.split(told(row))).toHaveLength(2)
  })

  it.each(forwarded)("of %s passes a count of the upstream as it came", async (face, path, body) => {
    const { row } = await asked(face, path, body, { usage: { promptTokens: 7, completionTokens: 12, totalTokens: 19 } })
    expect([row.estimated, row.tokensIn, row.tokensOut]).toEqual([false, 7, 12])
  })
})

it("a stream that another call continued carries the estimates of both", async () => {
  await matrix.gateway.operator.setFlag("STREAM_RECOVERY_MIDSTREAM_ENABLED", "true")
  const model = await matrix.model(families[0] as Family, "chat-completions", `late-${++made}`, { text: TEXT, usage: "omit", endAfter: { frames: 7 } }, { text: "and that was all.", usage: "omit" })
  const reply = await Http.send(matrix.url, {
    path: "/v1/chat/completions", headers: { authorization: `Bearer ${matrix.key}` },
    body: { model: model.id, stream: true, stream_options: { include_usage: true }, messages: [{ role: "user", content: ask }] }
  })
  await matrix.gateway.operator.clearFlags()
  const rows = await matrix.rows(reply.headers["x-gateway-request-id"] ?? "")
  expect(rows.map(({ outcome }) => outcome)).toEqual(["upstream-reset", "completed"])
  const [used] = withUsage(framesOf(reply.text)).slice(-1)
  const sum = (of: (row: LedgerRow) => number) => rows.reduce((all, row) => all + of(row), 0)
  expect(used).toMatchObject({ usage: { prompt_tokens: sum(({ tokensIn }) => tokensIn), completion_tokens: sum(({ tokensOut }) => tokensOut) } })
})

it.each(["short", "long"])("the %s answer of a panel that is given directly carries its estimate", async (length) => {
  const chat = families[0] as Family
  const good = await matrix.model(chat, "chat-completions", `late-${++made}`, { text: length === "short" ? TEXT : TEXT.repeat(4_000), usage: "omit" })
  const bad = await matrix.model(chat, "chat-completions", `late-${++made}`, { status: 500 })
  const name = `late-${++made}`
  await matrix.gateway.operator.call("POST", "/api/combos", { name, strategy: "fusion", models: [good.id, bad.id] })
  const reply = await Http.send(matrix.url, {
    path: "/v1/chat/completions", headers: { authorization: `Bearer ${matrix.key}` },
    body: { model: `combo/${name}`, stream: true, stream_options: { include_usage: true }, messages: [{ role: "user", content: ask }] }
  })
  const row = (await matrix.rows(reply.headers["x-gateway-request-id"] ?? "")).find(({ outcome }) => outcome === "completed") as LedgerRow
  expect(row.tokensOut).toBeGreaterThan(8)
  expect(withUsage(framesOf(reply.text))).toMatchObject([{ usage: usageOf(row) }])
})
