/** Soft lockouts, and which refusals of a credential begin them. */
import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Schema from "effect/Schema"
import * as AccountSignals from "#actors/resilience/AccountSignals.ts"
import * as SoftLockout from "#actors/resilience/SoftLockout.ts"
import { PublicError } from "#schemas/errors.ts"

const HOUR = 3_600_000

describe("soft lockouts", () => {
  const waits = Arbitrary.schema(Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: HOUR }))).check(Schema.isMaxLength(40)))
  it.prop("of any history are at most three within an hour, twice as long each time, and the next refusal expires", { waits }, ({ waits }) => {
    let now = 0
    let state = SoftLockout.none
    const begun: Array<number> = []
    for (const wait of waits) {
      now += wait
      const recent = begun.filter((at) => now - at < HOUR).length
      const pause = SoftLockout.pauseOf(state, now)
      assert.strictEqual(pause, recent >= 3 ? null : 300_000 * 2 ** recent)
      if (pause === null) continue
      state = SoftLockout.begun(state, now)
      begun.push(now)
      assert.isAtMost(state.length, 3)
    }
  }, { arbitrary: { size: 40 } })
})

describe("an unclear refusal", () => {
  const unclear = (message: string, { code = null, spoke = true, status = 401 }: { readonly code?: string | null; readonly spoke?: boolean; readonly status?: number } = {}) =>
    AccountSignals.isUnclear(new PublicError("upstream_auth_error", status, "authentication_error", message, null, null, {
      family: "chat-completions", error: { code }, requestId: null, spoke, headers: []
    }), status)

  it("is a 401 that does not say what is wrong", () => {
    for (const message of ["Unauthorized", "Authentication failed", "Please try again later", ""]) assert.isTrue(unclear(message), message)
    assert.isTrue(unclear("The upstream refused the credential: it may be invalid.", { spoke: false }), "words of our own")
  })

  it("is none that calls the credential bad, misses a right, or has another status", () => {
    for (const message of [
      "Incorrect API key provided: sk-...", "invalid x-api-key", "API key not valid. Please pass a valid API key.", "Your session has expired, sign in again",
      "You have insufficient permissions for this operation. Missing scopes: model.request", "This organization has been disabled", "Missing Authentication header"
    ]) assert.isFalse(unclear(message), message)
    assert.isFalse(unclear("Unauthorized", { code: "Token_Expired" }))
    for (const status of [200, 400, 402, 403, 429, 503]) assert.isFalse(unclear("Unauthorized", { status }))
  })
})
