import { assert, layer as withLayer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import type { BudgetGuard } from "#src/features/mcp/budgetGuard.ts"
import { type McpMessage, McpSessions, MESSAGES_MAX } from "#src/features/mcp/ports/McpSessions.ts"

let sequence = 0
const begin = Effect.gen(function*() {
  const sessions = yield* McpSessions
  const id = `session-${process.pid}-${++sequence}`
  yield* sessions.put({ id, owner: "key:k1", opening: "{}" })
  return { id, sessions }
})
const guard: BudgetGuard = { maxCost: 0.5, action: "degrade", degradeToTier: "free" }
const MEBI = 1_048_576
/** The number that a message begins with. */
const numberOf = ({ text }: McpMessage): number => parseInt(text ?? "", 10)
const unbounded = { guard: null, spent: 0 }

export const suite = (name: string, layer: Layer.Layer<McpSessions>): void => {
  withLayer(layer, { excludeTestServices: true })(`McpSessions on ${name}`, (it) => {
    it.effect("a session is found with what it was begun with, until it is removed", () => Effect.gen(function*() {
      const { id, sessions } = yield* begin
      assert.deepStrictEqual(yield* sessions.find(id), { id, owner: "key:k1", opening: "{}" })
      yield* sessions.remove(id)
      assert.isNull(yield* sessions.find(id))
    }))

    it.effect("the newest 8 Mi characters of a session's messages are kept, and its newest message always", () => Effect.gen(function*() {
      const { id, sessions } = yield* begin
      const kept = Effect.map(sessions.behind(id, ""), (messages) => messages.map(numberOf))
      for (let i = 1; i <= 20; i++) yield* sessions.append(id, "s", String(i).padEnd(MEBI))
      assert.deepStrictEqual(yield* kept, [13, 14, 15, 16, 17, 18, 19, 20])
      yield* sessions.append(id, "s", "21".padEnd(9 * MEBI))
      assert.deepStrictEqual(yield* kept, [21])
      yield* sessions.append(id, "s", null)
      assert.deepStrictEqual((yield* sessions.behind(id, "")).map(({ text }) => text), [null])
      // What went is not counted any more.
      for (let i = 1; i <= 9; i++) yield* sessions.append(id, "s", String(i).padEnd(MEBI))
      assert.deepStrictEqual(yield* kept, [2, 3, 4, 5, 6, 7, 8, 9])
    }))

    it.effect("of more messages than are kept the oldest go", () => Effect.gen(function*() {
      const { id, sessions } = yield* begin
      for (let i = 1; i <= MESSAGES_MAX + 2; i++) yield* sessions.append(id, "s", String(i))
      assert.strictEqual(numberOf((yield* sessions.behind(id, ""))[0] as McpMessage), 3)
    }))

    it.effect("what its calls cost is one sum, however many add to it at once, and the guard that was set last holds", () => Effect.gen(function*() {
      const { id, sessions } = yield* begin
      assert.deepStrictEqual(yield* sessions.budget(id), unbounded)
      yield* Effect.all(Array.from({ length: 40 }, () => sessions.spend(id, 0.0125)), { concurrency: "unbounded" })
      yield* sessions.guard(id, { maxCost: 9, action: "alert" })
      yield* sessions.guard(id, guard)
      const { guard: kept, spent } = yield* sessions.budget(id)
      assert.deepStrictEqual(kept, guard)
      assert.approximately(spent, 0.5, 1e-9)
      // A session that is put again, as one of the older transport is, keeps its budget.
      yield* sessions.put({ id, owner: "key:k1", opening: "{\"later\":true}" })
      assert.deepStrictEqual((yield* sessions.budget(id)).guard, guard)
    }))

    it.effect("the smallest cost that a row may have is counted", () => Effect.gen(function*() {
      const { id, sessions } = yield* begin
      for (let i = 0; i < 10; i++) yield* sessions.spend(id, 1e-10)
      assert.approximately((yield* sessions.budget(id)).spent, 1e-9, 1e-12)
    }))

    it.effect("a session has its own budget, which goes with it and does not come back", () => Effect.gen(function*() {
      const { id, sessions } = yield* begin
      const { id: other } = yield* begin
      yield* sessions.guard(id, guard)
      yield* sessions.spend(id, 1)
      assert.deepStrictEqual(yield* sessions.budget(other), unbounded)
      yield* sessions.remove(id)
      yield* sessions.spend(id, 1)
      yield* sessions.guard(id, guard)
      assert.deepStrictEqual(yield* sessions.budget(id), unbounded)
    }))
  })
}
