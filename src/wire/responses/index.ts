/** The responses format: client and upstream codec. */
import type { Identity } from "#actors/request/ports/Face.ts"
import type { Answer } from "#schemas/wire/conversation.ts"
import { blank, comment } from "#src/wire/heartbeat.ts"
import { recordAt } from "#src/wire/json/json.ts"
import { replay } from "#src/wire/neutral/replay.ts"
import { decodeAnswer, readAnswer } from "#src/wire/responses/answer.ts"
import { decodeRequest, head } from "#src/wire/responses/request/decodeRequest.ts"
import { ResponsesDecoder } from "#src/wire/responses/stream/decodeStream.ts"
import { encodeRequest } from "#src/wire/responses/request/encodeRequest.ts"
import { ResponsesEncoder } from "#src/wire/responses/stream/encodeStream.ts"
import { errorBody, errorFrames, errorOf } from "#src/wire/responses/errors.ts"
import { ResponsesTap } from "#src/wire/responses/stream/tap.ts"
import * as WholeResponse from "#src/wire/responses/wholeResponse.ts"
import type { Edit } from "#src/wire/json/splice.ts"
import type { EncoderOptions } from "#src/wire/stream/StreamSink.ts"
import type { ClientCodec, Json, TargetTraits, UpstreamCodec } from "#src/wire/WireFormat.ts"

/** The response object that a stream of the same answer would end with. */
const encodeAnswer = (answer: Answer, options: EncoderOptions): string => {
  const encoder = new ResponsesEncoder(options)
  replay(answer, encoder)
  return encoder.whole()
}

/** The response as the stream's first event named it. */
const identityOf = (frame: Json): Identity | null => {
  const response = recordAt(frame, "response")
  return response === null || typeof response["id"] !== "string" ? null : { ...response, status: "in_progress" }
}

/**
 * The vendor's SDK fails on any event before `response.created`, and on one that names another response: until the first event a blank
 * line, then the stream's own response in progress. It has no sequence number: the next one belongs to the upstream's next event.
 */
const heartbeat = (comments: boolean, now: Date, identity: Identity | null): string =>
  comments ? comment(now) : identity === null ? blank : `event: response.in_progress\ndata: ${JSON.stringify({ type: "response.in_progress", response: identity })}\n\n`

export const client: ClientCodec = {
  name: "responses",
  streamType: "text/event-stream",
  lastTypes: new Set(["response.completed", "response.incomplete", "response.failed", "response.done"]),
  head,
  decodeRequest,
  encodeAnswer,
  makeEncoder: (options) => new ResponsesEncoder(options),
  errorBody,
  errorFrames,
  identityOf,
  heartbeat
}

const passThroughEdits = (body: Json, traits: TargetTraits): ReadonlyArray<Edit> => {
  const edits: Array<Edit> = [{ key: "model", value: JSON.stringify(traits.model) }]
  if ((body["stream"] === true) !== traits.stream) edits.push({ key: "stream", value: String(traits.stream) })
  const previous = body["previous_response_id"]
  if (traits.previousResponseId === "strip" && previous !== undefined && previous !== null) edits.push({ key: "previous_response_id", value: "null" })
  return edits
}

export const upstream: UpstreamCodec = {
  name: "responses",
  encodeRequest,
  passThroughEdits,
  decodeAnswer,
  makeDecoder: (sink) => new ResponsesDecoder(sink),
  makePassThroughTap: (asked, known) => new ResponsesTap(asked, known),
  wholeAnswer: (body, parsed, known) => WholeResponse.whole(body, parsed, known),
  readAnswer,
  readError: errorOf
}
