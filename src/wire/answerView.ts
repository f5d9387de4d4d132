/** An answer as the rules of a combo read it: what the model said, and the document a client is given. */
import type { AnswerReader, AnswerView } from "#actors/request/ports/AnswerCheck.ts"
import type { Answer, ContentPart } from "#schemas/wire/conversation.ts"
import { AnswerBuilder } from "#src/wire/neutral/AnswerBuilder.ts"
import type { EncoderOptions } from "#src/wire/stream/StreamSink.ts"
import type { ClientCodec, UpstreamCodec } from "#src/wire/WireFormat.ts"

/** `document`: what the client is given; asked for by rules about the document only. */
export const viewOf = (answer: Answer, document: () => unknown): AnswerView => ({
  content: answer.choices.map(({ parts }) => parts.map((part) => part.kind === "text" ? part.text : "").join("")).join("\n"),
  calls: answer.choices.some(({ parts }) => parts.some(({ kind }) => kind === "toolCall")),
  empty: answer.choices.every(({ parts }) => parts.every(saysNothing)),
  document
})

const saysNothing = (part: ContentPart): boolean => {
  switch (part.kind) {
    case "text":
    case "refusal":
      return part.text.trim() === ""
    case "reasoning":
      return part.text.trim() === "" && part.signature === null
    default:
      return false
  }
}

/** The document of an answer that reached the gateway in another form. */
export const documentOf = (answer: Answer, face: ClientCodec, options: EncoderOptions): unknown => JSON.parse(face.encodeAnswer(answer, options))

/** Reads an upstream's stream as the document it amounts to. */
export const readerOf = (face: ClientCodec, family: UpstreamCodec, options: EncoderOptions): AnswerReader => {
  const builder = new AnswerBuilder()
  const decoder = family.makeDecoder(builder)
  let readable = true
  return {
    close: () => decoder.close(),
    push: (chunk) => {
      readable = readable && decoder.push(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength))
    },
    end: () => {
      if (!readable || !decoder.end() || builder.failure !== null) return null
      const answer = builder.answer()
      return viewOf(answer, () => documentOf(answer, face, options))
    }
  }
}
