import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { DegradationRow, faults } from "#schemas/degradation.ts"
import * as Management from "#test/support/management.ts"

const decode = Schema.decodeUnknownEffect(Schema.Struct({ faults: Schema.Array(Schema.String), combined: Schema.NonEmptyString, features: Schema.Array(DegradationRow) }))

describe("the degradation contract", () => {
  it.effect("tells for every feature and every fault what is let in, how stale and how late; only to those who may read", () => Effect.gen(function*() {
    const { ask, login } = yield* Management.make()
    assert.strictEqual((yield* ask("/api/health/degradation")).status, 401)
    const reply = yield* ask("/api/health/degradation", { cookie: yield* login() })
    assert.strictEqual(reply.status, 200)
    const table = yield* decode(reply.json)
    assert.deepStrictEqual(table.faults, faults)
    assert.includeMembers(table.features.map(({ feature }) => feature), ["inference", "ledger", "api-keys", "configuration", "limits", "leases", "idempotency", "breakers", "cooldowns", "provider-sign-ins", "login-brake", "session-hand-offs", "webhooks"])
    assert.includeMembers([...table.faults], ["node-killed", "node-paused", "clock-skewed"])
    for (const { effects, feature } of table.features) {
      assert.deepStrictEqual(Object.keys(effects).sort(), [...faults].sort())
      for (const { note } of Object.values(effects)) assert.isNotEmpty(note, feature)
    }
    assert.strictEqual(table.features.find(({ feature }) => feature === "ledger")?.effects["postgres-frozen"].outcome, "queued")
  }))
})
