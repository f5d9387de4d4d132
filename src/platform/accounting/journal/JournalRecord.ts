/**
 * The journal's records. A segment can be read on its own, from its beginning: whatever a record refers to stands before it
 * in the same segment.
 *
 * - A start names its context, which is written before the first start of the segment that needs it, and again every so often.
 * - A settle names its start. When that start stands in an older segment, it is repeated right before the settle.
 * - Contexts and starts are numbered by their writer for its whole life, and no number is ever used for something else: a
 *   record whose context or start is damaged is an `Orphan`, and never belongs to the wrong one.
 *
 * So retention asks nothing new of a segment: one that still holds a row to deliver holds everything that the row needs.
 */
import type { AttemptStart, LedgerRow, Outcome, Phases } from "#schemas/records/LedgerRow.ts"
import { names as unitNames, type Units } from "#schemas/records/Units.ts"
import { FrameBuffer, FrameReader, MARKER } from "./JournalBytes.ts"
import { type JournalContext, Contexts, type Numbered, REPEAT_STARTS } from "./JournalContexts.ts"

/** First record of a segment. */
export interface Header {
  readonly _tag: "Header"
  readonly version: number
  readonly nodeId: string
  readonly seq: number
  readonly createdAt: number
}
/** Fields that starts have in common; the decoder puts them into the starts. */
export interface ContextRecord {
  readonly _tag: "Context"
}
/** An attempt is about to be sent. A repeated start of the same attempt is the same start, in a newer segment. */
export interface Start {
  readonly _tag: "Start"
  readonly start: AttemptStart
}
/** An attempt is over. `ordinal` counts the settles of one writer from 1. */
export interface Settle {
  readonly _tag: "Settle"
  readonly ordinal: number
  readonly row: LedgerRow
}
/** Every settle up to and including `ordinal` is in the record store. */
export interface Ack {
  readonly _tag: "Ack"
  readonly ordinal: number
}
/** A sound record that needs a damaged one: it is known that there was an attempt, and no more. */
export interface Orphan {
  readonly _tag: "Orphan"
  /** Number of the start. */
  readonly number: number
  /** Null when the start itself is damaged. */
  readonly attemptId: string | null
  /** Null when the attempt had only started. */
  readonly settle: { readonly ordinal: number; readonly outcome: Outcome; readonly settledAt: number; readonly costUsd: number } | null
}
export type JournalRecord = Header | ContextRecord | Start | Settle | Ack | Orphan

/** A stretch of bytes: a record, or damage. `tail`: no valid frame follows, so the last write was torn. */
export type JournalFrame =
  | { readonly _tag: "Record"; readonly record: JournalRecord; readonly offset: number; readonly end: number }
  | { readonly _tag: "Damage"; readonly offset: number; readonly end: number; readonly tail: boolean }

export const FORMAT_VERSION = 2

const HEADER = 0
const START = 1
const SETTLE = 2
const ACK = 3
const CONTEXT = 4

/** Their numbers in the journal; a new one is only ever appended. */
const codes: Readonly<Record<Outcome, number>> = {
  completed: 0, "client-abort": 1, "gateway-timeout": 2, "upstream-reset": 3, "upstream-status": 4, "parse-error": 5, policy: 6, crashed: 7
}
const outcomes = (Object.keys(codes) as Array<Outcome>).sort((a, b) => codes[a] - codes[b])

const FINAL = 1
const ESTIMATED = 2
const HAS_TTFT = 4
const HAS_CLIENT_STATUS = 8
const HAS_UNITS = 16
const UNPRICED = 32
const HAS_PHASES = 64
const HAS_COMPRESSED = 128

/** Writes records behind each other into its buffer. */
export class RecordWriter {
  readonly buffer = new FrameBuffer()
  readonly #contexts = new Contexts()
  /** Contexts written in an earlier round may be missing where the next record goes. */
  #round = 0

  /** What was written since the last write did not reach the disk, or the next record goes to another segment. */
  forget(): void {
    this.#round++
  }

  header(header: Omit<Header, "_tag">): void {
    const { buffer } = this
    const offset = buffer.begin(HEADER)
    buffer.number(header.version)
    buffer.text(header.nodeId)
    buffer.number(header.seq)
    buffer.number(header.createdAt)
    buffer.end(offset)
  }

  start(number: number, s: AttemptStart): void {
    const { buffer } = this
    const context = this.#contexts.of(s)
    if (context.round !== this.#round || context.starts >= REPEAT_STARTS) this.#context(context)
    context.starts++
    const offset = buffer.begin(START)
    buffer.number(number)
    buffer.number(context.number)
    buffer.number(s.attempt)
    buffer.number(s.startedAt)
    buffer.text(s.attemptId)
    buffer.text(s.requestId)
    buffer.text(s.sessionTag)
    buffer.end(offset)
  }

  /** The settle of the start with this number, which must stand before it in the same segment. */
  settle(ordinal: number, number: number, r: LedgerRow): void {
    const outcome = outcomes.indexOf(r.outcome)
    if (outcome === -1) throw new Error(`unknown outcome ${r.outcome}`)
    const { buffer } = this
    const offset = buffer.begin(SETTLE)
    buffer.number(ordinal)
    buffer.number(number)
    buffer.byte(
      (r.final ? FINAL : 0) | (r.estimated ? ESTIMATED : 0) | (r.ttftMs === null ? 0 : HAS_TTFT) | HAS_CLIENT_STATUS |
        (r.units === null ? 0 : HAS_UNITS) | (r.unpriced ? UNPRICED : 0) | (r.phases === null ? 0 : HAS_PHASES) | (r.tokensCompressed === null ? 0 : HAS_COMPRESSED)
    )
    buffer.byte(outcome)
    buffer.number(r.settledAt)
    buffer.number(r.upstreamStatus)
    buffer.number(r.status)
    buffer.number(r.tokensIn)
    buffer.number(r.tokensOut)
    buffer.number(r.tokensCacheRead)
    buffer.number(r.tokensCacheCreation)
    buffer.number(r.tokensReasoning)
    buffer.number(r.costUsd)
    buffer.number(r.latencyMs)
    if (r.ttftMs !== null) buffer.number(r.ttftMs)
    buffer.text(r.errorCode)
    buffer.text(r.phase)
    buffer.number(r.clientStatus)
    if (r.units !== null) this.#units(r.units)
    if (r.phases !== null) this.#phases(r.phases)
    if (r.tokensCompressed !== null) buffer.number(r.tokensCompressed)
    // The flags are all taken: what stands behind the last field is this.
    if (r.proxyId !== null) buffer.text(r.proxyId)
    buffer.end(offset)
  }

  ack(ordinal: number): void {
    const offset = this.buffer.begin(ACK)
    this.buffer.number(ordinal)
    this.buffer.end(offset)
  }

  #units(units: Units): void {
    const { buffer } = this
    const used = unitNames.flatMap((name, number) => units[name] === undefined ? [] : [[number, units[name]] as const])
    buffer.byte(used.length)
    for (const [number, amount] of used) {
      buffer.byte(number)
      buffer.number(amount)
    }
  }

  /** A phase that was not reached is NaN. */
  #phases({ before, end, head, limits, queue, sent }: Phases): void {
    const { buffer } = this
    buffer.number(before)
    buffer.number(queue)
    buffer.number(limits)
    buffer.number(sent ?? Number.NaN)
    buffer.number(head ?? Number.NaN)
    buffer.number(end)
  }

  #context(numbered: Numbered): void {
    const { buffer } = this
    const { context: c } = numbered
    const offset = buffer.begin(CONTEXT)
    buffer.number(numbered.number)
    buffer.byte(c.stream ? 1 : 0)
    buffer.text(c.nodeId)
    buffer.text(c.endpoint)
    buffer.text(c.requestedModel)
    buffer.text(c.provider)
    buffer.text(c.model)
    buffer.text(c.connectionId)
    buffer.text(c.apiKeyId)
    buffer.text(c.apiKeyName)
    buffer.text(c.combo)
    buffer.text(c.sourceFormat)
    buffer.text(c.targetFormat)
    buffer.end(offset)
    numbered.round = this.#round
    numbered.starts = 0
  }
}

/** A start whose context is damaged. */
interface Unknown {
  readonly attemptId: string
  readonly nodeId: null
}

/** What the records read so far may be referred to by later ones. One decoder may read all segments of a writer in their order. */
export class Decoder {
  readonly #contexts = new Map<number, JournalContext>()
  readonly #starts = new Map<number, AttemptStart | Unknown>()

  /** Starts without a settle. */
  open(): ReadonlyArray<AttemptStart> {
    return Array.from(this.#starts.values()).filter((start) => start.nodeId !== null)
  }

  /** Ids of starts without a settle whose context is damaged. */
  unknown(): ReadonlyArray<string> {
    return Array.from(this.#starts.values()).filter((start) => start.nodeId === null).map((start) => start.attemptId)
  }

  /** The record whose payload `r` stands before, or null when its kind is not ours. */
  read(r: FrameReader): JournalRecord | null {
    switch (r.byte()) {
      case HEADER:
        // Each segment repeats the contexts that it needs.
        this.#contexts.clear()
        return { _tag: "Header", version: r.number(), nodeId: r.text(), seq: r.number(), createdAt: r.number() }
      case CONTEXT:
        return this.#context(r)
      case START:
        return this.#start(r)
      case SETTLE:
        return this.#settle(r)
      case ACK:
        return { _tag: "Ack", ordinal: r.number() }
      default:
        return null
    }
  }

  #context(r: FrameReader): JournalRecord {
    const number = r.number()
    const stream = r.byte() === 1
    this.#contexts.set(number, {
      nodeId: r.text(), endpoint: r.text(), requestedModel: r.text(), provider: r.text(), model: r.text(),
      connectionId: r.textOrNull(), apiKeyId: r.textOrNull(), apiKeyName: r.textOrNull(), combo: r.textOrNull(),
      sourceFormat: r.text(), targetFormat: r.text(), stream
    })
    return { _tag: "Context" }
  }

  #start(r: FrameReader): JournalRecord {
    const number = r.number()
    const c = this.#contexts.get(r.number())
    const attempt = r.number()
    const startedAt = r.number()
    const attemptId = r.text()
    const requestId = r.text()
    const sessionTag = r.textOrNull()
    if (c === undefined) {
      // A sound copy of it in an older segment knows more.
      if (!this.#starts.has(number)) this.#starts.set(number, { attemptId, nodeId: null })
      return { _tag: "Orphan", number, attemptId, settle: null }
    }
    const start: AttemptStart = {
      attemptId, requestId, attempt, startedAt, nodeId: c.nodeId, endpoint: c.endpoint, requestedModel: c.requestedModel,
      provider: c.provider, model: c.model, connectionId: c.connectionId, apiKeyId: c.apiKeyId, apiKeyName: c.apiKeyName,
      combo: c.combo, sessionTag, sourceFormat: c.sourceFormat, targetFormat: c.targetFormat, stream: c.stream
    }
    this.#starts.set(number, start)
    return { _tag: "Start", start }
  }

  #settle(r: FrameReader): JournalRecord | null {
    const ordinal = r.number()
    const number = r.number()
    const flags = r.byte()
    const outcome = outcomes[r.byte()]
    if (outcome === undefined) return null
    const settledAt = r.number()
    const upstreamStatus = r.number()
    const status = r.number()
    const tokensIn = r.number()
    const tokensOut = r.number()
    const tokensCacheRead = r.number()
    const tokensCacheCreation = r.number()
    const tokensReasoning = r.number()
    const costUsd = r.number()
    const latencyMs = r.number()
    const ttftMs = (flags & HAS_TTFT) === 0 ? null : r.number()
    const errorCode = r.textOrNull()
    const phase = r.textOrNull()
    // A record of an older release: its status is what the client was given.
    const clientStatus = (flags & HAS_CLIENT_STATUS) === 0 ? status : r.number()
    const units = (flags & HAS_UNITS) === 0 ? null : unitsIn(r)
    const phases = (flags & HAS_PHASES) === 0 ? null : phasesIn(r)
    const tokensCompressed = (flags & HAS_COMPRESSED) === 0 ? null : r.number()
    const proxyId = r.at < r.end ? r.textOrNull() : null
    const s = this.#starts.get(number)
    this.#starts.delete(number)
    if (s === undefined || s.nodeId === null) {
      return { _tag: "Orphan", number, attemptId: s === undefined ? null : s.attemptId, settle: { ordinal, outcome, settledAt, costUsd } }
    }
    return {
      _tag: "Settle",
      ordinal,
      row: {
        attemptId: s.attemptId, requestId: s.requestId, attempt: s.attempt, final: (flags & FINAL) !== 0, startedAt: s.startedAt,
        settledAt, nodeId: s.nodeId, endpoint: s.endpoint, requestedModel: s.requestedModel, provider: s.provider, model: s.model,
        connectionId: s.connectionId, apiKeyId: s.apiKeyId, apiKeyName: s.apiKeyName, combo: s.combo, sessionTag: s.sessionTag,
        sourceFormat: s.sourceFormat, targetFormat: s.targetFormat, stream: s.stream, outcome, upstreamStatus, status, clientStatus, errorCode,
        phase, tokensIn, tokensOut, tokensCacheRead, tokensCacheCreation, tokensReasoning,
        estimated: (flags & ESTIMATED) !== 0, units, unpriced: (flags & UNPRICED) !== 0, costUsd, latencyMs, ttftMs, phases, tokensCompressed, proxyId
      }
    }
  }
}

/** A unit of a later release is passed over. */
const unitsIn = (r: FrameReader): Units => {
  const units: Record<string, number> = {}
  for (let left = r.byte(); left > 0; left--) {
    const name = unitNames[r.byte()]
    const amount = r.number()
    if (name !== undefined) units[name] = amount
  }
  return units
}

const reached = (ms: number): number | null => Number.isNaN(ms) ? null : ms

const phasesIn = (r: FrameReader): Phases =>
  ({ before: r.number(), queue: r.number(), limits: r.number(), sent: reached(r.number()), head: reached(r.number()), end: r.number() })

/** What is left of an attempt, for the log. */
export const describe = ({ attemptId, number, settle }: Orphan): Record<string, unknown> => ({ number, attemptId, ...settle })

const recordOf = (reader: FrameReader, decoder: Decoder): JournalRecord | null => {
  try {
    return decoder.read(reader)
  } catch {
    return null
  }
}

/**
 * Walks the frames of a segment; damage is passed over to the next sound frame and reported once per stretch. To continue in the
 * middle of a segment, `decoder` must have read the part before.
 */
export function* frames(bytes: Uint8Array, decoder: Decoder = new Decoder()): Generator<JournalFrame, void> {
  const reader = new FrameReader(bytes)
  let offset = 0
  while (offset < bytes.length) {
    const end = reader.enter(offset)
    const record = end === -1 ? null : recordOf(reader, decoder)
    if (record !== null) {
      yield { _tag: "Record", record, offset, end }
      offset = end
      continue
    }
    let next = offset + 1
    while (next < bytes.length) {
      next = bytes.indexOf(MARKER, next)
      if (next === -1) next = bytes.length
      else if (reader.enter(next) !== -1) break
      else next += 1
    }
    yield { _tag: "Damage", offset, end: next, tail: next >= bytes.length }
    offset = next
  }
}

/** True for a file that another format wrote: nothing of it is ours to read, and nothing ours to remove. */
export const isForeign = (bytes: Uint8Array): boolean => {
  const first = frames(bytes).next().value
  if (first === undefined) return false
  if (first._tag === "Record") return first.record._tag === "Header" && first.record.version !== FORMAT_VERSION
  // A torn first write begins like ours, and one that a power loss emptied begins with zeros.
  return first.tail && bytes[0] !== MARKER && bytes[0] !== 0
}
