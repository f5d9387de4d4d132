/** What one wire call is made with: its start record, its body and headers, its deadlines, and how its answer is read. */
import type { AttemptClient, AttemptOptions } from "#actors/request/steps/attemptValues.ts"
import type { Inbound } from "#actors/request/Inbound.ts"
import type { Body } from "#actors/request/ports/Body.ts"
import { policyAt } from "#actors/request/ports/WalkPolicy.ts"
import * as RequestFacts from "#actors/request/requestFacts.ts"
import type { Resumption } from "#actors/request/Resumption.ts"
import type { Services } from "#actors/request/services.ts"
import type { Try } from "#actors/request/Try.ts"
import { AttemptRow } from "./AttemptRow.ts"
import { UsageEstimate } from "#actors/request/client/UsageEstimate.ts"
import * as TargetToken from "./targetToken.ts"

/** How long STREAM_RECOVERY_ENABLED holds the first bytes, ms. */
const recoveryHoldMs = 250

/** Takes the body of the try, which has no other use. `client`: where the answer goes; `attempt`: 1 for the first call of the request; `at`: when it begins, ms. */
export const of = (one: Try, inbound: Inbound, services: Services, client: AttemptClient, resumption: Resumption | null, attempt: number, continues: boolean, at: number): AttemptOptions => {
  const { requestedAt, target, token } = one
  const body = one.body as Body
  one.body = null
  one.omitted = inbound.omittedFor(target)
  const dialect = inbound.dialectFor(target)
  const asked = inbound.askedBy?.() ?? null
  const policy = policyAt(inbound.route.policy, target)
  return {
    start: new AttemptRow(inbound, target, services, attempt, at),
    target,
    body,
    query: asked === null ? inbound.queryFor?.(target) ?? "" : `${target.path.includes("?") ? "&" : "?"}${asked}`,
    method: asked === null ? "POST" : "GET",
    requestHeaders: token === null ? inbound.headersFor(target, continues) : TargetToken.withToken(inbound.headersFor(target, continues), token),
    dialect,
    resumption,
    check: continues ? null : policy.answers,
    continues,
    stream: inbound.stream,
    forwardUsage: inbound.forwardUsage,
    estimate: inbound.stream && inbound.forwardUsage && inbound.tokenless !== true ? new UsageEstimate(inbound, services.accounting) : null,
    timeouts: RequestFacts.timeoutsOf(inbound.timeouts ?? services.limits.timeouts, policy, inbound.since === undefined ? attempt : attempt + 1, requestedAt, at),
    holdMs: inbound.recovery.holds ? recoveryHoldMs : 0,
    now: services.now,
    client
  }
}
