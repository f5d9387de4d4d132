/**
 * Replay of a dead process's segments: settled rows that the store has not acknowledged are delivered again, and a start
 * without a settle becomes one row with outcome `crashed`. The files are removed when everything is in the store.
 */
import * as fs from "node:fs/promises"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { messageOf } from "#actors/thrown.ts"
import type { AttemptStart, LedgerRow } from "#schemas/records/LedgerRow.ts"
import type { Delivery, DeliveryReport } from "#src/platform/accounting/Delivery.ts"
import type { JournalClaim } from "./JournalOwner.ts"
import * as JournalRecord from "./JournalRecord.ts"

/** Records decoded before the loop gets a turn, and rows per insert. */
const SLICE = 1000

/** What one dead owner left; the counters grow while its rows are delivered. */
export interface Replayed {
  /** False until the segments were read once. */
  scanned: boolean
  attempts: number
  /** Rows that the store has, of this replay or from before. */
  stored: number
  /** Rows set aside in `rejected.jsonl`. */
  rejected: number
  done: boolean
}

export const start = (): Replayed => ({ scanned: false, attempts: 0, stored: 0, rejected: 0, done: false })

/** The row of an attempt whose process was killed before it settled: nothing was measured, so nothing is claimed. */
const crashedRow = (start: AttemptStart, now: number): LedgerRow => ({
  ...start,
  final: false,
  settledAt: now,
  outcome: "crashed",
  upstreamStatus: 0,
  status: 0,
  clientStatus: 0,
  errorCode: null,
  phase: null,
  tokensIn: 0,
  tokensOut: 0,
  tokensCacheRead: 0,
  tokensCacheCreation: 0,
  tokensReasoning: 0,
  units: null,
  unpriced: false,
  estimated: true,
  costUsd: 0,
  latencyMs: Math.max(0, now - start.startedAt),
  ttftMs: null,
  phases: null,
  tokensCompressed: null,
  proxyId: null
})

/** The file system refuses a file of a dead process, which stays for the next look; the message names the file and what to do. */
export class ReplayRefused extends Schema.TaggedError<ReplayRefused>()("ReplayRefused", { message: Schema.String }) {}

const withFile = <A>(path: string, use: () => Promise<A>): Effect.Effect<A, ReplayRefused> =>
  Effect.tryPromise({
    try: use,
    catch: (error) => new ReplayRefused({
      message: `${path}: ${messageOf(error)}. Let the gateway's user read and remove it, or move it away: its rows are not in the ledger.`
    })
  })

const readSegment = (path: string): Effect.Effect<Uint8Array, ReplayRefused> => withFile(path, () => fs.readFile(path))

/** Decodes a segment in turns; `visit` may deliver what it has gathered. */
const walk = (bytes: Uint8Array, decoder: JournalRecord.Decoder, visit: (frame: JournalRecord.JournalFrame) => Effect.Effect<void> | void): Effect.Effect<void> =>
  Effect.gen(function*() {
    let count = 0
    for (const frame of JournalRecord.frames(bytes, decoder)) {
      const work = visit(frame)
      if (work !== undefined) yield* work
      if (++count % SLICE === 0) yield* nextTurn
    }
  })

/** Sockets get their turn, which a mere yield to other fibers need not give them. */
const nextTurn = Effect.callback<void>((resume) => {
  setImmediate(() => resume(Effect.void))
})

const removeFile = (path: string): Effect.Effect<void, ReplayRefused> => withFile(path, () => fs.rm(path, { force: true }))

const renameFile = (path: string, to: string): Effect.Effect<void, ReplayRefused> => withFile(path, () => fs.rename(path, to))

/** Delivers what a dead owner left, then removes its files; `replayed` shows the progress. Damaged segments are kept, renamed. */
export const run = (
  claim: JournalClaim,
  options: { readonly delivery: Delivery; readonly report: DeliveryReport; readonly replayed: Replayed }
): Effect.Effect<void, ReplayRefused> =>
  Effect.gen(function*() {
    const { delivery, replayed, report } = options
    const segments: Array<string> = []
    const damaged = new Set<string>()
    let decoder = new JournalRecord.Decoder()
    let acknowledged = 0
    let highest = 0
    let settled = 0
    let first = 0
    for (const segment of claim.segments) {
      const bytes = yield* readSegment(segment)
      if (JournalRecord.isForeign(bytes)) {
        report("error", "a journal segment of another format was set aside; its rows are not read", { segment, kept: `${segment}.foreign` })
        yield* renameFile(segment, `${segment}.foreign`)
        continue
      }
      segments.push(segment)
      yield* walk(bytes, decoder, (frame) => {
        if (frame._tag === "Damage") {
          if (frame.tail) report("warn", "the torn end of a journal segment was cut", { segment, offset: frame.offset, bytes: frame.end - frame.offset })
          else {
            damaged.add(segment)
            report("error", "a damaged stretch of a journal segment was passed over; the file is kept", { segment, offset: frame.offset, bytes: frame.end - frame.offset })
          }
          return
        }
        const record = frame.record
        if (record._tag === "Settle" && record.ordinal > highest) {
          if (first === 0) first = record.ordinal
          highest = record.ordinal
          settled++
        } else if (record._tag === "Ack") acknowledged = Math.max(acknowledged, record.ordinal)
      })
    }
    const open = decoder.open()
    for (const attemptId of decoder.unknown()) {
      report("error", "an attempt has no row: what its start refers to in the journal is damaged", { journal: claim.owner, attemptId })
    }
    replayed.attempts = settled + open.length
    replayed.stored = first === 0 ? 0 : Math.max(0, Math.min(settled, acknowledged - first + 1))
    replayed.scanned = true
    if (claim.segments.length > 0) {
      report("info", "replaying the journal of a process that is gone", { journal: claim.owner, settled: settled - replayed.stored, crashed: open.length })
    }
    const deliver = (rows: ReadonlyArray<LedgerRow>) =>
      delivery.deliver(rows).pipe(Effect.map((stored) => {
        replayed.stored += stored
        replayed.rejected += rows.length - stored
      }))
    let last = acknowledged
    decoder = new JournalRecord.Decoder()
    for (const segment of segments) {
      let rows: Array<LedgerRow> = []
      yield* walk(yield* readSegment(segment), decoder, (frame) => {
        if (frame._tag === "Damage") return
        const record = frame.record
        if (record._tag === "Orphan" && record.settle !== null && record.settle.ordinal > last) {
          last = record.settle.ordinal
          damaged.add(segment)
          report("error", "a settled row is lost: its start in the journal is damaged", { segment, ...JournalRecord.describe(record) })
        }
        if (record._tag !== "Settle" || record.ordinal <= last) return
        last = record.ordinal
        rows.push(record.row)
        if (rows.length < SLICE) return
        const full = rows
        rows = []
        return deliver(full)
      })
      if (rows.length > 0) yield* deliver(rows)
    }
    const now = yield* Clock.currentTimeMillis
    const crashed = open.map((start) => crashedRow(start, now))
    for (let i = 0; i < crashed.length; i += SLICE) yield* deliver(crashed.slice(i, i + SLICE))
    for (const segment of segments) {
      if (damaged.has(segment)) yield* renameFile(segment, `${segment}.damaged`)
      else yield* removeFile(segment)
    }
    yield* removeFile(claim.file)
    replayed.stored = replayed.attempts - replayed.rejected
    replayed.done = true
  })
