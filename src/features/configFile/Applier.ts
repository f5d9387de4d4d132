/** Makes the records as the file declares them, one after the other; what one entry meets does not stop the next. */
import * as Effect from "effect/Effect"
import { Configuration } from "#actors/ports/Configuration.ts"
import { Secrets } from "#actors/ports/Secrets.ts"
import type { StoreError } from "#actors/ports/StoreError.ts"
import { DocumentStore } from "#actors/ports/Stores.ts"
import * as FileOwned from "#schemas/FileOwned.ts"
import { type Inner, ToolFailure } from "#src/management/inner/Inner.ts"
import * as InnerApi from "#src/management/inner/InnerApi.ts"
import { type Kind, kinds, namesOf } from "./kinds.ts"
import * as Plan from "./plan.ts"
import type { Outcome } from "./ports/ConfigFile.ts"
import type { Declared } from "./read.ts"

const PURPOSE = "configuration file"

const dataOf = ({ fields: { providerSpecificData } }: Declared): ReadonlyArray<string> =>
  typeof providerSpecificData === "object" && providerSpecificData !== null ? Object.keys(providerSpecificData) : []

const done = { adopt: "adopted", change: "changed", create: "created", keep: "unchanged", replace: "replaced" } as const satisfies Readonly<Record<Plan.Step["action"], Outcome["action"]>>

/** `renew` runs before each entry. */
export type Applier = (file: string, declared: ReadonlyArray<Declared>, renew: Effect.Effect<void, StoreError>) => Effect.Effect<ReadonlyArray<Outcome>, StoreError>

export const make = Effect.gen(function*() {
  const configuration = yield* Configuration
  const documents = yield* DocumentStore
  const secrets = yield* Secrets
  const innerOf = yield* InnerApi.make

  const keep = (owned: FileOwned.FileOwned) => configuration.commit(documents.put(FileOwned.KIND, FileOwned.keyOf(owned.kind, owned.name), owned))
  const forget = ({ kind, name }: FileOwned.FileOwned) => configuration.commit(documents.remove(FileOwned.KIND, FileOwned.keyOf(kind, name)))

  const applyOne = Effect.fnUntraced(function*(inner: Inner, file: string, kind: Kind, declared: Declared, owned: Map<string, FileOwned.FileOwned>, ids: ReadonlyMap<string, string>) {
    const { name } = declared
    const names = yield* namesOf(inner, ids)
    const records = yield* kind.list(inner)
    const fields = kind.resolved(declared.fields, names)
    const before = owned.get(FileOwned.keyOf(kind.kind, name))
    const entry: Plan.Entry = { name, digest: secrets.mac(PURPOSE, JSON.stringify([fields, file])), fixed: kind.fixed(fields) }
    const taken = new Set([...owned.values()].filter((one) => one.kind === kind.kind).map((one) => one.id))
    const step = Plan.step(entry, {
      owned: before,
      exists: (id) => records.some((record) => kind.idOf(record) === id),
      meant: () => {
        const meant = records.filter((record) => !taken.has(kind.idOf(record)) && kind.means(record, declared, names))
        // Of two records that it could mean it takes none.
        return meant.length === 1 && meant[0] !== undefined ? kind.idOf(meant[0]) : null
      }
    })
    if (step.action === "keep") return { id: step.id, outcome: done.keep }
    if (step.action === "replace") yield* kind.remove(inner, step.id)
    const id = step.action === "create" || step.action === "replace" ? yield* kind.create(inner, name, fields) : step.id
    const data = dataOf(declared)
    if (id === ("id" in step ? step.id : null)) yield* kind.change(inner, id, name, fields, before?.data.filter((member) => !data.includes(member)) ?? [])
    const note: FileOwned.FileOwned = { kind: kind.kind, name, id, file, digest: entry.digest, fixed: entry.fixed, data }
    yield* keep(note)
    // A later entry must not mean the same record.
    owned.set(FileOwned.keyOf(kind.kind, name), note)
    return { id, outcome: done[step.action] }
  })

  const drop = Effect.fnUntraced(function*(inner: Inner, kind: Kind, owned: FileOwned.FileOwned) {
    const records = yield* kind.list(inner)
    if (records.some((record) => kind.idOf(record) === owned.id)) yield* kind.remove(inner, owned.id)
    yield* forget(owned)
  })

  /** What an entry meets is its outcome; a store that fails ends the whole, because nothing further could be told from it. */
  const told = <A>(kind: Kind["kind"], name: string, work: Effect.Effect<A, ToolFailure | StoreError>, action: (done: A) => Outcome["action"]) =>
    Effect.map(work, (value): Outcome => ({ kind, name, action: action(value), message: null })).pipe(
      Effect.catchTag("ToolFailure", ({ message }) => Effect.succeed<Outcome>({ kind, name, action: "refused", message }))
    )

  const apply: Applier = (file, declared, renew) => Effect.gen(function*() {
    const inner = innerOf({ key: null, acts: { kind: "local", file } })
    // Another process may have applied it a moment ago.
    yield* configuration.reload
    const outcomes: Array<Outcome> = []
    const connections = new Map<string, string>()
    const owned = new Map(FileOwned.read(yield* documents.list(FileOwned.KIND)).map((one) => [FileOwned.keyOf(one.kind, one.name), one]))
    for (const kind of kinds) {
      for (const one of declared) {
        if (one.kind !== kind.kind) continue
        yield* renew
        outcomes.push(yield* told(one.kind, one.name, applyOne(inner, file, kind, one, owned, connections), ({ id, outcome }) => {
          if (one.kind === "connection") connections.set(one.name, id)
          return outcome
        }))
      }
    }
    for (const kind of kinds.toReversed()) {
      const all = [...owned.values()].filter((one) => one.kind === kind.kind)
      const still = new Set(declared.filter((one) => one.kind === kind.kind).map(({ name }) => name))
      for (const gone of Plan.dropped(all, still)) outcomes.push(yield* told(gone.kind, gone.name, drop(inner, kind, gone), () => "removed"))
    }
    return outcomes
  })
  return apply
})
