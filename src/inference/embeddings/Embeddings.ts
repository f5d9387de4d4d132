/** POST /v1/embeddings, as an operation of the lane. */
import * as Effect from "effect/Effect"
import type { PublicError } from "#schemas/errors.ts"
import * as Lane from "#src/inference/lane/Lane.ts"
import type { Operation } from "#src/inference/lane/Operation.ts"
import * as Paths from "#src/inference/lane/paths.ts"
import * as Endpoint from "#src/inference/lane/services/Endpoint.ts"
import { Inference } from "#src/inference/lane/services/Inference.ts"
import type { Call } from "#src/inference/lane/stages/Stage.ts"
import { unknownProvider } from "#src/routing/embeddings.ts"
import { client as chatCompletions } from "#src/wire/chatCompletions/index.ts"
import * as Request from "#src/wire/embeddings/request.ts"
import * as Formats from "#src/wire/formats.ts"
import { Embedding } from "./Embedding.ts"

/** A call that asks for embeddings. */
interface EmbeddingCall extends Call {
  readonly codec: null
  readonly head: Request.EmbeddingHead
}

export type EmbeddingOperation = Operation<Request.EmbeddingHead, EmbeddingCall>

/** Errors are told as in chat-completions. */
const face = { ...Formats.faceOf(chatCompletions, false), name: "embeddings" } as const

const noNeeds = { tools: false, vision: false, structuredOutput: false }

export const operation: EmbeddingOperation = {
  endpoint: "/v1/embeddings", category: "embeddings", codec: null, face, errorBody: face.errorBody, format: "embeddings", fenced: true,
  head: Request.head,
  about: ({ body }) => ({ promptTokens: Math.ceil(body.length / 4), promptPrefix: "", needs: noNeeds }),
  encode: ({ head }, { prompt }) => new Embedding(head, prompt)
}

/** The provider stands in the path. */
const ofProvider: EmbeddingOperation = {
  ...operation,
  endpoint: "/v1/providers/embeddings",
  fromPath: (path, body, aliasOf): Readonly<Record<string, unknown>> | PublicError => {
    const provider = Paths.segment(path, 3) ?? ""
    return aliasOf(provider) === null ? unknownProvider(provider) : Paths.ofProvider(path, body, aliasOf)
  }
}

const served = [
  { endpoint: Endpoint.make("POST", "/v1/embeddings", "embeddings"), operation },
  { endpoint: Endpoint.make("POST", "/v1/providers/:provider/embeddings", "embeddings"), operation: ofProvider }
]

export const endpoints: ReadonlyArray<Endpoint.Endpoint> = served.map(({ endpoint }) => endpoint)

export const routes = Effect.map(Inference, (services) =>
  served.map(({ endpoint, operation: asked }): Endpoint.Mounted => ({ endpoint, route: Lane.route(services, asked) })))
