/** The messages format as codecs. */
import { decodeAnswer, readAnswer } from "#src/wire/messages/answer.ts"
import { decodeRequest, head } from "#src/wire/messages/request/decodeRequest.ts"
import { MessagesDecoder } from "#src/wire/messages/stream/decodeStream.ts"
import { encodeAnswer } from "#src/wire/messages/encodeAnswer.ts"
import { encodeRequest } from "#src/wire/messages/request/encodeRequest.ts"
import { MessagesEncoder } from "#src/wire/messages/stream/encodeStream.ts"
import { errorBody, errorFrames, errorOf } from "#src/wire/messages/errors.ts"
import { passThroughEdits } from "#src/wire/messages/passThrough.ts"
import { MessagesTap } from "#src/wire/messages/stream/tap.ts"
import type { ClientCodec, UpstreamCodec } from "#src/wire/WireFormat.ts"

export const client: ClientCodec = {
  name: "messages",
  streamType: "text/event-stream",
  lastTypes: new Set(["message_stop", "error"]),
  head,
  decodeRequest,
  encodeAnswer,
  makeEncoder: (options) => new MessagesEncoder(options),
  errorBody,
  errorFrames,
  heartbeat: () => 'event: ping\ndata: {"type": "ping"}\n\n'
}

export const upstream: UpstreamCodec = {
  name: "messages",
  encodeRequest,
  passThroughEdits,
  decodeAnswer,
  makeDecoder: (sink) => new MessagesDecoder(sink),
  makePassThroughTap: (asked) => new MessagesTap(asked),
  readAnswer,
  readError: errorOf
}
