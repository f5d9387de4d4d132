/** The standing of a model after any row of probes. */
import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Schema from "effect/Schema"
import { standingOf } from "#src/features/assessment/comboHealth.ts"
import * as Standing from "#src/features/assessment/standing.ts"
import { ModelStanding, ProbeOutcome } from "#src/features/assessment/Assessment.ts"

const outcomes = Arbitrary.schema(Schema.Array(ProbeOutcome).check(Schema.isMaxLength(30)))
const statuses = Arbitrary.schema(Schema.Array(ModelStanding).check(Schema.isMaxLength(8)))
const after = (given: ReadonlyArray<ProbeOutcome>) => given.reduce(Standing.step, Standing.unknown)

describe("the standing of a model", () => {
  it.prop("rate limits change nothing, and passes and failures are counted in a row", { outcomes }, ({ outcomes }) => {
    const counted = outcomes.filter((outcome) => outcome !== "rate_limited")
    const standing = after(outcomes)
    assert.deepStrictEqual(standing, after(counted))
    const last = counted.at(-1)
    const row = last === undefined ? 0 : counted.length - 1 - counted.findLastIndex((outcome) => outcome !== last)
    assert.deepStrictEqual([standing.passes, standing.failures], last === "passed" ? [row, 0] : [0, row])
    if (last === undefined) assert.strictEqual(standing.status, "unknown")
    if (last === "failed") assert.include(["failing", "broken"], standing.status)
    if (last === "passed" && row >= 2) assert.strictEqual(standing.status, "working")
    if (last === "failed" && row >= 3) assert.strictEqual(standing.status, "broken")
  }, { arbitrary: { size: 30 } })

  it("three failures break it, one pass is not enough, two restore it", () => {
    const row: Array<ProbeOutcome> = ["failed", "failed", "failed", "passed", "rate_limited", "passed", "failed"]
    assert.deepStrictEqual(row.map((_, index) => after(row.slice(0, index + 1)).status), ["failing", "failing", "broken", "broken", "broken", "working", "failing"])
  })

  it.prop("a combo is healthy with all, degraded with some, and down only when nothing is unknown", { statuses }, ({ statuses }) => {
    const standing = standingOf(statuses)
    assert.strictEqual(standing === "healthy", statuses.length > 0 && statuses.every((status) => status === "working"))
    assert.strictEqual(standing === "down", statuses.length > 0 && statuses.every((status) => status === "failing" || status === "broken"))
    if (standing === "degraded") assert.include(statuses, "working")
  }, { arbitrary: { size: 30 } })
})
