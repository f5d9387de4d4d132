/** The actors of agents' tasks over a store in memory and a clock of the test's own: deadlines, silence, limits, cancellation. */
import { assert, describe, it } from "@effect/vitest"
import * as SecureRandom from "effect/crypto/SecureRandom"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import { Lifecycle } from "#actors/ports/Lifecycle.ts"
import { Placement } from "#actors/ports/Placement.ts"
import * as A2aTask from "#src/features/a2a/ports/A2aTask.ts"
import { A2aTaskStore } from "#src/features/a2a/ports/A2aTaskStore.ts"
import { Pushes } from "#src/features/a2a/Pushes.ts"
import type { Skilled } from "#src/features/a2a/skills/Skill.ts"
import * as Sweep from "#src/features/a2a/sweep.ts"
import * as Tasks from "#src/features/a2a/Tasks.ts"
import * as MemoryA2a from "#test/support/memoryA2a.ts"

const told: Array<string> = []

/** Longer than a node waits between two checkpoints, ms. */
const SLOW_MS = 2_500
const slowStore = Layer.effect(A2aTaskStore, Effect.map(A2aTaskStore, (store) =>
  A2aTaskStore.of({ ...store, insert: (task) => Effect.andThen(Effect.sleep(SLOW_MS), store.insert(task)) }))).pipe(Layer.provide(MemoryA2a.storeLayer))

const layerOf = (store: typeof MemoryA2a.storeLayer) => Layer.mergeAll(Tasks.layer, Sweep.layer).pipe(Layer.provideMerge(Layer.mergeAll(
  store,
  SecureRandom.layerWebCrypto,
  Layer.succeed(Pushes, { tell: ({ id, state }) => Effect.sync(() => void told.push(`${id} ${state}`)) }),
  Layer.succeed(Placement, { place: (_name, work) => Effect.asVoid(Effect.forkScoped(work)) }),
  Layer.succeed(Lifecycle, { version: "0", startedAt: 0, nodeId: "n", ready: () => true, draining: () => false, migrated: () => true, requestShutdown: () => {} })
)))
const layer = layerOf(MemoryA2a.storeLayer)

const BEGINNING = { owner: "key:a", contextId: "c", skill: "s", messages: [{ id: "m", role: "user", content: "x" }], request: {}, isPrivate: false }
const endless: Skilled = { run: () => Effect.never }
const quick: Skilled = { run: ({ onText, textSoFar }) => Effect.sync(() => {
  onText("Do")
  onText("ne.")
  return { artifacts: [{ name: "answer", type: "text", content: textSoFar() }], metadata: { a: 1 } }
}) }
const begin = (skill: Skilled) => Effect.flatMap(Tasks.Tasks, (tasks) => tasks.begin(BEGINNING, skill, () => Effect.void))
const find = (id: string) => Effect.flatMap(Tasks.Tasks, (tasks) => tasks.find(id, "key:a"))

describe("agents' tasks", () => {
  it.effect("a task runs to its end and is stored; its readers see each step once", () => Effect.gen(function*() {
    const tasks = yield* Tasks.Tasks
    const { id } = yield* begin(quick)
    const seen = yield* Stream.runCollect(tasks.watch(id, "key:a", () => false))
    assert.deepStrictEqual(seen.map(({ revision }) => revision), [...new Set(seen.map(({ revision }) => revision))])
    const last = seen.at(-1)
    assert.deepStrictEqual([last?.state, last?.artifacts, last?.metadata], ["completed", [{ name: "answer", type: "text", content: "Done." }], { a: 1 }])
    assert.deepStrictEqual((yield* (yield* A2aTaskStore).find(id))?.task.state, "completed")
    yield* TestClock.adjust(1)
    assert.deepStrictEqual(told.filter((line) => line.startsWith(id)), [`${id} working`, `${id} completed`])
  }).pipe(Effect.provide(layer)))

  it.effect("a task that does not end fails at its time", () => Effect.gen(function*() {
    const { id } = yield* begin(endless)
    yield* TestClock.adjust(A2aTask.TTL_MS - 1_000)
    assert.strictEqual((yield* find(id))?.state, "working")
    yield* TestClock.adjust(2_000)
    const ended = yield* find(id)
    assert.deepStrictEqual([ended?.state, ended?.metadata["restartable"], ended?.fault?.kind], ["failed", true, "internal"])
  }).pipe(Effect.provide(layer)))

  it.effect("a skill that breaks fails its task and says nothing of itself", () => Effect.gen(function*() {
    const { id } = yield* begin({ run: () => Effect.die(new Error("canary-defect")) })
    yield* TestClock.adjust(10)
    const ended = yield* find(id)
    assert.strictEqual(ended?.state, "failed")
    assert.notInclude(JSON.stringify(ended), "canary")
  }).pipe(Effect.provide(layer)))

  it.effect("a task that is stored slowly is not taken for one that was ended elsewhere", () => Effect.gen(function*() {
    const tasks = yield* Tasks.Tasks
    const left: Array<string> = []
    const beginning = yield* Effect.forkChild(begin({ run: () => Effect.onInterrupt(Effect.never, () => Effect.sync(() => void left.push("left"))) }))
    yield* TestClock.adjust(SLOW_MS)
    const { id } = yield* Fiber.join(beginning)
    yield* TestClock.adjust(2 * Tasks.LOST_MS)
    assert.strictEqual((yield* find(id))?.state, "working")
    yield* tasks.cancel(id, "key:a")
    yield* TestClock.adjust(1)
    assert.deepStrictEqual(left, ["left"])
  }).pipe(Effect.provide(layerOf(slowStore))))

  it.effect("a task that another node ends before its work has begun is not begun", () => Effect.gen(function*() {
    const tasks = yield* Tasks.Tasks
    const store = yield* A2aTaskStore
    let began = false
    const ended = (id: string) => Effect.flatMap(store.find(id), (found) => found === null ? Effect.die("not stored") : store.save(A2aTask.cancelled(found.task, 0)))
    const run: Skilled = { run: () => Effect.sync(() => {
      began = true
    }).pipe(Effect.andThen(Effect.never)) }
    const beginning = yield* Effect.forkChild(tasks.begin(BEGINNING, run, (id) => Effect.andThen(ended(id), Effect.sleep(SLOW_MS))))
    yield* TestClock.adjust(SLOW_MS)
    const { id } = yield* Fiber.join(beginning)
    yield* TestClock.adjust(SLOW_MS)
    assert.deepStrictEqual([(yield* find(id))?.state, began], ["cancelled", false])
  }).pipe(Effect.provide(layer)))

  it.effect("a task whose node is silent has failed where it is read, and in the sweep", () => Effect.gen(function*() {
    const store = yield* A2aTaskStore
    const lost = (id: string) => store.insert(A2aTask.working(A2aTask.submitted({ ...BEGINNING, id }, 0), 0))
    yield* lost("read")
    yield* lost("swept")
    yield* TestClock.adjust(Tasks.LOST_MS - 1)
    assert.strictEqual((yield* find("read"))?.state, "working")
    yield* TestClock.adjust(2)
    const ended = yield* find("read")
    assert.deepStrictEqual([ended?.state, ended?.metadata], ["failed", { restartable: true }])
    assert.strictEqual((yield* store.find("swept"))?.task.state, "working")
    yield* TestClock.adjust(120_000)
    assert.strictEqual((yield* store.find("swept"))?.task.state, "failed")
    assert.includeMembers(told, ["read failed", "swept failed"])
  }).pipe(Effect.provide(layer)))

  it.effect("a task that was ended elsewhere ends here within a second", () => Effect.gen(function*() {
    const store = yield* A2aTaskStore
    let isOver = false
    const { id } = yield* begin({ run: () => Effect.onInterrupt(Effect.never, () => Effect.sync(() => {
      isOver = true
    })) })
    yield* TestClock.adjust(100)
    const known = (yield* store.find(id))?.task
    assert.isTrue(yield* store.save(A2aTask.cancelled(known!, 1)))
    yield* TestClock.adjust(1_500)
    assert.isTrue(isOver)
    assert.strictEqual((yield* find(id))?.state, "cancelled")
  }).pipe(Effect.provide(layer)))

  it.effect("an owner has so many tasks at once, and another one is not in its way", () => Effect.gen(function*() {
    const tasks = yield* Tasks.Tasks
    yield* Effect.forEach(Array.from({ length: Tasks.MOST_OF_ONE }), () => begin(endless))
    const refused = yield* Effect.flip(begin(endless))
    assert.deepStrictEqual(refused, new Tasks.TaskRefused({ reason: "too-many" }))
    const other = yield* tasks.begin({ ...BEGINNING, owner: "key:b" }, quick, () => Effect.void)
    assert.strictEqual(other.owner, "key:b")
  }).pipe(Effect.provide(layer)))
})
