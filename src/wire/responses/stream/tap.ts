/** A responses stream that is forwarded as it came, with a tap that reads usage, errors and the end. */
import type { Estimate, StreamTap, TapOptions, UpstreamErrorBody, Usage } from "#actors/request/ports/Face.ts"
import type { PublicError } from "#schemas/errors.ts"
import { asBuffer } from "#src/wire/json/asBuffer.ts"
import { usageIn, wordAt } from "#src/wire/responses/answer.ts"
import { DeltaMeter } from "./DeltaMeter.ts"
import { errorOf, failedEvent, unknownId } from "#src/wire/responses/errors.ts"
import { longEventBytes, LongStrings } from "#src/wire/json/LongStrings.ts"
import { dataOf, SseScanner } from "#src/wire/stream/SseScanner.ts"
import * as Json from "#src/wire/json/json.ts"
import { usageJson } from "#src/wire/responses/responseObject.ts"
import { failed, wholeEvent } from "#src/wire/responses/wholeResponse.ts"
import type { Known } from "#src/wire/WireFormat.ts"
import { NewestEvent } from "#src/wire/stream/NewestEvent.ts"
import { Ranges } from "#src/wire/stream/Ranges.ts"

const dataMark = Buffer.from("data:")
const typeMark = Buffer.from('{"type":"response.')
const typeMarkSpaced = Buffer.from('{"type": "response.')
const QUOTE = 0x22
const LF = 0x0a
const SPACE = 0x20
const LETTER_E = 0x65

/** Events without usage, errors or the end, by the last segment of their type. */
const contentWords = [".delta", ".added", ".done"].map((word) => Buffer.from(word))

export class ResponsesTap implements StreamTap {
  alive = false
  useful = false
  terminal = false
  malformed = false
  error: UpstreamErrorBody | null = null
  usage: Usage | null = null
  private readonly scanner: SseScanner
  private readonly text = new DeltaMeter()
  /** What its first event says of the response, for the event that ends a broken stream. */
  private id: string | null = null
  private model: string | null = null
  private createdAt: number | null = null
  /** The response of the upstream's own event that ends a broken stream; null before it, and where it has none. */
  private broken: Readonly<Record<string, unknown>> | null = null
  /** Long strings of that event; null when it is short. */
  private long: LongStrings | null = null
  /** The newest forwarded event. */
  private readonly newest = new NewestEvent()
  private readonly ranges = new Ranges()

  private readonly known: Known | null
  private readonly estimate: Estimate | null
  /** The event that is being read, with what its response lacked. */
  private made: Buffer | null = null

  /** `known`: what responses repeat where their server does not; null: they are forwarded as they came. */
  constructor({ estimate = null }: TapOptions, known: Known | null) {
    this.estimate = estimate
    this.known = known
    this.scanner = new SseScanner(this)
  }

  /** The last event is the finish. */
  get finished(): boolean {
    return this.terminal
  }

  push(chunk: Uint8Array): Uint8Array | null {
    if (!this.scanner.push(asBuffer(chunk))) this.malformed = true
    this.newest.own()
    return this.ranges.take()
  }

  end(): Uint8Array | null {
    this.scanner.flush()
    return this.ranges.take()
  }

  close(): void {
    this.scanner.close()
  }

  fail(error: PublicError): Uint8Array {
    const newest = this.newest.bytes
    const sequence = newest === null ? 0 : sequenceAfter(newest)
    const { broken, createdAt, known, long, model, usage } = this
    const head = { ...(createdAt === null ? {} : { created_at: createdAt }), ...(model === null ? {} : { model }) }
    const event = failedEvent(sequence, failed(this.id ?? unknownId, { ...broken, ...head }, error, usage, known))
    return long === null ? Buffer.from(event) : long.bytesOf(event)
  }

  outputText(): string {
    return this.text.text()
  }

  /** One complete event of the upstream (called by the scanner). */
  event(bytes: Buffer, start: number, end: number): void {
    if (!this.inspect(start === 0 && end === bytes.length ? bytes : bytes.subarray(start, end))) return
    const { made } = this
    if (made === null) return this.ranges.add(bytes, start, end)
    this.made = null
    this.ranges.add(made, 0, made.length)
  }

  /** Reads what the gateway must know of one event; answers whether the client gets it. */
  private inspect(event: Buffer): boolean {
    if (this.terminal || this.error !== null || this.malformed) return false
    const word = contentWordOf(event)
    if (word !== -1) {
      this.alive = true
      this.useful = true
      if (word === 0) this.text.add(event)
      this.newest.note(event, 0, event.length)
      return true
    }
    const long = event.length > longEventBytes ? new LongStrings() : null
    const data = long === null ? dataOf(event, 0, event.length) : dataOf(event, 0, event.length, long)
    if (data === null || data === "" || data.trim() === "[DONE]") return true
    return this.inspectFrame(data, event, long)
  }

  private inspectFrame(data: string, event: Buffer, long: LongStrings | null): boolean {
    const frame = Json.parseRecord(data)
    if (frame === null) {
      this.malformed = true
      return false
    }
    const error = errorOf(frame)
    const response = Json.recordAt(frame, "response")
    if (error !== null) {
      this.error = error
      this.useful = true
      this.broken = response
      this.long = long
      if (response !== null) this.usage = usageIn(response) ?? this.usage
      return false
    }
    const type = wordAt(frame, "type") ?? ""
    if (response !== null) {
      if (this.id === null) this.begin(response)
      this.usage = usageIn(response) ?? this.usage
      const counted = this.usage === null && isLast(type) ? this.counted(frame, type, response, long) : null
      if (this.known !== null && type.startsWith("response.")) this.made = wholeEvent(counted ?? event, type, response, this.known)
      this.made ??= counted
    }
    if (type.startsWith("response.")) this.alive = true
    if (/\.(?:delta|added|done)$/.test(type) && type !== "response.done") {
      this.useful = true
      this.text.add(event)
    }
    if (isLast(type)) {
      this.terminal = true
      // An answer that was cut before its first word is an answer; one that completed without any is an early end.
      const output = response?.["output"]
      if (type === "response.incomplete" || (Array.isArray(output) && output.length > 0)) this.useful = true
    }
    this.newest.note(event, 0, event.length)
    return true
  }

  /** The last event with the gateway's estimate, where its upstream counted nothing. */
  private counted(frame: Readonly<Record<string, unknown>>, type: string, response: Readonly<Record<string, unknown>>, long: LongStrings | null): Buffer | null {
    const { estimate } = this
    if (estimate === null) return null
    const whole = JSON.stringify({ ...frame, response: { ...response, usage: usageJson(estimate.of(this.outputText())) } })
    const text = `event: ${type}\ndata: ${whole}\n\n`
    return long === null ? Buffer.from(text) : long.bytesOf(text)
  }

  private begin(response: Readonly<Record<string, unknown>>): void {
    const createdAt = response["created_at"]
    this.id = wordAt(response, "id")
    this.model = wordAt(response, "model")
    this.createdAt = typeof createdAt === "number" ? createdAt : this.known === null ? null : this.known.now()
  }
}

const isLast = (type: string): boolean => type === "response.completed" || type === "response.incomplete" || type === "response.done"

/**
 * Which content word ends the type of an event, -1 for every other event and for one that is not an optional `event:` line and
 * data that begins with its type. The `event:` line is not believed: the data decides.
 */
const contentWordOf = (event: Buffer): number => {
  let at = 0
  // Loops, because a native search of so few bytes costs more.
  if (event[0] === LETTER_E) {
    while (at < event.length && event[at] !== LF) at++
    at++
  }
  if (!startsWith(event, dataMark, at)) return -1
  at += dataMark.length
  if (event[at] === SPACE) at++
  const mark = startsWith(event, typeMark, at) ? typeMark : startsWith(event, typeMarkSpaced, at) ? typeMarkSpaced : null
  if (mark === null) return -1
  const start = at + mark.length
  let end = start
  while (end < event.length && event[end] !== QUOTE) end++
  for (let i = 0; i < contentWords.length; i++) {
    const word = contentWords[i] as Buffer
    if (end - word.length > start && startsWith(event, word, end - word.length)) return i
  }
  return -1
}

const startsWith = (event: Buffer, part: Buffer, at: number): boolean => {
  if (at + part.length > event.length) return false
  for (let i = 0; i < part.length; i++) if (event[at + i] !== part[i]) return false
  return true
}

const sequenceAfter = (event: Buffer): number => {
  const found = [...event.toString("utf8").matchAll(/"sequence_number": ?(\d+)/g)].pop()
  return found === undefined ? 0 : Number(found[1]) + 1
}
