/** What one wire call is made with: its start record, its body and headers, its deadlines, and how its answer is read. */
import type { AttemptOptions } from "#actors/request/steps/attemptValues.ts"
import type { Inbound } from "#actors/request/Inbound.ts"
import type { Body } from "#actors/request/ports/Body.ts"
import { policyAt } from "#actors/request/ports/WalkPolicy.ts"
import * as RequestFacts from "#actors/request/requestFacts.ts"
import * as Resumption from "#actors/request/Resumption.ts"
import type { Services } from "#actors/request/services.ts"
import type { Try } from "#actors/request/Try.ts"
import * as Interceptors from "./interceptors.ts"
import * as TargetToken from "./targetToken.ts"

/** How long STREAM_RECOVERY_ENABLED holds the first bytes, ms. */
const recoveryHoldMs = 250

/** Where the answer goes, and the callback for its content. */
export type Reaction = Pick<AttemptOptions, "client" | "speaks" | "commit">

/** Takes the body of the try, which has no other use. */
export const of = (one: Try, inbound: Inbound, services: Services, facts: {
  /** 1 for the first call of the request. */
  readonly attempt: number
  readonly continues: boolean
  readonly startedAt: number
}, resumption: Resumption.Resumption | null, { client, commit, speaks }: Reaction): AttemptOptions => {
  const { attempt, continues, startedAt } = facts
  const { target, token } = one
  const body = one.body as Body
  one.body = null
  one.omitted = inbound.omittedFor(target)
  const dialect = inbound.dialectFor(target)
  const asked = inbound.askedBy?.() ?? null
  const policy = policyAt(inbound.route.policy, target)
  return {
    start: RequestFacts.startOf(inbound, target, { attemptId: services.makeAttemptId(), attempt, startedAt: services.now(), nodeId: services.nodeId }),
    target,
    body,
    query: asked === null ? inbound.queryFor?.(target) ?? "" : `${target.path.includes("?") ? "&" : "?"}${asked}`,
    method: asked === null ? "POST" : "GET",
    namesAccount: inbound.namesAccount?.(target) === true,
    requestHeaders: token === null ? inbound.headersFor(target) : TargetToken.withToken(inbound.headersFor(target), token),
    dialect,
    makeTap: () => Resumption.tapOf(resumption, dialect, inbound.forwardUsage),
    check: continues ? null : policy.answers,
    continues,
    stream: inbound.stream,
    forwardUsage: inbound.forwardUsage,
    timeouts: RequestFacts.timeoutsOf(inbound.timeouts ?? services.limits.timeouts, policy, inbound.since === undefined ? attempt : attempt + 1, startedAt, services.now),
    holdMs: inbound.recovery.holds ? recoveryHoldMs : 0,
    now: services.now,
    client,
    watch: Interceptors.watchOf(inbound.interceptors),
    speaks,
    commit
  }
}
