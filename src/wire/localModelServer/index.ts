/** The format of local model servers (`POST /api/chat`, newline-delimited JSON) as codecs. */
import { decodeAnswer, encodeAnswer, errorOf, readAnswer } from "#src/wire/localModelServer/answer.ts"
import { decodeRequest, head } from "#src/wire/localModelServer/request/decodeRequest.ts"
import { makeDecoder } from "#src/wire/localModelServer/stream/decodeStream.ts"
import { encodeRequest, passThroughEdits } from "#src/wire/localModelServer/request/encodeRequest.ts"
import { makeEncoder } from "#src/wire/localModelServer/stream/encodeStream.ts"
import { errorBody, errorFrames } from "#src/wire/localModelServer/errors.ts"
import { LocalTap } from "#src/wire/localModelServer/stream/tap.ts"
import type { ClientCodec, UpstreamCodec } from "#src/wire/WireFormat.ts"

export const client: ClientCodec = {
  name: "local-model-server",
  streamType: "application/x-ndjson",
  head,
  decodeRequest,
  encodeAnswer,
  makeEncoder,
  errorBody,
  errorFrames,
  identityOf: ({ model }) => typeof model === "string" && model !== "" ? { model } : null,
  // Blank lines break the line readers of some SDKs; a space before the first line belongs to its JSON, and an empty piece of text is read by all.
  heartbeat: (_, now, identity) => identity === null
    ? " "
    : `${JSON.stringify({ ...identity, created_at: now.toISOString(), message: { role: "assistant", content: "" }, done: false })}\n`
}

export const upstream: UpstreamCodec = {
  name: "local-model-server",
  encodeRequest,
  passThroughEdits,
  decodeAnswer,
  makeDecoder,
  makePassThroughTap: (asked) => new LocalTap(asked),
  readAnswer,
  readError: errorOf
}
