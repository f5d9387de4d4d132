/** Plays a whole answer as a neutral stream: for streaming clients of an upstream (or a cache) that answered at once. */
import type { Answer } from "#schemas/wire/conversation.ts"
import { escape } from "#src/wire/stream/literal.ts"
import type { StreamSink } from "#src/wire/stream/StreamSink.ts"

export const replay = (answer: Answer, sink: StreamSink): void => {
  sink.start(answer)
  for (const choice of answer.choices) {
    const at = choice.index
    let call = 0
    for (const part of choice.parts) {
      switch (part.kind) {
        case "text":
          if (part.text !== "") sink.text(at, escape(part.text))
          for (const annotation of part.annotations) sink.annotation(at, annotation)
          if (part.signature !== null) sink.signature(at, part.signature)
          break
        case "refusal":
          sink.refusal(at, escape(part.text))
          break
        case "reasoning":
          if (part.text === "" && part.signature !== null) sink.hiddenReasoning(at, part.signature, part.id)
          else {
            sink.reasoning(at, escape(part.text), part.summary)
            if (part.signature !== null) sink.signature(at, part.signature)
          }
          break
        case "toolCall":
          sink.toolCall(at, call, part.id, part.name, part.custom, part.signature)
          sink.toolArguments(at, call, escape(part.arguments))
          call++
          break
        case "image":
        case "audio":
        case "video":
        case "document":
          sink.media(at, part)
          break
        case "toolResult":
        case "opaque":
          continue
      }
      sink.partEnd(at)
    }
    if (choice.logprobs !== null) sink.logprobs(at, choice.logprobs)
    if (choice.finish !== null) sink.finish(at, choice.finish, choice.stopSequence)
  }
  if (answer.usage !== null) sink.tokens(answer.usage)
  sink.done()
}
