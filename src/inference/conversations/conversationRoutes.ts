/** Which path takes conversations in which format. */
import * as Effect from "effect/Effect"
import * as ArrayExchange from "./ArrayExchange.ts"
import * as ConversationPaths from "./conversationPaths.ts"
import * as Conversations from "./Conversations.ts"
import type { ConversationEndpoint } from "./Conversations.ts"
import * as TokenCounts from "./counts/TokenCounts.ts"
import { Conversing } from "./ConversationServices.ts"
import * as Paths from "#src/inference/lane/paths.ts"
import * as Endpoint from "#src/inference/lane/services/Endpoint.ts"
import * as ChatCompletions from "#src/wire/chatCompletions/index.ts"
import * as Completions from "#src/wire/completions/index.ts"
import * as GenerateContent from "#src/wire/generateContent/index.ts"
import * as LocalModelServer from "#src/wire/localModelServer/index.ts"
import * as Messages from "#src/wire/messages/index.ts"
import * as Responses from "#src/wire/responses/index.ts"

export interface ConversationRoute {
  /** With `:name` parameters; a last `:path` takes slashes too. */
  readonly path: string
  readonly entry: ConversationEndpoint
}

const plain = (path: string, codec: ConversationEndpoint["codec"]): ConversationRoute => ({ path, entry: { endpoint: path, codec } })

/** A path that holds the key, for clients that cannot send a header; otherwise as `like`. */
const tokenized = (path: string, like: string, codec: ConversationEndpoint["codec"]): ConversationRoute => ({
  path,
  entry: { endpoint: like, codec, token: (at) => Paths.segment(at, 4) }
})

/** Model and method stand in what the pattern leaves open. */
const generatePaths: ReadonlyArray<string> = ["/v1beta/models/:path", "/v1/models/:path"]

const countPath = "/v1/messages/count_tokens"
const inputTokensPath = "/v1/responses/input_tokens"

const endpointOf = (path: string): Endpoint.Endpoint => Endpoint.make("POST", path, "chat")

const all: ReadonlyArray<ConversationRoute> = [
  plain("/v1/chat/completions", ChatCompletions.client),
  plain("/v1/messages", Messages.client),
  plain("/v1/responses", Responses.client),
  { path: "/v1/responses/compact", entry: { endpoint: "/v1/responses/compact", codec: Responses.client, compacts: true } },
  plain("/v1/completions", Completions.client),
  plain("/v1/api/chat", LocalModelServer.client),
  ...generatePaths.map((path): ConversationRoute => ({
    path,
    entry: { endpoint: "/v1beta/models", codec: GenerateContent.client, fromPath: (at) => ConversationPaths.ofGenerate(at), modelInPath: true }
  })),
  {
    path: "/v1/providers/:provider/chat/completions",
    entry: { endpoint: "/v1/providers/chat/completions", codec: ChatCompletions.client, fromPath: Paths.ofProvider }
  },
  tokenized("/api/v1/editor/:token/chat/completions", "/v1/chat/completions", ChatCompletions.client),
  tokenized("/api/v1/editor/:token/v1/chat/completions", "/v1/chat/completions", ChatCompletions.client),
  tokenized("/api/v1/editor/:token/responses", "/v1/responses", Responses.client),
  tokenized("/api/v1/editor/:token/api/chat", "/v1/api/chat", LocalModelServer.client)
]

/** The endpoints of conversations and of token counts. */
export const endpoints: ReadonlyArray<Endpoint.Endpoint> = [...all.map(({ path }) => path), countPath, inputTokensPath].map(endpointOf)

export const routes = Effect.gen(function*() {
  const services = yield* Conversing
  const countContents = TokenCounts.ofGenerateContent(services)
  return [
    ...all.map(({ entry, path }): Endpoint.Mounted => {
      const route = Conversations.route(services, entry)
      return {
        endpoint: endpointOf(path),
        route: !generatePaths.includes(path) ? route : (exchange) =>
          exchange.path.endsWith(":countTokens") ? countContents(exchange) : route(ArrayExchange.wants(exchange) ? new ArrayExchange.ArrayExchange(exchange) : exchange)
      }
    }),
    { endpoint: endpointOf(countPath), route: TokenCounts.ofMessages(services) },
    { endpoint: endpointOf(inputTokensPath), route: TokenCounts.ofResponses(services) }
  ] satisfies ReadonlyArray<Endpoint.Mounted>
})
