/**
 * The nodes of a gateway announce cooldowns and lockouts to each other, so that a node does not repeat another's failure. Nothing
 * waits for an announcement; what cannot be announced now stays local. Durations are from now, ms, because the clocks of nodes
 * differ.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import type { CooldownReason } from "#actors/resilience/ConnectionCooldown.ts"

export interface Cooled {
  readonly connectionId: string
  /** 0 = over: the connection has recovered. */
  readonly forMs: number
  /** What its record will say, ms since the epoch of the node that tells; 0 = nothing. */
  readonly until: number
  readonly level: number
  readonly reason: CooldownReason
  readonly status: number
  readonly guessed: boolean
}

/** The model of a provider's own cooldown. */
export const allModels = "*"

export interface Locked {
  readonly provider: string
  /** Null for a provider without credentials. */
  readonly connectionId: string | null
  readonly model: string
  /** 0 = over. */
  readonly forMs: number
  /** 0 = none are remembered any more. */
  readonly failures: number
  readonly status: number
  /** It is a cooldown of the model; absent = a lockout. */
  readonly rest?: { readonly level: number; readonly reason: CooldownReason; readonly guessed: boolean }
  /** It is the cooldown of the whole provider: without a connection, and of `allModels`. */
  readonly whole?: true
}

/** Lockouts that match; null matches all. */
export interface Cleared {
  readonly provider: string | null
  readonly model: string | null
  readonly connectionId: string | null
}

/** Called with announcements of other nodes, never with this node's own. */
export interface CooldownListener {
  readonly cooled: (cooled: Cooled) => void
  readonly locked: (locked: Locked) => void
  readonly cleared: (cleared: Cleared) => void
}

export class CooldownFeed extends Context.Service<CooldownFeed, {
  /** For nodes that listen now; a later node reads the connection's record. */
  readonly cool: (cooled: Cooled) => void
  /** For nodes that come while it runs, too. */
  readonly lock: (locked: Locked) => void
  readonly clear: (cleared: Cleared) => void
  /** For the scope: what runs already, then each announcement. */
  readonly hear: (listener: CooldownListener) => Effect.Effect<void, never, Scope.Scope>
}>()("gateway/ports/CooldownFeed") {}

/** For a node that is alone. */
export const layerAlone: Layer.Layer<CooldownFeed> = Layer.succeed(CooldownFeed, {
  cool: () => {}, lock: () => {}, clear: () => {}, hear: () => Effect.void
})
