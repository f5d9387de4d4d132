/** The chat-completions format as codecs. */
import type { Identity } from "#actors/request/ports/Face.ts"
import { errorOf, readAnswer } from "#src/wire/chatCompletions/answer.ts"
import { decodeAnswer } from "#src/wire/chatCompletions/decodeAnswer.ts"
import { decodeRequest } from "#src/wire/chatCompletions/request/decodeRequest.ts"
import { withMessages } from "#src/wire/chatCompletions/request/withMessages.ts"
import { ChatDecoder } from "#src/wire/chatCompletions/stream/decodeStream.ts"
import { encodeAnswer, writeUsage } from "#src/wire/chatCompletions/encodeAnswer.ts"
import * as LateUsage from "#src/wire/chatCompletions/stream/lateUsage.ts"
import { encodeRequest } from "#src/wire/chatCompletions/request/encodeRequest.ts"
import { ChatEncoder } from "#src/wire/chatCompletions/stream/encodeStream.ts"
import { errorBody, errorFrames } from "#src/wire/chatCompletions/errors.ts"
import { head, passThroughEdits } from "#src/wire/chatCompletions/passThrough.ts"
import { ChatTap } from "#src/wire/chatCompletions/stream/tap.ts"
import { blank, chunkIdentity, comment } from "#src/wire/heartbeat.ts"
import type { ClientCodec, UpstreamCodec } from "#src/wire/WireFormat.ts"

export const client: ClientCodec = {
  name: "chat-completions",
  streamType: "text/event-stream",
  withMessages,
  head,
  decodeRequest,
  encodeAnswer,
  makeEncoder: (options) => new ChatEncoder(options),
  usageAdded: (stream, usage) => LateUsage.added(stream, writeUsage(usage)),
  errorBody,
  errorFrames,
  identityOf: chunkIdentity,
  heartbeat: (comments, now, identity) => comments ? comment(now) : identity === null ? blank : emptyChunk(identity)
}

/** A chunk of the stream that says nothing, for clients that choke on comment lines. */
const emptyChunk = (identity: Identity): string =>
  `data: ${JSON.stringify({ ...identity, choices: [{ index: 0, delta: {}, logprobs: null, finish_reason: null }] })}\n\n`

export const upstream: UpstreamCodec = {
  name: "chat-completions",
  emptyAnswers: true,
  encodeRequest,
  passThroughEdits,
  decodeAnswer,
  makeDecoder: (sink) => new ChatDecoder(sink),
  makePassThroughTap: (asked) => new ChatTap(asked),
  readAnswer,
  readError: errorOf
}
