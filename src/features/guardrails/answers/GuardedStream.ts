/**
 * The bytes of a streamed answer as its guardrails leave them, in the client's format: events of server-sent events, or lines of JSON. An
 * event in which nothing changes keeps its bytes. Text that was held back goes out before the event that ends it. Pure.
 */
import type { FormatName } from "#schemas/wire/conversation.ts"
import { asBuffer } from "#src/wire/json/asBuffer.ts"
import * as Edits from "#src/wire/json/edits.ts"
import * as Json from "#src/wire/json/json.ts"
import { dataOf, SseScanner } from "#src/wire/stream/SseScanner.ts"
import type { Progress } from "#src/wire/WireFormat.ts"
import { refusing } from "#src/features/guardrails/Reading.ts"
import type { AnswerReading } from "./AnswerReading.ts"
import * as Frames from "./frames.ts"

type Event = Readonly<Record<string, unknown>>

const LF = 0x0a
/** A line that is longer is no event; bytes. */
const LINE_MOST = 16 * 1024 * 1024
const nothing = Buffer.alloc(0)

export class GuardedStream {
  readonly #reading: AnswerReading
  readonly #format: FormatName
  /** Null for lines. */
  readonly #scanner: SseScanner | null
  #line: Buffer = nothing
  #out: Array<Buffer> = []
  /** The last event with a piece of each text. */
  readonly #likes = new Map<string, Event>()
  /** Events that were added, where events are numbered. */
  #added = 0
  /** What its first event says of the answer, where events are numbered; null before it. */
  #answer: Event | null = null
  /** The number of the event after the last one that passed. */
  #next = 0

  constructor(reading: AnswerReading, format: FormatName) {
    this.#reading = reading
    this.#format = format
    this.#scanner = format === "local-model-server" ? null : new SseScanner({ event: (bytes, start, end) => this.#event(bytes.subarray(start, end)) })
  }

  /** What may pass of the stream so far; null when an event is too long. After a refusal (`refusing`) nothing more does. */
  push(chunk: Uint8Array): Buffer | null {
    const taken = this.#scanner === null ? this.#lines(asBuffer(chunk)) : this.#scanner.push(asBuffer(chunk))
    return taken ? this.#take() : null
  }

  /** The rest of it. */
  end(): Buffer {
    if (this.#scanner !== null) this.#scanner.flush()
    else if (this.#line.length > 0) {
      const line = this.#line
      this.#line = nothing
      this.#event(line)
    }
    this.#release(null)
    return this.#take()
  }

  /** How far it came for its client; null where events have no numbers. */
  get progress(): Progress | null {
    return this.#answer === null ? null : { answer: this.#answer, next: this.#next }
  }

  close(): void {
    this.#scanner?.close()
  }

  #take(): Buffer {
    const bytes = this.#out.length === 1 ? this.#out[0] as Buffer : Buffer.concat(this.#out)
    this.#out = []
    return bytes
  }

  #lines(chunk: Buffer): boolean {
    let bytes = this.#line.length === 0 ? chunk : Buffer.concat([this.#line, chunk])
    for (let end = bytes.indexOf(LF); end !== -1; end = bytes.indexOf(LF)) {
      this.#event(bytes.subarray(0, end + 1))
      bytes = bytes.subarray(end + 1)
    }
    // A space before a line is a heartbeat.
    if (this.#line.length === 0 && bytes.length > 0 && bytes.toString("latin1").trim() === "") {
      this.#out.push(Buffer.from(bytes))
      bytes = nothing
    }
    this.#line = bytes.length === 0 ? nothing : Buffer.from(bytes)
    return bytes.length <= LINE_MOST
  }

  /** The bytes are borrowed. */
  #event(bytes: Buffer): void {
    if (refusing(this.#reading.reports) !== null) return
    const data = this.#scanner === null ? bytes.toString("utf8") : dataOf(bytes, 0, bytes.length)
    const event = data === null ? null : Json.parseRecord(data)
    if (event === null || data === null) {
      if (data?.trim() === "[DONE]") this.#release(null)
      this.#out.push(Buffer.from(bytes))
      return
    }
    const frame = Frames.read(this.#format, event)
    const changes = this.#changes(frame)
    const number = event["sequence_number"]
    this.#release(frame.ends, typeof number === "number" ? number : null)
    if (refusing(this.#reading.reports) !== null) return
    for (const { slot } of frame.pieces) this.#likes.set(slot, event)
    if (typeof number === "number") {
      this.#answer ??= Json.recordAt(event, "response")
      this.#next = number + this.#added + 1
      if (this.#added > 0) changes.push({ path: ["sequence_number"], to: number + this.#added })
    }
    this.#out.push(changes.length === 0 ? Buffer.from(bytes) : rewritten(bytes, data, event, changes))
  }

  #changes({ ends, pieces, tokens, wholes }: Frames.Frame): Array<{ path: Frames.Path; to: unknown }> {
    const changes: Array<{ path: Frames.Path; to: unknown }> = [...tokens]
    for (const [i, { path, slot, text }] of pieces.entries()) {
      const isEnd = (ends === null || ends.includes(slot)) && !pieces.some((piece, k) => k > i && piece.slot === slot)
      // Before an empty last piece goes an event of its own, because some clients read no text in it.
      const left = text === "" ? "" : this.#reading.piece(slot, text, isEnd)
      if (left !== text) changes.push({ path, to: left })
    }
    for (const { path, text } of wholes) {
      const left = this.#reading.whole(text)
      if (left !== text) changes.push({ path, to: left })
    }
    return changes
  }

  /** Says what is held of these texts; nothing of them follows. `number`: of the event that they stand before, where events are numbered. */
  #release(ends: ReadonlyArray<string> | null, number: number | null = null): void {
    for (const slot of this.#reading.held(ends)) {
      const left = this.#reading.piece(slot, "", true)
      const like = this.#likes.get(slot)
      if (like === undefined || left === "" || refusing(this.#reading.reports) !== null) continue
      const event = Frames.carrying(this.#format, like, slot, left)
      const { type } = event
      const numbered = number === null ? event : { ...event, sequence_number: number + this.#added++ }
      if (number !== null) this.#next = number + this.#added
      const name = this.#format === "messages" || this.#format === "responses" ? `event: ${String(type)}\n` : ""
      this.#out.push(Buffer.from(this.#scanner === null ? `${JSON.stringify(numbered)}\n` : `${name}data: ${JSON.stringify(numbered)}\n\n`))
    }
  }
}

/** The event's bytes with changed data: where it stands, or in one line of its own when it was split over several. */
const rewritten = (bytes: Buffer, data: string, event: Event, changes: ReadonlyArray<Edits.Change>): Buffer => {
  const own = Buffer.from(data)
  const at = bytes.indexOf(own)
  const left = Edits.bytesWith(own, event, changes)
  if (at !== -1) return Buffer.concat([bytes.subarray(0, at), left, bytes.subarray(at + own.length)])
  return Buffer.from(`${typeof event["type"] === "string" ? `event: ${event["type"]}\n` : ""}data: ${JSON.stringify(Json.parseRecord(left.toString("utf8")))}\n\n`)
}
