/**
 * A client's stream of lines: one for each piece of text, the tool calls whole in one line, the last line
 * with reason and counts. Calls are held until something else begins, because their arguments travel as an object.
 */
import type { FinishReason, MediaPart, TokenLogprob, TokenUsage } from "#schemas/wire/conversation.ts"
import type { ClientError } from "#src/wire/errorObject.ts"
import { callText, ending, logprobsText, timestamp } from "#src/wire/localModelServer/answer.ts"
import { errorFrames } from "#src/wire/localModelServer/errors.ts"
import { dataOf } from "#src/wire/localModelServer/request/images.ts"
import { unescape } from "#src/wire/stream/literal.ts"
import type { EncoderOptions, Literal, StreamEncoder, StreamHead } from "#src/wire/stream/StreamSink.ts"

interface HeldCall {
  readonly id: string
  readonly name: string
  readonly custom: boolean
  arguments: Literal
}

const open = '},"done":false}\n'

class Encoder implements StreamEncoder {
  private readonly options: EncoderOptions
  private out = ""
  /** Up to the opening quote of `content`. */
  private prefix = ""
  private thinkingPrefix = ""
  private startedAt = 0
  private readonly calls = new Map<number, HeldCall>()
  /** Calls that were written. */
  private written = 0
  private reason: FinishReason | null = null
  private usage: TokenUsage | null = null
  private closed = false

  constructor(options: EncoderOptions) {
    this.options = options
  }

  start(head: StreamHead): void {
    if (this.closed) return
    this.startedAt = this.options.now()
    this.prefix = `{"model":${JSON.stringify(head.model ?? this.options.model)},"created_at":"${timestamp(head.createdAt ?? this.startedAt)}",` +
      '"message":{"role":"assistant","content":"'
    this.thinkingPrefix = `${this.prefix}","thinking":"`
  }

  text(choice: number, literal: Literal): void {
    if (this.isIdle(choice)) return
    this.out += this.prefix + literal + textTail
  }

  /** The format has no refusals: the words are the answer. */
  refusal(choice: number, literal: Literal): void {
    this.text(choice, literal)
  }

  reasoning(choice: number, literal: Literal): void {
    if (this.isIdle(choice)) return
    this.out += this.thinkingPrefix + literal + textTail
  }

  // What this format has no words for.
  signature(): void {}
  hiddenReasoning(): void {}
  annotation(): void {}
  partEnd(): void {}
  failed(): void {}

  toolCall(choice: number, index: number, id: string, name: string, custom: boolean): void {
    if (this.closed || choice !== 0) return
    this.calls.set(index, { id, name, custom, arguments: "" })
  }

  toolArguments(choice: number, index: number, literal: Literal): void {
    if (this.closed || choice !== 0) return
    const call = this.calls.get(index)
    if (call !== undefined) call.arguments += literal
  }

  logprobs(choice: number, entries: ReadonlyArray<TokenLogprob>): void {
    if (this.isIdle(choice) || entries.length === 0) return
    this.out += `${this.prefix}"},"done":false,"logprobs":${logprobsText(entries)}}\n`
  }

  media(choice: number, part: MediaPart): void {
    const data = part.kind === "image" ? dataOf(part) : null
    if (data === null || this.isIdle(choice)) return
    this.out += `${this.prefix}","images":[${JSON.stringify(data)}]${open}`
  }

  finish(choice: number, reason: FinishReason): void {
    if (this.isIdle(choice)) return
    this.reason = reason
  }

  tokens(usage: TokenUsage): void {
    this.usage = usage
  }

  done(): void {
    if (this.isIdle(0)) return
    this.closed = true
    const nanos = Math.max(0, Math.round((this.options.now() - this.startedAt) * 1e9))
    this.out += `${this.prefix}"},${ending(this.reason, this.usage, nanos)}}\n`
  }

  take(): string {
    const { out } = this
    this.out = ""
    return out
  }

  fail(error: ClientError): string {
    const rest = this.take()
    if (this.closed) return rest
    this.closed = true
    return rest + errorFrames(error)
  }

  /** Nothing may be written for this choice; else the calls that were held are, and the stream has begun. */
  private isIdle(choice: number): boolean {
    if (this.closed || choice !== 0) return true
    if (this.prefix === "") this.start({ id: null, model: null, createdAt: null, serviceTier: null, systemFingerprint: null })
    if (this.calls.size > 0) this.release()
    return false
  }

  private release(): void {
    const texts = Array.from(this.calls.values(), (call) => callText(this.written++, call.id, call.name, unescape(call.arguments), call.custom))
    this.calls.clear()
    this.out += `${this.prefix}","tool_calls":[${texts.join(",")}]${open}`
  }
}

const textTail = `"${open}`

export const makeEncoder = (options: EncoderOptions): StreamEncoder => new Encoder(options)
