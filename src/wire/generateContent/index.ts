/** The generateContent format: Gemini API and Vertex AI, as a client's format and as an upstream's. */
import type { ClientCodec, UpstreamCodec } from "#src/wire/WireFormat.ts"
import { blank, comment } from "#src/wire/heartbeat.ts"
import { decodeAnswer, encodeAnswer, readAnswer } from "#src/wire/generateContent/answer.ts"
import { decodeRequest } from "#src/wire/generateContent/request/decodeRequest.ts"
import { GenerateContentDecoder } from "#src/wire/generateContent/stream/decodeStream.ts"
import { encodeRequest } from "#src/wire/generateContent/request/encodeRequest.ts"
import { GenerateContentEncoder } from "#src/wire/generateContent/stream/encodeStream.ts"
import { errorBody, errorFrames } from "#src/wire/generateContent/errors.ts"
import { errorOf } from "#src/wire/generateContent/facts.ts"
import { GenerateContentTap } from "#src/wire/generateContent/stream/tap.ts"
import { invalid } from "#src/wire/neutral/settings.ts"

/** The HTTP layer puts `model` and `stream` of the URL into the body. */
const head: ClientCodec["head"] = (body) => {
  const { contents, model, stream } = body
  if (typeof model !== "string" || model === "") return invalid("model", "Field 'model' must be a non-empty string.")
  if (!Array.isArray(contents) || contents.length === 0) return invalid("contents", "Field 'contents' must be a non-empty array.")
  return { model, stream: stream === true, wantsUsage: true }
}

export const client: ClientCodec = {
  name: "generateContent",
  streamType: "text/event-stream",
  head,
  decodeRequest,
  encodeAnswer,
  makeEncoder: (options) => new GenerateContentEncoder(options),
  errorBody,
  errorFrames,
  // Some of the vendor's clients take only `data:` lines; a blank line means nothing to any of them.
  heartbeat: (comments, now) => comments ? comment(now) : blank
}

export const upstream: UpstreamCodec = {
  name: "generateContent",
  encodeRequest,
  // Model and stream flag stand in the URL, and usage always comes.
  passThroughEdits: () => [],
  decodeAnswer,
  makeDecoder: (sink) => new GenerateContentDecoder(sink),
  makePassThroughTap: (asked) => new GenerateContentTap(asked),
  readAnswer,
  readError: errorOf
}
