/** What the end of a call leaves: in its provider's breaker and rest, in the cooldowns of its model and connection, and in the lockout. */
import type { OwnFailures } from "#actors/request/OwnFailures.ts"
import type { Verdict } from "#actors/request/ports/Resilience.ts"
import * as ModelLockout from "#actors/resilience/ModelLockout.ts"
import * as ProviderBreaker from "#actors/resilience/ProviderBreaker.ts"
import type { Effective } from "#src/features/resilience/ports/resilienceSettings.ts"
import * as StatusReason from "#schemas/statusReason.ts"
import type { HeldPass } from "./HeldPass.ts"
import * as Rests from "./rests.ts"
import type { Saved } from "./saved.ts"

/** `holdMs`: how long the upstream said that it refuses, ms; 0 = it said nothing that counts. */
export const tellBreaker = (
  pass: HeldPass, result: "ok" | "failed" | "neutral", status: number, effective: Effective, saved: Saved, now: number, holdMs = 0
): void => {
  const { profile, provider, ticket } = pass
  // The usual case: a closed breaker without failures records a success.
  if (provider.breaker.failures === 0 && provider.breaker.openUntil === null && result !== "failed") return
  const [, state, intents] = ProviderBreaker.step(provider.breaker, { _tag: "Ended", ticket, result, status, holdMs }, effective.breaker[profile], now)
  provider.breaker = state
  if (intents.length > 0) saved.breaker(provider.id)
}

const tellLockout = ({ connection, model, target }: HeldPass, event: ModelLockout.LockoutEvent, effective: Effective, saved: Saved, now: number): void => {
  const [, state] = ModelLockout.step(model.lockout, event, effective.lockout, now)
  if (state === model.lockout) return
  model.lockout = state
  saved.lockout(connection, target.model, state, now)
}

export const succeeded = (pass: HeldPass, verdict: Verdict, effective: Effective, saved: Saved, now: number): void => {
  pass.model.figures.ok(verdict.latencyMs, verdict.ttftMs)
  tellBreaker(pass, "ok", verdict.status, effective, saved, now)
  Rests.succeeded(pass, effective.cooldown[pass.profile], saved, now)
  if (pass.model.lockout !== null) tellLockout(pass, { _tag: "Succeeded" }, effective, saved, now)
}

/** How long a rate limit holds that counts for the breaker, ms; 0 = it does not count. */
const heldBack = ({ profile }: HeldPass, { retryAfterMs, status }: Verdict, { rateLimitsCount }: Effective): number =>
  rateLimitsCount[profile] && StatusReason.of(status) === "rate-limit" ? retryAfterMs ?? 0 : 0

export const failed = (pass: HeldPass, verdict: Verdict, effective: Effective, saved: Saved, now: number, ownFailures: OwnFailures | null): void => {
  const { network, status } = verdict
  const cools = pass.target.connection?.providerSpecificData["disableCooling"] !== true
  // The request's own fault is no failure of the target.
  if (StatusReason.isRequests(status)) pass.model.figures.neutral()
  else pass.model.figures.fail()
  const holdMs = heldBack(pass, verdict, effective)
  const breaksDown = ProviderBreaker.counts(status, network)
  const counts = breaksDown || holdMs > 0
  const first = ownFailures === null || ownFailures.failed(pass.target, counts)
  // One request counts once; a probe decides for any sender.
  tellBreaker(pass, counts && (first || pass.ticket.probe) ? "failed" : "neutral", status, effective, saved, now, holdMs)
  if (cools) {
    if (effective.providerCooldown !== null && breaksDown && first) Rests.ofProvider(pass, status, effective.providerCooldown, saved, now)
    if (effective.softLockout && verdict.unclear === true) Rests.unclear(pass, verdict, effective.cooldown[pass.profile], saved, now, ownFailures)
    else Rests.failed(pass, verdict, effective.cooldown[pass.profile], saved, now, ownFailures, effective.dailyResets.get(pass.target.provider))
  }
  tellLockout(pass, { _tag: "Failed", status }, effective, saved, now)
}
