/**
 * What the nodes of a gateway tell each other of connections that cool down and of models that are locked, so that none runs into what
 * another has learned. Everything is told without waiting; what cannot be told now stays this node's own. Durations are from now, ms,
 * because the clocks of nodes differ.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import type { CooldownReason } from "#actors/resilience/ConnectionCooldown.ts"

export interface Cooled {
  readonly connectionId: string
  /** 0 = over: the connection is well again. */
  readonly forMs: number
  /** What its record will say, ms since the epoch of the node that tells; 0 = nothing. */
  readonly until: number
  readonly level: number
  readonly reason: CooldownReason
  readonly status: number
  readonly guessed: boolean
}

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
}

/** Lockouts that match; null matches all. */
export interface Cleared {
  readonly provider: string | null
  readonly model: string | null
  readonly connectionId: string | null
}

/** Hears what other nodes tell, never what this one told. */
export interface CooldownListener {
  readonly cooled: (cooled: Cooled) => void
  readonly locked: (locked: Locked) => void
  readonly cleared: (cleared: Cleared) => void
}

export class CooldownFeed extends Context.Service<CooldownFeed, {
  /** For nodes that listen now; who comes later reads the connection's record. */
  readonly cool: (cooled: Cooled) => void
  /** For nodes that come while it runs, too. */
  readonly lock: (locked: Locked) => void
  readonly clear: (cleared: Cleared) => void
  /** For the scope: what runs already, then what is told. */
  readonly hear: (listener: CooldownListener) => Effect.Effect<void, never, Scope.Scope>
}>()("gateway/ports/CooldownFeed") {}

/** For a node that is alone. */
export const layerAlone: Layer.Layer<CooldownFeed> = Layer.succeed(CooldownFeed, {
  cool: () => {}, lock: () => {}, clear: () => {}, hear: () => Effect.void
})
