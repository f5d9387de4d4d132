import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { MAX_FIELD_LENGTH } from "#src/platform/accounting/journal/JournalBytes.ts"
import { REPEAT_STARTS } from "#src/platform/accounting/journal/JournalContexts.ts"
import * as JournalRecord from "#src/platform/accounting/journal/JournalRecord.ts"
import { LedgerRow } from "#schemas/records/LedgerRow.ts"
import { attemptStart, settledRow } from "./support.ts"

const clipped = (row: LedgerRow): LedgerRow => {
  const entries = Object.entries(row).map(([field, value]) => [field, typeof value === "string" ? value.slice(0, MAX_FIELD_LENGTH) : value])
  return Object.fromEntries(entries)
}

/** A segment with a start and a settle per row, and where each record ends. */
const segmentOf = (rows: ReadonlyArray<LedgerRow>, writer = new JournalRecord.RecordWriter()) => {
  const ends: Array<number> = []
  const mark = () => void ends.push(writer.buffer.length)
  writer.buffer.clear()
  writer.header({ version: JournalRecord.FORMAT_VERSION, nodeId: "node-1", seq: 1, createdAt: 1 })
  mark()
  rows.forEach((row, index) => {
    writer.start(index + 1, row)
    mark()
    writer.settle(index + 1, index + 1, row)
    mark()
  })
  return { bytes: Uint8Array.from(writer.buffer.bytes.subarray(0, writer.buffer.length)), ends }
}

const rowsIn = (bytes: Uint8Array): ReadonlyArray<LedgerRow> =>
  [...JournalRecord.frames(bytes)].flatMap((frame) => frame._tag === "Record" && frame.record._tag === "Settle" ? [frame.record.row] : [])

/** Rows that differ in everything that could be mixed up. */
const distinct = (count: number): ReadonlyArray<LedgerRow> =>
  Array.from({ length: count }, (_, i) =>
    settledRow(attemptStart(`a${i}`, { model: `model-${i % 3}`, apiKeyId: `key-${i % 2}`, sessionTag: `session-${i}` }), { tokensIn: i, errorCode: `code-${i}` }))

/** A header, a start and its settle, as the release wrote them that knew no units. */
const withoutUnits = Buffer.from(
  "qCEAAOeY4s0AAAAAAAAAAEAMAG5vZGUtMQAAAAAAAPA/AAAAAAAA8D+odgAA/qJycwQAAAAAAADwPwEMAG5vZGUtMSgAL3YxL2NoYXQvY29tcG" +
  "xldGlvbnMaAG9wZW5haS9ncHQtNG8MAG9wZW5haQwAZ3B0LTRvGABjb25uZWN0aW9uLTEKAGtleS0xFABwcm9kdWN0aW9u//8IAGNoYXQIAGNo" +
  "YXSoMQAAbNckcAEAAAAAAADwPwAAAAAAAPA/AAAAAAAA8D8AAADMgpx5QgYAb2xkDgByZXEtb2xk//+odwAANddy1wIAAAAAAADwPwAAAAAAAP" +
  "A/DQAAIE3Mgpx5QgAAAAAAAGlAAAAAAAAAaUAAAAAAAABZQAAAAAAAADRAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAhIxa+oQuID8AAAAAAEqT" +
  "QAAAAAAAFHRA/////wAAAAAAAGlA",
  "base64"
)

describe("JournalRecord", () => {
  it("a segment of a release without units reads as rows that used none, and is written the same", () => {
    const row = settledRow(attemptStart("old"))
    assert.deepStrictEqual(rowsIn(withoutUnits), [row])
    assert.strictEqual(Buffer.from(segmentOf([row]).bytes).toString("base64"), withoutUnits.toString("base64"))
  })

  it("units come back as they were settled, each row its own", () => {
    const rows = [null, { image: 2 }, { second: 0.25, request: 1 }, { image: 0, page: 7, document: 1e15 }].map((units, i) =>
      settledRow(attemptStart(`a${i}`), { units, unpriced: i === 1 }))
    assert.deepStrictEqual(rowsIn(segmentOf(rows).bytes), rows)
  })

  it.effect.prop("any row comes back as it was written, clipped", [LedgerRow, LedgerRow], ([one, two]) =>
    Effect.sync(() => {
      assert.deepStrictEqual(rowsIn(segmentOf([one, two, one]).bytes), [clipped(one), clipped(two), clipped(one)])
    }), { arbitrary: { runs: 200 } })

  it("texts of any script, lone surrogates and texts beyond the bound come back", () => {
    const long = "x".repeat(MAX_FIELD_LENGTH + 1)
    const rows = [
      settledRow(attemptStart("a1", { model: "modèle", requestedModel: "模型", apiKeyName: "🔑", combo: "\ud800", sessionTag: "\0" })),
      settledRow(attemptStart(long, { model: long, requestedModel: "型".repeat(MAX_FIELD_LENGTH + 1), sessionTag: long }), { errorCode: long, phase: "" }),
      settledRow(attemptStart("a3", { connectionId: null, apiKeyId: null, apiKeyName: null, combo: null, sessionTag: null }), { ttftMs: null, costUsd: NaN, tokensIn: Infinity, latencyMs: -0, tokensCompressed: 12 }),
      ...LedgerRow.fields.outcome.literals.map((outcome) => settledRow(attemptStart(outcome), { outcome }))
    ]
    assert.deepStrictEqual(rowsIn(segmentOf(rows).bytes), rows.map(clipped))
  })

  it("a start without a settle is open, a context is written once per segment", () => {
    const writer = new JournalRecord.RecordWriter()
    const first = segmentOf(distinct(12), writer)
    writer.forget()
    const second = segmentOf(distinct(12), writer)
    for (const { bytes } of [first, second]) {
      assert.deepStrictEqual(rowsIn(bytes), distinct(12))
      assert.strictEqual([...JournalRecord.frames(bytes)].filter((frame) => frame._tag === "Record" && frame.record._tag === "Context").length, 6)
    }
    const decoder = new JournalRecord.Decoder()
    assert.strictEqual([...JournalRecord.frames(first.bytes.subarray(0, first.ends[3]), decoder)].length, 6)
    assert.deepStrictEqual(decoder.open().map((start) => start.attemptId), ["a1"])
  })

  it("a segment cut at any byte keeps every record that is whole", () => {
    const { bytes, ends } = segmentOf(distinct(4))
    const rows = distinct(4)
    for (let length = 0; length <= bytes.length; length++) {
      const cut = bytes.subarray(0, length)
      const settles = ends.filter((end, index) => index > 0 && index % 2 === 0 && end <= length).length
      assert.deepStrictEqual(rowsIn(cut), rows.slice(0, settles))
      const damage = [...JournalRecord.frames(cut)].filter((frame) => frame._tag === "Damage")
      assert.isTrue(damage.length <= 1 && damage.every((frame) => frame.tail))
      assert.isFalse(JournalRecord.isForeign(cut))
    }
  })

  it("a damaged byte costs the records that need it, and gives no row to somebody else", () => {
    const { bytes } = segmentOf(distinct(8))
    const rows = new Map(distinct(8).map((row) => [row.attemptId, row]))
    for (let at = 0; at < bytes.length; at++) {
      const bad = Uint8Array.from(bytes)
      bad[at]! ^= 1 << (at % 8)
      const decoder = new JournalRecord.Decoder()
      const seen = [...JournalRecord.frames(bad, decoder)]
      assert.isTrue(seen.some((frame) => frame._tag === "Damage"))
      assert.isFalse(JournalRecord.isForeign(bad))
      const accounted = new Set([...decoder.open().map((start) => start.attemptId), ...decoder.unknown()])
      for (const frame of seen) {
        if (frame._tag === "Damage") continue
        const { record } = frame
        if (record._tag === "Settle") {
          assert.deepStrictEqual(record.row, rows.get(record.row.attemptId))
          accounted.add(record.row.attemptId)
        } else if (record._tag === "Orphan" && record.settle !== null) accounted.add(`a${record.settle.ordinal - 1}`)
      }
      // Every attempt has a row, or is known to have none: damage never makes one disappear.
      assert.strictEqual(accounted.size, 8)
    }
  })

  it("a damaged context costs a bounded number of rows", () => {
    const rows = Array.from({ length: 1000 }, (_, i) => settledRow(attemptStart(`a${i}`)))
    const { bytes } = segmentOf(rows)
    const context = [...JournalRecord.frames(bytes)].find((frame) => frame._tag === "Record" && frame.record._tag === "Context")
    bytes[(context?.end ?? 0) - 1]! ^= 1
    assert.isAtMost(REPEAT_STARTS, 256)
    assert.deepStrictEqual(rowsIn(bytes), rows.slice(REPEAT_STARTS))
  })

  it("more contexts than are remembered are written again, never mistaken", () => {
    const rows = Array.from({ length: 6000 }, (_, i) => settledRow(attemptStart(`a${i}`, { requestedModel: `model-${i % 3000}`, connectionId: `c${i % 7}` })))
    assert.deepStrictEqual(rowsIn(segmentOf(rows).bytes), rows)
  })

  it("contexts that are alike at a glance are told apart by every field", () => {
    const base = attemptStart("a0", { combo: "1-common-text" })
    const rows = (["nodeId", "endpoint", "requestedModel", "provider", "model", "connectionId", "apiKeyId", "apiKeyName", "combo", "sourceFormat", "targetFormat"] as const)
      .flatMap((field) => ["1", "2", "1"].map((mark) => settledRow({ ...base, [field]: `${mark}-common-text` })))
    const all = [...rows, settledRow({ ...base, stream: true }), settledRow({ ...base, stream: false })]
    assert.deepStrictEqual(rowsIn(segmentOf(all).bytes), all)
  })

  it("a file of another format or version is foreign", () => {
    assert.isTrue(JournalRecord.isForeign(Buffer.from([0xa7, 5, 0, 0, 1, 2, 3, 4, 0x95, 0, 1, 2, 3])))
    const writer = new JournalRecord.RecordWriter()
    writer.header({ version: JournalRecord.FORMAT_VERSION + 1, nodeId: "node-1", seq: 1, createdAt: 1 })
    assert.isTrue(JournalRecord.isForeign(writer.buffer.bytes.subarray(0, writer.buffer.length)))
    assert.isFalse(JournalRecord.isForeign(new Uint8Array(64)))
  })
})
