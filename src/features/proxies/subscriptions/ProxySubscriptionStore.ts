/** Where lists of outbound proxies are kept. */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { StoreError } from "#actors/ports/StoreError.ts"
import type { ProxySubscription, Tried } from "./ProxySubscription.ts"

type Op<A> = Effect.Effect<A, StoreError>

export class ProxySubscriptionStore extends Context.Service<ProxySubscriptionStore, {
  /** By name, then id. */
  readonly list: Op<ReadonlyArray<ProxySubscription>>
  readonly insert: (subscription: ProxySubscription) => Op<void>
  /** What operators say of it; false = there is none. What tries left stays. */
  readonly change: (subscription: ProxySubscription) => Op<boolean>
  readonly tried: (id: string, tried: Tried) => Op<void>
  readonly remove: (id: string) => Op<boolean>
}>()("gateway/proxies/ProxySubscriptionStore") {}
