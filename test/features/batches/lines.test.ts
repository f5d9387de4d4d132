import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Schema from "effect/Schema"
import { bodyFor, check as checkLine, InputCheck, isProblem, known, outline } from "#src/features/batches/lines/inputLine.ts"
import { type Line, LineCutter } from "#src/features/batches/lines/LineCutter.ts"
import * as OutputLine from "#src/features/batches/lines/outputLine.ts"
import { chatLine, line } from "./support.ts"

const cut = (text: string, sizes: ReadonlyArray<number>, from?: { line: number; offset: number }, most?: number): ReadonlyArray<Line> => {
  const cutter = new LineCutter(from, most)
  const bytes = Buffer.from(text)
  const lines: Array<Line> = []
  let at = 0
  for (let i = 0; at < bytes.length; i++) {
    const size = Math.max(1, sizes[i % Math.max(1, sizes.length)] ?? bytes.length)
    const chunk = Buffer.from(bytes.subarray(at, at + size))
    lines.push(...cutter.push(chunk))
    // The chunk is not kept after it was handed over.
    chunk.fill(0)
    at += size
  }
  return [...lines, ...cutter.end()]
}
const texts = (lines: ReadonlyArray<Line>) => lines.map(({ bytes }) => bytes?.toString("utf8") ?? null)

const Sizes = Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 9 }))).check(Schema.isMinLength(1), Schema.isMaxLength(9))
const Texts = Schema.Array(Schema.String.check(Schema.isMaxLength(12))).check(Schema.isMaxLength(12))

describe("the lines of a file", () => {
  it.prop("are the same however its bytes arrive, and each can be found by its offset", { texts: Arbitrary.schema(Texts), sizes: Arbitrary.schema(Sizes) }, ({ sizes, texts: given }) => {
    const whole = given.map((text) => text.replaceAll(/[\r\n\ufeff]/g, "").toWellFormed())
    const text = whole.map((one) => `${one}\n`).join("")
    const lines = cut(text, sizes)
    assert.deepStrictEqual(texts(lines), whole)
    const bytes = Buffer.from(text)
    for (const one of lines) {
      assert.deepStrictEqual(bytes.subarray(one.offset, one.next).toString("utf8"), `${one.bytes!.toString("utf8")}\n`)
      const rest = cut(bytes.subarray(one.next).toString("utf8"), sizes, { line: one.number + 1, offset: one.next })
      assert.deepStrictEqual(rest.map(({ number, offset }) => [number, offset]), lines.slice(one.number).map(({ number, offset }) => [number, offset]))
    }
  })

  it("may end with CRLF, begin with a byte order mark, and lack the last line feed", () => {
    assert.deepStrictEqual(texts(cut("\ufeffa\r\nb\r\nc", [3])), ["a", "b", "c"])
  })

  it("longer than a line may be are named and not held", () => {
    assert.deepStrictEqual(cut(`ab\n${"x".repeat(20)}\ncd\n`, [4], undefined, 10).map(({ bytes, number, offset }) => [number, offset, bytes?.toString() ?? null]), [[1, 0, "ab"], [2, 3, null], [3, 24, "cd"]])
  })
})

const lineOf = (text: string, number = 1): Line => ({ number, offset: 0, next: text.length, bytes: Buffer.from(text) })

describe("a line", () => {
  it("asks for a whole answer, and keeps every other byte of its body", () => {
    const said = outline(lineOf(line("a", { model: "m", stream: true, stream_options: { include_usage: true }, background: true, seed: 12345678901234567000, x: { stream: true } })), "/v1/chat/completions")
    if (isProblem(said)) throw new Error(said.message)
    assert.strictEqual(bodyFor("/v1/chat/completions", said).toString(), '{"model":"m","seed":12345678901234567000,"x":{"stream":true}}')
    assert.strictEqual(bodyFor("/v1/embeddings", said), said.body)
  })

  it.prop("that was checked is read briefly as it is read at length", {
    entries: Arbitrary.schema(Schema.Array(Schema.Tuple([Schema.Literals(["custom_id", "body", "method", "url", "x", "cust\\u006fm_id"]), Schema.Json]))), space: Arbitrary.schema(Schema.Literals(["", " ", "\t "]))
  }, ({ entries, space }) => {
    const members = [...entries.map(([name, value]) => [name, JSON.stringify(value)]), ["method", '"POST"'], ["url", '"/v1/embeddings"'], ["custom_id", '"a \\"quoted\\" id"'], ["body", '{"a":[{"b":"\\\\"}]}']]
    const text = `${space}{${members.map(([name, value]) => `${space}"${name}"${space}:${space}${value}${space}`).join(",")}}${space}`
    const one = lineOf(text)
    assert.deepStrictEqual(known(one, "/v1/embeddings"), outline(one, "/v1/embeddings"))
  })

  it("beyond the number that a batch may have is named", () => {
    const check = new InputCheck(2)
    const add = (id: string, number: number) => {
      const one = lineOf(chatLine(id, "m"), number)
      const said = checkLine(one, "/v1/chat/completions")
      return isProblem(said) ? said : check.add(one, said)
    }
    assert.deepStrictEqual([add("a", 1), add("b", 2), add("c", 5)?.code], [null, null, "too_many_lines"])
    assert.deepStrictEqual([add("a", 1), check.model], [{ code: "too_many_lines", message: "Line 1: the input has more than 2 requests (GATEWAY_BATCH_MAX_LINES).", line: 1, param: null }, "m"])
  })
})

describe("an answer", () => {
  it("stands on one line with the bytes it came with", () => {
    const body = Buffer.from('{\n  "big": 12345678901234567890,\r\n  "text": "a\\nb",\n "usage": {"prompt_tokens": 3, "completion_tokens": 4, "prompt_tokens_details": {"cached_tokens": 2}}\n}')
    const { failed, text, usage } = OutputLine.answered("id_7", 7, 'q"1', { status: 200, requestId: "req_1", body })
    assert.isFalse(failed)
    assert.notMatch(text, /[\r\n]/)
    assert.include(text, "12345678901234567890")
    assert.deepStrictEqual((JSON.parse(text) as { custom_id: string }).custom_id, 'q"1')
    assert.deepStrictEqual(usage, { input: 3, output: 4, cached: 2, reasoning: 0 })
  })

  it("of a vendor with a cache beside the input counts it in", () => {
    const told = (answer: string) => OutputLine.answered("id_1", 1, "a", { status: 200, requestId: "req_1", body: Buffer.from(answer) }).usage
    assert.deepStrictEqual(told('{"usage":{"prompt_tokens":12,"completion_tokens":2,"total_tokens":331,"completion_tokens_details":{"reasoning_tokens":317}}}'), { input: 12, output: 319, cached: 0, reasoning: 317 })
    assert.deepStrictEqual(told('{"usage":{"input_tokens":5,"cache_read_input_tokens":20,"cache_creation_input_tokens":3,"output_tokens":7}}'), { input: 28, output: 7, cached: 20, reasoning: 0 })
    assert.isNull(told("{}"))
    assert.isNull(told("no JSON"))
  })

  it("that is large is told by its outline", () => {
    const usage = { prompt_tokens: 3, completion_tokens: 4 }
    const large = OutputLine.answered("id_1", 1, "a", { status: 200, requestId: "req_1", body: Buffer.from(JSON.stringify({ text: "x".repeat(300_000), usage })) })
    assert.deepStrictEqual(large.usage, { input: 3, output: 4, cached: 0, reasoning: 0 })
    assert.deepNestedInclude(JSON.parse(large.text), { "response.body.usage": usage })
  })

  it("that is no JSON is a text", () => {
    const { text } = OutputLine.answered("id_1", 1, "a", { status: 502, requestId: "req_1", body: Buffer.from('{"cut": "he') })
    assert.deepNestedInclude(JSON.parse(text), { "response.status_code": 502, "response.body": '{"cut": "he' })
  })
})
