/** What the supervisor does with a loop that meets a defect: it tells, counts, waits and goes on, by the rule of the loop's row. */
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Logger from "effect/Logger"
import * as Metric from "effect/Metric"
import * as TestClock from "effect/testing/TestClock"
import * as Supervisor from "#actors/Supervisor.ts"
import * as Ticker from "#actors/Ticker.ts"

const STEADY = "lease sweep"
const TASK = "lease records"

/** Runs with a registry and a log of its own. */
const told = <A, E, R>(body: (world: { readonly lines: ReadonlyArray<string>; readonly counted: (loop: string) => number }) => Effect.Effect<A, E, R>) => {
  const lines: Array<string> = []
  const registry = new Map()
  const counted = (loop: string): number => {
    for (const metric of Metric.snapshotUnsafe(Effect.runSync(Effect.provideService(Effect.context<never>(), Metric.MetricRegistry, registry)))) {
      if (metric.id === "gateway_loop_restarts_total" && metric.attributes?.["loop"] === loop && metric.type === "Counter") return Number(metric.state.count)
    }
    return Number.NaN
  }
  const logger = Logger.make<unknown, void>(({ cause, logLevel, message }) => {
    lines.push(`${logLevel} ${String(Array.isArray(message) ? message[0] : message)} ${cause.reasons.map((reason) => reason._tag === "Die" ? String(reason.defect) : reason._tag).join()}`)
  })
  return Effect.scoped(body({ lines, counted })).pipe(
    Effect.provide(Logger.layer([logger])),
    Effect.provideService(Metric.MetricRegistry, registry)
  )
}

/** Rounds that throw while `broken` says so, each a second long. */
const rounds = (broken: (round: number) => boolean) => {
  const world = { begun: 0 }
  const round = Effect.suspend(() => {
    if (broken(++world.begun)) throw new Error(`round ${world.begun} broke`)
    return Effect.sleep(1_000)
  })
  return { world, round }
}

describe("a supervised loop", () => {
  it.effect("tells of each defect, counts it, waits twice as long each time up to its bound, and starts small again after a good round", () => told(({ counted, lines }) => Effect.gen(function*() {
    const { round, world } = rounds((at) => at <= 9 || at === 11)
    yield* Supervisor.loop(STEADY, round)
    yield* TestClock.adjust(0)
    const waits = [1, 2, 4, 8, 16, 32, 60, 60, 60].map((seconds) => seconds * 1_000)
    for (const [at, wait] of waits.entries()) {
      assert.deepStrictEqual([world.begun, lines.length, counted(STEADY)], [at + 1, at + 1, at + 1])
      assert.include(lines[at] ?? "", `Error ${STEADY}: a defect, and it begins again in ${wait} ms`)
      assert.include(lines[at] ?? "", `Error: round ${at + 1} broke`)
      yield* TestClock.adjust(wait - 1)
      assert.strictEqual(world.begun, at + 1)
      yield* TestClock.adjust(1)
    }
    assert.strictEqual(world.begun, 10)
    yield* TestClock.adjust(1_000)
    assert.strictEqual(world.begun, 11)
    assert.include(lines[9] ?? "", "begins again in 1000 ms")
    yield* TestClock.adjust(4_000)
    assert.deepStrictEqual([world.begun, counted(STEADY), lines.length], [15, 10, 10])
  })))

  it.effect("that lived well before its defect starts small again", () => told(({ lines }) => Effect.gen(function*() {
    yield* Supervisor.loop(STEADY, Effect.delay(Effect.die("late"), Supervisor.WELL_AFTER_MS))
    yield* TestClock.adjust(10 * Supervisor.WELL_AFTER_MS)
    assert.isAtLeast(lines.length, 5)
    for (const line of lines) assert.include(line, "begins again in 1000 ms")
  })))

  it.effect("of the rule `after a defect` begins again after one, and is over after a good round", () => told(({ counted }) => Effect.gen(function*() {
    const { round, world } = rounds((at) => at === 1)
    const fiber = yield* Effect.forkChild(Supervisor.supervised(TASK, round))
    yield* TestClock.adjust(60_000)
    yield* Fiber.join(fiber)
    assert.deepStrictEqual([world.begun, counted(TASK)], [2, 1])
  })))

  it.effect("ends when it is asked whether it goes on, with its interruption, and with a failure it does not handle", () => told(({ counted, lines }) => Effect.gen(function*() {
    let left = 3
    yield* Supervisor.supervised(STEADY, Effect.void, { while: () => left-- > 0 })
    assert.strictEqual(left, -1)

    const fiber = yield* Effect.forkChild(Supervisor.supervised(STEADY, Effect.never), { startImmediately: true })
    yield* Fiber.interrupt(fiber)

    assert.strictEqual(yield* Effect.flip(Supervisor.supervised(STEADY, Effect.fail("expected"))), "expected")
    assert.deepStrictEqual([lines.length, counted(STEADY)], [0, 0])
  })))

  it.effect("takes the interruption of what it waited for as a defect: it was not interrupted itself", () => told(({ counted }) => Effect.gen(function*() {
    let begun = 0
    const again = yield* Deferred.make<void>()
    yield* Supervisor.loop(STEADY, Effect.suspend(() => ++begun === 1 ? Effect.interrupt : Effect.andThen(Deferred.succeed(again, undefined), Effect.never)))
    yield* TestClock.adjust(1_000)
    yield* Deferred.await(again)
    assert.deepStrictEqual([begun, counted(STEADY)], [2, 1])
  })))

  it.effect("is counted as 0 before it met anything", () => told(({ counted }) => Effect.gen(function*() {
    yield* Supervisor.loop(STEADY, Effect.never)
    yield* TestClock.adjust(0)
    assert.strictEqual(counted(STEADY), 0)
  })))
})

describe("what goes on by itself", () => {
  it.effect("counts every throw, and tells of one in a while where they may come many times a second", () => told(({ counted, lines }) => Effect.gen(function*() {
    const failed = yield* Supervisor.reporter("upstream deadlines")
    for (let at = 0; at < 100; at++) failed(new Error("tick"))
    yield* Effect.yieldNow
    assert.deepStrictEqual([counted("upstream deadlines"), lines.length], [100, 1])
    yield* TestClock.adjust(Supervisor.LOG_EVERY_MS)
    failed(new Error("later"))
    yield* Effect.yieldNow
    assert.include(lines[1] ?? "", "it goes on; one call's deadline may be missed by a second Error: later")
  })))

  it.effect("tells of each lost thread; a request that is over is no restart", () => told(({ counted, lines }) => Effect.gen(function*() {
    const lost = yield* Supervisor.reporter("body threads")
    lost(new Error("one"))
    lost(new Error("two"))
    const over = yield* Supervisor.reporter("request")
    over(new Error("three"))
    yield* Effect.yieldNow
    assert.strictEqual(lines.length, 3)
    assert.deepStrictEqual([counted("body threads"), counted("request")], [2, Number.NaN])
  })))

  it("a tick that throws is told, and the next one comes", async () => {
    const heard: Array<unknown> = []
    let ticks = 0
    await new Promise<void>((resolve) => {
      const stop = Ticker.make((error) => heard.push(error)).every(1, () => {
        if (++ticks === 1) throw new Error("first")
        stop()
        resolve()
      })
    })
    assert.deepStrictEqual([ticks, heard.map(String)], [2, ["Error: first"]])
  })
})

describe("the table", () => {
  const rows = Object.entries<Supervisor.LoopRow>(Supervisor.loops)

  it("bounds every backoff: what restarts waits from 100 ms to a minute, and a timer's or thread's own pace is its wait", () => {
    for (const [name, { backoff, kind }] of rows) {
      const waits = [1, 2, 10, 1_000, 5_000].map((defects) => Supervisor.backoffMs(backoff, defects))
      if (kind !== "fiber") assert.deepStrictEqual(waits, [0, 0, 0, 0, 0], name)
      else {
        assert.isAtLeast(waits[0] ?? 0, 100, name)
        assert.isAtMost(Math.max(...waits), 60_000, name)
        assert.deepStrictEqual(waits, [...waits].sort((a, b) => a - b), name)
      }
    }
  })

  it("lists the rows in the order in which a stop ends them", () => {
    const steps = rows.map(([, { drain }]) => Supervisor.drainOrder.indexOf(drain))
    assert.notInclude(steps, -1)
    assert.deepStrictEqual(steps, [...steps].sort((a, b) => a - b))
  })

  it("says in each row's log text what stands still, without a name of code", () => {
    for (const [name, { log }] of rows) assert.match(log, /^[A-Za-z][^.(){}]+$/, name)
  })
})
