/** A chat completion that the gateway asks for on behalf of a client: as that client's own request, from admission to the ledger. */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"

/** The head of the client's request. */
export interface AgentHead {
  /** Name, value; the credential among them. */
  readonly headers: ReadonlyArray<string>
  readonly peerAddress: string
  readonly remoteAddress: string
}

export interface AgentQuestion {
  readonly head: AgentHead
  /** Body of the chat completion; it is always streamed. */
  readonly body: Readonly<Record<string, Schema.Json>>
  /** Rows of the ledger and decisions of routing bear it. */
  readonly requestId: string
  /** Called with each piece of the answer's text. */
  readonly onText: (text: string) => void
}

export interface AgentAnswer {
  /** HTTP status that the client would have got. */
  readonly status: number
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  /** Null for a whole answer. */
  readonly error: { readonly code: string; readonly message: string } | null
}

export class AgentCalls extends Context.Service<AgentCalls, {
  /** Never fails; interrupting it is the client leaving. */
  readonly ask: (question: AgentQuestion) => Effect.Effect<AgentAnswer>
}>()("gateway/ports/AgentCalls") {}
