/** What an attempt used beside tokens: reported, expected, or nothing. */
import { assert, describe, it } from "@effect/vitest"
import type { AttemptEnd } from "#actors/request/steps/attemptValues.ts"
import * as RequestFacts from "#actors/request/requestFacts.ts"
import * as Units from "#schemas/records/Units.ts"

const ended: AttemptEnd = {
  outcome: "completed", error: null, retryable: false, phase: null, upstreamStatus: 200, usage: null, units: null, usageIsPartial: false, outputText: () => "",
  committed: false, opened: true, repeatable: false, rejected: false, terminated: false, tap: null, bytesOut: 0, answer: new Uint8Array(1), contentType: null, firstContentAt: null, sentAt: null, headAt: null, endedAt: 0, headers: []
}
const asked = { units: { image: 4 } }
const free = { price: null }

describe("the units of an attempt", () => {
  it("are what its answer says, else what was expected", () => {
    assert.deepStrictEqual(RequestFacts.unitsOf({ ...ended, units: { image: 3 } }, "completed", asked, free), { image: 3 })
    assert.deepStrictEqual(RequestFacts.unitsOf(ended, "completed", asked, free), { image: 4 })
    assert.deepStrictEqual(RequestFacts.unitsOf({ ...ended, units: { image: Number.NaN, second: 2 } }, "completed", asked, free), { second: 2 })
  })

  it("are none when the model did not work, or no model was asked", () => {
    const failed = { ...ended, answer: null }
    assert.isNull(RequestFacts.unitsOf(failed, "upstream-status", asked, { price: { per_request: 1 } }))
    assert.isNull(RequestFacts.unitsOf(ended, "completed", { ...asked, tokenless: true }, { price: { per_request: 1 } }))
    assert.deepStrictEqual(RequestFacts.unitsOf(failed, "client-abort", asked, free), { image: 4 })
  })

  it("count the request where it has a price", () => {
    assert.deepStrictEqual(RequestFacts.unitsOf(ended, "completed", { units: null }, { price: { per_request: 1 } }), { request: 1 })
    assert.deepStrictEqual(RequestFacts.unitsOf(ended, "completed", asked, { price: { per_request: 1 } }), { image: 4, request: 1 })
    assert.isNull(RequestFacts.unitsOf(ended, "completed", { units: null }, { price: { per_image: 1 } }))
  })

  it("are unpriced without a price for tokens or any of them", () => {
    assert.isTrue(Units.unpriced({ image: 1 }, null))
    assert.isTrue(Units.unpriced({ image: 1 }, { per_page: 1 }))
    assert.isFalse(Units.unpriced({ image: 1 }, { input: 1 }))
    assert.isFalse(Units.unpriced({ search_unit: 1, document: 9 }, { per_search_unit: 0 }))
    assert.isFalse(Units.unpriced(null, null))
  })
})
