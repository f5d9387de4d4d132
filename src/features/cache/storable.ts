/**
 * Which answers may be given again, and a streamed one as the whole answer it would have been. Pure.
 *
 * Kept: complete answers of text, also those that ran into their length limit (the same request would run into it again). Never
 * kept: errors, broken or filtered answers, refusals, tool calls, empty ones. Neither is what is larger than the stage allows.
 */
import type { Answer, Choice, FamilyName, FormatName, TokenUsage } from "#schemas/wire/conversation.ts"
import * as Formats from "#src/wire/formats.ts"
import * as Json from "#src/wire/json/json.ts"
import { AnswerBuilder } from "#src/wire/neutral/AnswerBuilder.ts"
import type { EncoderOptions, StreamDecoder } from "#src/wire/stream/StreamSink.ts"
import type { ClientCodec } from "#src/wire/WireFormat.ts"
import { streamOf } from "#src/wire/dialects.ts"

const finished: ReadonlySet<string | null> = new Set(["stop", "stop-sequence", "length"])

const isWhole = (choice: Choice): boolean =>
  finished.has(choice.finish) &&
  choice.parts.some((part) => part.kind === "text" && part.text !== "") &&
  choice.parts.every((part) => part.kind === "text" || part.kind === "reasoning")

export const isStorable = (answer: Answer): boolean => answer.choices.length > 0 && answer.choices.every(isWhole)

const family = (format: FormatName): FamilyName | null => format === "completions" ? null : format

/** A whole answer of a format; null when it is none. */
export const read = (format: FormatName, body: Uint8Array): Answer | null => {
  const name = family(format)
  const parsed = name === null ? null : Json.parseRecord(Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString("utf8"))
  if (name === null || parsed === null) return null
  const answer = Formats.family(name).decodeAnswer(parsed)
  return answer !== null && "choices" in answer ? answer : null
}

/** Reads the stream that a client is sent into the whole answer that it is. */
export class Assembler {
  private readonly builder = new AnswerBuilder()
  private readonly decoder: StreamDecoder | null
  private room: number
  private broken = false

  /** A stream of more than `maxBytes` is given up. */
  constructor(format: FormatName, maxBytes: number) {
    const name = family(format)
    this.decoder = name === null ? null : Formats.family(name).makeDecoder(this.builder)
    this.room = maxBytes
  }

  push(chunk: Uint8Array): void {
    this.room -= chunk.length
    if (this.broken || this.decoder === null) return
    if (this.room < 0 || !this.decoder.push(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength))) this.broken = true
  }

  /** Null when the stream was no complete answer, or too long. */
  end(): Answer | null {
    if (this.broken || this.decoder === null || !this.decoder.end() || this.builder.failure !== null) return null
    return this.builder.answer()
  }
}

/** A streamed answer as its format has it whole; `usage` stands where the client had not asked for any. */
export const wholeOf = (codec: ClientCodec, answer: Answer, usage: TokenUsage, options: EncoderOptions): Buffer =>
  Buffer.from(codec.encodeAnswer({ ...answer, usage: answer.usage ?? usage }, options))

/** A stored answer as the stream a client asked for; null when it cannot be read. */
export const replay = (codec: ClientCodec, body: Uint8Array, options: EncoderOptions): Buffer | null => {
  const answer = read(codec.name, body)
  return answer === null ? null : Buffer.from(streamOf(answer, codec, options))
}
