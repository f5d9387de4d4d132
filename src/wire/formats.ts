/** The table of chat wire formats: what clients may speak, and what upstreams may. */
import type { Dialect, Face } from "#actors/ports/Face.ts"
import type { FamilyName, FormatName } from "#schemas/wire/conversation.ts"
import * as ChatCompletions from "#src/wire/chatCompletions/index.ts"
import * as Completions from "#src/wire/completions/index.ts"
import * as Dialects from "#src/wire/dialect.ts"
import * as GenerateContent from "#src/wire/generateContent/index.ts"
import * as LocalModelServer from "#src/wire/localModelServer/index.ts"
import * as Messages from "#src/wire/messages/index.ts"
import * as Responses from "#src/wire/responses/index.ts"
import type { ClientCodec, UpstreamCodec } from "#src/wire/WireFormat.ts"

const families: Readonly<Record<FamilyName, UpstreamCodec>> = {
  "chat-completions": ChatCompletions.upstream,
  "messages": Messages.upstream,
  "responses": Responses.upstream,
  "generateContent": GenerateContent.upstream,
  "local-model-server": LocalModelServer.upstream
}

/** What clients may speak. */
export const clients: ReadonlyArray<ClientCodec> = [
  ChatCompletions.client, Completions.client, Messages.client, Responses.client, GenerateContent.client, LocalModelServer.client
]

/** The codec of an upstream family. */
export const family = (name: FamilyName): UpstreamCodec => families[name]

/** A client codec as the request actor needs it. */
export const faceOf = (codec: ClientCodec, comments: boolean): Face => ({
  name: codec.name,
  streamType: codec.streamType,
  errorBody: codec.errorBody,
  errorFrames: (error) => Buffer.from(codec.errorFrames(error)),
  heartbeat: (now) => Buffer.from(codec.heartbeat(comments, now))
})

/** How an upstream of `name` is read for a client of `codec`. */
export const dialectOf = (codec: ClientCodec, upstream: UpstreamCodec, options: Dialects.Options): Dialect =>
  isSame(codec.name, upstream.name) ? Dialects.passThrough(codec, upstream, options) : Dialects.translating(codec, upstream, options)

export const isSame = (face: FormatName, upstream: FamilyName): boolean => face === upstream
