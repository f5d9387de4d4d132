/** Outbound proxies that failed a short while ago. */
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Asides from "#actors/egress/Asides.ts"

const named = (id: string, revision = `${id} 1`): Asides.Named => ({ id, revision })
const MINUTE = 60_000

describe("a proxy that failed", () => {
  it("is set aside for a time that doubles, up to half an hour", () => {
    let aside: Asides.Aside | null = null
    const times: Array<number> = []
    for (let now = 0, round = 0; round < 9; round++) {
      aside = Asides.failed(aside, now)
      times.push(aside.until - now)
      now = aside.until
    }
    expect(times).toEqual([30_000, 60_000, 120_000, 240_000, 480_000, 960_000, 1_800_000, 1_800_000, 1_800_000])
    expect(aside?.failures).toBe(9)
  })

  it("is not set aside for longer by calls that were under way, and begins anew after a long time without a failure", () => {
    const first = Asides.failed(null, 0)
    expect(Asides.failed(first, 29_999)).toBe(first)
    expect(Asides.failed(first, 30_000)).toEqual({ failures: 2, until: 90_000 })
    expect(Asides.failed(first, 30_000 + 30 * MINUTE - 1).failures).toBe(2)
    expect(Asides.failed(first, 30_000 + 30 * MINUTE).failures).toBe(1)
  })

  it("is back when its time is over, when a tunnel of it stands, and when its record was changed", () => {
    const asides = new Asides.Asides()
    asides.failed(named("a"), 0)
    asides.failed(named("b"), 0)
    asides.failed(named("c"), 0)
    expect([asides.of("a", 29_999), asides.of("a", 30_000), asides.of("d", 0)]).toEqual([{ revision: "a 1", failures: 1, until: 30_000 }, null, null])
    asides.made("b")
    expect(asides.of("b", 0)).toBeNull()
    asides.keep(new Set(["c 2", "a 1"]))
    expect([asides.of("a", 0) === null, asides.of("c", 0)]).toEqual([false, null])
  })
})

const Steps = Schema.Array(Schema.Struct({ id: Schema.Literals(["a", "b", "c", "d"]), good: Schema.Boolean, waits: Schema.Literals([0, 1_000, 40_000, 4_000_000]) })).check(Schema.isMaxLength(30))

describe("a choice among proxies", () => {
  it.effect.prop("is the first that is not set aside and was not asked, whatever happened before", [Steps, Schema.Array(Schema.Literals(["a", "b", "c", "d"]))], ([steps, asked]) => Effect.sync(() => {
    const among = ["a", "b", "c", "d"].map((id) => named(id))
    const asides = new Asides.Asides()
    let now = 0
    for (const { good, id, waits } of steps) {
      now += waits
      if (good) asides.made(id)
      else asides.failed(named(id), now)
    }
    const left = among.filter(({ id }) => !asked.some((one) => one === id))
    const free = left.filter(({ id }) => asides.of(id, now) === null)
    expect(Asides.choose(among, among.filter((one) => !left.includes(one)), asides, now)).toBe(free[0] ?? left[0] ?? null)
  }), { arbitrary: { size: 40, runs: 300 } })
})
