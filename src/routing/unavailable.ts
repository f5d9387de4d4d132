/** What a client hears when no target of its model is free: why, and when to come back (supplement 2.5, 5.1, 5.6, 18.2). Pure. */
import * as Errors from "#schemas/errors.ts"
import { PublicError } from "#schemas/errors.ts"
import type { Skipped } from "#src/routing/candidate.ts"

/** Targets that diagnostics name. */
const maxExcluded = 64
/** Wait named when nobody knows an end, s. */
const unknownWait = 1

/** Seconds until the first of them may be asked again, at least 1; null when nobody knows. */
const secondsUntil = (skipped: ReadonlyArray<Skipped>, now: number): number | null => {
  let earliest: number | null = null
  for (const { unavailable: { until } } of skipped) if (until !== null && (earliest === null || until < earliest)) earliest = until
  return earliest === null ? null : Math.max(1, Math.ceil((earliest - now) / 1000))
}

const all = (skipped: ReadonlyArray<Skipped>, ...reasons: ReadonlyArray<string>): boolean =>
  skipped.length > 0 && skipped.every(({ unavailable }) => reasons.includes(unavailable.reason))

const excludedOf = (skipped: ReadonlyArray<Skipped>) => skipped.slice(0, maxExcluded).map(({ candidate: { target }, unavailable }) => ({
  provider: target.providerAlias,
  model: target.publicModel,
  reason: unavailable.reason,
  until: unavailable.until === null ? null : new Date(unavailable.until).toISOString()
}))

/** For a single model: every connection of one provider is left out. */
export const errorOf = (model: string, skipped: ReadonlyArray<Skipped>, now: number): PublicError => {
  const seconds = secondsUntil(skipped, now)
  const retryAfterSeconds = seconds ?? unknownWait
  const provider = skipped[0]?.candidate.target.providerAlias ?? ""
  if (all(skipped, "breaker-open", "breaker-probing")) {
    return Errors.make("provider_circuit_open", `Provider ${provider} failed too often and rests; it is tried again in ${retryAfterSeconds} s.`, {
      retryAfterSeconds, extra: { provider, retry_after: retryAfterSeconds }
    })
  }
  if (all(skipped, "connection-cooldown", "model-lockout", "breaker-open", "breaker-probing", "quota-exhausted")) {
    return Errors.make("model_cooldown", `Every connection that serves '${model.slice(0, 200)}' is cooling down; the first is back in ${retryAfterSeconds} s.`, {
      retryAfterSeconds, extra: { model: model.slice(0, 200), reset_seconds: retryAfterSeconds, retry_after: retryAfterSeconds, credentials_cooling: skipped.length }
    })
  }
  if (all(skipped, "connection-busy")) {
    return Errors.make("rate_limit_exceeded", `Every connection that serves '${model.slice(0, 200)}' is at its limit of concurrent calls.`, { retryAfterSeconds })
  }
  return inactive(`No connection that serves '${model.slice(0, 200)}' may be used now.`, skipped, seconds)
}

const inactive = (message: string, skipped: ReadonlyArray<Skipped>, seconds: number | null): PublicError =>
  Errors.make("ALL_ACCOUNTS_INACTIVE", message, {
    ...(seconds === null ? {} : { retryAfterSeconds: seconds }),
    extra: {
      diagnostics: { poolSize: skipped.length, attempted: 0, excluded: excludedOf(skipped), attemptOrder: [], terminalReason: "no_target_available" },
      recovery_hint: seconds === null
        ? { action: "switch-combo", retry_after_seconds: null, next_step: "Ask for another model, or look at GET /api/combos and GET /api/resilience." }
        : { action: "wait", retry_after_seconds: Math.min(3_600, seconds), next_step: `Repeat the request in ${seconds} s.` }
    }
  })

/** For a combo; `refused`: why steps gave no target at all. */
export const errorOfCombo = (name: string, skipped: ReadonlyArray<Skipped>, refused: ReadonlyArray<PublicError>, now: number): PublicError => {
  const [first] = refused
  return inactive(
    skipped.length === 0 && first !== undefined ? `Combo '${name}' has no usable target: ${first.message}` : `Every target of combo '${name}' is inactive or excluded.`,
    skipped, secondsUntil(skipped, now)
  )
}

/** A strict budget that no target meets. */
export const overBudget = (name: string): PublicError =>
  Errors.make("payment_required", `Every target of '${name}' costs more than the request's budget.`)
