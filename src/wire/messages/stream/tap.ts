/** The messages format forwarded byte by byte: a tap that reads usage, usefulness, errors and the end. */
import type { Estimate, StreamTap, TapOptions, UpstreamErrorBody, Usage } from "#actors/request/ports/Face.ts"
import type { PublicError } from "#schemas/errors.ts"
import { asBuffer } from "#src/wire/json/asBuffer.ts"
import * as Json from "#src/wire/json/json.ts"
import { ContentFrames } from "./ContentFrames.ts"
import { errorFrames, errorOf } from "#src/wire/messages/errors.ts"
import { countsOutput, finishOf, usageOf, wireUsage } from "#src/wire/messages/usage.ts"
import { longEventBytes, LongStrings } from "#src/wire/json/LongStrings.ts"
import { dataOf, SseScanner } from "#src/wire/stream/SseScanner.ts"
import { escape } from "#src/wire/stream/literal.ts"
import { withTerminator } from "#src/wire/stream/terminator.ts"
import { Ranges } from "#src/wire/stream/Ranges.ts"
import { KeptText } from "#src/wire/stream/KeptText.ts"

const noUsage: Usage = { input: 0, output: 0, cacheRead: 0, cacheCreation: 0, reasoning: 0 }

export class MessagesTap implements StreamTap {
  alive = false
  useful = false
  terminal = false
  finished = false
  malformed = false
  error: UpstreamErrorBody | null = null
  usage: Usage | null = null
  usageIsPartial = false
  private readonly scanner: SseScanner
  private readonly frames = new ContentFrames()
  private readonly kept = new KeptText()
  private failed = false
  private readonly ranges = new Ranges()
  private readonly long = new LongStrings()
  private readonly estimate: Estimate | null
  /** The event that is being read, with the usage that its upstream left out. */
  private made: Buffer | null = null

  constructor({ estimate = null }: TapOptions) {
    this.estimate = estimate
    this.scanner = new SseScanner(this)
  }

  push(chunk: Uint8Array): Uint8Array | null {
    if (!this.scanner.push(asBuffer(chunk))) this.malformed = true
    return this.ranges.take()
  }

  end(): Uint8Array | null {
    this.scanner.flush()
    const rest = this.ranges.take()
    if (!this.finished || this.terminal || this.malformed || this.error !== null || this.failed) return rest
    this.terminal = true
    return withTerminator(rest, 'event: message_stop\ndata: {"type":"message_stop"}\n\n')
  }

  close(): void {
    this.scanner.close()
  }

  fail(error: PublicError): Uint8Array {
    if (this.terminal || this.failed) return Buffer.alloc(0)
    this.failed = true
    return Buffer.from(errorFrames(error))
  }

  outputText(): string {
    return this.kept.text()
  }

  /** One complete event of the upstream (called by the scanner). */
  event(bytes: Buffer, start: number, end: number): void {
    if (this.inspect(bytes, start, end)) {
      const { made } = this
      if (made === null) this.ranges.add(bytes, start, end)
      else this.ranges.add(made, 0, made.length)
      this.made = null
    }
    this.long.forget()
  }

  /** Reads what the gateway must know of one event; answers whether the client gets it. */
  private inspect(bytes: Buffer, start: number, end: number): boolean {
    if (this.terminal || this.error !== null || this.failed || this.malformed) return false
    const isLong = end - start > longEventBytes
    if (!isLong) {
      const raw = bytes.toString("latin1", start, end)
      if (this.frames.match(raw)) {
        this.kept.add(this.frames.literal(raw, bytes, start))
        return true
      }
    }
    const data = dataOf(bytes, start, end, this.long)
    if (data === null || data.trim() === "") return true
    const frame = Json.parseRecord(data)
    if (frame === null) {
      // A terminator of another format means nothing here, and is not passed on.
      if (data.trim() !== "[DONE]") this.malformed = true
      return false
    }
    return this.read(frame, isLong ? null : bytes.toString("utf8", start, end))
  }

  /** `text`: the event, null when no frame is to be learned of it. */
  private read(frame: Record<string, unknown>, text: string | null): boolean {
    switch (frame["type"]) {
      case "message_start":
        this.alive = true
        this.usage = usageOf(Json.recordAt(frame, "message")?.["usage"], this.usage)
        this.usageIsPartial = this.usage !== null
        this.owe(frame)
        return true
      case "content_block_start": {
        this.useful = true
        this.frames.forget()
        const block = Json.recordAt(frame, "content_block")
        if (block !== null) this.keepText(block, ["name", "thinking", "text"])
        return true
      }
      case "content_block_delta":
        this.useful = true
        this.learn(frame, Json.recordAt(frame, "delta") ?? {}, text)
        return true
      case "content_block_stop":
        this.frames.forget()
        return true
      case "message_delta": {
        const reason = finishOf(Json.recordAt(frame, "delta")?.["stop_reason"])
        if (reason !== null) this.finished = true
        // An empty answer that simply stopped is an early end; one that was cut or refused is an answer.
        if (reason !== null && reason !== "stop") this.useful = true
        this.usage = usageOf(frame["usage"], this.usage)
        if (countsOutput(frame["usage"])) this.usageIsPartial = false
        if (reason !== null) this.owe(frame)
        return true
      }
      case "message_stop":
        this.terminal = true
        return true
      default: {
        const error = frame["type"] === "error" || frame["type"] === undefined ? errorOf(frame) : null
        this.error = error
        return error === null
      }
    }
  }

  /** Vendors' clients read usage where the stream begins and ends: what was not counted is 0 before the answer, an estimate after it. */
  private owe(frame: Record<string, unknown>): void {
    const message = Json.recordAt(frame, "message")
    if (this.usage !== null || this.estimate === null) return
    const whole = message === null
      ? { ...frame, usage: wireUsage(this.estimate.of(this.outputText())) }
      : { ...frame, message: { ...message, usage: wireUsage(noUsage) } }
    this.made = this.long.bytesOf(`event: ${String(frame["type"])}\ndata: ${JSON.stringify(whole)}\n\n`)
  }

  private learn(frame: Record<string, unknown>, delta: Record<string, unknown>, text: string | null): void {
    const key = delta["type"] === "text_delta" ? "text" : delta["type"] === "thinking_delta" ? "thinking" : delta["type"] === "input_json_delta" ? "partial_json" : null
    if (key === null) return
    if (text === null) this.frames.forget()
    else this.frames.learn(text, frame, key, "text")
    this.keepText(delta, [key])
  }

  private keepText(record: Record<string, unknown>, keys: ReadonlyArray<string>): void {
    for (const key of keys) {
      const text = record[key]
      if (typeof text === "string") this.kept.add(this.long.restore(escape(text)))
    }
  }
}
