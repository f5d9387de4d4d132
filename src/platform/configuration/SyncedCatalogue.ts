/** What was read from public lists, as a snapshot has it: the entries are read from the store only when one of them has another revision. */
import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import type { DocumentStore } from "#actors/ports/Stores.ts"
import * as SyncedModels from "#schemas/catalogue/SyncedModels.ts"

const readState = Schema.decodeUnknownOption(SyncedModels.State)
const readFacts = Schema.decodeUnknownOption(SyncedModels.ModelFacts)

const revisionsOf = (states: ReadonlyMap<string, unknown>): ReadonlyMap<string, string> => new Map(Array.from(states).flatMap(([key, stored]) => {
  const state = readState(stored)
  return state._tag === "Some" ? [[key, state.value.revision] as const] : []
}))

const isSame = (a: ReadonlyMap<string, string>, b: ReadonlyMap<string, string>): boolean =>
  a.size === b.size && Array.from(a).every(([key, revision]) => b.get(key) === revision)

/** Keys of the subject, the source that counts least first. Sources that `order` does not name count least. */
const weakestFirst = (keys: Iterable<string>, subject: SyncedModels.Subject, order: ReadonlyArray<string>): ReadonlyArray<string> => {
  const rank = (key: string): number => {
    const at = order.indexOf(key.slice(subject.length + 1))
    return at < 0 ? order.length : at
  }
  return Array.from(keys).filter((key) => key.startsWith(`${subject}/`)).sort((a, b) => rank(b) - rank(a) || (a < b ? 1 : -1))
}

/** `order`: sources of prices; of a model that several name, the first one's price counts. */
export const make = (documents: Pick<DocumentStore["Service"], "get" | "list">, order: ReadonlyArray<string>) => {
  let known: ReadonlyMap<string, string> = new Map()
  let current = SyncedModels.none

  const entriesOf = (subject: SyncedModels.Subject, revisions: ReadonlyMap<string, string>) => Effect.gen(function*() {
    const all = new Map<string, unknown>()
    for (const key of weakestFirst(revisions.keys(), subject, order)) {
      const stored = yield* documents.get(SyncedModels.entriesKind, key)
      if (Predicate.isReadonlyObject(stored)) for (const [model, entry] of Object.entries(stored)) all.set(model, entry)
    }
    return all
  })

  return Effect.gen(function*() {
    const revisions = revisionsOf(yield* documents.list(SyncedModels.stateKind))
    if (isSame(revisions, known)) return current
    const prices = yield* entriesOf("prices", revisions)
    const facts = new Map<string, SyncedModels.ModelFacts>()
    for (const [model, stored] of yield* entriesOf("facts", revisions)) {
      const read = readFacts(stored)
      if (read._tag === "Some") facts.set(model, read.value)
    }
    known = revisions
    return current = prices.size === 0 && facts.size === 0 ? SyncedModels.none : { prices, facts }
  })
}
