/** Any history of calls at several targets: the mechanisms stay apart, places add up, and everything ends. */
import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Schema from "effect/Schema"
import type { Pass } from "#actors/request/ports/Resilience.ts"
import { Tables } from "#src/features/resilience/local/Tables.ts"
import { isPass, target, verdict } from "./support.ts"
import { connection } from "#test/suites/records.ts"

const records = [connection({ id: "c-1", maxConcurrent: 3 }), connection({ id: "c-2" }), connection({ id: "c-3", provider: "groq" })]
const targets = records.flatMap((record) => ["m", "n"].map((model) => target(record, { model })))

const tablesOf = (settings: Readonly<Record<string, unknown>>) => new Tables({
  connections: records, nodes: [], connectionById: new Map(records.map((record) => [record.id, record])), settings: new Map(Object.entries(settings))
}, { connection: () => {}, provider: () => {}, rest: () => {}, breaker: () => {}, expired: () => {}, lockout: () => {} })

const Act = Schema.Union([
  Schema.Struct({
    act: Schema.Literal("enter"), at: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 5 })),
    wait: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 5_000 })), lastResort: Schema.Boolean
  }),
  Schema.Struct({
    act: Schema.Literal("release"), which: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 50 })),
    status: Schema.Literals([-1, 0, 200, 200, 400, 401, 404, 429, 500, 503]), hintMs: Schema.NullOr(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 60_000 })))
  })
])
const acts = Arbitrary.schema(Schema.Array(Act).check(Schema.isMaxLength(150)))

interface Run {
  readonly tables: Tables
  readonly running: Array<{ readonly at: number; readonly pass: Pass }>
  now: number
}

const play = (history: ReadonlyArray<typeof Act.Type>, settings: Readonly<Record<string, unknown>>, each: (run: Run) => void): Run => {
  const run: Run = { tables: tablesOf(settings), running: [], now: 0 }
  for (const act of history) {
    if (act.act === "enter") {
      run.now += act.wait
      const to = targets[act.at] ?? targets[0]
      if (to === undefined) continue
      const checked = run.tables.check(to, run.now)
      const given = run.tables.enter(to, run.now, act.lastResort)
      // A last resort passes over a guess, and may then meet what is none.
      if (isPass(given)) {
        run.running.push({ at: act.at, pass: given })
        assert.isTrue(checked === null || act.lastResort, "what may not be called may not be entered")
      } else if (!act.lastResort) assert.deepStrictEqual(given.reason, checked?.reason)
    } else {
      const [held] = run.running.splice(act.which % Math.max(1, run.running.length), 1)
      held?.pass.release(act.status < 0 ? null : verdict(act.status, { retryAfterMs: act.hintMs }), run.now)
    }
    each(run)
  }
  return run
}

describe("any history of calls", () => {
  const settings = {
    resilience: { providerBreaker: { apikey: { degradationThreshold: 2, failureThreshold: 4, resetTimeoutMs: 3_000 } } },
    modelLockout: { enabled: true, maxCooldownMs: 300_000 }
  }

  it.prop("keeps the places in use exact, and within their caps", { history: acts }, ({ history }) => {
    const run = play(history, settings, ({ running, tables }) => {
      assert.strictEqual(tables.inFlight().total, running.length)
      for (const place of tables.places()) {
        assert.strictEqual(place.running, running.filter(({ at }) => targets[at]?.connection?.id === place.connectionId).length)
        if (place.max > 0) assert.isAtMost(place.running, place.max)
      }
    })
    for (const { pass } of run.running) pass.release(null, run.now)
    assert.deepStrictEqual(run.tables.inFlight(), { total: 0, perProvider: {} })
  }, { arbitrary: { size: 150 } })

  it.prop("ends every block: after a day without calls each target may be called, one at a time at least", { history: acts }, ({ history }) => {
    const run = play(history, settings, () => {})
    for (const { pass } of run.running) pass.release(null, run.now)
    const later = run.now + 25 * 3_600_000
    for (const to of targets) {
      assert.isNull(run.tables.check(to, later), JSON.stringify(run.tables.check(to, later)))
      const pass = run.tables.enter(to, later)
      assert.isTrue(isPass(pass))
      if (isPass(pass)) pass.release(verdict(200), later)
      assert.strictEqual(run.tables.health(to, later).breaker, "closed")
    }
  }, { arbitrary: { size: 150 } })

  it.prop("keeps the mechanisms apart: other connections, models and providers are not touched", { history: acts }, ({ history }) => {
    const elsewhere = target(records[2] ?? null, { model: "m" })
    play(history.filter((act) => act.act !== "enter" || act.at < 2), settings, ({ now, tables }) => {
      // Only the first connection is called: of the others the breaker of the same provider may speak, and nothing else.
      assert.isNull(tables.check(elsewhere, now))
      for (const at of [2, 3]) {
        const to = targets[at]
        const reason = to === undefined ? undefined : tables.check(to, now)?.reason
        assert.include([undefined, "breaker-open", "breaker-probing"], reason)
      }
    })
  }, { arbitrary: { size: 150 } })

  it.prop("client aborts and the request's own faults block nobody", { history: acts }, ({ history }) => {
    const harmless = history.map((act) => act.act === "release" && ![-1, 200, 400].includes(act.status) ? { ...act, status: -1 as const } : act)
    play(harmless, settings, ({ now, tables }) => {
      for (const to of targets) assert.include([undefined, "connection-busy"], tables.check(to, now)?.reason)
      assert.lengthOf(tables.breakers(now).filter((view) => view.state !== "closed"), 0)
    })
  }, { arbitrary: { size: 150 } })
})
