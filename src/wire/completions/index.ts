/** The legacy text completion (`POST /v1/completions`): a client's format only. */
import { errorBody, errorFrames } from "#src/wire/chatCompletions/errors.ts"
import { encodeAnswer } from "#src/wire/completions/answer.ts"
import { decodeRequest, head } from "#src/wire/completions/decodeRequest.ts"
import { makeEncoder } from "#src/wire/completions/encodeStream.ts"
import type { ClientCodec } from "#src/wire/WireFormat.ts"

const emptyChunk = (now: Date): string =>
  `data: {"id":"cmpl-keepalive","object":"text_completion","created":${Math.floor(now.getTime() / 1000)},"model":"","choices":[` +
  '{"text":"","index":0,"logprobs":null,"finish_reason":null}]}\n\n'

export const client: ClientCodec = {
  name: "completions",
  streamType: "text/event-stream",
  head,
  decodeRequest,
  encodeAnswer,
  makeEncoder,
  errorBody,
  errorFrames,
  heartbeat: (comments, now) => comments ? `: keepalive ${now.toISOString()}\n\n` : emptyChunk(now)
}
