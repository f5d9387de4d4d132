/** The table of chat wire formats: those of clients, and those of upstreams. */
import type { Dialect, Face } from "#actors/request/ports/Face.ts"
import type { PublicError } from "#schemas/errors.ts"
import type { FamilyName, FormatName } from "#schemas/wire/conversation.ts"
import { type CallFormat, isOneShot, type TargetFamily } from "#schemas/wire/formats.ts"
import * as ChatCompletions from "#src/wire/chatCompletions/index.ts"
import * as Functions from "#src/wire/chatCompletions/functions.ts"
import * as Completions from "#src/wire/completions/index.ts"
import * as Codecs from "#src/wire/oneShot/codecs.ts"
import * as Dialects from "#src/wire/dialects.ts"
import * as GenerateContent from "#src/wire/generateContent/index.ts"
import * as Heartbeat from "#src/wire/heartbeat.ts"
import * as LocalModelServer from "#src/wire/localModelServer/index.ts"
import * as Messages from "#src/wire/messages/index.ts"
import * as Responses from "#src/wire/responses/index.ts"
import type { ClientCodec, Json, RequestHead, UpstreamCodec } from "#src/wire/WireFormat.ts"

const families: Readonly<Record<FamilyName, UpstreamCodec>> = {
  "chat-completions": ChatCompletions.upstream,
  "messages": Messages.upstream,
  "responses": Responses.upstream,
  "generateContent": GenerateContent.upstream,
  "local-model-server": LocalModelServer.upstream
}

/** The formats of clients. */
export const clients: ReadonlyArray<ClientCodec> = [
  ChatCompletions.client, Completions.client, Messages.client, Responses.client, GenerateContent.client, LocalModelServer.client
]

/** The codec of a client format. */
export const client = (name: FormatName): ClientCodec => clients.find((codec) => codec.name === name) as ClientCodec

const nothing: Json = {}

/** What an answer needs of its request: all but the conversation in one format, the form of its tools in another, nothing in the others. */
export const repeatedOf = (name: FormatName, request: Json): Json => {
  if (name === "chat-completions") return Functions.repeatedOf(request)
  if (name !== "responses") return nothing
  const { input: _input, ...repeated } = request
  return repeated
}

const isFamily = (name: TargetFamily): name is FamilyName => Object.hasOwn(families, name)

/** The codec of an upstream family. No conversation is planned for a target of another kind. */
export const family = (name: TargetFamily): UpstreamCodec => {
  if (!isFamily(name)) throw new Error(`${name} is no format of conversations`)
  return families[name]
}

/** Reads the head of a client's body. */
export const headOf = (name: CallFormat): ((body: Json) => RequestHead | PublicError) => isOneShot(name) ? Codecs.of(name).head : client(name).head

/** A client codec as the request actor needs it. */
export const faceOf = (codec: ClientCodec, comments: boolean): Face => ({
  name: codec.name,
  streamType: codec.streamType,
  lastTypes: codec.lastTypes,
  errorBody: codec.errorBody,
  errorFrames: (error) => Buffer.from(codec.errorFrames(error)),
  heartbeat: (now, identity) => Buffer.from(codec.heartbeat(comments, now, identity)),
  // A comment names no stream.
  identityIn: codec.identityOf === undefined || (comments && codec.streamType === "text/event-stream") ? null : (chunk) => Heartbeat.identityIn(codec, chunk)
})

/** How an upstream of `name` is read for a client of `codec`. */
export const dialectOf = (codec: ClientCodec, upstream: UpstreamCodec, options: Dialects.Options): Dialect =>
  isSame(codec.name, upstream.name) ? Dialects.passThrough(codec, upstream, options) : Dialects.translating(codec, upstream, options)

export const isSame = (face: FormatName, upstream: TargetFamily): boolean => face === upstream
