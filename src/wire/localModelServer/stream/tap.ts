/** The pass-through of lines: forwarded by bytes, read for usage, errors and the end. */
import type { Estimate, StreamTap, TapOptions, UpstreamErrorBody } from "#actors/request/ports/Face.ts"
import type { PublicError } from "#schemas/errors.ts"
import type { FinishReason, TokenUsage } from "#schemas/wire/conversation.ts"
import { asBuffer } from "#src/wire/json/asBuffer.ts"
import { LineReader } from "./decodeStream.ts"
import { errorFrames } from "#src/wire/localModelServer/errors.ts"
import * as Json from "#src/wire/json/json.ts"
import { LineScanner, textOf } from "./LineScanner.ts"
import { longEventBytes, LongStrings } from "#src/wire/json/LongStrings.ts"
import type { Literal, StreamSink } from "#src/wire/stream/StreamSink.ts"
import { Ranges } from "#src/wire/stream/Ranges.ts"
import { KeptText } from "#src/wire/stream/KeptText.ts"

export class LocalTap implements StreamTap, StreamSink {
  alive = false
  useful = false
  terminal = false
  finished = false
  malformed = false
  error: UpstreamErrorBody | null = null
  usage: TokenUsage | null = null
  private readonly scanner = new LineScanner(this)
  private readonly reader = new LineReader(this)
  private readonly kept = new KeptText()
  private isFirst = true
  private failedByUs = false
  private readonly ranges = new Ranges()
  readonly long = new LongStrings()
  private readonly estimate: Estimate | null

  constructor({ estimate = null }: TapOptions) {
    this.estimate = estimate
  }

  push(chunk: Uint8Array): Uint8Array | null {
    if (!this.malformed && !this.scanner.push(asBuffer(chunk))) this.malformed = true
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
    this.failedByUs = true
    return Buffer.from(errorFrames(error))
  }

  outputText(): string {
    return this.kept.text()
  }

  /** One complete line of the upstream (called by the scanner). */
  line(bytes: Buffer, start: number, end: number): void {
    if (this.terminal || this.error !== null || this.malformed || this.failedByUs) return
    const isLong = end - start > longEventBytes
    let text = textOf(bytes, start, end, this.long)
    if (this.isFirst) {
      this.isFirst = false
      if (text.charCodeAt(0) === 0xfeff) text = text.slice(1)
    }
    if (!this.reader.read(text, isLong)) this.malformed = true
    else if (this.sawNoError()) {
      const counted = this.isUncounted() && !isLong ? this.counted(text) : null
      if (counted === null) this.ranges.add(bytes, start, end)
      else this.ranges.add(counted, 0, counted.length)
    }
    this.long.forget()
  }

  // ---- what the reader reports
  // ---------------------------------------------------------------------------------------------------------

  start(): void {
    this.alive = true
  }

  text(_: number, literal: Literal): void {
    this.useful = true
    this.kept.add(this.long.restore(literal))
  }

  reasoning(_: number, literal: Literal): void {
    this.useful = true
    this.kept.add(this.long.restore(literal))
  }

  toolCall(_: number, _index: number, _id: string, name: string): void {
    this.useful = true
    this.kept.add(name)
  }

  toolArguments(_: number, _index: number, literal: Literal): void {
    this.kept.add(this.long.restore(literal))
  }

  media(): void {
    this.useful = true
  }

  finish(_: number, reason: FinishReason): void {
    this.finished = true
    // An answer that simply stopped and is empty is an early end; one that was cut is an answer.
    if (reason !== "stop") this.useful = true
  }

  tokens(usage: TokenUsage): void {
    this.usage = usage
  }

  failed(body: UpstreamErrorBody): void {
    this.error = body
  }

  done(): void {
    this.terminal = true
  }

  refusal(): void {}
  signature(): void {}
  hiddenReasoning(): void {}
  partEnd(): void {}
  annotation(): void {}
  logprobs(): void {}

  // ---- forwarding --------------------------------------------------------------------------------------------------------------------

  private isUncounted(): boolean {
    return this.terminal && this.usage === null && this.estimate !== null
  }

  /** The last line with the gateway's estimate; null when it is not one. */
  private counted(text: string): Buffer | null {
    const line = Json.parseRecord(text.trim())
    const usage = this.estimate?.of(this.outputText())
    return line === null || usage === undefined ? null : Buffer.from(`${JSON.stringify({ ...line, prompt_eval_count: usage.input, eval_count: usage.output })}\n`)
  }

  /** A method, because the reader sets `error` behind the compiler's back. */
  private sawNoError(): boolean {
    return this.error === null
  }
}
