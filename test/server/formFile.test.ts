/** Forms with a file that are read while they arrive, over real sockets. */
import * as Effect from "effect/Effect"
import { HttpServerRequest } from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Stream from "effect/Stream"
import { describe, expect, it } from "vitest"
import * as FormFile from "#src/features/files/FormFile.ts"
import { type App, eventually, latch, start } from "./support/harness.ts"
import { RawClient } from "./support/RawClient.ts"

const LIMIT = 1024

interface Seen {
  readonly fields: Readonly<Record<string, string>>
  readonly file: { readonly field: string; readonly filename: string; readonly contentType: string; readonly text: string; readonly before: number } | null
}

/** Files whose streams ended well. */
let whole = 0

const reader: App = Effect.flatMap(HttpServerRequest, (request) => FormFile.read(request, { fileBytes: LIMIT }, (file, before) => {
  const chunks: Array<Buffer> = []
  const known = before.size
  return Effect.map(Stream.runForEach(file.content, (chunk) => Effect.sync(() => void chunks.push(Buffer.from(chunk)))), () => {
    whole++
    return { field: file.field, filename: file.filename, contentType: file.contentType, text: Buffer.concat(chunks).toString("utf8"), before: known }
  })
})).pipe(
  Effect.map(({ fields, file }) => HttpServerResponse.jsonUnsafe({ fields: Object.fromEntries(fields), file } satisfies Seen)),
  Effect.catchTag("FormError", ({ reason }) => Effect.succeed(HttpServerResponse.text(reason, { status: 400 })))
)

const part = (name: string, value: string, more = "") => `--b\r\nContent-Disposition: form-data; name="${name}"${more}\r\n\r\n${value}\r\n`
const filePart = (value: string, more = "\r\nContent-Type: application/json") => part("file", value, `; filename="ünï.jsonl"${more}`)
const END = "--b--\r\n"

const head = (length: number, type = "multipart/form-data; boundary=b") => `POST / HTTP/1.1\r\nHost: test\r\nContent-Type: ${type}\r\nContent-Length: ${length}\r\n\r\n`

const post = async (port: number, body: string, type?: string) => {
  const client = await RawClient.connect(port)
  client.send(head(Buffer.byteLength(body), type) + body)
  const { body: answer, status } = await client.response()
  client.destroy()
  return { status, text: answer.toString("utf8") }
}

describe("a form that is read while it arrives", () => {
  it("gives its fields and its file, whatever stands first, and the same for every split of its bytes", async () => {
    const { port } = await start({}, reader)
    const text = `{"a":1}\r\n--\r\n-b\r\n--\r${"é".repeat(40)}`
    const body = Buffer.from(`preamble\r\n${part("purpose", "batch")}${filePart(text)}${part("after", "ü")}${END}epilogue`)
    const expected: Seen = { fields: { purpose: "batch", after: "ü" }, file: { field: "file", filename: "ünï.jsonl", contentType: "application/json", text, before: 1 } }
    for (const size of [1, 7, 64, body.length]) {
      const client = await RawClient.connect(port)
      await client.sent(head(body.length))
      for (let at = 0; at < body.length; at += size) await client.sent(body.subarray(at, at + size))
      const { body: answer } = await client.response()
      expect([size, JSON.parse(answer.toString("utf8"))]).toEqual([size, expected])
      client.destroy()
    }
    expect(JSON.parse((await post(port, filePart("x") + part("purpose", "batch") + END)).text)).toMatchObject({ fields: { purpose: "batch" }, file: { text: "x", before: 0 } })
  })

  it("has an empty file, or none", async () => {
    const { port } = await start({}, reader)
    expect(JSON.parse((await post(port, filePart("") + END)).text)).toMatchObject({ file: { text: "" } })
    expect(JSON.parse((await post(port, part("purpose", "x") + END)).text)).toEqual({ fields: { purpose: "x" }, file: null })
  })

  it("is refused when it is none, breaks off, or passes a limit", async () => {
    const { port } = await start({}, reader)
    const full = "x".repeat(LIMIT)
    expect((await post(port, filePart(full) + END)).status).toBe(200)
    const cases: ReadonlyArray<readonly [string, string, string?]> = [
      ["file-too-large", filePart(`${full}y`) + END],
      ["malformed", filePart("cut off")],
      ["malformed", "no form at all"],
      ["malformed", part("a", "1") + part("a", "2") + END],
      ["malformed", `--b\r\nContent-Type: text/plain\r\n\r\nno name\r\n${END}`],
      ["second-file", filePart("one") + filePart("two") + END],
      ["field-too-large", part("a", "1".repeat(70_000)) + END],
      ["too-many-parts", Array.from({ length: 40 }, (_, i) => part(`f${i}`, "1")).join("") + END],
      ["not-a-form", "{}", "application/json"],
      ["not-a-form", "x", "multipart/form-data"]
    ]
    for (const [reason, body, type] of cases) expect([body.slice(0, 80), (await post(port, body, type)).text]).toEqual([body.slice(0, 80), reason])
    whole = 0
    for (const cut of [filePart("cut off"), filePart("cut off").slice(0, -3), `${filePart("x")}--b\r\nContent-Disp`]) expect((await post(port, cut)).text).toBe("malformed")
    // Also of the last one, which is cut behind its file.
    expect(whole).toBe(0)
    const client = await RawClient.connect(port)
    client.send(head(2 * 1024 * 1024))
    expect((await client.response()).body.toString("utf8")).toBe("file-too-large")
  })

  it("waits for the consumer of its file: a client cannot send ahead without bound", async () => {
    const gate = latch<void>()
    const most = 64 * 1024 * 1024
    let taken = 0
    const { port } = await start({}, Effect.flatMap(HttpServerRequest, (request) => FormFile.read(request, { fileBytes: most }, (file) =>
      Stream.runForEach(file.content, (chunk) => Effect.andThen(Effect.promise(() => gate.promise), Effect.sync(() => {
        taken += chunk.byteLength
      }))))).pipe(Effect.as(HttpServerResponse.text("done")), Effect.orDie))
    const client = await RawClient.connect(port)
    const content = Buffer.alloc(most, 120)
    const before = Buffer.from(filePart("").replace(/\r\n$/, ""))
    const after = Buffer.from(`\r\n${END}`)
    client.send(head(before.length + content.length + after.length))
    client.send(before)
    client.send(content)
    client.send(after)
    await eventually("the socket is full", () => client.socket.bytesWritten > 0 && client.socket.writableLength > most / 2)
    expect(taken).toBe(0)
    gate.open()
    expect((await client.response()).body.toString("utf8")).toBe("done")
    expect(taken).toBe(most)
  })

  it("has more time than another body while its bytes keep coming", async () => {
    const { port } = await start({ bodyTimeout: "400 millis" }, reader)
    const client = await RawClient.connect(port)
    // 32 kB a second is asked beyond the timeout: these came in its first moment, and are worth half a minute.
    const junk = "j".repeat(1024 * 1024 - 4_096)
    const body = `${junk}\r\n${filePart("late")}${END}`
    await client.sent(head(Buffer.byteLength(body)) + body.slice(0, -8))
    // It began later, and has no more than the timeout.
    const slow = await RawClient.connect(port)
    await slow.sent(head(200) + part("a", "1"))
    expect((await slow.response()).body.toString("utf8")).toBe("timeout")
    await client.sent(body.slice(-8))
    expect(JSON.parse((await client.response()).body.toString("utf8"))).toMatchObject({ file: { text: "late" } })
  })
})
