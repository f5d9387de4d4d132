/** The legacy text completion (`POST /v1/completions`): a client's format only. */
import type { Identity } from "#actors/request/ports/Face.ts"
import { errorBody, errorFrames } from "#src/wire/chatCompletions/errors.ts"
import * as LateUsage from "#src/wire/chatCompletions/stream/lateUsage.ts"
import { encodeAnswer, usage } from "#src/wire/completions/answer.ts"
import { decodeRequest, head } from "#src/wire/completions/decodeRequest.ts"
import { makeEncoder } from "#src/wire/completions/encodeStream.ts"
import { blank, chunkIdentity, comment } from "#src/wire/heartbeat.ts"
import type { ClientCodec } from "#src/wire/WireFormat.ts"

const emptyChunk = (identity: Identity): string =>
  `data: ${JSON.stringify({ ...identity, choices: [{ text: "", index: 0, logprobs: null, finish_reason: null }] })}\n\n`

export const client: ClientCodec = {
  name: "completions",
  streamType: "text/event-stream",
  head,
  decodeRequest,
  encodeAnswer,
  makeEncoder,
  usageAdded: (stream, counts) => LateUsage.added(stream, usage(counts)),
  errorBody,
  errorFrames,
  identityOf: chunkIdentity,
  heartbeat: (comments, now, identity) => comments ? comment(now) : identity === null ? blank : emptyChunk(identity)
}
