/** Sums of tunnels by proxy and hour, of all nodes. */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { StoreError } from "#actors/ports/StoreError.ts"
import type { TunnelCount } from "#src/platform/upstream/egress/TunnelCounts.ts"

export interface ProxyCount extends Readonly<TunnelCount> {
  readonly proxyId: string
}

export class ProxyHealthStore extends Context.Service<ProxyHealthStore, {
  /** Adds to the sums of an hour (ms since the epoch); counts of proxies that are gone are dropped. */
  readonly add: (hour: number, counts: ReadonlyArray<ProxyCount>) => Effect.Effect<void, StoreError>
  /** Sums from an hour on, `lastError` of the newest hour that has one; without proxies that have none. */
  readonly since: (hour: number) => Effect.Effect<ReadonlyArray<ProxyCount>, StoreError>
  /** Answers how many rows went. */
  readonly removeBefore: (hour: number) => Effect.Effect<number, StoreError>
}>()("gateway/proxies/ProxyHealthStore") {}
