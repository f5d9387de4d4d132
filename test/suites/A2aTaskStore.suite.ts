import { assert, layer as withLayer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as A2aTask from "#src/features/a2a/ports/A2aTask.ts"
import { A2aTaskStore } from "#src/features/a2a/ports/A2aTaskStore.ts"

let made = 0
const one = (fields: Partial<A2aTask.A2aTask> = {}): A2aTask.A2aTask => ({
  ...A2aTask.submitted({
    id: `task-${++made}`, owner: "key:one", contextId: "c", skill: "smart-routing", request: { model: "a/b", nested: { deep: [1, null] } }, isPrivate: false,
    messages: [{ id: "m", role: "user", content: 'häß "quoted" 日本 😀' }]
  }, 1_000 + made),
  ...fields
})

export const suite = (name: string, layer: Layer.Layer<A2aTaskStore>): void => {
  withLayer(layer, { excludeTestServices: true })(`A2aTaskStore on ${name}`, (it) => {
    it.effect("a task comes back as it was written, and each change of it; an unknown one is null, a taken id a conflict", () => Effect.gen(function*() {
      const store = yield* A2aTaskStore
      const task = one()
      yield* store.insert(task)
      assert.deepStrictEqual((yield* store.find(task.id))?.task, task)
      const working = A2aTask.said(A2aTask.working(task, 2_000), "So far", 2_001)
      assert.isTrue(yield* store.save(working))
      assert.deepStrictEqual((yield* store.find(task.id))?.task, working)
      assert.isNull(yield* store.find("task-none"))
      assert.strictEqual((yield* Effect.flip(store.insert(task))).reason, "conflict")
    }))

    it.effect("nothing leaves an end state, and an unknown task is not saved", () => Effect.gen(function*() {
      const store = yield* A2aTaskStore
      const task = one()
      yield* store.insert(task)
      assert.isTrue(yield* store.save(A2aTask.cancelled(task, 3_000)))
      assert.isFalse(yield* store.save(A2aTask.completed(task, [], {}, 4_000)))
      const found = (yield* store.find(task.id))?.task
      assert.deepStrictEqual([found?.state, found?.completedAt], ["cancelled", 3_000])
      assert.isFalse(yield* store.save(one()))
    }))

    it.effect("of a private task neither the question nor the answer is kept", () => Effect.gen(function*() {
      const store = yield* A2aTaskStore
      const task = one({ isPrivate: true })
      yield* store.insert(task)
      yield* store.save(A2aTask.completed(task, [{ name: "answer", type: "text", content: "secret" }], { a: 1 }, 2_000))
      const found = (yield* store.find(task.id))?.task
      assert.deepStrictEqual([found?.state, found?.input, found?.messages, found?.request, found?.artifacts, found?.metadata], ["completed", "", [], {}, [], {}])
    }))

    it.effect("lists the owner's own tasks, newest first, by state, skill, context and change", () => Effect.gen(function*() {
      const store = yield* A2aTaskStore
      const owner = "key:lister"
      const tasks = [one({ owner }), one({ owner, skill: "health-report" }), one({ owner, contextId: "other" }), one({ owner: "key:else" })]
      for (const task of tasks) yield* store.insert(task)
      yield* store.save(A2aTask.working(tasks[0]!, 90_000))
      const ids = (filter: object) => Effect.map(store.list({ owner, limit: 10, offset: 0, ...filter }), ({ tasks: found, total }) => [total, found.map(({ id }) => id)])
      const [a, b, c] = tasks.map(({ id }) => id)
      assert.deepStrictEqual(yield* ids({}), [3, [c, b, a]])
      assert.deepStrictEqual(yield* ids({ limit: 1, offset: 1 }), [3, [b]])
      assert.deepStrictEqual(yield* ids({ state: "working" }), [1, [a]])
      assert.deepStrictEqual(yield* ids({ skill: "health-report" }), [1, [b]])
      assert.deepStrictEqual(yield* ids({ contextId: "other" }), [1, [c]])
      assert.deepStrictEqual(yield* ids({ changedAfter: 89_999 }), [1, [a]])
      assert.strictEqual(yield* store.running(owner), 3)
      yield* store.save(A2aTask.cancelled(tasks[1]!, 91_000))
      assert.strictEqual(yield* store.running(owner), 2, "what has ended runs no more")
    }))

    it.effect("touching says which have ended; silent and late ones are overdue", () => Effect.gen(function*() {
      const store = yield* A2aTaskStore
      const [a, b] = [one(), one()]
      yield* store.insert(a)
      yield* store.insert(b)
      yield* store.save(A2aTask.cancelled(b, 2_000))
      assert.deepStrictEqual(yield* store.touch([a.id, b.id, "task-none"]), [b.id, "task-none"])
      assert.deepStrictEqual(yield* store.touch([]), [])
      const overdue = (now: number, silentMs: number) => Effect.map(store.overdue(now, silentMs, 1_000), (found) => found.map(({ id }) => id).filter((id) => id === a.id || id === b.id))
      assert.deepStrictEqual(yield* overdue(0, 60_000), [])
      assert.deepStrictEqual(yield* overdue(a.expiresAt, 60_000), [a.id])
      assert.deepStrictEqual(yield* overdue(0, -60_000), [a.id])
      assert.isBelow((yield* store.find(a.id))?.silentMs ?? Infinity, 60_000)
    }))

    it.effect("touching keeps alive what it names, and nothing else", () => Effect.gen(function*() {
      const store = yield* A2aTaskStore
      const [kept, left] = [one(), one()]
      yield* store.insert(kept)
      yield* store.insert(left)
      const silentOf = (id: string) => Effect.map(store.find(id), (found) => found?.silentMs ?? -1)
      yield* Effect.sleep(5)
      const before = yield* silentOf(left.id)
      assert.deepStrictEqual(yield* store.touch([kept.id]), [])
      assert.isAtLeast(yield* silentOf(left.id), before)
    }))

    it.effect("ended tasks go at their time, with their receivers; running ones stay", () => Effect.gen(function*() {
      const store = yield* A2aTaskStore
      const [ended, running, later] = [one({ goneAt: 5_000 }), one({ goneAt: 5_000 }), one({ goneAt: 5_001 })]
      yield* store.insert(later)
      yield* store.save(A2aTask.cancelled(later, 2_000))
      yield* store.insert(ended)
      yield* store.insert(running)
      yield* store.save(A2aTask.cancelled(ended, 2_000))
      yield* store.putConfig({ taskId: ended.id, id: "r", receiver: Redacted.make("x") })
      const before = yield* store.counts
      assert.isAtLeast(yield* store.removeGone(5_000), 1)
      assert.deepStrictEqual([yield* store.find(ended.id), (yield* store.find(running.id))?.task.state], [null, "submitted"])
      assert.strictEqual((yield* store.find(later.id))?.task.state, "cancelled")
      assert.deepStrictEqual(yield* store.configs(ended.id), [])
      assert.isBelow((yield* store.counts).cancelled, before.cancelled)
    }))

    it.effect("receivers are kept per task, replaced by their id, and removed", () => Effect.gen(function*() {
      const store = yield* A2aTaskStore
      const task = one()
      yield* store.insert(task)
      for (const [id, receiver] of [["b", "1"], ["a", "2"], ["b", "3"]] as const) yield* store.putConfig({ taskId: task.id, id, receiver: Redacted.make(receiver) })
      const read = Effect.map(store.configs(task.id), (configs) => configs.map(({ id, receiver }) => `${id}=${Redacted.value(receiver)}`))
      assert.deepStrictEqual(yield* read, ["a=2", "b=3"])
      const other = one()
      yield* store.insert(other)
      yield* store.putConfig({ taskId: other.id, id: "a", receiver: Redacted.make("another's") })
      assert.deepStrictEqual(yield* read, ["a=2", "b=3"])
      yield* store.removeConfig(task.id, "a")
      assert.deepStrictEqual(yield* read, ["b=3"])
      assert.deepStrictEqual((yield* store.configs(other.id)).map(({ receiver }) => Redacted.value(receiver)), ["another's"])
    }))
  })
}
