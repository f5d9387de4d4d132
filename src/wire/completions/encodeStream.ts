/** A client's stream of text completion chunks: text, then one chunk with the reason for each choice, usage when asked for, `[DONE]`. */
import type { FinishReason, TokenLogprob, TokenUsage } from "#schemas/wire/conversation.ts"
import { errorFrames } from "#src/wire/chatCompletions/errors.ts"
import { completionId, finishReason, logprobs, usage } from "#src/wire/completions/answer.ts"
import type { ClientError } from "#src/wire/errorObject.ts"
import type { EncoderOptions, Literal, StreamEncoder, StreamHead } from "#src/wire/stream/StreamSink.ts"

const terminator = "data: [DONE]\n\n"

interface Ending {
  readonly choice: number
  readonly reason: FinishReason
}

class Encoder implements StreamEncoder {
  private readonly options: EncoderOptions
  private out = ""
  /** Up to the list of choices. */
  private head = ""
  /** Up to the opening quote of `text`. */
  private prefix = ""
  /** Behind the choices. */
  private readonly tail: string
  /** From the closing quote of `text`, by choice. */
  private readonly suffixes: Array<string | undefined> = []
  private readonly endings: Array<Ending> = []
  /** Characters that the log probabilities of a choice have covered. */
  private readonly offsets = new Map<number, number>()
  private counts: TokenUsage | null = null
  private closed = false

  constructor(options: EncoderOptions) {
    this.options = options
    this.tail = options.includeUsage ? '],"usage":null}\n\n' : "]}\n\n"
  }

  start(head: StreamHead): void {
    const fingerprint = head.systemFingerprint === null ? "" : `"system_fingerprint":${JSON.stringify(head.systemFingerprint)},`
    this.head = `data: {"id":${JSON.stringify(completionId(head.id, this.options))},"object":"text_completion",` +
      `"created":${head.createdAt ?? this.options.now()},"model":${JSON.stringify(head.model ?? this.options.model)},${fingerprint}"choices":[`
    this.prefix = `${this.head}{"text":"`
  }

  text(choice: number, literal: Literal): void {
    if (this.closed) return
    if (this.head === "") this.begin()
    this.out += this.prefix + literal + (this.suffixes[choice] ?? this.suffixOf(choice))
  }

  /** The format has no refusals: the words are the answer. */
  refusal(choice: number, literal: Literal): void {
    this.text(choice, literal)
  }

  // Thoughts are not shown in this format, and the rest cannot be said.
  reasoning(): void {}
  signature(): void {}
  hiddenReasoning(): void {}
  toolCall(): void {}
  toolArguments(): void {}
  partEnd(): void {}
  annotation(): void {}
  media(): void {}
  failed(): void {}

  logprobs(choice: number, entries: ReadonlyArray<TokenLogprob>): void {
    if (this.closed || entries.length === 0) return
    if (this.head === "") this.begin()
    const offset = this.offsets.get(choice) ?? 0
    this.offsets.set(choice, entries.reduce((sum, entry) => sum + entry.token.length, offset))
    this.out += `${this.prefix}","index":${choice},"logprobs":${JSON.stringify(logprobs(entries, offset))},"finish_reason":null}${this.tail}`
  }

  finish(choice: number, reason: FinishReason): void {
    this.endings.push({ choice, reason })
  }

  tokens(counts: TokenUsage): void {
    this.counts = counts
  }

  done(): void {
    if (this.closed) return
    this.closed = true
    if (this.head === "") this.begin()
    for (const { choice, reason } of this.endings) {
      this.out += `${this.prefix}","index":${choice},"logprobs":null,"finish_reason":"${finishReason(reason)}"}${this.tail}`
    }
    if (this.options.includeUsage && this.counts !== null) this.out += `${this.head}],"usage":${JSON.stringify(usage(this.counts))}}\n\n`
    this.out += terminator
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

  private begin(): void {
    this.start({ id: null, model: null, createdAt: null, serviceTier: null, systemFingerprint: null })
  }

  private suffixOf(choice: number): string {
    const suffix = `","index":${choice},"logprobs":null,"finish_reason":null}${this.tail}`
    this.suffixes[choice] = suffix
    return suffix
  }
}

export const makeEncoder = (options: EncoderOptions): StreamEncoder => new Encoder(options)
