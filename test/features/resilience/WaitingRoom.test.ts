/** Who may wait for what and how long, on a clock of the test's own. */
import { assert, describe, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/testing/TestClock"
import type { Pass, Unavailable } from "#actors/request/ports/Resilience.ts"
import type { Target } from "#actors/request/ports/Target.ts"
import type { Leave, TurnOutcome } from "#actors/request/ports/Turns.ts"
import { PublicError } from "#schemas/errors.ts"
import { rulesOf } from "#src/features/resilience/local/rules.ts"
import * as ResilienceSettings from "#src/features/resilience/ports/resilienceSettings.ts"
import { isPass, make, type Options, target, verdict } from "./support.ts"
import { connection } from "#test/suites/records.ts"

const record = connection({ id: "c-1", rateLimitProtection: true })
const one = target(record)
const queue = (section: Record<string, number>) => ({ settings: { resilience: { requestQueue: section } } })

/** A node and callers that behave as requests do: in when there is room, else in line. */
const room = Effect.fnUntraced(function*(options: Options = {}) {
  yield* TestClock.setTime(1_000_000)
  const node = yield* make({ connections: [record], ...options })
  const passes: Array<{ readonly name: string; readonly pass: Pass }> = []
  const heard: Array<readonly [name: string, turn: string, at: number]> = []
  const clock = yield* Clock.Clock
  const now = () => clock.currentTimeMillisUnsafe()

  const call = (name: string, to: Target = one, combo = false, since = now(), rounds = 0): Leave | PublicError | null => {
    const given = node.resilience.enter(to, now())
    if (isPass(given)) {
      passes.push({ name, pass: given })
      heard.push([name, "in", now() - 1_000_000])
      return null
    }
    const refused: Unavailable = given
    return node.turns.join({ blocked: [{ target: to, unavailable: refused }], keyId: null, combo, since, deadline: Number.POSITIVE_INFINITY, rounds }, (turn: TurnOutcome) => {
      if (turn === "go") call(name, to, combo, since, rounds + 1)
      else heard.push([name, turn === "late" ? "late" : turn.code, now() - 1_000_000])
    })
  }
  const end = (name: string, status = 200, more = {}): void => {
    const at = passes.findIndex((held) => held.name === name)
    const [held] = passes.splice(at, at < 0 ? 0 : 1)
    held?.pass.release(verdict(status, more), now())
  }
  /** Microtasks of the room have run. */
  const settled = Effect.promise(() => Promise.resolve())
  return { ...node, call, end, heard, passes, settled, pass: (ms: number) => Effect.andThen(TestClock.adjust(ms), settled) }
})
const names = (heard: ReadonlyArray<readonly [string, string, number]>, turn: string) => heard.filter(([, what]) => what === turn).map(([name]) => name)

describe("the line of a connection", () => {
  it.effect("moves when a place is given back, in the order of arrival; at rest every gauge is 0", () => Effect.gen(function*() {
    const { call, control, end, heard, settled } = yield* room(queue({ concurrentRequests: 2 }))
    for (const name of ["a", "b", "c", "d", "e"]) call(name)
    assert.deepStrictEqual(control.places(), [{ connectionId: "c-1", running: 2, max: 2, waiting: 3 }])
    end("b")
    yield* settled
    end("a")
    end("c")
    yield* settled
    assert.deepStrictEqual(names(heard, "in"), ["a", "b", "c", "d", "e"])
    end("d")
    end("e")
    yield* settled
    assert.deepStrictEqual(control.places(), [{ connectionId: "c-1", running: 0, max: 2, waiting: 0 }])
  }))

  it.effect("a newcomer does not overtake, though a place is free for it", () => Effect.gen(function*() {
    const { call, end, heard, resilience, settled } = yield* room(queue({ concurrentRequests: 1 }))
    call("a")
    call("b")
    end("a")
    assert.deepInclude(resilience.check(one, 1_000_000), { reason: "connection-busy", detail: "1 calls wait for the connection." })
    call("c")
    yield* settled
    end("b")
    yield* settled
    assert.deepStrictEqual(names(heard, "in"), ["a", "b", "c"])
  }))

  it.effect("paced calls begin on the millisecond, one alarm after another", () => Effect.gen(function*() {
    const { call, heard, pass } = yield* room(queue({ minTimeBetweenRequestsMs: 200 }))
    for (const name of ["a", "b", "c", "d"]) call(name)
    for (let i = 0; i < 700; i++) yield* pass(1)
    assert.deepStrictEqual(heard, [["a", "in", 0], ["b", "in", 200], ["c", "in", 400], ["d", "in", 600]])
  }))

  it.effect("maxWaitMs and the depth bound it; a connection's own maxWaitMs goes before", () => Effect.gen(function*() {
    const impatient = connection({ id: "c-2", rateLimitProtection: true, rateLimitOverrides: { maxWaitMs: 100, maxConcurrent: 1 } })
    const { call, heard, pass } = yield* room({ connections: [record, impatient], ...queue({ concurrentRequests: 1, maxWaitMs: 500, maxQueueDepth: 2 }) })
    for (const name of ["a", "b", "c"]) call(name)
    const full = call("d")
    assert.isTrue(full instanceof PublicError && full.code === "RATE_LIMIT_QUEUE_FULL" && full.status === 429)
    call("x", target(impatient))
    call("y", target(impatient))
    yield* pass(100)
    assert.deepStrictEqual(heard.filter(([, turn]) => turn === "late"), [["y", "late", 100]])
    yield* pass(400)
    assert.deepStrictEqual(names(heard, "late"), ["y", "b", "c"])
  }))

  it.effect("an open breaker is not waited for: who waits for a cooldown or a place hears of it at the next look", () => Effect.gen(function*() {
    const other = connection({ id: "c-2" })
    const queued = connection({ id: "c-3", rateLimitProtection: true, rateLimitOverrides: { maxConcurrent: 1 } })
    const { call, end, heard, pass, settled } = yield* room({
      connections: [record, other, queued],
      settings: { resilience: { providerBreaker: { apikey: { degradationThreshold: 1, failureThreshold: 2, resetTimeoutMs: 10_000 } } } }
    })
    call("limited")
    end("limited", 429, { retryAfterMs: 2_000 })
    call("cooling")
    call("holder", target(queued))
    call("queued", target(queued))
    call("one", target(other))
    call("two", target(other))
    end("one", 503)
    end("two", 503)
    end("holder")
    yield* settled
    assert.deepStrictEqual(heard.filter(([, turn]) => turn === "late"), [["queued", "late", 0]])
    yield* pass(2_000)
    // Before the cooldown's end when something else makes its line look.
    assert.deepStrictEqual(names(heard, "late"), ["queued", "cooling"])
  }))

  it.effect("who leaves is not called, and the next one moves up", () => Effect.gen(function*() {
    const { call, control, end, heard, settled } = yield* room(queue({ concurrentRequests: 1 }))
    call("a")
    const leave = call("b")
    call("c")
    if (typeof leave === "function") leave()
    assert.strictEqual(control.places()[0]?.waiting, 1)
    end("a")
    yield* settled
    assert.deepStrictEqual(names(heard, "in"), ["a", "c"])
  }))

  it.effect("nobody waits at a connection whose line is off, or for what nobody knows the end of", () => Effect.gen(function*() {
    const open = connection({ id: "c-3", maxConcurrent: 1, rateLimitProtection: false })
    const off = connection({ id: "c-4", rateLimitProtection: true, isActive: false })
    const { call } = yield* room({ connections: [open, off], ...queue({ concurrentRequests: 1 }) })
    call("a", target(open))
    assert.isNull(call("b", target(open)))
    assert.isNull(call("c", target(off)))
  }))

  it.effect("a raised cap and a reset of the places let the line move", () => Effect.gen(function*() {
    const { call, configuration, control, documents, heard, settled } = yield* room(queue({ concurrentRequests: 1 }))
    for (const name of ["a", "b", "c"]) call(name)
    yield* configuration.commit(documents.put("setting", "resilience", { requestQueue: { concurrentRequests: 2 } }))
    yield* settled
    assert.deepStrictEqual(names(heard, "in"), ["a", "b"])
    control.resetPlaces()
    yield* settled
    assert.deepStrictEqual(names(heard, "in"), ["a", "b", "c"])
  }))

  it.effect("one whose turn throws harms nobody", () => Effect.gen(function*() {
    const { call, end, heard, resilience, settled, turns } = yield* room(queue({ concurrentRequests: 1 }))
    call("a")
    const unavailable = resilience.check(one, 1_000_000)
    if (unavailable !== null) turns.join({ blocked: [{ target: one, unavailable }], keyId: null, combo: false, since: 1_000_000, deadline: Number.POSITIVE_INFINITY, rounds: 0 }, () => {
      throw new Error("a defect")
    })
    call("b")
    end("a")
    yield* settled
    assert.deepStrictEqual(names(heard, "in"), ["a", "b"])
  }))
})

describe("the end of a cooldown", () => {
  const plain = connection({ id: "c-1", rateLimitProtection: false })
  const to = target(plain)
  const cooled = Effect.fnUntraced(function*(hintMs: number, resilience: Record<string, unknown> = {}) {
    const node = yield* room({ connections: [plain], settings: { resilience } })
    node.call("first", to)
    node.end("first", 429, { retryAfterMs: hintMs })
    node.heard.length = 0
    return node
  })

  it.effect("is waited for; one goes first, and every answer lets one more go at once", () => Effect.gen(function*() {
    const { call, end, heard, pass, passes, settled } = yield* cooled(5_000)
    for (let i = 0; i < 20; i++) call(`n${i}`, to)
    yield* pass(4_999)
    assert.deepStrictEqual(heard, [])
    yield* pass(1)
    assert.deepStrictEqual(names(heard, "in"), ["n0"])
    call("newcomer", to)
    assert.deepStrictEqual(names(heard, "in"), ["n0"], "a newcomer is no probe")
    end("n0")
    yield* settled
    assert.deepStrictEqual(names(heard, "in"), ["n0", "n1", "n2"])
    // First content counts as much as the end.
    passes.find(({ name }) => name === "n1")?.pass.answered(1_005_000)
    yield* settled
    assert.strictEqual(names(heard, "in").length, 5)
    while (passes.length > 0) {
      end(passes[0]?.name ?? "")
      yield* settled
    }
    assert.strictEqual(names(heard, "in").length, 21)
  }))

  it.effect("moves with the upstream's word, and after it one goes first again", () => Effect.gen(function*() {
    const { call, end, heard, pass, settled } = yield* cooled(1_000)
    for (const name of ["a", "b", "c", "d", "e"]) call(name, to)
    yield* pass(1_000)
    end("a")
    yield* settled
    assert.deepStrictEqual(names(heard, "in"), ["a", "b", "c"])
    end("b", 429, { retryAfterMs: 2_000 })
    end("c", 429, { retryAfterMs: 2_000 })
    yield* pass(1_999)
    assert.strictEqual(names(heard, "in").length, 3)
    yield* pass(1)
    assert.deepStrictEqual(names(heard, "in"), ["a", "b", "c", "d"])
    end("d", 503)
    yield* pass(10_000)
    assert.deepStrictEqual(names(heard, "in").slice(-1), ["e"], "a guess is waited for, too, once one waits")
  }))

  it.effect("farther away than maxRetryWaitSec, switched off, or after maxRetries turns: nobody waits", () => Effect.gen(function*() {
    const far = yield* cooled(30_001)
    assert.isNull(far.call("a", to))
    const off = yield* cooled(1_000, { waitForCooldown: { enabled: false } })
    assert.isNull(off.call("a", to))
    const tired = yield* cooled(1_000)
    assert.isNull(tired.call("a", to, false, 1_000_000, 3))
    assert.isNotNull(tired.call("a", to, false, 1_000_000, 2))
  }))

  it.effect("of a combo is waited for by the rules of combos", () => Effect.gen(function*() {
    const off = yield* cooled(1_000)
    assert.isNull(off.call("a", to, true))
    const on = yield* cooled(1_000, { comboCooldownWait: { enabled: true, maxWaitMs: 2_000, maxAttempts: 1, budgetMs: 3_000 } })
    assert.isNull(on.call("a", to, true, 1_000_000, 1))
    assert.isNull(on.call("a", to, true, 997_500), "the budget counts from when the request came")
    on.call("b", to, true)
    yield* on.pass(1_000)
    assert.deepStrictEqual(names(on.heard, "in"), ["b"])
  }))

  it.effect("is not waited for beyond the deadline of the whole request", () => Effect.gen(function*() {
    const { heard, pass, resilience, turns } = yield* cooled(1_000)
    const unavailable = resilience.check(to, 1_000_000)
    if (unavailable !== null) turns.join({ blocked: [{ target: to, unavailable }], keyId: null, combo: false, since: 1_000_000, deadline: 1_000_400, rounds: 0 }, (turn) => {
      heard.push(["a", turn instanceof PublicError ? turn.code : turn, 0])
    })
    yield* pass(400)
    assert.deepStrictEqual(heard, [["a", "late", 0]])
  }))

  it.effect("that moves out of reach is told at once", () => Effect.gen(function*() {
    const { call, end, heard, pass, settled } = yield* cooled(1_000)
    for (const name of ["a", "b", "c"]) call(name, to)
    yield* pass(1_000)
    end("a", 429, { retryAfterMs: 600_000 })
    yield* settled
    assert.deepStrictEqual(names(heard, "late"), ["b", "c"])
  }))
})

describe("a model of a combo", () => {
  const gate = { id: "combo openai/m", max: 1, depth: 2, timeoutMs: 1_000 }
  it.effect("has its own line, which holds up nobody else at the connection", () => Effect.gen(function*() {
    const open = connection({ id: "c-5" })
    const gated = target(open, { gate })
    const { call, control, end, heard, pass, settled } = yield* room({ connections: [open] })
    for (const name of ["a", "b", "c"]) call(name, gated)
    call("other", target(open))
    assert.deepStrictEqual(names(heard, "in"), ["a", "other"])
    assert.deepStrictEqual(control.models(), [{ id: gate.id, running: 1, max: 1, waiting: 2 }])
    assert.isTrue(call("d", gated) instanceof PublicError)
    assert.isNull(call("e", target(open, { gate: { ...gate, depth: 0 } })))
    end("a")
    yield* settled
    assert.deepStrictEqual(names(heard, "in"), ["a", "other", "b"])
    yield* pass(1_000)
    assert.deepStrictEqual(names(heard, "late"), ["c"])
    end("b")
    end("other")
    assert.deepStrictEqual([control.models(), control.inFlight().total], [[], 0])
  }))
})

describe("a stop", () => {
  it.effect("refuses everybody who waits, and lets nobody wait afterwards", () => Effect.gen(function*() {
    const { call, control, heard, settled, turns } = yield* room(queue({ concurrentRequests: 1 }))
    for (const name of ["a", "b", "c"]) call(name)
    turns.pause(60_000, (turn) => heard.push(["pause", turn instanceof PublicError ? turn.code : turn, 0]))
    turns.close()
    yield* settled
    assert.deepStrictEqual(names(heard, "shutting_down"), ["b", "c", "pause"])
    const late = call("d")
    assert.isTrue(late instanceof PublicError && late.code === "shutting_down")
    assert.strictEqual(control.places()[0]?.waiting, 0)
  }))
})

describe("the rules of a connection", () => {
  const effective = (resilience: Record<string, unknown>, outside: Partial<ResilienceSettings.Outside> = {}) =>
    ResilienceSettings.of({ nodes: [], settings: new Map([["resilience", resilience]]) }, { ...ResilienceSettings.nothingOutside, ...outside })
  const section = { requestQueue: { concurrentRequests: 4, requestsPerMinute: 60, minTimeBetweenRequestsMs: 10 } }

  it("nothing bounds a connection by default", () => {
    assert.deepStrictEqual(rulesOf(connection({ rateLimitProtection: false }), effective({})), { max: 0, pace: null, volume: null, queue: null, executionMs: 0 })
    assert.deepStrictEqual(rulesOf(connection({ rateLimitProtection: false }), effective(section)), { max: 0, pace: null, volume: null, queue: null, executionMs: 0 })
  })

  it("the section acts where the protection is on: by the connection's switch, or by the flag where there is a key", () => {
    const expected = { max: 4, pace: { perMinute: 60, gapMs: 10 }, volume: null, queue: { maxWaitMs: 15_000, depth: 0 }, executionMs: 0 }
    assert.deepStrictEqual(rulesOf(connection({ rateLimitProtection: true }), effective(section)), expected)
    const auto = { autoQueue: () => true }
    assert.deepStrictEqual(rulesOf(connection({ rateLimitProtection: false }), effective(section, auto)), expected)
    assert.isNull(rulesOf(connection({ rateLimitProtection: false, authType: "oauth" }), effective(section, auto)).queue)
    const without = { requestQueue: { ...section.requestQueue, autoEnableApiKeyProviders: false } }
    assert.isNull(rulesOf(connection({ rateLimitProtection: false }), effective(without, auto)).queue)
  })

  it("each of several nodes has its part, rounded up; a pause between two starts grows with them", () => {
    const three = (own: Parameters<typeof connection>[0]) => rulesOf(connection(own), effective(section, { nodes: () => 3 }))
    assert.deepInclude(three({ rateLimitProtection: true }), { max: 2, pace: { perMinute: 20, gapMs: 30 } })
    assert.deepInclude(three({ rateLimitProtection: true, maxConcurrent: 1 }), { max: 1 })
    assert.deepInclude(three({ rateLimitProtection: false }), { max: 0, pace: null })
  })

  it("overrides of the connection and the provider's quota act by themselves, and the strictest holds", () => {
    const own = connection({ rateLimitProtection: false, rateLimitOverrides: { rpm: 30, minTime: 5, maxConcurrent: 9 } })
    assert.deepInclude(rulesOf(own, effective({})), { max: 9, pace: { perMinute: 30, gapMs: 5 }, queue: null })
    assert.deepInclude(rulesOf(own, effective({ providerQuotaOverrides: { openai: { rpm: 20, concurrency: 3 } } })), { max: 3, pace: { perMinute: 20, gapMs: 5 } })
  })

  it("RATE_LIMIT_MAX_WAIT_MS and RATE_LIMIT_MAX_QUEUE_DEPTH are defaults under the stored section", () => {
    const outside = { maxWaitMs: 700, maxQueueDepth: 9 }
    assert.deepStrictEqual(rulesOf(connection({ rateLimitProtection: true }), effective({}, outside)).queue, { maxWaitMs: 700, depth: 9 })
    assert.deepStrictEqual(rulesOf(connection({ rateLimitProtection: true }), effective({ requestQueue: { maxWaitMs: 0 } }, outside)).queue, null)
  })
})
