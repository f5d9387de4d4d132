/** Which step of a combo is placed before which, after a request that was answered in the end. */
import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Schema from "effect/Schema"
import { type Combo, Strategy } from "#schemas/records/Combo.ts"
import type { Candidate } from "#src/routing/models/candidate.ts"
import * as Promotion from "#src/routing/strategies/promotion.ts"

const step = (id: string): Combo["models"][number] =>
  ({ kind: "model", id, model: `p/${id}`, provider: null, connectionId: null, weight: 0, label: null, tags: [], prompt: null })
const comboOf = (ids: ReadonlyArray<string>, strategy: Combo["strategy"] = "priority"): Combo => ({
  id: "c", name: "team", description: null, models: ids.map(step), strategy, config: {}, allowedProviders: [], system_message: null, tool_filter_regex: null,
  context_cache_protection: false, context_length: null, dimensions: null, isActive: true, isHidden: false, sortOrder: 0, createdAt: "", updatedAt: ""
})
const idsOf = ({ models }: Combo) => models.map(({ id }) => id)
const candidates = (ids: ReadonlyArray<string>) => ids.map((stepId) => ({ stepId }) as Candidate)
const note = (index: number, status: number, code: string | null = status === 200 ? null : "failed") => ({ index, status, code, ms: 1 })

describe("a promotion", () => {
  const names = ["a", "b", "c", "d", "e", "f"]
  const Case = Schema.Struct({ size: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 6 })), answered: Schema.Literals(names), failed: Schema.Array(Schema.Literals(names)).check(Schema.isMaxLength(4)) })
  it.prop("moves the step that answered and no other, only forward, to the first that failed, and once", { given: Arbitrary.schema(Case) }, ({ given: { answered, failed, size } }) => {
    const before = names.slice(0, size)
    const combo = comboOf(before)
    const lesson = { answered, failed: failed.filter((one) => one !== answered) }
    const next = Promotion.promoted(combo, lesson)
    const after = idsOf(next)
    assert.deepStrictEqual(after.filter((id) => id !== answered), before.filter((id) => id !== answered))
    const [from, to] = [before.indexOf(answered), after.indexOf(answered)]
    const first = before.findIndex((id) => lesson.failed.includes(id))
    assert.strictEqual(to, first >= 0 && first < from ? first : from)
    assert.strictEqual(next === combo, to === from)
    assert.strictEqual(Promotion.promoted(next, lesson), next)
  })

  it("is learned from failures of other steps before the answer, in combos that are asked as listed", () => {
    const order = candidates(["a", "a", "b", "c"])
    const learned = (attempts: ReadonlyArray<ReturnType<typeof note>>, strategy: Combo["strategy"] = "priority") => Promotion.lessonOf({ strategy }, order, attempts)
    assert.deepStrictEqual(learned([note(0, 503), note(1, 0), note(2, 200)]), { answered: "b", failed: ["a", "a"] })
    assert.deepStrictEqual(learned([note(0, 503), note(2, 429), note(3, 200)]), { answered: "c", failed: ["a", "b"] })
    assert.isNull(learned([note(0, 503), note(1, 200)]), "another account of the same step")
    assert.isNull(learned([note(0, 400), note(2, 200)]), "the request's own fault")
    assert.isNull(learned([note(0, 0, "hedge_lost"), note(2, 200)]), "it was only slower")
    assert.isNull(learned([note(0, 503), note(2, 503)]), "no answer")
    for (const strategy of Strategy.literals) {
      assert.strictEqual(learned([note(0, 503), note(2, 200)], strategy) !== null, ["priority", "fill-first", "context-relay"].includes(strategy), strategy)
    }
  })

  it("is none when the operator has changed the strategy or the steps since", () => {
    const lesson = { answered: "b", failed: ["a"] }
    for (const combo of [comboOf(["a", "b"], "weighted"), comboOf(["a"]), comboOf(["b"]), comboOf([])]) assert.strictEqual(Promotion.promoted(combo, lesson), combo)
  })
})
