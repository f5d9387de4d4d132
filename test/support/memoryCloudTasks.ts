/** Tasks of cloud agents in memory. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { CloudTask } from "#src/features/cloudAgents/ports/CloudTask.ts"
import { CloudTaskStore } from "#src/features/cloudAgents/ports/CloudTaskStore.ts"

const newestFirst = (a: CloudTask, b: CloudTask): number => a.createdAt === b.createdAt ? a.id < b.id ? 1 : -1 : a.createdAt < b.createdAt ? 1 : -1

export const layer = Layer.sync(CloudTaskStore, () => {
  const rows = new Map<string, CloudTask>()
  const all = () => [...rows.values()].sort(newestFirst)
  return CloudTaskStore.of({
    list: ({ limit, providerId, status }) => Effect.sync(() =>
      all().filter((task) => (providerId === undefined || task.providerId === providerId) && (status === undefined || task.status === status)).slice(0, limit)),
    get: (id) => Effect.sync(() => rows.get(id) ?? null),
    insert: (task) => Effect.sync(() => void rows.set(task.id, task)),
    replace: (task, updatedAt) => Effect.sync(() => {
      if (rows.get(task.id)?.updatedAt !== updatedAt) return false
      rows.set(task.id, task)
      return true
    }),
    remove: (id) => Effect.sync(() => rows.delete(id)),
    trim: (most) => Effect.sync(() => {
      const spare = all().filter(({ completedAt }) => completedAt !== null).reverse().slice(0, Math.max(0, rows.size - most))
      for (const { id } of spare) rows.delete(id)
      return spare.length
    })
  })
})
