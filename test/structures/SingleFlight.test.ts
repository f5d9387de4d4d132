import { assert, describe, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import { type Flight, type Waiter, SingleFlight } from "#src/platform/structures/SingleFlight.ts"

const whole = (minimum: number, maximum: number) => Schema.Int.check(Schema.isBetween({ minimum, maximum }))

interface Seen extends Waiter<string> {
  readonly heard: Array<string>
  flight: Flight<string> | null
}

const waiter = (): Seen => {
  const seen: Seen = {
    heard: [],
    flight: null,
    share: (value) => seen.heard.push(`share ${value}`),
    lead: (flight) => {
      seen.heard.push("fly")
      seen.flight = flight
    },
    alone: () => seen.heard.push("alone")
  }
  return seen
}

describe("SingleFlight", () => {
  it("the first leads, the others get its result; the next one after that leads again", () => {
    const flights = new SingleFlight<string>()
    const [first, second, third] = [waiter(), waiter(), waiter()]
    const flight = flights.enter("k", first)
    assert.isNotNull(flight)
    assert.isNull(flights.enter("k", second))
    assert.isNull(flights.enter("k", third))
    assert.isNotNull(flights.enter("other", waiter()))
    flight?.resolve("x")
    assert.deepStrictEqual([first.heard, second.heard, third.heard], [[], ["share x"], ["share x"]])
    assert.isNotNull(flights.enter("k", waiter()))
  })

  it("after a failure the next waiter leads, and the rest waits for it", () => {
    const flights = new SingleFlight<string>()
    const [second, third] = [waiter(), waiter()]
    const flight = flights.enter("k", waiter(), "mark")
    flights.enter("k", second)
    flights.enter("k", third)
    flight?.failed()
    assert.deepStrictEqual([second.heard, third.heard], [["fly"], []])
    assert.strictEqual(flights.get("k")?.mark, "mark")
    second.flight?.resolve("y")
    assert.deepStrictEqual(third.heard, ["share y"])
  })

  it("who leaves hears nothing; the last to leave is noticed once", () => {
    const flights = new SingleFlight<string>()
    const [second, third] = [waiter(), waiter()]
    let deserted = 0
    const flight = flights.enter("k", waiter())
    if (flight !== null) flight.onAbandoned = () => deserted++
    flights.enter("k", second)
    flights.enter("k", third)
    flights.leave("k", second)
    assert.strictEqual(deserted, 0)
    flights.leave("k", third)
    flights.leave("k", third)
    assert.strictEqual(deserted, 1)
    flight?.resolve("z")
    assert.deepStrictEqual([second.heard, third.heard], [[], []])
  })

  it("dispersed: everybody goes alone", () => {
    const flights = new SingleFlight<string>()
    const waiters = [waiter(), waiter()]
    const flight = flights.enter("k", waiter())
    for (const one of waiters) flights.enter("k", one)
    flight?.release()
    flight?.resolve("late")
    assert.deepStrictEqual(waiters.map(({ heard }) => heard), [["alone"], ["alone"]])
  })

  it.prop("nobody waits for ever and nobody hears twice, in any history", { moves: Schema.Array(whole(0, 5)).check(Schema.isMaxLength(60)) }, ({ moves }) => {
    const flights = new SingleFlight<string>()
    const all: Array<Seen> = []
    const gone = new Set<Seen>()
    const flying = (): Flight<string> | null => flights.get("k")
    for (const move of moves) {
      if (move <= 2) {
        const one = waiter()
        all.push(one)
        const flight = flights.enter("k", one)
        if (flight !== null) one.lead(flight)
      } else if (move === 3) flying()?.failed()
      else if (move === 4) flying()?.resolve("v")
      else {
        const one = all.find((each) => each.heard.length === 0 && !gone.has(each))
        if (one !== undefined) {
          gone.add(one)
          flights.leave("k", one)
        }
      }
    }
    for (let flight = flying(); flight !== null; flight = flying()) flight.failed()
    for (const one of all) assert.strictEqual(one.heard.length, gone.has(one) ? 0 : 1)
    assert.strictEqual(flights.size, 0)
  }, { arbitrary: { size: 60 } })

  it("flights that are over are forgotten, and those that run are not", () => {
    const flights = new SingleFlight<string>()
    const kept = flights.enter("kept", waiter())
    for (let i = 0; i < 5_000; i++) flights.enter(`k${i}`, waiter())?.resolve("")
    assert.strictEqual(flights.size, 1)
    assert.strictEqual(flights.get("kept"), kept)
  })
})
