import type * as ConnectionCooldown from "#actors/resilience/ConnectionCooldown.ts"
import type * as ModelLockout from "#actors/resilience/ModelLockout.ts"
import type { ConnectionPlace } from "./places.ts"

/** Called with what the stores and the other nodes should know; must not throw. */
export interface Saved {
  readonly connection: (id: string, cooldown: ConnectionCooldown.State, now: number) => void
  /** Its credential is taken for expired. */
  readonly expired: (id: string, message: string, now: number) => void
  readonly breaker: (provider: string) => void
  readonly provider: (id: string, cooldown: ConnectionCooldown.State, now: number) => void
  readonly rest: (place: ConnectionPlace, model: string, cooldown: ConnectionCooldown.State, now: number) => void
  /** Null = forgotten. */
  readonly lockout: (place: ConnectionPlace, model: string, lockout: ModelLockout.State | null, now: number) => void
}
