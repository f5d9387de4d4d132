import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/testing/TestClock"
import { StoreError } from "#actors/ports/StoreError.ts"
import * as LookUps from "#src/platform/structures/LookUps.ts"

const away = new StoreError({ store: "records", operation: "read", reason: "unavailable", message: "gone" })

/** A store that answers when the test says so. */
const store = () => {
  const state = { questions: 0, open: 0 }
  let answer = Deferred.makeUnsafe<number, StoreError>()
  const question = Effect.suspend(() => {
    state.questions++
    state.open++
    return Effect.ensuring(Deferred.await(answer), Effect.sync(() => {
      state.open--
    }))
  })
  return {
    state, question,
    says: (value: Effect.Effect<number, StoreError>) => Effect.sync(() => {
      Deferred.doneUnsafe(answer, value)
      answer = Deferred.makeUnsafe<number, StoreError>()
    }).pipe(Effect.andThen(Effect.yieldNow))
  }
}

const told = (asking: Effect.Effect<number, StoreError>) => Effect.match(asking, { onFailure: ({ reason }): string | number => reason, onSuccess: (value) => value })
/** What is told without any time passing. */
const atOnce = (asking: Effect.Effect<number, StoreError>) => Effect.map(Effect.forkChild(told(asking), { startImmediately: true }), (fiber) => {
  const exit = fiber.pollUnsafe()
  return exit === undefined ? "waits" : exit._tag === "Success" ? exit.value : "died"
})

describe("look-ups that a request waits for", () => {
  it.effect("equal questions are asked once, and everybody hears the answer", () => Effect.gen(function*() {
    const { question, says, state } = store()
    const lookUps = yield* LookUps.make<number>({ name: "tested", withinMs: 1_000 })
    const both = yield* Effect.forkChild(Effect.all([lookUps.ask("a", question), lookUps.ask("a", question)], { concurrency: 2 }), { startImmediately: true })
    yield* Effect.yieldNow
    assert.strictEqual(state.questions, 1)
    yield* says(Effect.succeed(7))
    assert.deepStrictEqual(yield* Fiber.join(both), [7, 7])
    yield* Effect.forkChild(lookUps.ask("a", question), { startImmediately: true })
    yield* Effect.yieldNow
    assert.strictEqual(state.questions, 2)
  }))

  it.effect("nobody waits longer than the deadline; who comes later waits only for what is left of it", () => Effect.gen(function*() {
    const { question, state } = store()
    const lookUps = yield* LookUps.make<number>({ name: "tested", withinMs: 1_000 })
    const first = yield* Effect.forkChild(told(lookUps.ask("a", question)), { startImmediately: true })
    yield* TestClock.adjust(900)
    const second = yield* Effect.forkChild(told(lookUps.ask("a", question)), { startImmediately: true })
    assert.isUndefined(first.pollUnsafe())
    yield* TestClock.adjust(100)
    assert.deepStrictEqual([yield* Fiber.join(first), yield* Fiber.join(second)], ["unavailable", "unavailable"])
    assert.deepStrictEqual(state, { questions: 1, open: 1 })
    assert.strictEqual(yield* atOnce(lookUps.ask("a", question)), "unavailable")
  }))

  it.effect("while the store says nothing newcomers are refused at once, and only a few of their questions are asked", () => Effect.gen(function*() {
    const { question, says, state } = store()
    const lookUps = yield* LookUps.make<number>({ name: "tested", withinMs: 1_000 })
    yield* Effect.forkChild(told(lookUps.ask("first", question)), { startImmediately: true })
    yield* TestClock.adjust(1_000)
    for (let i = 0; i < 100; i++) assert.strictEqual(yield* atOnce(lookUps.ask(`other ${i}`, question)), "unavailable")
    yield* Effect.yieldNow
    assert.isAtMost(state.open, 16)
    yield* says(Effect.succeed(1))
    yield* TestClock.adjust(0)
    assert.strictEqual(state.open, 0)
    // It has answered: who comes now waits for it again.
    assert.strictEqual(yield* atOnce(lookUps.ask("later", question)), "waits")
  }))

  it.effect("an answer that nobody waited for is kept for who asks next, once and not for long", () => Effect.gen(function*() {
    const { question, says, state } = store()
    const lookUps = yield* LookUps.make<number>({ name: "tested", withinMs: 1_000, keepMs: 5_000 })
    const slow = Effect.gen(function*() {
      yield* Effect.forkChild(told(lookUps.ask("a", question)), { startImmediately: true })
      yield* TestClock.adjust(1_500)
      yield* says(Effect.succeed(7))
      yield* TestClock.adjust(0)
    })
    yield* slow
    assert.strictEqual(yield* atOnce(lookUps.ask("a", question)), 7)
    assert.strictEqual(yield* atOnce(lookUps.ask("a", question)), "waits")
    yield* says(Effect.succeed(8))
    yield* slow
    const { questions } = state
    yield* TestClock.adjust(5_000)
    assert.strictEqual(yield* atOnce(lookUps.ask("a", question)), "waits")
    assert.strictEqual(state.questions, questions + 1)
  }))

  it.effect("one question without an answer makes nobody else be refused while the store answers others", () => Effect.gen(function*() {
    const stuck = store()
    const { question, says } = store()
    const lookUps = yield* LookUps.make<number>({ name: "tested", withinMs: 1_000 })
    yield* TestClock.adjust(5_000)
    yield* Effect.forkChild(told(lookUps.ask("stuck", stuck.question)), { startImmediately: true })
    assert.strictEqual(yield* atOnce(lookUps.ask("well", question)), "waits", "it has been silent for no time")
    yield* TestClock.adjust(10)
    yield* says(Effect.succeed(1))
    yield* TestClock.adjust(2_000)
    assert.strictEqual(yield* atOnce(lookUps.ask("another", question)), "waits")
    assert.strictEqual(yield* atOnce(lookUps.ask("stuck", question)), "unavailable")
    assert.strictEqual(stuck.state.open, 1)
  }))

  it.effect("an answer that somebody heard is never kept: who asks next asks the store", () => Effect.gen(function*() {
    const { question, says, state } = store()
    const lookUps = yield* LookUps.make<number>({ name: "tested", withinMs: 1_000, keepMs: 5_000 })
    const heard = yield* Effect.forkChild(lookUps.ask("a", question), { startImmediately: true })
    yield* says(Effect.succeed(7))
    assert.strictEqual(yield* Fiber.join(heard), 7)
    assert.strictEqual(yield* atOnce(lookUps.ask("a", question)), "waits")
    assert.strictEqual(state.questions, 2)
  }))

  it.effect("kept answers leave each other alone until a thousand are kept", () => Effect.gen(function*() {
    const { question, says } = store()
    const lookUps = yield* LookUps.make<number>({ name: "tested", withinMs: 1_000, keepMs: 5_000 })
    const ask = (key: string) => Effect.forkChild(told(lookUps.ask(key, question)), { startImmediately: true })
    const late = Effect.andThen(TestClock.adjust(1_000), says(Effect.succeed(7)))
    for (let i = 0; i < 1_000; i++) yield* ask(`${i}`)
    yield* late
    assert.strictEqual(yield* atOnce(lookUps.ask("999", question)), 7)
    for (const key of ["again", "more"]) yield* ask(key)
    yield* late
    assert.deepStrictEqual([
      yield* atOnce(lookUps.ask("0", question)), yield* atOnce(lookUps.ask("1", question)), yield* atOnce(lookUps.ask("more", question)), yield* atOnce(lookUps.ask("998", question))
    ], ["waits", 7, 7, 7], "the oldest makes room")
  }))

  it.effect("a failure is told to whoever waits and asked again by the next; a flood is refused at a thousand", () => Effect.gen(function*() {
    const { question, says, state } = store()
    const lookUps = yield* LookUps.make<number>({ name: "tested", withinMs: 1_000 })
    const waiting = yield* Effect.forkChild(told(lookUps.ask("a", question)), { startImmediately: true })
    yield* Effect.yieldNow
    yield* says(Effect.fail(away))
    assert.strictEqual(yield* Fiber.join(waiting), "unavailable")
    for (let i = 0; i < 1_000; i++) assert.strictEqual(yield* atOnce(lookUps.ask(`${i}`, question)), "waits")
    assert.strictEqual(yield* atOnce(lookUps.ask("one too many", question)), "unavailable")
    yield* Effect.yieldNow
    assert.strictEqual(state.questions, 1_001)
  }))
})
