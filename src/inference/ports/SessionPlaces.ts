/** Where the last answer of a client's session came from, and which target holds the cache of a conversation's prompt, as the nodes of a gateway tell each other; nothing waits for it. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"

export interface SessionPlace {
  readonly provider: string
  /** The provider's public name. */
  readonly alias: string
  readonly model: string
  readonly connectionId: string | null
  /** Tokens; null when unknown. */
  readonly window: number | null
}

/** The target of a combo that answered a conversation last, by its place in the combo, and until when it goes first (ms since the epoch). */
export interface CachePlace {
  readonly executionKey: string
  readonly until: number
}

export class SessionPlaces extends Context.Service<SessionPlaces, {
  /** The name of a session between nodes: it does not reveal the client's own name of it. */
  readonly keyOf: (session: string) => string
  readonly tell: (key: string, place: SessionPlace) => void
  /** Calls `onPlace` for the scope with the announcements of other nodes. */
  readonly hear: (onPlace: (key: string, place: SessionPlace) => void) => Effect.Effect<void, never, Scope.Scope>
  /** Null for a node that is alone. */
  readonly cachePlaces: {
    readonly tell: (key: string, place: CachePlace) => void
    readonly hear: (onPlace: (key: string, place: CachePlace) => void) => Effect.Effect<void, never, Scope.Scope>
  } | null
}>()("gateway/ports/SessionPlaces") {}

/** For a node that is alone. */
export const alone = SessionPlaces.of({ keyOf: (session) => session, tell: () => {}, hear: () => Effect.void, cachePlaces: null })

export const layerAlone: Layer.Layer<SessionPlaces> = Layer.succeed(SessionPlaces, alone)
