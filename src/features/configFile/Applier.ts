/** Makes the records as the file declares them, one after the other; what one entry meets does not stop the next. */
import * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"
import { Configuration } from "#actors/ports/Configuration.ts"
import { Secrets } from "#actors/ports/Secrets.ts"
import type { StoreError } from "#actors/ports/StoreError.ts"
import { DocumentStore } from "#actors/ports/Stores.ts"
import * as FileOwned from "#schemas/FileOwned.ts"
import type { Inner, ToolFailure } from "#src/management/inner/Inner.ts"
import * as InnerApi from "#src/management/inner/InnerApi.ts"
import { type Kind, kinds, type Names, namesOf } from "./kinds.ts"
import * as Plan from "./plan.ts"
import type { Outcome } from "./ports/ConfigFile.ts"
import type { Declared } from "./read.ts"

const PURPOSE = "configuration file"

const dataOf = ({ fields: { providerSpecificData } }: Declared): ReadonlyArray<string> =>
  typeof providerSpecificData === "object" && providerSpecificData !== null ? Object.keys(providerSpecificData) : []

const done = { adopt: "adopted", change: "changed", create: "created", keep: "unchanged", replace: "replaced" } as const satisfies Readonly<Record<Plan.Step["action"], Outcome["action"]>>

interface Standing {
  readonly names: Names
  readonly records: ReadonlyArray<Schema.Json>
}

/** What is declared and cannot be applied now. */
type Waiting = Pick<Declared, "kind" | "name">

/** `renew` runs before each entry; the records of those that wait stay as they are. */
export type Applier = (
  file: string, declared: ReadonlyArray<Declared>, renew: Effect.Effect<void, StoreError>, waiting?: ReadonlyArray<Waiting>
) => Effect.Effect<ReadonlyArray<Outcome>, StoreError>

export const make = Effect.gen(function*() {
  const configuration = yield* Configuration
  const documents = yield* DocumentStore
  const secrets = yield* Secrets
  const innerOf = yield* InnerApi.make

  const keep = (owned: FileOwned.FileOwned) => configuration.commit(documents.put(FileOwned.KIND, FileOwned.keyOf(owned.kind, owned.name), owned))
  const forget = ({ kind, name }: FileOwned.FileOwned) => configuration.commit(documents.remove(FileOwned.KIND, FileOwned.keyOf(kind, name)))

  /** What stands of one kind, and what the file's names stand for. */
  const standing = Effect.fnUntraced(function*(inner: Inner, kind: Kind, connections: ReadonlyMap<string, string>) {
    return { names: yield* namesOf(inner, connections), records: yield* kind.list(inner) }
  })

  const applyOne = Effect.fnUntraced(function*(inner: Inner, file: string, kind: Kind, declared: Declared, { names, records }: Standing, owned: Map<string, FileOwned.FileOwned>) {
    const { name } = declared
    const fields = kind.resolved(declared.fields, names)
    const before = owned.get(FileOwned.keyOf(kind.kind, name))
    const entry: Plan.Entry = { name, digest: secrets.mac(PURPOSE, JSON.stringify([fields, file])), fixed: kind.fixed(fields) }
    const step = Plan.step(entry, {
      owned: before,
      exists: (id) => records.some((record) => kind.idOf(record) === id),
      meant: () => {
        const taken = new Set([...owned.values()].filter((one) => one.kind === kind.kind).map((one) => one.id))
        const meant = records.filter((record) => !taken.has(kind.idOf(record)) && kind.means(record, declared, names))
        // Of two records that it could mean it takes none.
        return meant.length === 1 && meant[0] !== undefined ? kind.idOf(meant[0]) : null
      }
    })
    const data = dataOf(declared)
    const noted = Effect.fnUntraced(function*(id: string) {
      const note: FileOwned.FileOwned = { kind: kind.kind, name, id, file, digest: entry.digest, fixed: entry.fixed, data }
      yield* keep(note)
      // A later entry must not mean the same record.
      owned.set(FileOwned.keyOf(kind.kind, name), note)
      return { id, action: done[step.action] }
    })
    switch (step.action) {
      case "keep":
        return { id: step.id, action: done.keep }
      case "create":
        return yield* noted(yield* kind.create(inner, name, fields))
      case "replace": {
        // Where both may stand for a moment, a refusal of the new one loses nothing.
        if (kind.isNameTaken) yield* kind.remove(inner, step.id)
        const id = yield* kind.create(inner, name, fields)
        if (!kind.isNameTaken) yield* kind.remove(inner, step.id)
        return yield* noted(id)
      }
      case "adopt":
      case "change":
        yield* kind.change(inner, step.id, name, fields, before?.data.filter((member) => !data.includes(member)) ?? [])
        return yield* noted(step.id)
    }
  })

  const drop = Effect.fnUntraced(function*(inner: Inner, kind: Kind, owned: FileOwned.FileOwned) {
    const records = yield* kind.list(inner)
    if (records.some((record) => kind.idOf(record) === owned.id)) yield* kind.remove(inner, owned.id)
    yield* forget(owned)
  })

  /** What an entry meets is its outcome; a store that fails ends the whole, because nothing further could be told from it. */
  const told = ({ kind, name }: Pick<Outcome, "kind" | "name">, work: Effect.Effect<Outcome["action"], ToolFailure | StoreError>) =>
    Effect.map(work, (action): Outcome => ({ kind, name, action, message: null })).pipe(
      Effect.catchTag("ToolFailure", ({ message }) => Effect.succeed<Outcome>({ kind, name, action: "refused", message }))
    )

  const apply: Applier = (file, declared, renew, waiting = []) => Effect.gen(function*() {
    const inner = innerOf({ key: null, acts: { kind: "local", file } })
    // Another process may have applied it a moment ago.
    yield* configuration.reload
    const outcomes: Array<Outcome> = []
    const connections = new Map<string, string>()
    const owned = new Map(FileOwned.read(yield* documents.list(FileOwned.KIND)).map((one) => [FileOwned.keyOf(one.kind, one.name), one]))
    // What another gateway declares does not remove what a file does, nor the other way round.
    const before = [...owned.values()].filter((one) => FileOwned.isRemote(one) === FileOwned.isRemote({ file }))
    for (const kind of kinds) {
      const wanted = declared.filter((one) => one.kind === kind.kind)
      if (wanted.length === 0) continue
      const found = yield* Effect.result(standing(inner, kind, connections))
      for (const one of wanted) {
        // Requests are served meanwhile: nothing else of a refused entry waits.
        yield* Effect.yieldNow
        yield* renew
        outcomes.push(yield* told(one, Effect.gen(function*() {
          const { action, id } = yield* applyOne(inner, file, kind, one, yield* Effect.fromResult(found), owned)
          if (one.kind === "connection") connections.set(one.name, id)
          return action
        })))
      }
    }
    for (const kind of kinds.toReversed()) {
      const still = new Set([...declared, ...waiting].filter((one) => one.kind === kind.kind).map(({ name }) => name))
      for (const gone of Plan.dropped(before.filter((one) => one.kind === kind.kind), still)) {
        yield* renew
        outcomes.push(yield* told(gone, Effect.as(drop(inner, kind, gone), "removed" as const)))
      }
    }
    return outcomes
  })
  return apply
})
