/**
 * The tasks of agents. Each runs as a fiber of the node that took it, which owns its state; the record store is its checkpoint. Other
 * nodes read the checkpoints, and end a task there; its node hears of that within a second. A task whose node is silent counts as
 * failed wherever it is read.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as SecureRandom from "effect/crypto/SecureRandom"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as Semaphore from "effect/Semaphore"
import * as Stream from "effect/Stream"
import { Lifecycle } from "#actors/ports/Lifecycle.ts"
import type { StoreError } from "#actors/ports/StoreError.ts"
import * as Rounds from "#src/platform/structures/Rounds.ts"
import * as Wakers from "#src/platform/structures/wakers.ts"
import * as A2aTask from "./ports/A2aTask.ts"
import type { A2aTask as Task } from "./ports/A2aTask.ts"
import { A2aTaskStore, type TaskFilter } from "./ports/A2aTaskStore.ts"
import { Pushes } from "./Pushes.ts"
import type { Skilled, SkillFailure, SkillResult } from "./skills/Skill.ts"

/** How often a node writes what it has, and hears which of its tasks were ended elsewhere, ms. */
const CHECKPOINT_MS = 1_000
/** A task that no node has worked on for so long counts as failed, ms. */
export const LOST_MS = 20_000
/** Tasks of one owner that have not ended. */
export const MOST_OF_ONE = 32
/** Tasks that one process works on. */
const MOST_HERE = 1_000
/** How soon a reader on another node sees a checkpoint, and looks whether it is wanted still, ms. */
const LOOK_MS = 500
/** Ended tasks whose content is in no store, and which are kept in memory for their readers. */
const MOST_PRIVATE = 500
/** For the checkpoints of a stop, ms. */
const LAST_MS = 2_000

/** Why a task is not taken, or not ended. */
export class TaskRefused extends Schema.TaggedError<TaskRefused>()("TaskRefused", {
  reason: Schema.Literals(["too-many", "stopping", "ended"])
}) {}

export class Tasks extends Context.Service<Tasks, {
  /** Begins a task. `before`: done once it is stored, and before anything happens to it. */
  readonly begin: <E>(beginning: Omit<A2aTask.Beginning, "id">, skill: Skilled, before: (id: string) => Effect.Effect<void, E>) => Effect.Effect<Task, TaskRefused | StoreError | E>
  /** Null for an unknown one, and for another owner's. */
  readonly find: (id: string, owner: string) => Effect.Effect<Task | null, StoreError>
  readonly list: (filter: TaskFilter) => Effect.Effect<{ readonly tasks: ReadonlyArray<Task>; readonly total: number }, StoreError>
  /** Null for an unknown one. */
  readonly cancel: (id: string, owner: string) => Effect.Effect<Task | null, TaskRefused | StoreError>
  /** The task now and after each change, until it has ended or `isLeft` says that none reads any more; empty for an unknown one. */
  readonly watch: (id: string, owner: string, isLeft: () => boolean) => Stream.Stream<Task, StoreError>
}>()("gateway/a2a/Tasks") {}

interface Live {
  task: Task
  /** The revision that the store has; 0 = it is not there yet. */
  saved: number
  fiber: Fiber.Fiber<void> | null
  /** Its end is on its way to the store. */
  isEnding: boolean
  readonly telling: Semaphore.Semaphore
}

export const make = Effect.gen(function*() {
  const store = yield* A2aTaskStore
  const pushes = yield* Pushes
  const lifecycle = yield* Lifecycle
  const random = yield* SecureRandom.SecureRandom
  const clock = yield* Clock.Clock
  const scope = yield* Effect.scope
  const now = () => clock.currentTimeMillisUnsafe()
  const wakers = Wakers.make()
  const here = new Map<string, Live>()
  const unstored = new Map<string, Task>()

  /** In the order of the changes, and beside the work. */
  const tell = (live: { readonly telling: Semaphore.Semaphore }, task: Task) => Effect.asVoid(Effect.forkIn(live.telling.withPermits(1)(pushes.tell(task)), scope))

  const change = (live: Live, next: Task): void => {
    live.task = next
    wakers.wakeUnsafe(next.id)
  }

  /** It was ended elsewhere: what this node knows of it does not count any more. */
  const leave = (live: Live): Effect.Effect<void> => Effect.suspend(() => {
    here.delete(live.task.id)
    wakers.wakeUnsafe(live.task.id)
    return live.fiber === null ? Effect.void : Effect.asVoid(Effect.forkIn(Fiber.interrupt(live.fiber), scope))
  })

  /** Brings a task to the store as `next`; false when it was ended elsewhere, and so ends here, too. */
  const save = (live: Live, next: Task): Effect.Effect<boolean, StoreError> => Effect.flatMap(store.save(next), (isTaken) => {
    if (!isTaken) return Effect.as(leave(live), false)
    live.saved = Math.max(live.saved, next.revision)
    if (A2aTask.isEnded(next.state)) {
      here.delete(next.id)
      if (next.isPrivate) unstored.set(next.id, next)
      for (const [id, { goneAt }] of unstored) if (unstored.size > MOST_PRIVATE || goneAt <= now()) unstored.delete(id)
      wakers.wakeUnsafe(next.id)
    }
    return Effect.succeed(true)
  })

  /** Null while the store is away. */
  const saveOrLater = (live: Live, next: Task): Effect.Effect<boolean | null> => Effect.catchTag(save(live, next), "StoreError", ({ message }) =>
    Effect.as(Effect.logWarning(`the agent task ${next.id} waits for its checkpoint: ${message}`), null))

  const work = Effect.fnUntraced(function*(live: Live, skill: Skilled) {
    change(live, A2aTask.working(live.task, now()))
    yield* saveOrLater(live, live.task)
    yield* tell(live, live.task)
    const run = skill.run({
      task: live.task,
      onText: (text) => change(live, A2aTask.said(live.task, text, now())),
      textSoFar: () => {
        const [answer] = live.task.artifacts
        return typeof answer?.content === "string" ? answer.content : ""
      }
    })
    const outcome = yield* Effect.timeoutOption(Effect.result(run), Math.max(0, live.task.expiresAt - now())).pipe(
      Effect.catchDefect((defect) => Effect.as(Effect.logError(`the agent task ${live.task.id} failed`, defect), null))
    )
    const ended = endOf(live.task, outcome)
    // Stored before readers are told, so that a reader of the end finds it on every node. Without the store they are told all the same.
    live.isEnding = true
    const isStored = yield* saveOrLater(live, ended)
    live.isEnding = false
    if (isStored === false) return
    if (isStored === null) change(live, ended)
    yield* tell(live, ended)
  })

  const endOf = (task: Task, outcome: Option.Option<Result.Result<SkillResult, SkillFailure>> | null): Task => {
    if (outcome === null) return A2aTask.failed(task, { kind: "internal", message: "The skill failed; the gateway's log says why." }, {}, now())
    if (Option.isNone(outcome)) return A2aTask.overdue(task, now())
    const { value } = outcome
    return value._tag === "Success"
      ? A2aTask.completed(task, value.success.artifacts, value.success.metadata, now())
      : A2aTask.failed(task, value.failure.fault, value.failure.metadata, now())
  }

  const rounds = yield* Rounds.make("agent tasks", () => here.size > 0, CHECKPOINT_MS, Effect.suspend(() => {
    const all = [...here.values()].filter(({ isEnding, saved }) => !isEnding && saved > 0)
    const changed = all.filter(({ saved, task }) => task.revision > saved)
    const quiet = all.filter(({ saved, task }) => task.revision <= saved)
    return Effect.forEach(changed, (live) => save(live, live.task), { concurrency: 8, discard: true }).pipe(
      Effect.andThen(store.touch(quiet.map(({ task }) => task.id))),
      Effect.flatMap((ended) => Effect.forEach(ended, (id) => {
        const live = here.get(id)
        return live === undefined || A2aTask.isEnded(live.task.state) ? Effect.void : leave(live)
      }, { discard: true })),
      Effect.catch((error) => Effect.logWarning(`agent tasks wait for their checkpoints: ${error.message}`))
    )
  }))

  yield* Effect.addFinalizer(() => Effect.forEach([...here.values()], (live) => {
    change(live, A2aTask.abandoned(live.task, now()))
    return Effect.andThen(live.fiber === null ? Effect.void : Fiber.interrupt(live.fiber), Effect.ignore(store.save(live.task)))
  }, { concurrency: 16, discard: true }).pipe(Effect.timeoutOption(LAST_MS), Effect.asVoid))

  /** A stored task as it counts now: one that no node works on has failed. */
  const stands = Effect.fnUntraced(function*(task: Task, silentMs: number) {
    if (A2aTask.isEnded(task.state)) return task
    const at = now()
    const ended = silentMs > LOST_MS ? A2aTask.abandoned(task, at) : task.expiresAt <= at ? A2aTask.overdue(task, at) : null
    if (ended === null) return task
    if (yield* store.save(ended)) {
      yield* tell({ telling: Semaphore.makeUnsafe(1) }, ended)
      return ended
    }
    return (yield* store.find(task.id))?.task ?? ended
  })

  const find = Effect.fnUntraced(function*(id: string, owner: string) {
    const known = here.get(id)?.task ?? unstored.get(id)
    if (known !== undefined && (known.goneAt > now() || !A2aTask.isEnded(known.state))) return known.owner === owner ? known : null
    const found = yield* store.find(id)
    return found === null || found.task.owner !== owner ? null : yield* stands(found.task, found.silentMs)
  })

  interface Reading {
    readonly revision: number
    readonly isFirst: boolean
  }

  return Tasks.of({
    find,
    list: store.list,
    begin: Effect.fn("A2aTasks.begin")(function*(beginning, skill, before) {
      if (lifecycle.draining()) return yield* new TaskRefused({ reason: "stopping" })
      const own = [...here.values()].filter(({ task }) => task.owner === beginning.owner).length
      if (own >= MOST_OF_ONE || here.size >= MOST_HERE) return yield* new TaskRefused({ reason: "too-many" })
      const live: Live = { task: A2aTask.submitted({ ...beginning, id: yield* random.uuidV4() }, now()), saved: 0, fiber: null, isEnding: false, telling: Semaphore.makeUnsafe(1) }
      const { id } = live.task
      // It takes its place before anything waits, so that many at once do not pass the limit.
      here.set(id, live)
      rounds.wake()
      const refused = Effect.sync(() => void here.delete(id))
      yield* Effect.onError(Effect.gen(function*() {
        if ((yield* store.running(beginning.owner)) >= MOST_OF_ONE) return yield* new TaskRefused({ reason: "too-many" })
        yield* store.insert(live.task)
        live.saved = live.task.revision
        yield* before(id)
      }), () => refused)
      // Another node may have ended it by now.
      if (here.get(id) === live) live.fiber = yield* Effect.forkIn(work(live, skill), scope)
      return live.task
    }),
    cancel: Effect.fn("A2aTasks.cancel")(function*(id, owner) {
      const task = yield* find(id, owner)
      if (task === null) return null
      if (A2aTask.isEnded(task.state)) return yield* new TaskRefused({ reason: "ended" })
      const ended = A2aTask.cancelled(task, now())
      if (!(yield* store.save(ended))) return yield* new TaskRefused({ reason: "ended" })
      const live = here.get(id)
      if (live !== undefined) {
        change(live, ended)
        yield* leave(live)
      }
      yield* tell(live ?? { telling: Semaphore.makeUnsafe(1) }, ended)
      return ended
    }),
    watch: (id, owner, isLeft) => Stream.paginate<Reading, Task, StoreError>({ revision: 0, isFirst: true }, (reading) => Effect.gen(function*() {
      const next = yield* wakers.next(id)
      const isHere = here.has(id)
      const task = yield* find(id, owner)
      if (task === null || (isLeft() && !reading.isFirst)) return [[], Option.none<Reading>()] as const
      const isNew = task.revision > reading.revision
      if (A2aTask.isEnded(task.state)) return [[task], Option.none<Reading>()] as const
      if (!isNew) yield* isHere ? Effect.raceFirst(next, Effect.sleep(LOOK_MS)) : Effect.sleep(LOOK_MS)
      return [isNew ? [task] : [], Option.some<Reading>({ revision: task.revision, isFirst: false })] as const
    }))
  })
})

export const layer = Layer.effect(Tasks, make)
