/** Bodies that come compressed, on every route that reads JSON. */
import * as Zlib from "node:zlib"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { errorIn, type Lab, messages, startLab } from "#test/support/lab.ts"
import * as Http from "#test/support/http.ts"

const MIB = 1024 * 1024

let lab: Lab
beforeAll(async () => {
  lab = await startLab({ environment: { MAX_BODY_SIZE_BYTES: String(MIB) } })
})
afterAll(() => lab.close())

const codings: ReadonlyArray<readonly [string, (bytes: Uint8Array) => Buffer]> = [
  ["gzip", (bytes) => Zlib.gzipSync(bytes)],
  ["x-gzip", (bytes) => Zlib.gzipSync(bytes)],
  ["deflate", (bytes) => Zlib.deflateSync(bytes)],
  ["br", (bytes) => Zlib.brotliCompressSync(bytes)],
  ["zstd", (bytes) => Zlib.zstdCompressSync(bytes)],
  ["gzip, br", (bytes) => Zlib.brotliCompressSync(Zlib.gzipSync(bytes))],
  ["identity, GZIP", (bytes) => Zlib.gzipSync(bytes)]
]

const routes: ReadonlyArray<readonly [string, Record<string, unknown>]> = [
  ["/v1/chat/completions", { model: "lab/tokens-2", messages }],
  ["/v1/messages", { model: "lab/tokens-2", messages, max_tokens: 5 }],
  ["/v1/responses", { model: "lab/tokens-2", input: "hello" }],
  ["/v1/completions", { model: "lab/tokens-2", prompt: "hello" }],
  ["/v1/api/chat", { model: "lab/tokens-2", messages, stream: false }],
  ["/v1/api/show", { model: "lab/tokens-2" }],
  ["/v1/messages/count_tokens", { model: "lab/tokens-2", messages }],
  ["/v1beta/models/lab/tokens-2:generateContent", { contents: [{ parts: [{ text: "hello" }] }] }],
  ["/v1beta/models/lab/tokens-2:countTokens", { contents: [{ parts: [{ text: "hello" }] }] }]
]

const send = (path: string, body: Uint8Array, coding: string, more: Record<string, string> = {}) =>
  Http.send(lab.gateway.url, { path, body, headers: { "content-encoding": coding, ...more } })

const bytes = (body: unknown): Buffer => Buffer.from(JSON.stringify(body))

describe.each(routes)("POST %s", (path, body) => {
  it.each(codings)("reads a body in %s", async (coding, compress) => {
    const plain = await Http.send(lab.gateway.url, { path, body })
    expect([plain.status, path]).toEqual([(await send(path, compress(bytes(body)), coding)).status, path])
    expect((await send(path, compress(bytes(body)), coding, { "transfer-encoding": "chunked" })).status).toBe(plain.status)
  })

  it("refuses a coding that it does not know, naming those it does", async () => {
    for (const coding of ["compress", "zip", "gzip, snappy", "gzip, gzip, gzip, gzip", "constructor"]) {
      const reply = await send(path, bytes(body), coding)
      expect([coding, reply.status]).toEqual([coding, path === "/v1/api/show" ? 400 : 415])
      expect(reply.text).toContain("gzip, deflate, br, zstd or identity")
    }
  })

  it.each(codings)("refuses what is no %s, and what ends too early", async (coding, compress) => {
    const whole = compress(bytes(body))
    const other = await send(path, bytes(body), coding)
    expect([other.status, other.text.includes("Content-Encoding")]).toEqual([400, true])
    // The decoder of zstd takes a cut frame for its beginning: then the text is what is broken.
    for (const cut of [whole.subarray(0, Math.floor(whole.length / 2)), Buffer.alloc(0)]) expect([cut.length, (await send(path, cut, coding)).status]).toEqual([cut.length, 400])
  })
})

describe("a compressed body", () => {
  it("goes on as what it holds, byte for byte but for the model, and without the header", async () => {
    const text = `{"model":"lab/plain-bytes", "messages":[{"role":"user","content":"h\\u00e9 1.50 ${"y".repeat(2_000)}"}],"x_num":1.0}`
    expect((await send("/v1/chat/completions", Zlib.gzipSync(text), "gzip")).status).toBe(200)
    const [entry] = await lab.sim.entries({ model: "plain-bytes" })
    expect(entry?.headers["content-encoding"]).toBeUndefined()
    expect(entry?.body).toEqual({ ...JSON.parse(text) as object, model: "plain-bytes" })
  })

  it("that is small and holds more than the limit is refused, and nobody waits for it", async () => {
    const padding = Buffer.alloc(100 * MIB, " ")
    for (const [coding, bomb] of [["gzip", Zlib.gzipSync(padding)], ["br", Zlib.brotliCompressSync(padding, { params: { [Zlib.constants.BROTLI_PARAM_QUALITY]: 1 } })], ["zstd", Zlib.zstdCompressSync(padding)]] as const) {
      expect(bomb.length).toBeLessThan(MIB)
      const before = process.memoryUsage().arrayBuffers
      const reply = await send("/v1/chat/completions", bomb, coding)
      expect([coding, reply.status, errorIn(reply)["code"]]).toEqual([coding, 413, "payload_too_large"])
      expect(errorIn(reply)["message"]).toContain("decompressed")
      expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(16 * MIB)
    }
    const twice = await send("/v1/chat/completions", Zlib.gzipSync(Zlib.gzipSync(padding)), "gzip, gzip")
    expect(twice.status).toBe(413)
  })

  it("may hold just the limit", async () => {
    const [head = "", tail = ""] = JSON.stringify({ model: "lab/tokens-1", messages: [{ role: "user", content: "#" }] }).split("#")
    const of = (size: number) => Zlib.gzipSync(head + "x".repeat(size - head.length - tail.length) + tail)
    expect((await send("/v1/chat/completions", of(MIB), "gzip")).status).toBe(200)
    expect((await send("/v1/chat/completions", of(MIB + 1), "gzip")).status).toBe(413)
  })
})

describe("the management API", () => {
  const operate = (body: Uint8Array, coding: string) =>
    lab.gateway.operator.raw("PATCH", "/api/settings", body, { "content-encoding": coding })

  it.each(codings)("reads a body in %s, and refuses one that is not", async (coding, compress) => {
    expect((await operate(compress(bytes({ maxBodySizeMb: 1 })), coding)).status).toBe(200)
    const broken = await operate(bytes({ maxBodySizeMb: 1 }), coding)
    expect([broken.status, broken.text.includes("Content-Encoding")]).toEqual([400, true])
  })

  it("refuses an unknown coding with 415 and a bomb with 413", async () => {
    const unknown = await operate(bytes({ maxBodySizeMb: 1 }), "compress")
    expect([unknown.status, unknown.text.includes("gzip, deflate, br, zstd or identity")]).toEqual([415, true])
    expect((await operate(Zlib.gzipSync(Buffer.alloc(20 * MIB, " ")), "gzip")).status).toBe(413)
  })
})
