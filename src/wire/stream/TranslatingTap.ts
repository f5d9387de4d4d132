/**
 * A stream in another format: decoder -> this -> encoder. It stands between the two as a sink, notes what the gateway must know
 * of every stream (usage, usefulness, the end) and passes the event on.
 */
import type { Estimate, StreamTap, UpstreamErrorBody } from "#actors/request/ports/Face.ts"
import type { PublicError } from "#schemas/errors.ts"
import type { Annotation, FinishReason, MediaPart, Signature, TokenLogprob, TokenUsage } from "#schemas/wire/conversation.ts"
import { asBuffer } from "#src/wire/json/asBuffer.ts"
import { KeptText, keptText } from "#src/wire/stream/KeptText.ts"
import { unescape } from "#src/wire/stream/literal.ts"
import { LongStrings } from "#src/wire/json/LongStrings.ts"
import { Seam } from "#src/wire/stream/Seam.ts"
import type { Literal, StreamDecoder, StreamEncoder, StreamHead, StreamSink } from "#src/wire/stream/StreamSink.ts"

export class TranslatingTap implements StreamTap, StreamSink {
  alive = false
  useful = false
  terminal = false
  finished = false
  malformed = false
  error: UpstreamErrorBody | null = null
  usage: TokenUsage | null = null
  usageIsPartial = false
  readonly long = new LongStrings()
  private readonly decoder: StreamDecoder
  private readonly encoder: StreamEncoder
  private readonly emptyAnswers: boolean
  private readonly kept = new KeptText()
  private closed = false
  /** Text the client has seen, as literals; only text can be continued. */
  private visible = ""
  private emittedCall = false
  private readonly seam: Seam | null
  /** What the attempts before this one used, when it continues their answer. */
  private readonly before: TokenUsage | null
  private readonly remember: ((callId: string, signature: Signature) => void) | undefined
  private readonly estimate: Estimate | null

  /**
   * `emptyAnswers`: see `UpstreamCodec`. `continued`: the tap of the broken-off answer that is continued to the same client.
   * `remember`: called with signed tool calls. `estimate`: counts for the client when the stream ended and its upstream has not.
   */
  constructor(
    makeDecoder: (sink: StreamSink) => StreamDecoder, encoder: StreamEncoder, emptyAnswers: boolean, continued: TranslatingTap | null = null,
    remember?: (callId: string, signature: Signature) => void, estimate: Estimate | null = null
  ) {
    this.encoder = encoder
    this.emptyAnswers = emptyAnswers
    this.remember = remember
    this.estimate = estimate
    this.decoder = makeDecoder(this)
    this.seam = continued === null ? null : new Seam(unescape(continued.visible))
    this.before = continued === null ? null : continued.usageCounted
    if (continued !== null) this.visible = continued.visible
  }

  /** A tap that continues where this one broke off. */
  continued(makeDecoder: (sink: StreamSink) => StreamDecoder, estimate: Estimate | null): TranslatingTap {
    return new TranslatingTap(makeDecoder, this.encoder, this.emptyAnswers, this, this.remember, estimate)
  }

  /** Text of an answer that broke off; null when it cannot be continued (nothing was said, a tool was called, it is too long). */
  get partialText(): string | null {
    return this.visible === "" || this.emittedCall || this.finished || !this.kept.whole ? null : unescape(this.visible)
  }

  /** Of this attempt and those before it; an upstream that counted nothing is counted for its client. */
  private get usageCounted(): TokenUsage | null {
    const own = this.usage ?? this.estimate?.of(this.outputText()) ?? null
    return this.before === null ? own : own === null ? this.before : sum(this.before, own)
  }

  // ---- the tap -------------------------------------------------------------------------------------------------------------------

  push(chunk: Uint8Array): Uint8Array | null {
    if (!this.decoder.push(asBuffer(chunk))) this.malformed = true
    return this.take()
  }

  end(): Uint8Array | null {
    if (!this.decoder.end()) this.malformed = true
    // A finish reason without the last frame: the answer is whole (the vendor or a proxy left its terminator out).
    if (this.finished && !this.malformed) this.done()
    return this.take()
  }

  close(): void {
    this.decoder.close()
  }

  fail(error: PublicError): Uint8Array {
    this.closed = true
    return this.long.bytesOf(this.encoder.fail(error))
  }

  outputText(): string {
    return this.kept.text()
  }

  // ---- the sink ------------------------------------------------------------------------------------------------------------------

  start(head: StreamHead): void {
    if (this.closed || this.alive) return
    this.alive = true
    if (this.seam === null) this.encoder.start(head)
  }

  text(choice: number, said: Literal): void {
    if (this.closed || said === "") return
    const literal = this.long.restore(said)
    this.useful = true
    this.kept.add(literal)
    const fresh = this.seam === null ? literal : this.seam.push(literal)
    if (fresh === "") return
    if (this.visible.length < keptText) this.visible += fresh
    this.encoder.text(choice, fresh)
  }

  refusal(choice: number, said: Literal): void {
    if (this.closed || said === "") return
    const literal = this.long.restore(said)
    this.useful = true
    this.kept.add(literal)
    this.encoder.refusal(choice, literal)
  }

  reasoning(choice: number, said: Literal, summary: boolean): void {
    if (this.closed || said === "") return
    const literal = this.long.restore(said)
    this.useful = true
    this.kept.add(literal)
    this.encoder.reasoning(choice, literal, summary)
  }

  signature(choice: number, signature: Signature): void {
    if (!this.closed) this.encoder.signature(choice, this.whole(signature))
  }

  hiddenReasoning(choice: number, signature: Signature, id: string | null): void {
    if (this.closed) return
    this.useful = true
    this.encoder.hiddenReasoning(choice, this.whole(signature), id)
  }

  toolCall(choice: number, index: number, id: string, name: string, custom: boolean, said: Signature | null): void {
    if (this.closed) return
    const signature = said === null ? null : this.whole(said)
    this.joinSeam(choice)
    this.useful = true
    this.emittedCall = true
    this.kept.add(name)
    if (signature !== null) this.remember?.(id, signature)
    this.encoder.toolCall(choice, index, id, name, custom, signature)
  }

  toolArguments(choice: number, index: number, said: Literal): void {
    if (this.closed) return
    const literal = this.long.restore(said)
    this.kept.add(literal)
    this.encoder.toolArguments(choice, index, literal)
  }

  partEnd(choice: number): void {
    if (!this.closed) this.encoder.partEnd(choice)
  }

  annotation(choice: number, annotation: Annotation): void {
    if (!this.closed) this.encoder.annotation(choice, annotation)
  }

  logprobs(choice: number, entries: ReadonlyArray<TokenLogprob>): void {
    if (!this.closed) this.encoder.logprobs(choice, entries)
  }

  media(choice: number, part: MediaPart): void {
    if (this.closed) return
    this.useful = true
    this.encoder.media(choice, part.signature === null ? part : { ...part, signature: this.whole(part.signature) })
  }

  finish(choice: number, reason: FinishReason, stopSequence: string | null): void {
    if (this.closed) return
    this.joinSeam(choice)
    this.finished = true
    // An answer that simply stopped and is empty is an early end in most formats; one that was cut or refused is an answer.
    if (reason !== "stop" || this.emptyAnswers) this.useful = true
    this.encoder.finish(choice, reason, stopSequence)
  }

  tokens(usage: TokenUsage, partial = false): void {
    this.usage = usage
    this.usageIsPartial = partial
    if (!this.closed) this.encoder.tokens(this.before === null ? usage : sum(this.before, usage))
  }

  failed(body: UpstreamErrorBody): void {
    if (this.closed) return
    this.closed = true
    this.error = body
  }

  done(): void {
    if (this.closed) return
    this.closed = true
    this.terminal = true
    const owed = this.usage === null && this.estimate !== null ? this.usageCounted : null
    if (owed !== null) this.encoder.tokens(owed)
    this.encoder.done()
  }

  private joinSeam(choice: number): void {
    const held = this.seam === null ? "" : this.seam.settle()
    if (held === "") return
    this.visible += held
    this.encoder.text(choice, held)
  }

  private whole(signature: Signature): Signature {
    const value = this.long.restore(signature.value)
    return value === signature.value ? signature : { ...signature, value }
  }

  private take(): Uint8Array | null {
    const text = this.encoder.take()
    if (text === "") return null
    const bytes = this.long.bytesOf(text)
    if (this.encoder.repeatsMedia !== true) this.long.forget()
    return bytes
  }
}

const sum = (a: TokenUsage, b: TokenUsage): TokenUsage => ({
  input: a.input + b.input,
  output: a.output + b.output,
  cacheRead: a.cacheRead + b.cacheRead,
  cacheCreation: a.cacheCreation + b.cacheCreation,
  reasoning: a.reasoning + b.reasoning,
  ...(a.cacheCreationHour === undefined && b.cacheCreationHour === undefined ? {} : { cacheCreationHour: (a.cacheCreationHour ?? 0) + (b.cacheCreationHour ?? 0) }),
  ...(b.tier === undefined ? {} : { tier: b.tier })
})
