/**
 * A byte scanner for server-sent events: finds where each event ends, whatever the upstream does to line ends or segment
 * boundaries. It never decodes, and what lies inside one chunk is handed on as offsets into that chunk. The beginning of an event
 * that a segment boundary cut is copied, because chunks are borrowed, and joined with the next chunk in memory that all scanners
 * share: a stream keeps the few bytes of its unfinished event and nothing else.
 *
 * Handles LF, CRLF and CR, a leading BOM, comments, `data:` with and without space, multi-line data and a missing last newline
 * (`flush`). What it holds is bounded by `EventMemory`, so a hostile upstream cannot grow the buffer.
 */
import * as Json from "#src/wire/json/json.ts"
import { EventMemory, maxEventBytes } from "./EventMemory.ts"
import { longEventBytes, type LongStrings } from "#src/wire/json/LongStrings.ts"

const LF = 0x0a
const CR = 0x0d
const COLON = 0x3a
const SPACE = 0x20
const endOfEvent = Buffer.from("\n\n")

/** Where a cut event is joined with the chunk that continues it; free again when `push` has returned and its events were taken. */
const scratch = Buffer.allocUnsafeSlow(128 * 1024)
/** A longer beginning is joined there only with a chunk that is longer still, so that an event in many pieces costs linear time. */
const shortBeginning = 4 * 1024

/** Longest terminator is CRLF CRLF: a resumed search looks again at one byte less. */
const longestTerminator = 4

/**
 * Called with each complete event: `bytes[start, end)` includes the terminating blank line, and is borrowed like the chunk it
 * came in.
 */
export interface EventSink {
  readonly event: (bytes: Buffer, start: number, end: number) => void
  /** Takes the events from `start` on whose ends it knows without a search; answers where they end, or `start`. Streams without CR only. */
  readonly repeats?: (bytes: Buffer, start: number) => number
}

export class SseScanner {
  private readonly sink: EventSink
  private tail: Buffer | null = null
  private tailLength = 0
  private sawCarriageReturn = false
  private readonly memory = new EventMemory()

  constructor(sink: EventSink) {
    this.sink = sink
  }

  /** Bytes of an unfinished event that are being held back. */
  get held(): number {
    return this.tailLength
  }

  /** Feeds bytes; answers false when there is no room for an event (the scanner must not be fed again). */
  push(chunk: Buffer): boolean {
    const { sink } = this
    let bytes = chunk
    let start = 0
    let from = 0
    if (this.tail !== null) {
      if (!this.memory.holds(this.tailLength + chunk.length)) return false
      from = Math.max(0, this.tailLength - longestTerminator + 1)
      bytes = this.join(this.tail, chunk)
    } else if (sink.repeats !== undefined && !this.sawCarriageReturn) {
      start = sink.repeats(chunk, 0)
      if (start === chunk.length) return true
    }
    if (!this.sawCarriageReturn && chunk.indexOf(CR, this.tail === null ? start : 0) !== -1) {
      this.sawCarriageReturn = true
      from = 0
    }
    for (;;) {
      const end = this.sawCarriageReturn ? endOfMixedEvent(bytes, Math.max(start, from)) : endOfPlainEvent(bytes, Math.max(start, from))
      if (end === -1) break
      sink.event(bytes, start, end)
      start = sink.repeats !== undefined && !this.sawCarriageReturn ? sink.repeats(bytes, end) : end
    }
    if (start === bytes.length) {
      this.forget()
      return true
    }
    // A beginning that grew where it is kept stays there.
    if (this.tail === null || start > 0 || bytes.buffer !== this.tail.buffer) {
      this.tail = Buffer.from(bytes.subarray(start))
      this.tailLength = this.tail.length
    }
    return this.memory.holds(this.tailLength)
  }

  /** The stream ended: an event that lacks nothing but its blank line is handed over with one; what was cut in its data is no event. */
  flush(): void {
    const event = this.tail === null ? null : completed(this.tail.subarray(0, this.tailLength))
    this.forget()
    if (event !== null) this.sink.event(event, 0, event.length)
  }

  /** Nothing more will be fed: what is held is forgotten. */
  close(): void {
    this.forget()
  }

  private forget(): void {
    if (this.tail === null) return
    this.tail = null
    this.tailLength = 0
    this.memory.holds(0)
  }

  /** The held bytes and the chunk in one piece: in the scratch memory, or where the held bytes grow with doubling capacity. */
  private join(tail: Buffer, chunk: Buffer): Buffer {
    const length = this.tailLength + chunk.length
    const isShort = this.tailLength <= shortBeginning || this.tailLength < chunk.length
    // What a scanner handed on may be fed to another one while it lies there.
    if (isShort && length <= scratch.length && chunk.buffer !== scratch.buffer) {
      tail.copy(scratch, 0, 0, this.tailLength)
      chunk.copy(scratch, this.tailLength)
      return scratch.subarray(0, length)
    }
    let joined = tail
    if (tail.length < length) {
      joined = Buffer.allocUnsafeSlow(Math.max(length, Math.min(2 * length, maxEventBytes)) + 1)
      tail.copy(joined, 0, 0, this.tailLength)
    }
    chunk.copy(joined, this.tailLength)
    this.tail = joined
    this.tailLength = length
    return joined.subarray(0, length)
  }
}

/** What lacks behind the last two bytes of an event. */
const missingEnd = (before: number | undefined, last: number | undefined): string => {
  // A last CR may have become CRLF: this is unknown until the end of the stream.
  if (last === CR) return before === CR || before === LF ? "" : "\r"
  return last === LF ? "\n" : "\n\n"
}

/** The event with its blank line; null when it is not whole. */
const completed = (bytes: Buffer): Buffer | null => {
  const data = dataOf(bytes, 0, bytes.length)?.trim()
  if (data === undefined || (data !== "[DONE]" && !Json.isWhole(data))) return null
  return Buffer.concat([bytes, Buffer.from(missingEnd(bytes[bytes.length - 2], bytes[bytes.length - 1]))])
}

const endOfPlainEvent = (bytes: Buffer, from: number): number => {
  const at = bytes.indexOf(endOfEvent, from)
  return at === -1 ? -1 : at + 2
}

/**
 * The end of an event when carriage returns are about: two line ends in a row, each CRLF, CR or LF. A CR that is the very
 * last byte may still become CRLF, so it ends nothing until the next byte is seen.
 */
const endOfMixedEvent = (bytes: Buffer, from: number): number => {
  const length = bytes.length
  let i = from
  while (i < length) {
    const byte = bytes[i]
    if (byte !== LF && byte !== CR) {
      i++
      continue
    }
    const first = afterLineEnd(bytes, i)
    if (first === -1 || first >= length) return -1
    const next = bytes[first]
    if (next === LF || next === CR) return afterLineEnd(bytes, first)
    i = first
  }
  return -1
}

/** Offset after the line end at `i`, or -1 while the byte after a final CR is not known. */
const afterLineEnd = (bytes: Buffer, i: number): number => {
  if (bytes[i] === LF) return i + 1
  if (i + 1 >= bytes.length) return -1
  return bytes[i + 1] === LF ? i + 2 : i + 1
}

/**
 * The data payload of one event as a string: `data` lines joined by a newline, comments and other fields ignored; null
 * when the event carries no data, and is no error without a field. Off the per-event fast path. `long` takes the long strings of a long event.
 */
export const dataOf = (bytes: Buffer, start: number, end: number, long?: LongStrings): string | null => {
  const isLong = end - start > longEventBytes
  let data: string | null = null
  let i = start
  if (end - start >= 3 && bytes[start] === 0xef && bytes[start + 1] === 0xbb && bytes[start + 2] === 0xbf) i += 3
  while (i < end) {
    const stop = isLong ? endOfLongLine(bytes, i, end) : endOfLine(bytes, i, end)
    if (isDataLine(bytes, i, stop)) {
      let value = i + 4
      if (value < stop && bytes[value] === COLON) value++
      if (value < stop && bytes[value] === SPACE) value++
      const line = isLong && long !== undefined ? long.shorten(bytes, value, stop) : bytes.toString("utf8", value, stop)
      data = data === null ? line : `${data}\n${line}`
    }
    i = stop + 1
  }
  return data ?? (isLong ? null : bareError(bytes, start, end))
}

const BRACE = 0x7b
const errorKey = '"error"'

/** An error that a server wrote as it stands into a stream that it had begun: no field of an event, but all that tells why it ended. */
const bareError = (bytes: Buffer, start: number, end: number): string | null => {
  if (bytes[start] !== BRACE) return null
  const text = bytes.toString("utf8", start, end)
  return text.includes(errorKey) && Json.isWhole(text) ? text : null
}

const endOfLine = (bytes: Buffer, start: number, end: number): number => {
  let stop = start
  while (stop < end && bytes[stop] !== LF && bytes[stop] !== CR) stop++
  return stop
}

/** The same with native searches. */
const endOfLongLine = (bytes: Buffer, start: number, end: number): number => {
  const lf = bytes.indexOf(LF, start)
  const stop = lf === -1 || lf > end ? end : lf
  const cr = bytes.subarray(start, stop).indexOf(CR)
  return cr === -1 ? stop : start + cr
}

/** A line of field `data`: exactly `data`, or `data:` with anything after it. */
const isDataLine = (bytes: Buffer, i: number, stop: number): boolean =>
  stop - i >= 4 && bytes[i] === 0x64 && bytes[i + 1] === 0x61 && bytes[i + 2] === 0x74 && bytes[i + 3] === 0x61 &&
  (stop - i === 4 || bytes[i + 4] === COLON)
