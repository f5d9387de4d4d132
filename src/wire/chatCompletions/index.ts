/** The chat-completions format as codecs. */
import { readAnswer, readError } from "#src/wire/chatCompletions/answer.ts"
import { decodeAnswer } from "#src/wire/chatCompletions/decodeAnswer.ts"
import { decodeRequest } from "#src/wire/chatCompletions/decodeRequest.ts"
import { ChatDecoder } from "#src/wire/chatCompletions/decodeStream.ts"
import { encodeAnswer } from "#src/wire/chatCompletions/encodeAnswer.ts"
import { encodeRequest } from "#src/wire/chatCompletions/encodeRequest.ts"
import { ChatEncoder } from "#src/wire/chatCompletions/encodeStream.ts"
import { errorBody, errorFrames } from "#src/wire/chatCompletions/errors.ts"
import { head, passThroughEdits } from "#src/wire/chatCompletions/passThrough.ts"
import { ChatTap } from "#src/wire/chatCompletions/tap.ts"
import type { ClientCodec, UpstreamCodec } from "#src/wire/WireFormat.ts"

export const client: ClientCodec = {
  name: "chat-completions",
  streamType: "text/event-stream",
  head,
  decodeRequest,
  encodeAnswer,
  makeEncoder: (options) => new ChatEncoder(options),
  errorBody,
  errorFrames,
  heartbeat: (comments, now) => comments ? `: keepalive ${now.toISOString()}\n\n` : emptyChunk(now)
}

/** A chunk that says nothing, for clients that choke on comment lines (supplement 10.1). */
const emptyChunk = (now: Date): string => {
  const chunk = {
    id: "chatcmpl-keepalive", object: "chat.completion.chunk", created: Math.floor(now.getTime() / 1000), model: "",
    choices: [{ index: 0, delta: {}, logprobs: null, finish_reason: null }]
  }
  return `data: ${JSON.stringify(chunk)}\n\n`
}

export const upstream: UpstreamCodec = {
  name: "chat-completions",
  emptyAnswers: true,
  encodeRequest,
  passThroughEdits,
  decodeAnswer,
  makeDecoder: (sink) => new ChatDecoder(sink),
  makePassThroughTap: ({ forwardUsage }) => new ChatTap(forwardUsage),
  readAnswer,
  readError
}
