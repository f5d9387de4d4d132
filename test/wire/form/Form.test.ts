/** Forms: parts are found whatever bytes they hold, fields are changed in place, and what is no form is refused. */
import { assert, describe, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import * as Arbitrary from "effect/Arbitrary"
import { type Body, isStored, type Piece, Pieces, type Stored } from "#actors/request/ports/Body.ts"
import { PublicError } from "#schemas/errors.ts"
import * as Form from "#src/wire/form/Form.ts"

const boundary = "----boundary42"
const Name = Schema.String.check(Schema.isPattern(/^[a-z_]{1,12}$/))
const Bytes = Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 255 }))).check(Schema.isMaxLength(200))
const Sent = Schema.Array(Schema.Struct({ name: Name, file: Schema.Boolean, content: Bytes })).check(Schema.isMaxLength(8))

const write = (parts: typeof Sent.Type): Buffer => Buffer.concat([
  ...parts.flatMap(({ content, file, name }) => [
    Buffer.from(`--${boundary}\r\nContent-Disposition: form-data; name="${name}"${file ? "; filename=\"a.wav\"\r\nContent-Type: audio/wav" : ""}\r\n\r\n`),
    Buffer.from(content), Buffer.from("\r\n")
  ]),
  Buffer.from(`--${boundary}--\r\n`)
])

const parsed = (body: Buffer): Form.Form => {
  const form = Form.parse(body, boundary)
  if (form instanceof PublicError) throw form
  return form
}
/** What a body sends. */
const bytesOf = (body: Body): Buffer => Buffer.concat((body instanceof Pieces ? body.list : [body]).map((piece) => isStored(piece) ? stored.get(piece) ?? Buffer.alloc(0) : piece))
const contents = (body: Body) => parsed(bytesOf(body)).parts.map(({ content, filename, name }) => [name, filename !== null, isStored(content) ? [] : [...content]])

/** Contents that are not in memory. */
const stored = new Map<Piece, Buffer>()
const elsewhere = (form: Form.Form): Form.Form => ({
  ...form,
  parts: form.parts.map((part) => {
    if (part.filename === null || isStored(part.content)) return part
    const content: Stored = { length: part.content.length, read: () => undefined, hold: () => null }
    stored.set(content, Buffer.from(part.content))
    return { ...part, content }
  })
})

describe("a form", () => {
  it.prop("gives back the parts that were written", { sent: Arbitrary.schema(Sent) }, ({ sent }) => {
    assert.deepStrictEqual(contents(write(sent)), sent.map(({ content, file, name }) => [name, file, [...content]]))
  })

  it.prop("with another model keeps every other byte", { sent: Arbitrary.schema(Sent) }, ({ sent }) => {
    const body = write(sent.filter(({ name }) => name !== "model"))
    for (const form of [parsed(body), elsewhere(parsed(body))]) {
      const changed = Form.withFields(form, { model: "whisper-1" })
      assert.deepStrictEqual(contents(changed), [...contents(body), ["model", false, [...Buffer.from("whisper-1")]]])
      assert.strictEqual(changed.length, bytesOf(changed).length)
      assert.deepStrictEqual(contents(Form.withFields(parsed(bytesOf(changed)), { model: null })), contents(body))
    }
  })

  it.prop("that was cut anywhere is refused", { sent: Arbitrary.schema(Sent), at: Arbitrary.schema(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 10_000 }))) }, ({ at, sent }) => {
    const body = write(sent)
    // The line break behind the last delimiter may be missing.
    const cut = body.subarray(0, at % (body.length - 3))
    assert.instanceOf(Form.parse(cut, boundary), PublicError)
  })

  it("reads fields as text, lists and files", () => {
    const body = Buffer.from([
      `--${boundary}`, "Content-Disposition: form-data; name=\"prompt\"", "", "a cat",
      `--${boundary}`, "content-disposition: form-data; name=\"image[]\"; filename=\"a \\\"b\\\".png\"", "content-type: image/png", "", "png",
      `--${boundary}`, "Content-Disposition: form-data; name=\"timestamp_granularities[]\"", "", "word",
      `--${boundary}`, "Content-Disposition: form-data; name=\"timestamp_granularities[]\"", "", "segment",
      `--${boundary}--`
    ].join("\r\n"))
    assert.deepStrictEqual(Form.fieldsOf(parsed(body)), {
      prompt: "a cat", image: [{ filename: "a \"b\".png", contentType: "image/png", bytes: 3 }], timestamp_granularities: ["word", "segment"]
    })
  })
})
