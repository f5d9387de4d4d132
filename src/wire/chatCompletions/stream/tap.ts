/** The chat-completions format: forwarded by bytes with a tap that reads usage, errors and the end. */
import type { Estimate, StreamTap, TapOptions, UpstreamErrorBody, Usage } from "#actors/request/ports/Face.ts"
import type { PublicError } from "#schemas/errors.ts"
import { asBuffer } from "#src/wire/json/asBuffer.ts"
import { errorOf, usageIn } from "#src/wire/chatCompletions/answer.ts"
import { writeUsage } from "#src/wire/chatCompletions/encodeAnswer.ts"
import { errorFrames } from "#src/wire/chatCompletions/errors.ts"
import * as LateUsage from "#src/wire/chatCompletions/stream/lateUsage.ts"
import { RepeatedEvent } from "#src/wire/stream/RepeatedEvent.ts"
import { longEventBytes, LongStrings } from "#src/wire/json/LongStrings.ts"
import { dataOf, SseScanner } from "#src/wire/stream/SseScanner.ts"
import * as Json from "#src/wire/json/json.ts"
import { NewestEvent } from "#src/wire/stream/NewestEvent.ts"
import { withTerminator } from "#src/wire/stream/terminator.ts"
import { TextMeter } from "#src/wire/stream/TextMeter.ts"
import { Ranges } from "#src/wire/stream/Ranges.ts"

const usageKey = Buffer.from('"usage"')
const errorKey = Buffer.from('"error"')
const doneData = Buffer.from("[DONE]")
const finishKey = Buffer.from('"finish_reason":"')
const finishKeySpaced = Buffer.from('"finish_reason": "')

export class ChatTap implements StreamTap {
  useful = false
  terminal = false
  malformed = false
  error: UpstreamErrorBody | null = null
  usage: Usage | null = null
  private sawFinish = false
  /** The newest content event. */
  private readonly newest = new NewestEvent()
  private readonly forwardUsage: boolean
  private readonly estimate: Estimate | null
  /** What the stream's chunks share; kept where usage may be owed. */
  private head: Readonly<Record<string, unknown>> | null = null
  private readonly scanner: SseScanner
  private readonly text = new TextMeter()
  /** Length of a prefix that was searched and says nothing. */
  private plainPrefix = -1
  private readonly ranges = new Ranges()
  private readonly repeated = new RepeatedEvent()

  constructor({ estimate, forwardUsage }: TapOptions) {
    this.forwardUsage = forwardUsage
    this.estimate = forwardUsage && estimate !== undefined ? estimate : null
    this.scanner = new SseScanner(this)
  }

  get finished(): boolean {
    return this.sawFinish || hasFinishReason(this.newest.bytes)
  }

  push(chunk: Uint8Array): Uint8Array | null {
    const bytes = asBuffer(chunk)
    if (!this.scanner.push(bytes)) this.malformed = true
    this.newest.own()
    return this.ranges.take()
  }

  end(): Uint8Array | null {
    this.scanner.flush()
    const rest = this.ranges.take()
    if (!this.finished || this.terminal || this.malformed || this.error !== null) return rest
    this.terminal = true
    return withTerminator(rest, `${this.lateUsage()}data: [DONE]\n\n`)
  }

  /** A role chunk is content enough here: a chat stream has no head of its own. */
  get alive(): boolean {
    return this.useful
  }

  close(): void {
    this.scanner.close()
  }

  fail(error: PublicError): Uint8Array {
    return Buffer.from(errorFrames(error))
  }

  outputText(): string {
    return this.text.text()
  }

  /** One complete event of the upstream (called by the scanner). */
  event(bytes: Buffer, start: number, end: number): void {
    if (this.inspect(bytes, start, end)) this.ranges.add(bytes, start, end)
  }

  /** Content that differs from the event before it in nothing but its text (called by the scanner). */
  repeats(bytes: Buffer, start: number): number {
    if (!this.useful || this.terminal || this.error !== null || this.malformed) return start
    const { repeated } = this
    if (!repeated.known) return start
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
    let newest = start
    let at = start
    for (;;) {
      const end = repeated.match(view, at)
      if (end === -1) break
      this.text.keep(bytes, repeated.textStart, repeated.textEnd)
      newest = at
      at = end
    }
    if (at === start) return start
    this.newest.note(bytes, newest, at)
    this.ranges.add(bytes, start, at)
    return at
  }

  /** Reads what the gateway must know of one event; answers whether the client gets it. */
  private inspect(bytes: Buffer, start: number, end: number): boolean {
    const event = start === 0 && end === bytes.length ? bytes : bytes.subarray(start, end)
    if (this.terminal || this.error !== null || this.malformed) return false
    if (this.useful && this.isPlain(event)) {
      if (event.length > 2) this.newest.note(event, 0, event.length)
      return true
    }
    const data = event.length > longEventBytes ? dataOf(event, 0, event.length, new LongStrings()) : dataOf(event, 0, event.length)
    if (data === null) return true
    if (data.trim() === "[DONE]") {
      const late = Buffer.from(this.lateUsage())
      if (late.length > 0) this.ranges.add(late, 0, late.length)
      this.terminal = true
      return true
    }
    return this.inspectFrame(data, event)
  }

  /**
   * The common frame: content and nothing else to learn. What stands before the text is the same in every frame of a stream
   * (id, model ...), so it is searched once per length; what stands behind it is short. Everything rarer is parsed.
   */
  private isPlain(event: Buffer): boolean {
    const start = this.text.find(event)
    if (start === -1) return event.indexOf(doneData) === -1 && !mentions(event, 0, event.length)
    if (start !== this.plainPrefix) {
      if (mentions(event, 0, start)) return false
      this.plainPrefix = start
    }
    const { end } = this.text
    if (mentions(event, end, event.length)) return false
    this.text.keep(event, start, end)
    this.repeated.learn(event, start, end)
    return true
  }

  /** The chunk that the client asked for and the upstream did not send; empty in most streams. */
  private lateUsage(): string {
    return this.estimate === null || this.usage !== null || this.head === null ? "" : LateUsage.chunkOf(this.head, writeUsage(this.estimate.of(this.outputText())))
  }

  private inspectFrame(data: string, event: Buffer): boolean {
    const frame = Json.parseRecord(data)
    if (frame === null) {
      if (data.length > 0) this.malformed = true
      return false
    }
    const error = errorOf(frame)
    if (error !== null) {
      this.error = error
      return false
    }
    if (this.estimate !== null) this.head ??= LateUsage.headOf(frame)
    const choices = frame["choices"]
    const usage = usageIn(frame)
    if (usage !== null) this.usage = usage
    const isUsageOnly = usage !== null && (!Array.isArray(choices) || choices.length === 0)
    if (isUsageOnly) return this.forwardUsage
    if (Array.isArray(choices)) {
      for (const choice of choices) {
        if (!Json.isRecord(choice)) continue
        if (isUsefulChoice(choice)) this.useful = true
        if (typeof choice["finish_reason"] === "string") this.sawFinish = true
      }
      this.text.add(event)
    }
    if (usage === null || this.forwardUsage || !Json.isRecord(frame["usage"])) return true
    // Usage on a frame with content, which this client did not ask for: the frame is written anew without it.
    const { usage: _usage, ...rest } = frame
    const written = Buffer.from(`data: ${JSON.stringify(rest)}\n\n`)
    this.ranges.add(written, 0, written.length)
    return false
  }
}

/** Up to so many bytes a loop is cheaper than two native searches. */
const shortPart = 512

/** Does a part of an event mention an error, or a usage that is not null? Vendors send `"usage":null` with every content frame. */
const mentions = (event: Buffer, from: number, to: number): boolean => {
  if (to - from > shortPart) {
    const part = event.subarray(from, to)
    if (part.indexOf(errorKey) !== -1) return true
    const at = part.indexOf(usageKey)
    return at !== -1 && isSet(part, at + usageKey.length)
  }
  for (let i = from; i + 6 < to; i++) {
    if (event[i] !== 0x22) continue
    const next = event[i + 1]
    if (next === 0x65 && event[i + 2] === 0x72 && event[i + 3] === 0x72 && event[i + 6] === 0x22) return true
    if (next === 0x75 && event[i + 2] === 0x73 && event[i + 6] === 0x22 && isSet(event, i + 7)) return true
  }
  return false
}

/** The value after a key is something other than null. */
const isSet = (event: Buffer, afterKey: number): boolean => {
  let i = afterKey
  while (event[i] === 0x20 || event[i] === 0x3a) i++
  return event[i] !== 0x6e
}

const hasFinishReason = (event: Buffer | null): boolean =>
  event !== null && (event.indexOf(finishKey) !== -1 || event.indexOf(finishKeySpaced) !== -1)

/** Useful frame: content, text, reasoning, tool or role; an empty delta alone does not count. */
const isUsefulChoice = (choice: Record<string, unknown>): boolean => {
  if (typeof choice["finish_reason"] === "string") return true
  if (typeof choice["text"] === "string" && choice["text"] !== "") return true
  const delta = choice["delta"] ?? choice["message"]
  if (!Json.isRecord(delta)) return false
  for (const key in delta) {
    const value = delta[key]
    if (value === null || value === undefined || value === "") continue
    if (Array.isArray(value) && value.length === 0) continue
    return true
  }
  return false
}
