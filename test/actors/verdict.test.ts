/** Whatever becomes of a probe, its breaker is decided or open to the next one. */
import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Schema from "effect/Schema"
import type { AttemptEnd } from "#actors/request/steps/attemptValues.ts"
import * as ProviderBreaker from "#actors/resilience/ProviderBreaker.ts"
import { verdictOf } from "#actors/request/verdict.ts"
import * as Errors from "#schemas/errors.ts"
import { Outcome } from "#schemas/records/LedgerRow.ts"

const settings: ProviderBreaker.BreakerRules = { degradationThreshold: 1, failureThreshold: 1, resetTimeoutMs: 1_000 }
const halfOpen: ProviderBreaker.State = { ...ProviderBreaker.fresh, failures: 1, openUntil: 1_000, era: 1 }

const End = Schema.Struct({
  outcome: Outcome,
  status: Schema.Literals([0, 200, 204, 400, 401, 404, 408, 429, 500, 502, 503, 504]),
  opened: Schema.Boolean,
  rejected: Schema.Boolean
})

const endOf = ({ opened, outcome, rejected, status }: typeof End.Type): AttemptEnd => ({
  outcome: rejected ? "policy" : outcome,
  error: outcome === "completed" && !rejected ? null : Errors.make("bad_gateway", "no"),
  retryable: true, phase: null, upstreamStatus: rejected ? 200 : status, usage: null, units: null, usageIsPartial: false, outputText: () => "", committed: false, opened,
  repeatable: false, rejected, terminated: false, tap: null, bytesOut: 0, answer: null, contentType: null, firstContentAt: null, sentAt: null, headAt: null, endedAt: 2_500, headers: []
})

describe("the end of a probe", () => {
  it.prop("decides its breaker, or gives its place to the next", { given: Arbitrary.schema(End) }, ({ given }) => {
    const end = endOf(given)
    const [reply, probing] = ProviderBreaker.step(halfOpen, { _tag: "Enter", model: "m" }, settings, 2_000)
    if (reply._tag !== "Entered") return assert.fail("a half-open breaker admits a probe")
    assert.isNotNull(ProviderBreaker.refusalOf(probing, "m", 2_000))
    const verdict = verdictOf(end, end.outcome, 2_000)
    const result = verdict === null ? "neutral" : verdict.ok ? "ok" : ProviderBreaker.counts(verdict.status, verdict.network) ? "failed" : "neutral"
    const [, state] = ProviderBreaker.step(probing, { _tag: "Ended", ticket: reply.ticket, result, status: verdict?.status ?? 0 }, settings, 2_500)
    const decided = ProviderBreaker.phaseOf(state, settings, 2_500)
    assert.isTrue(decided !== "half-open" || ProviderBreaker.refusalOf(state, "m", 2_500) === null)
    if (given.rejected && given.opened) assert.strictEqual(decided, "closed")
  })

  it("a path that a second one stands in for says nothing when it is missing, and all else as ever", () => {
    const missing = { ...endOf({ outcome: "upstream-status", status: 404, opened: true, rejected: false }), repeatable: true }
    assert.isNull(verdictOf(missing, missing.outcome, 0))
    assert.strictEqual(verdictOf({ ...missing, repeatable: false }, missing.outcome, 0)?.status, 404)
    assert.strictEqual(verdictOf({ ...missing, upstreamStatus: 500 }, missing.outcome, 0)?.status, 500)
  })

  it("of a network failure is the network's, whatever status the answer began with", () => {
    const networkOf = (outcome: Outcome) => verdictOf(endOf({ outcome, status: 0, opened: true, rejected: false }), outcome, 0)?.network
    const outcomes: ReadonlyArray<Outcome> = ["gateway-timeout", "upstream-reset", "upstream-status", "parse-error", "completed"]
    assert.deepStrictEqual(outcomes.map(networkOf), [true, true, false, false, false])
  })

  it("of an error inside a stream has the status of the error, of an answer that cannot be read 502", () => {
    const inStream = { ...endOf({ outcome: "upstream-status", status: 200, opened: true, rejected: false }), error: Errors.make("rate_limit_exceeded", "slow down") }
    assert.strictEqual(verdictOf(inStream, inStream.outcome, 0)?.status, 429)
    assert.strictEqual(verdictOf({ ...inStream, outcome: "parse-error" }, "parse-error", 0)?.status, 502)
    assert.strictEqual(verdictOf({ ...inStream, upstreamStatus: 503 }, inStream.outcome, 0)?.status, 503)
  })

  it("tells when the first content came, and when the answer ended, from the start of the call", () => {
    const verdict = verdictOf({ ...endOf({ outcome: "completed", status: 200, opened: true, rejected: false }), firstContentAt: 1_250 }, "completed", 1_000)
    assert.deepStrictEqual([verdict?.ttftMs, verdict?.latencyMs], [250, 1_500])
  })

  it("a client that left says nothing, whatever its answer would have been", () => {
    const end = endOf({ outcome: "policy", status: 200, opened: true, rejected: true })
    assert.isNull(verdictOf(end, "client-abort", 0))
    assert.isTrue(verdictOf(end, end.outcome, 0)?.ok)
  })
})
