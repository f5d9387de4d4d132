/** Sealed bodies of calls without a database. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { BodyStore, type SealedBodies } from "#src/features/bodies/ports/BodyStore.ts"

const newestFirst = (a: SealedBodies, b: SealedBodies): number => b.createdAt - a.createdAt || (a.id < b.id ? 1 : -1)

export const layer = Layer.sync(BodyStore, () => {
  const records = new Map<string, SealedBodies>()
  const removed = (gone: ReadonlyArray<SealedBodies>): number => {
    for (const { id } of gone) records.delete(id)
    return gone.length
  }
  return {
    put: (given) => Effect.sync(() => {
      for (const one of given) if (!records.has(one.id)) records.set(one.id, one)
    }),
    renew: (ids, time) => Effect.sync(() => {
      for (const one of records.values()) if (ids.includes(one.id) && one.createdAt < time) records.set(one.id, { ...one, createdAt: time })
    }),
    find: (ids, since) => Effect.sync(() => [...records.values()].filter(({ createdAt, id }) => ids.includes(id) && createdAt >= since).sort(newestFirst)),
    removeBefore: (time) => Effect.sync(() => removed([...records.values()].filter(({ createdAt }) => createdAt < time))),
    removeBeyond: (most) => Effect.sync(() => {
      let sum = 0
      return removed([...records.values()].sort(newestFirst).filter(({ sealed }) => (sum += sealed.length) > most))
    })
  }
})
