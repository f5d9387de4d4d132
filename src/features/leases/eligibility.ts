/** Which connections a lease for a model may be on: those of the router's plan for the key. */
import type { Snapshot } from "#actors/ports/Configuration.ts"
import { PublicError } from "#schemas/errors.ts"
import type { ApiKey } from "#schemas/records/ApiKey.ts"
import { type CallFormat, oneShotKinds } from "#schemas/wire/formats.ts"
import * as LeaseErrors from "#src/inference/lane/leaseErrors.ts"
import type { Candidate, Skipped } from "#src/routing/models/candidate.ts"
import { unknownRequest } from "#src/routing/RequestMoment.ts"
import type { Router } from "#src/routing/Router.ts"
import { Blocked } from "#src/routing/unavailable.ts"

export interface Eligibility {
  /** Connections that serve the model and that the key may use. */
  readonly fits: ReadonlyArray<string>
  /** Those of them that can take calls now, the best first. */
  readonly available: ReadonlyArray<string>
  /** What is said when none can; null while one can. */
  readonly refusal: PublicError | null
}

const idsOf = (candidates: ReadonlyArray<Candidate>): ReadonlyArray<string> =>
  [...new Set(candidates.flatMap(({ target: { connection } }) => connection === null ? [] : [connection.id]))]

/** Those that are left out for now only. */
const resting = (skipped: ReadonlyArray<Skipped>): ReadonlyArray<Candidate> =>
  skipped.flatMap(({ candidate, unavailable: { reason } }) => reason === "not-allowed" || reason === "inactive" ? [] : [candidate])

/** The plan for a conversation; of a model that takes none, for the first kind of request that it serves. */
const planOf = (router: Router, model: string, key: ApiKey, now: number) => {
  const asked = (face: CallFormat) => router.route({ model, key, face, session: null, headers: {}, prompt: unknownRequest, now, dry: true })
  const plan = asked("chat-completions")
  if (!(plan instanceof PublicError) || plan instanceof Blocked || plan.code !== "model_not_supported") return plan
  for (const kind of oneShotKinds) {
    const other = asked(kind)
    if (!(other instanceof PublicError) || other instanceof Blocked) return other
  }
  return plan
}

export const eligibilityOf = (router: Router, snapshot: Snapshot, model: string, key: ApiKey, now: number): Eligibility => {
  const route = planOf(router, model, key, now)
  if (route instanceof Blocked && route.skipped.length > 0) {
    // Cooldown, quota and health keep their ordinary words; a connection that is only busy has no reason for a request that may wait.
    return { fits: idsOf(resting(route.skipped)), available: [], refusal: route.code === "rate_limit_exceeded" ? LeaseErrors.eligibilityUnavailable : route }
  }
  if (route instanceof PublicError) {
    const gone = key.policy.allowedConnections.every((id) => !snapshot.connectionById.has(id))
    return { fits: [], available: [], refusal: gone ? LeaseErrors.noEligibleConnection : route }
  }
  const available = idsOf(route.order.order)
  return { fits: idsOf([...route.order.order, ...resting(route.order.skipped)]), available, refusal: available.length === 0 ? LeaseErrors.eligibilityUnavailable : null }
}
