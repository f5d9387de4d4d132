/** The breaker on the shared store: it opens only after calls in a row that nobody answered, and only an answer closes it. */
import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Schema from "effect/Schema"
import { OPENS_AFTER, StoreBreaker } from "#src/platform/redis/StoreBreaker.ts"

const acts = Arbitrary.schema(Schema.Array(Schema.Literals(["answered", "unanswered", "unanswered", "probe"])).check(Schema.isMaxLength(60)))

describe("the breaker on the shared store", () => {
  it.prop("is open exactly while the last calls in a row went unanswered, and probes one at a time", [acts], ([history]) => {
    const breaker = new StoreBreaker()
    let inRow = 0
    let open = false
    let probing = false
    for (const act of history) {
      if (act === "answered") {
        assert.strictEqual(breaker.answered(), open)
        inRow = 0
        open = probing = false
      } else if (act === "unanswered") {
        inRow++
        assert.strictEqual(breaker.unanswered(), !open && inRow === OPENS_AFTER)
        open ||= inRow >= OPENS_AFTER
        probing = false
      } else {
        assert.strictEqual(breaker.probe(), open && !probing)
        probing ||= open
      }
      assert.strictEqual(breaker.lets, !open)
      assert.strictEqual(breaker.state, !open ? "closed" : probing ? "half-open" : "open")
    }
  }, { arbitrary: { size: 60 } })
})
