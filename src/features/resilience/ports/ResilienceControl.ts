/** What an operator may see and end of the three mechanisms of `Resilience`; each list is a copy of this node's memory. */
import * as Context from "effect/Context"
import type { BreakerState } from "#actors/request/ports/Resilience.ts"
import type { ResilienceSettings } from "#schemas/records/ResilienceSettings.ts"

/** Times in ms since the epoch. */
export interface BreakerView {
  readonly provider: string
  readonly state: BreakerState
  /** The one model that it refuses; null = all of them, or it refuses none. */
  readonly model: string | null
  readonly failures: number
  readonly lastFailureAt: number | null
  /** ms until a probe may enter; 0 unless open. */
  readonly retryAfterMs: number
}

export interface CooldownView {
  readonly connectionId: string
  readonly until: number
  readonly level: number
  readonly reason: string
}

export interface LockoutView {
  readonly provider: string
  readonly connectionId: string | null
  readonly model: string
  readonly reason: string
  readonly until: number
  readonly failureCount: number
}

export interface PlaceView {
  readonly connectionId: string
  readonly running: number
  /** Calls at once; 0 = no cap. */
  readonly max: number
  readonly waiting: number
}

/** A model of a combo with a cap (concurrencyPerModel) that is in use. */
export interface ModelPlaceView {
  /** `<combo id> <provider>/<model>`. */
  readonly id: string
  readonly running: number
  readonly max: number
  readonly waiting: number
}

export class ResilienceControl extends Context.Service<ResilienceControl, {
  /** The effective settings of this moment. */
  readonly settings: () => ResilienceSettings
  /** Providers that were called since the start, or whose breaker was open at the start. */
  readonly breakers: (now: number) => ReadonlyArray<BreakerView>
  readonly cooldowns: (now: number) => ReadonlyArray<CooldownView>
  /** Running cooldowns and lockouts of models, shortest remaining time first. */
  readonly lockouts: (now: number) => ReadonlyArray<LockoutView>
  readonly places: () => ReadonlyArray<PlaceView>
  readonly models: () => ReadonlyArray<ModelPlaceView>
  readonly inFlight: () => { readonly total: number; readonly perProvider: Readonly<Record<string, number>> }
  /** Closes the breaker of one provider, or all; answers how many were not plainly closed. */
  readonly resetBreakers: (provider: string | null, now: number) => number
  /** Ends cooldowns and lockouts of models that match; null matches all. Answers how many ran. */
  readonly clearLockouts: (provider: string | null, model: string | null, connectionId: string | null, now: number) => number
  /** Forgets which slots are taken: calls in flight no longer count. */
  readonly resetPlaces: () => void
}>()("gateway/ports/ResilienceControl") {}
