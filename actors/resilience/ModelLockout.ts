/**
 * The lockout of one model on one connection: pure transitions, in memory only; nodes exchange them.
 *
 * A model that the upstream does not know (404) rests a fixed time; every other listed status locks only when the setting
 * `modelLockout` is enabled, with a pause that doubles. A running lockout is not restarted by the rest of its burst.
 */
import * as StatusReason from "#schemas/statusReason.ts"

/** Setting `modelLockout`; times in ms. */
export interface LockoutRules {
  readonly enabled: boolean
  readonly errorCodes: ReadonlyArray<number>
  readonly baseCooldownMs: number
  readonly maxCooldownMs: number
  readonly maxBackoffSteps: number
  readonly useExponentialBackoff: boolean
}

export interface State {
  /** ms since the epoch. */
  readonly until: number
  /** Failures less what successes took back; never 0. */
  readonly failures: number
  /** Status of the failure that began it. */
  readonly status: number
}

export type LockoutEvent =
  | { readonly _tag: "Failed"; readonly status: number }
  | { readonly _tag: "Succeeded" }
  /** Another node's state, its end on this node's clock; no failures = it is forgotten. */
  | ({ readonly _tag: "Heard" } & State)

/** The reply is the pause that the event began, ms; 0 = none. Null is no lockout at all. */
export type LockoutStep = readonly [pauseMs: number, state: State | null, intents: readonly []]

/** Lockout of a model that the upstream does not know (404), ms. */
const unknownModelMs = 120_000

const none: readonly [] = []

const pauseOf = (status: number, failures: number, settings: LockoutRules): number => {
  if (settings.enabled && settings.errorCodes.includes(status)) {
    const steps = settings.useExponentialBackoff ? Math.min(failures, settings.maxBackoffSteps) : 0
    return Math.min(settings.baseCooldownMs * 2 ** steps, settings.maxCooldownMs)
  }
  return StatusReason.of(status) === "not-found" ? unknownModelMs : 0
}

/** The same lockout by a clock that was set back by `ms`. */
export const earlier = (state: State, ms: number): State => ({ ...state, until: state.until - ms })

/** What one event makes of a model's lockout; null: there is none. */
export const step = (state: State | null, event: LockoutEvent, settings: LockoutRules, now: number): LockoutStep => {
  switch (event._tag) {
    case "Failed": {
      if (state !== null && now < state.until) return [0, state, none]
      const failures = state === null ? 0 : state.failures
      const pause = pauseOf(event.status, failures, settings)
      return pause === 0 ? [0, state, none] : [pause, { until: now + pause, failures: failures + 1, status: event.status }, none]
    }
    case "Succeeded": {
      if (state === null) return [0, null, none]
      const failures = Math.floor(state.failures / 2)
      return [0, failures === 0 ? null : { ...state, failures }, none]
    }
    case "Heard": {
      if (event.failures === 0) return [0, null, none]
      const until = state === null ? event.until : Math.max(state.until, event.until)
      return [Math.max(0, until - now), { until, failures: event.failures, status: event.status }, none]
    }
  }
}
