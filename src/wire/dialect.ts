/** The pair of a client's format and an upstream's: forwarded by bytes when they are the same, translated when they are not. */
import type { AnswerFacts, Dialect, UpstreamErrorBody } from "#actors/ports/Face.ts"
import type { Answer, Choice } from "#schemas/wire/conversation.ts"
import * as AnswerView from "#src/wire/answerView.ts"
import * as Json from "#src/wire/json.ts"
import { replay } from "#src/wire/neutral/replay.ts"
import type { EncoderOptions, StreamSink } from "#src/wire/stream/StreamSink.ts"
import { TranslatingTap } from "#src/wire/stream/TranslatingTap.ts"
import type { ClientCodec, UpstreamCodec } from "#src/wire/WireFormat.ts"

/** What a dialect of one request needs beyond its two formats. */
export type Options = Omit<EncoderOptions, "includeUsage">

/** `family` speaks as it is; the client reads the same format. */
export const passThrough = (face: ClientCodec, family: UpstreamCodec, options: Options): Dialect => ({
  ...shared(face, family, options),
  makeTap: family.makePassThroughTap,
  readAnswer: (body) => {
    const parsed = parse(body)
    const facts = parsed === null ? null : family.readAnswer(parsed)
    return facts === null ? null : { ...facts, body }
  },
  replayAnswer: (body, { forwardUsage }) => replayed(body, family, face, { ...options, includeUsage: forwardUsage }),
  readError: (body) => readError(family, body)
})

export const translating = (face: ClientCodec, family: UpstreamCodec, options: Options): Dialect => ({
  ...shared(face, family, options),
  makeTap: ({ forwardUsage }) => translatingTap(face, family, options, forwardUsage),
  readAnswer: (body) => {
    const parsed = parse(body)
    const answer = parsed === null ? null : family.decodeAnswer(parsed)
    if (answer === null) return null
    if (isError(answer)) return failed(answer, body)
    return {
      usage: answer.usage, error: null, outputText: () => textOf(answer),
      body: Buffer.from(face.encodeAnswer(answer, { ...options, includeUsage: true }))
    }
  },
  replayAnswer: (body, { forwardUsage }) => replayed(body, family, face, { ...options, includeUsage: forwardUsage }),
  readError: (body) => readError(family, body)
})

const translatingTap = (face: ClientCodec, family: UpstreamCodec, options: Options, includeUsage: boolean): TranslatingTap =>
  new TranslatingTap(family.makeDecoder, face.makeEncoder({ ...options, includeUsage }), family.emptyAnswers === true)

type Shared = Pick<Dialect, "makeRecoverableTap" | "continueTap" | "viewAnswer" | "makeReader">

const shared = (face: ClientCodec, family: UpstreamCodec, options: Options): Shared => ({
  viewAnswer: (body) => {
    const parsed = parse(body)
    const answer = parsed === null ? null : family.decodeAnswer(parsed)
    if (answer === null || isError(answer)) return null
    const same = face.name === family.name
    return AnswerView.viewOf(answer, () => same ? parsed : AnswerView.documentOf(answer, face, { ...options, includeUsage: true }))
  },
  makeReader: () => AnswerView.readerOf(face, family, { ...options, includeUsage: true }),
  makeRecoverableTap: ({ forwardUsage }) => translatingTap(face, family, options, forwardUsage),
  continueTap: (broken) => {
    if (!(broken instanceof TranslatingTap)) throw new Error("only a recoverable tap can be continued")
    return broken.continued(family.makeDecoder)
  }
})

const replayed = (body: Uint8Array, family: UpstreamCodec, face: ClientCodec, options: EncoderOptions): AnswerFacts | null => {
  const parsed = parse(body)
  const answer = parsed === null ? null : family.decodeAnswer(parsed)
  if (answer === null) return null
  if (isError(answer)) return failed(answer, body)
  return { usage: answer.usage, error: null, outputText: () => textOf(answer), body: Buffer.from(streamOf(answer, face, options)) }
}

/** A whole answer as a stream of the client's format (decisions 6). */
export const streamOf = (answer: Answer, face: ClientCodec, options: EncoderOptions): string => {
  const encoder = face.makeEncoder(options)
  const sink: StreamSink = encoder
  replay(answer, sink)
  return encoder.take()
}

const failed = (error: UpstreamErrorBody, body: Uint8Array): AnswerFacts => ({ usage: null, error, body, outputText: () => "" })

const isError = (answer: Answer | UpstreamErrorBody): answer is UpstreamErrorBody => !("choices" in answer)

const parse = (body: Uint8Array): Record<string, unknown> | null =>
  Json.parseRecord(Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString("utf8"))

const readError = (family: UpstreamCodec, body: Uint8Array): UpstreamErrorBody | null => {
  const parsed = parse(body)
  return parsed === null ? null : family.readError(parsed)
}

/** The model's text for the tokenizer. */
const textOf = (answer: Answer): string => answer.choices.map(textOfChoice).join("\n")

const textOfChoice = (choice: Choice): string =>
  choice.parts.map((part) =>
    part.kind === "text" || part.kind === "reasoning" || part.kind === "refusal" ? part.text : part.kind === "toolCall" ? part.name + part.arguments : ""
  ).join("")
