/** What the agent-to-agent server stands on, without a database and without a request path. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { StoreError } from "#actors/ports/StoreError.ts"
import { Accounting } from "#actors/request/ports/Accounting.ts"
import { A2aOptions } from "#src/features/a2a/A2aOptions.ts"
import { type A2aTask, isEnded } from "#src/features/a2a/ports/A2aTask.ts"
import { A2aTaskStore, type PushConfig } from "#src/features/a2a/ports/A2aTaskStore.ts"
import { Pushes } from "#src/features/a2a/Pushes.ts"
import { AgentCalls } from "#src/inference/ports/AgentCalls.ts"
import { EnvironmentKeys } from "#src/inference/ports/EnvironmentKeys.ts"

interface Held {
  task: A2aTask
  beatAt: number
}

const stored = (task: A2aTask): A2aTask => task.isPrivate ? { ...task, input: "", messages: [], request: {}, artifacts: [], metadata: {} } : task

export const storeLayer: Layer.Layer<A2aTaskStore> = Layer.effect(A2aTaskStore, Effect.map(Clock.Clock, (clock) => {
  const held = new Map<string, Held>()
  let configs: ReadonlyArray<PushConfig> = []
  const now = (): number => clock.currentTimeMillisUnsafe()
  const live = (): ReadonlyArray<Held> => [...held.values()].filter(({ task }) => !isEnded(task.state))
  return A2aTaskStore.of({
    insert: (task) => Effect.suspend(() => {
      if (held.has(task.id)) return Effect.fail(new StoreError({ store: "A2aTaskStore", operation: "insert", reason: "conflict", message: "A2aTaskStore.insert: id is taken." }))
      held.set(task.id, { task: stored(task), beatAt: now() })
      return Effect.void
    }),
    save: (task) => Effect.sync(() => {
      const known = held.get(task.id)
      if (known === undefined || isEnded(known.task.state)) return false
      held.set(task.id, { task: stored(task), beatAt: now() })
      return true
    }),
    find: (id) => Effect.sync(() => {
      const known = held.get(id)
      return known === undefined ? null : { task: known.task, silentMs: now() - known.beatAt }
    }),
    list: ({ changedAfter, contextId, limit, offset, owner, skill, state }) => Effect.sync(() => {
      const found = [...held.values()].map(({ task }) => task).filter((task) => task.owner === owner && (state === undefined || task.state === state) &&
        (skill === undefined || task.skill === skill) && (contextId === undefined || task.contextId === contextId) && (changedAfter === undefined || task.updatedAt > changedAfter))
        .sort((a, b) => b.createdAt - a.createdAt || (a.id < b.id ? 1 : -1))
      return { tasks: found.slice(offset, offset + limit), total: found.length }
    }),
    running: (owner) => Effect.sync(() => live().filter(({ task }) => task.owner === owner).length),
    touch: (ids) => Effect.sync(() => ids.filter((id) => {
      const known = held.get(id)
      if (known === undefined || isEnded(known.task.state)) return true
      known.beatAt = now()
      return false
    })),
    overdue: (at, silentMs, limit) => Effect.sync(() => live().filter(({ beatAt, task }) => task.expiresAt <= at || beatAt < now() - silentMs).slice(0, limit).map(({ task }) => task)),
    removeGone: (at) => Effect.sync(() => {
      const gone = [...held.values()].filter(({ task }) => isEnded(task.state) && task.goneAt <= at).map(({ task }) => task.id)
      for (const id of gone) held.delete(id)
      configs = configs.filter(({ taskId }) => !gone.includes(taskId))
      return gone.length
    }),
    counts: Effect.sync(() => {
      const counts = { submitted: 0, working: 0, completed: 0, failed: 0, cancelled: 0 }
      for (const { task } of held.values()) counts[task.state]++
      return counts
    }),
    putConfig: (config) => Effect.sync(() => {
      configs = [...configs.filter(({ id, taskId }) => taskId !== config.taskId || id !== config.id), config]
    }),
    configs: (task) => Effect.sync(() => configs.filter(({ taskId }) => taskId === task).toSorted((a, b) => a.id < b.id ? -1 : 1)),
    removeConfig: (task, one) => Effect.sync(() => {
      configs = configs.filter(({ id, taskId }) => taskId !== task || id !== one)
    })
  })
}))

export const surface = Layer.mergeAll(
  storeLayer,
  Layer.succeed(Pushes, { tell: () => Effect.void }),
  Layer.succeed(A2aOptions, { publicUrl: null, heartbeatMs: 0 }),
  Layer.succeed(Accounting, { cost: () => 0, estimate: () => 0 }),
  Layer.succeed(EnvironmentKeys, new Map()),
  Layer.succeed(AgentCalls, { ask: ({ onText }) => Effect.sync(() => {
    onText("42")
    return { status: 200, headers: { "x-gateway-model": "a/m" }, error: null }
  }) })
)
