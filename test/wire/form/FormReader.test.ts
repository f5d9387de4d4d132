/** Forms that are read while they arrive: however their bytes are split, the parts are the same, and what is no form is refused. */
import { assert, describe, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import * as Arbitrary from "effect/Arbitrary"
import * as Errors from "#schemas/errors.ts"
import { PublicError } from "#schemas/errors.ts"
import * as Form from "#src/wire/form/Form.ts"
import * as FormReader from "#src/wire/form/FormReader.ts"

const boundary = "--b42"
const Name = Schema.String.check(Schema.isPattern(/^[a-z_]{1,12}$/))
/** Contents are mostly made of what a boundary is made of. */
const Piece = Schema.Literals(["\r", "\n", "\r\n", "-", "--", "\r\n--", `\r\n--${boundary.slice(0, -1)}`, `--${boundary}`, "b42", "x", "\u00ff\u0000", "\r\r\n----b4"])
const Content = Schema.Array(Piece).check(Schema.isMaxLength(12))
const Sent = Schema.Array(Schema.Struct({ name: Name, file: Schema.Boolean, content: Content })).check(Schema.isMaxLength(6))
const Cuts = Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 40 }))).check(Schema.isMinLength(1))

/** What ends a part cannot stand in it. */
const textOf = (content: ReadonlyArray<string>): string => {
  let text = content.join("")
  while (text.includes(`\r\n--${boundary}`)) text = text.replaceAll(`\r\n--${boundary}`, "")
  return text
}
const write = (parts: typeof Sent.Type, before = ""): Buffer => Buffer.from([
  before,
  ...parts.map(({ content, file, name }) =>
    `--${boundary}\r\nContent-Disposition: form-data; name="${name}"${file ? "; filename=\"a.wav\"\r\nContent-Type: audio/wav" : ""}\r\n\r\n${textOf(content)}\r\n`),
  `--${boundary}--\r\n`
].join(""), "latin1")

interface Read {
  readonly parts: ReadonlyArray<readonly [name: string, filename: string | null, contentType: string | null, content: string, ended: boolean]>
  readonly refused: PublicError | null
}

/** Reads the pieces of a body; each is overwritten once it was read, as a borrowed one may be. */
const read = (pieces: Iterable<Buffer>, limits: Partial<FormReader.FormLimits> = {}): Read => {
  const parts: Array<[string, string | null, string | null, string, boolean]> = []
  const reader = new FormReader.FormReader(boundary, ({ contentType, filename, name }) => {
    const part: (typeof parts)[number] = [name, filename, contentType, "", false]
    parts.push(part)
    return {
      push: (bytes) => {
        part[3] += Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("latin1")
        return null
      },
      end: () => {
        part[4] = true
        return null
      }
    }
  }, limits)
  for (const piece of pieces) {
    const borrowed = Buffer.from(piece)
    reader.push(borrowed)
    borrowed.fill(0x21)
  }
  return { parts, refused: reader.end() }
}

const split = (body: Buffer, cuts: ReadonlyArray<number>): ReadonlyArray<Buffer> => {
  const pieces: Array<Buffer> = []
  for (let at = 0, i = 0; at < body.length; i++) {
    const end = at + (cuts[i % cuts.length] as number)
    pieces.push(body.subarray(at, end))
    at = end
  }
  return pieces
}

describe("a form that is read while it arrives", () => {
  it.prop("gives the parts that were written, whatever stands in them and however it is split", { sent: Arbitrary.schema(Sent), cuts: Arbitrary.schema(Cuts) }, ({ cuts, sent }) => {
    const body = write(sent)
    const expected = sent.map(({ content, file, name }) => [name, file ? "a.wav" : null, file ? "audio/wav" : null, textOf(content), true])
    for (const pieces of [[body], split(body, [1]), split(body, cuts)]) {
      const { parts, refused } = read(pieces)
      assert.isNull(refused)
      assert.deepStrictEqual(parts as unknown, expected)
    }
  })

  it.prop("that was cut anywhere is refused, and its last part has not ended", { sent: Arbitrary.schema(Sent), cuts: Arbitrary.schema(Cuts), at: Arbitrary.schema(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 10_000 }))) }, ({ at, cuts, sent }) => {
    const body = write(sent)
    // The line break behind the last boundary may be missing.
    const { parts, refused } = read(split(body.subarray(0, at % (body.length - 3)), cuts))
    assert.instanceOf(refused, PublicError)
    assert.isAtMost(parts.filter(([, , , , ended]) => ended).length, sent.length)
    assert.strictEqual(parts.slice(0, -1).every(([, , , , ended]) => ended), true)
  })

  it.prop("may stand behind a preamble and before an epilogue", { sent: Arbitrary.schema(Sent), cuts: Arbitrary.schema(Cuts) }, ({ cuts, sent }) => {
    const body = Buffer.concat([write(sent, `a preamble --${boundary}\r\n\r\n`), Buffer.from(`--${boundary}\r\nno part`)])
    const { parts, refused } = read(split(body, cuts))
    assert.isNull(refused)
    assert.strictEqual(parts.length, sent.length)
  })

  const one = (head: string, content = "x"): Buffer => Buffer.from(`--${boundary}\r\n${head}\r\n\r\n${content}\r\n--${boundary}--\r\n`)
  const field = "Content-Disposition: form-data; name=\"a\""
  const file = `${field}; filename="a"`

  it.each<readonly [string, Buffer, string]>([
    ["nothing", Buffer.alloc(0), "does not begin with the boundary"],
    ["another boundary", Buffer.from(`--other\r\n${field}\r\n\r\nx\r\n--other--\r\n`), "does not begin with the boundary"],
    ["a long preamble", Buffer.concat([Buffer.alloc(70_000, 0x2e), Buffer.from("\r\n"), one(field)]), "does not begin with the boundary"],
    ["a boundary that goes on", Buffer.from(`--${boundary}z\r\n${field}\r\n\r\nx\r\n--${boundary}--\r\n`), "cut, or its boundary is wrong"],
    ["a carriage return alone behind a boundary", Buffer.from(`--${boundary}\r${field}\r\n\r\nx\r\n--${boundary}--\r\n`), "cut, or its boundary is wrong"],
    ["one dash behind a boundary", Buffer.from(`--${boundary}-\r\n`), "cut, or its boundary is wrong"],
    ["no headers", Buffer.from(`--${boundary}\r\n\r\nx\r\n--${boundary}--\r\n`), "has no name"],
    ["no name", one("Content-Disposition: form-data"), "has no name"],
    ["an attachment", one("Content-Disposition: attachment; name=\"a\""), "has no name"],
    ["headers that are too long", one(`${field}\r\nX-Long: ${"a".repeat(9_000)}`), "no end of its headers"],
    ["headers without an end", Buffer.from(`--${boundary}\r\n${field}\r\n${"X: y\r\n".repeat(5_000)}`), "no end of its headers"]
  ])("of %s is refused", (_name, body, message) => {
    for (const pieces of [[body], split(body, [1]), split(body, [7, 3_000, 11])]) {
      const { refused } = read(pieces)
      assert.include(refused?.message, message)
      assert.deepStrictEqual([refused?.status, refused?.extra], [400, { param: "body" }])
    }
  })

  it("takes blanks behind a boundary, headers in any case, names with signs, and a part without content", () => {
    const body = Buffer.from(`--${boundary} \t\r\ncontent-TYPE:  image/png \r\ncontent-disposition: form-data; filename="a \\"b\\" %22.png"; name=a%22\r\n\r\n\r\n--${boundary}--`)
    for (const pieces of [[body], split(body, [1])]) assert.deepStrictEqual(read(pieces), { parts: [["a\"", "a \"b\" \".png", "image/png", "", true]], refused: null })
  })

  it.each([
    ["name=\"f\"; filename*=UTF-8''sch%C3%B6n.txt", "f", "schön.txt"],
    ["name=f; filename=\"=?utf-8?B?c2Now7Zu?=\"; filename*=utf-8'de'sch%C3%B6n%22.txt", "f", "schön\".txt"],
    ["name=\"f\"; filename*=utf-8''a%FF.txt; filename=\"plain.txt\"", "f", "plain.txt"],
    ["name=\"f\"; filename*=koi8-r''a%C1.txt; filename=\"plain.txt\"", "f", "plain.txt"],
    ["name=\"f\"; filename=\"a; filename*=UTF-8''b.txt\"", "f", "a; filename*=UTF-8''b.txt"],
    ["filename=\"my; name=other.txt\"; name=\"f\"", "f", "my; name=other.txt"],
    ["filename=\"a name=other; b.txt\"; name=f", "f", "a name=other; b.txt"]
  ])("reads names that are encoded, and none within quotes: %s", (head, name, filename) => {
    const { parts, refused } = read([one(`Content-Disposition: form-data; ${head}`)])
    assert.isNull(refused)
    assert.deepStrictEqual(parts.map((part) => part.slice(0, 2)), [[name, filename]])
  })

  it("is bound in its parts and plain fields, not in its files", () => {
    const many = (count: number, name: string, content: string): Buffer =>
      Buffer.from(`${`--${boundary}\r\n${name}\r\n\r\n${content}\r\n`.repeat(count)}--${boundary}--\r\n`)
    const limits = { parts: 3, field: 100, fields: 300 }
    assert.isNull(read([many(3, file, "x".repeat(10_000))], limits).refused)
    assert.include(read([many(4, file, "")], limits).refused?.message, "more than 3 parts")
    assert.isNull(read([many(1, field, "x".repeat(100))], limits).refused)
    assert.include(read(split(many(1, field, "x".repeat(101)), [30]), limits).refused?.message, "Field 'a' of the form is larger than 100 bytes.")
    assert.include(read(split(many(3, field, "x".repeat(90)), [30]), limits).refused?.message, "larger than 300 bytes together")
    assert.include(read([many(3, file.padEnd(200, ";"), "")], limits).refused?.message, "larger than 300 bytes together")
  })

  it("ends with the refusal of whatever receives its parts, and asks it for nothing more", () => {
    const full = Errors.make("service_unavailable", "no room")
    for (const where of ["begin", "push", "end"] as const) {
      const seen: Array<string> = []
      const reader = new FormReader.FormReader(boundary, () => {
        seen.push("begin")
        return where === "begin" ? full : {
          push: () => {
            seen.push("push")
            return where === "push" ? full : null
          },
          end: () => {
            seen.push("end")
            return full
          }
        }
      })
      const body = Buffer.concat([one(file).subarray(0, -10), one(file)])
      assert.strictEqual(reader.push(body), full)
      assert.strictEqual(reader.push(body), full)
      assert.strictEqual(reader.end(), full)
      assert.deepStrictEqual(seen, ["begin", "push", "end"].slice(0, ["begin", "push", "end"].indexOf(where) + 1))
    }
  })

  it("has its boundary in its type, quoted or not; other types have none", () => {
    assert.strictEqual(FormReader.boundaryOf("multipart/form-data; boundary=abc"), "abc")
    assert.strictEqual(FormReader.boundaryOf("Multipart/Form-Data;charset=utf-8; boundary=\"a b?\""), "a b?")
    assert.isNull(FormReader.boundaryOf("application/json; boundary=abc"))
    assert.isNull(FormReader.boundaryOf("multipart/form-data"))
    assert.isNull(FormReader.boundaryOf(undefined))
    assert.strictEqual(FormReader.boundaryOf(Form.contentTypeOf({ boundary: "a b?" })), "a b?")
  })
})
