/** The pair of a client's format and an upstream's: forwarded by bytes when they are the same, translated when they are not. */
import type { AnswerReader, AnswerView as View } from "#actors/request/ports/AnswerCheck.ts"
import type { AnswerFacts, AnswerQuestion, AnswerRead, Dialect, StreamTap, TapOptions, UpstreamErrorBody } from "#actors/request/ports/Face.ts"
import type { Answer, Choice, Signature, TokenUsage } from "#schemas/wire/conversation.ts"
import { answerIn } from "#src/wire/longIntegers/answerIn.ts"
import * as AnswerView from "#src/wire/answerView.ts"
import { asBuffer } from "#src/wire/json/asBuffer.ts"
import * as Json from "#src/wire/json/json.ts"
import { replay } from "#src/wire/neutral/replay.ts"
import { restoredAnswer } from "#src/wire/neutral/restoredAnswer.ts"
import type { Restored } from "#src/wire/neutral/ToolNames.ts"
import { RestoringSink } from "#src/wire/stream/RestoringSink.ts"
import type { EncoderOptions, StreamSink } from "#src/wire/stream/StreamSink.ts"
import { TranslatingTap } from "#src/wire/stream/TranslatingTap.ts"
import type { ClientCodec, UpstreamCodec } from "#src/wire/WireFormat.ts"

/** What a dialect of one request needs beyond its two formats. */
export interface Options extends Omit<EncoderOptions, "includeUsage"> {
  /** What the target was given in the place of the client's own tools; null or absent when nothing. */
  readonly tools?: Restored | null
  /** Called with each signed tool call that is written for a client of another format. */
  readonly remember?: ((callId: string, signature: Signature) => void) | undefined
  /** Reads large answers away from the loop; absent: all are read at once. */
  readonly readElsewhere?: Dialect["readElsewhere"]
}

/**
 * What both kinds of pairs do. Classes, because each call of a request has a dialect of which it uses two methods: nine closures cost it a
 * kilobyte.
 */
abstract class Pair implements Dialect {
  protected readonly face: ClientCodec
  protected readonly family: UpstreamCodec
  protected readonly options: Options

  constructor(face: ClientCodec, family: UpstreamCodec, options: Options) {
    this.face = face
    this.family = family
    this.options = options
  }

  abstract makeTap(asked: TapOptions): StreamTap
  abstract readAnswer(body: Uint8Array): AnswerFacts | null
  /** Called with each answer that is replayed. */
  protected abstract note(answer: Answer): void

  replayAnswer(body: Uint8Array, { forwardUsage }: { readonly forwardUsage: boolean }): AnswerFacts | null {
    const { face, family, options } = this
    return replayed(body, family, face, { ...options, includeUsage: forwardUsage }, (answer) => this.note(answer))
  }

  readError(body: Uint8Array): UpstreamErrorBody | null {
    return readError(this.family, body)
  }

  readElsewhere(question: AnswerQuestion, done: AnswerRead): boolean {
    return this.options.readElsewhere?.(question, done) ?? false
  }

  viewAnswer(body: Uint8Array): View | null {
    const { face, family, options } = this
    const parsed = parse(body)
    const answer = parsed === null ? null : family.decodeAnswer(parsed)
    if (answer === null || isError(answer)) return null
    const same = face.name === family.name
    return AnswerView.viewOf(answer, () => same ? parsed : AnswerView.documentOf(answer, face, { ...options, includeUsage: true }))
  }

  makeReader(): AnswerReader {
    const { face, family, options } = this
    return AnswerView.readerOf(face, family, { ...options, includeUsage: true })
  }

  usageAdded(stream: Uint8Array, usage: TokenUsage): Uint8Array {
    return this.face.usageAdded?.(asBuffer(stream), usage) ?? stream
  }

  makeRecoverableTap(asked: TapOptions): StreamTap {
    return translatingTap(this.face, this.family, this.options, asked)
  }

  continueTap(broken: StreamTap, { estimate, forwardUsage }: TapOptions): StreamTap {
    if (!(broken instanceof TranslatingTap)) throw new Error("only a recoverable tap can be continued")
    return broken.continued(this.family.makeDecoder, forwardUsage ? estimate ?? null : null)
  }
}

/** The family is forwarded unchanged; the client reads the same format. */
class PassThrough extends Pair {
  makeTap(asked: TapOptions): StreamTap {
    return this.family.makePassThroughTap(asked, this.options)
  }

  readAnswer(body: Uint8Array): AnswerFacts | null {
    const { family, options } = this
    const parsed = parse(body)
    const facts = parsed === null ? null : family.readAnswer(parsed)
    if (parsed === null || facts === null) return null
    const { wholeAnswer } = family
    return { usage: facts.usage, error: facts.error, outputText: facts.outputText, body: wholeAnswer === undefined ? body : wholeAnswer(asBuffer(body), parsed, options) ?? body }
  }

  protected note(): void {}
}

class Translating extends Pair {
  makeTap(asked: TapOptions): StreamTap {
    return translatingTap(this.face, this.family, this.options, asked)
  }

  readAnswer(body: Uint8Array): AnswerFacts | null {
    const { face, family, options } = this
    const answer = answerIn(family, body)
    if (answer === null) return null
    if (isError(answer)) return failed(answer, body)
    this.note(answer)
    return {
      usage: answer.usage, error: null, outputText: () => textOf(answer),
      body: Buffer.from(face.encodeAnswer(answer, { ...options, includeUsage: true }))
    }
  }

  protected note({ choices }: Answer): void {
    const { remember } = this.options
    if (remember === undefined) return
    for (const { parts } of choices) for (const part of parts) if (part.kind === "toolCall" && part.signature !== null) remember(part.id, part.signature)
  }
}

export const passThrough = (face: ClientCodec, family: UpstreamCodec, options: Options): Dialect => new PassThrough(face, family, options)

export const translating = (face: ClientCodec, upstream: UpstreamCodec, options: Options): Dialect =>
  new Translating(face, options.tools === undefined || options.tools === null ? upstream : restoring(upstream, options.tools), options)

/** The dialect with another reader of whole answers; a spread would lose its methods. */
export const readingBy = (dialect: Dialect, readAnswer: Dialect["readAnswer"]): Dialect => ({
  readAnswer,
  makeTap: (asked) => dialect.makeTap(asked),
  makeRecoverableTap: (asked) => dialect.makeRecoverableTap(asked),
  continueTap: (broken, asked) => dialect.continueTap(broken, asked),
  pollOf: dialect.pollOf === undefined ? undefined : (reply) => dialect.pollOf?.(reply) ?? null,
  replayAnswer: (body, asked) => dialect.replayAnswer(body, asked),
  usageAdded: (stream, usage) => dialect.usageAdded?.(stream, usage) ?? stream,
  viewAnswer: (body) => dialect.viewAnswer(body),
  makeReader: () => dialect.makeReader(),
  readElsewhere: (question, done) => dialect.readElsewhere?.(question, done) ?? false,
  readError: (body) => dialect.readError(body)
})

/** The family, its answers as the client's own tools would have been called. */
const restoring = (family: UpstreamCodec, tools: Restored): UpstreamCodec => ({
  ...family,
  decodeAnswer: (body) => {
    const answer = family.decodeAnswer(body)
    return answer === null || isError(answer) ? answer : restoredAnswer(answer, tools)
  },
  makeDecoder: (sink) => family.makeDecoder(new RestoringSink(sink, tools))
})

const translatingTap = (face: ClientCodec, family: UpstreamCodec, options: Options, { estimate, forwardUsage }: TapOptions): TranslatingTap => {
  const encoder = face.makeEncoder({ ...options, includeUsage: forwardUsage })
  return new TranslatingTap(family.makeDecoder, encoder, family.emptyAnswers === true, null, options.remember, forwardUsage && estimate !== undefined ? estimate : null)
}

const replayed = (body: Uint8Array, family: UpstreamCodec, face: ClientCodec, options: EncoderOptions, note: (answer: Answer) => void): AnswerFacts | null => {
  const answer = answerIn(family, body)
  if (answer === null) return null
  if (isError(answer)) return failed(answer, body)
  note(answer)
  return { usage: answer.usage, error: null, outputText: () => textOf(answer), body: Buffer.from(streamOf(answer, face, options)) }
}

/** A whole answer as a stream of the client's format. */
export const streamOf = (answer: Answer, face: ClientCodec, options: EncoderOptions): string => {
  const encoder = face.makeEncoder(options)
  const sink: StreamSink = encoder
  replay(answer, sink)
  return encoder.take()
}

const failed = (error: UpstreamErrorBody, body: Uint8Array): AnswerFacts => ({ usage: null, error, body, outputText: () => "" })

const isError = (answer: Answer | UpstreamErrorBody): answer is UpstreamErrorBody => !("choices" in answer)

const parse = (body: Uint8Array): Record<string, unknown> | null =>
  Json.parseRecord(asBuffer(body).toString("utf8"))

export const readError = (family: Pick<UpstreamCodec, "readError">, body: Uint8Array): UpstreamErrorBody | null => {
  const parsed = Json.parseFirst(asBuffer(body).toString("utf8"))
  return parsed === null ? null : family.readError(parsed) ?? saidIn(parsed)
}

/** `{message}` and `{detail}`, as small servers and proxies of every family refuse a request. */
const saidIn = (body: Record<string, unknown>): UpstreamErrorBody | null => {
  const said = body["message"] ?? body["detail"]
  const message = typeof said === "string" ? said : said === null || said === undefined ? "" : JSON.stringify(said)
  const type = body["type"]
  return message === "" ? null : { message, type: typeof type === "string" ? type : null, code: null, status: null }
}

/** The model's text for the tokenizer. */
const textOf = (answer: Answer): string => answer.choices.map(textOfChoice).join("\n")

const textOfChoice = (choice: Choice): string =>
  choice.parts.map((part) =>
    part.kind === "text" || part.kind === "reasoning" || part.kind === "refusal" ? part.text : part.kind === "toolCall" ? part.name + part.arguments : ""
  ).join("")
