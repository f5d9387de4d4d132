/**
 * Reads prices and facts of models from public lists and stores them for all nodes. A list that cannot be read, or that names no model of this
 * gateway's providers, leaves what was stored as it is.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Semaphore from "effect/Semaphore"
import { Configuration } from "#actors/ports/Configuration.ts"
import { DocumentStore } from "#actors/ports/Stores.ts"
import type { StoreError } from "#actors/ports/StoreError.ts"
import * as SyncedModels from "#schemas/catalogue/SyncedModels.ts"
import { PublicError } from "#schemas/errors.ts"
import type { Price } from "#schemas/Provider.ts"
import type { Kind } from "#src/inference/lane/bodies/jobs.ts"
import { Bodies } from "#src/inference/lane/services/Bodies.ts"
import * as Pricing from "#src/providers/pricing.ts"
import * as Changes from "./changes.ts"
import type { ListJob, ListRead } from "./readJob.ts"
import * as SourceFile from "./SourceFile.ts"
import { SyncOptions } from "./SyncOptions.ts"
import * as Turns from "./turns.ts"

/** No source could be read. */
export class SyncFailure extends Schema.TaggedError<SyncFailure>()("SyncFailure", { message: Schema.String }) {}

export interface Outcome {
  readonly modelCount: number
  readonly providerCount: number
  readonly warnings: ReadonlyArray<string>
  /** The entries by `<provider>/<model>`, of all sources; the first source's count. */
  readonly entries: ReadonlyMap<string, unknown>
  /** Something that was stored is another now. */
  readonly changed: boolean
}

/** Why a list is read. Nothing is stored of a trial; a failure of the schedule alone makes the schedule wait. */
export type Occasion = "trial" | "request" | "schedule"

export interface SourceStatus extends SyncedModels.State {
  readonly source: SyncedModels.Source
}

export class CatalogueSync extends Context.Service<CatalogueSync, {
  readonly sync: (subject: SyncedModels.Subject, sources: ReadonlyArray<SyncedModels.Source>, occasion: Occasion) => Effect.Effect<Outcome, SyncFailure | StoreError>
  readonly stored: (subject: SyncedModels.Subject) => Effect.Effect<ReadonlyArray<SourceStatus>, StoreError>
  readonly turn: (subject: SyncedModels.Subject) => Effect.Effect<Turns.Turn, StoreError>
  /** Answers how many sources were removed. */
  readonly clear: (subject: SyncedModels.Subject) => Effect.Effect<number, StoreError>
}>()("gateway/pricing/CatalogueSync") {}

const reading: Kind<ListJob, ListRead> = { module: new URL("./readJob.ts", import.meta.url).href }
const readState = Schema.decodeUnknownOption(SyncedModels.State)

interface Read {
  readonly source: SyncedModels.Source
  readonly list: ListRead
  readonly entries: Readonly<Record<string, Schema.Json>>
  readonly warnings: ReadonlyArray<string>
}

export const make = Effect.gen(function*() {
  const bodies = yield* Bodies
  const configuration = yield* Configuration
  const documents = yield* DocumentStore
  const { urls } = yield* SyncOptions
  const bytesAt = yield* SourceFile.make
  const turns = yield* Semaphore.make(1)

  const parse = (job: ListJob) => Effect.flatMap(
    Effect.callback<ListRead | PublicError>((resume) => bodies.ask(reading, job, (said) => resume(Effect.succeed(said)))),
    (said) => said instanceof PublicError ? Effect.fail("it is no JSON object, or too large to be read") : Effect.succeed(said)
  )

  const read = (source: SyncedModels.Source, subject: SyncedModels.Subject) => Effect.gen(function*() {
    const bytes = yield* bytesAt(urls[source])
    const list = yield* parse({ id: bodies.nextId(), bytes, source, subject })
    if (list.modelCount === 0) return yield* Effect.fail("it names no model of a provider that this gateway knows")
    const entries = JSON.parse(Buffer.from(list.entries).toString("utf8")) as Readonly<Record<string, Schema.Json>>
    const leaps = subject === "prices" ? Changes.leaps(Pricing.viewOf(configuration.current()), new Map(Object.entries(entries as Readonly<Record<string, Price>>))) : []
    return { source, list, entries, warnings: [...leaps, ...list.warnings] } satisfies Read
  })

  const stateOf = Effect.fnUntraced(function*(key: string) {
    const state = readState(yield* documents.get(SyncedModels.stateKind, key))
    return state._tag === "Some" ? state.value : null
  })

  const putTurn = (subject: SyncedModels.Subject, turn: Turns.Turn) => documents.put(SyncedModels.turnKind, subject, turn)
  const turn = (subject: SyncedModels.Subject) => Effect.map(documents.get(SyncedModels.turnKind, subject), Turns.turnOf)

  /** Answers whether the entries are others than before. */
  const store = Effect.fnUntraced(function*(subject: SyncedModels.Subject, { entries, list, source, warnings }: Read, now: number) {
    const key = `${subject}/${source}`
    const before = yield* stateOf(key)
    const isSame = before?.revision === list.revision
    if (!isSame) yield* documents.put(SyncedModels.entriesKind, key, entries)
    yield* documents.put(SyncedModels.stateKind, key, {
      revision: list.revision, syncedAt: new Date(now).toISOString(), modelCount: list.modelCount, providerCount: list.providerCount, warnings
    } satisfies SyncedModels.State)
    return !isSame
  })

  const sync = Effect.fnUntraced(function*(subject: SyncedModels.Subject, sources: ReadonlyArray<SyncedModels.Source>, occasion: Occasion) {
    const results = yield* Effect.forEach(sources, (source) => Effect.match(read(source, subject), {
      onSuccess: (found): Read | string => found, onFailure: (why): Read | string => `${source} was not read: ${why}`
    }))
    const found = results.filter((one) => typeof one !== "string")
    const failures = results.filter((one) => typeof one === "string")
    const now = yield* Clock.currentTimeMillis
    if (failures.length > 0 && occasion === "schedule") {
      yield* Effect.flatMap(turn(subject), ({ failures: before }) => putTurn(subject, { at: now, failures: before + 1, error: failures.join("; ") }))
    }
    if (found.length === 0) return yield* new SyncFailure({ message: failures.join("; ") })
    let changed = false
    if (occasion !== "trial") {
      // One transaction: the entries and their revision stand or fall together.
      changed = yield* configuration.commit(Effect.map(Effect.forEach(found, (one) => store(subject, one, now)), (all) => all.includes(true)))
      if (failures.length === 0) yield* putTurn(subject, { at: now, failures: 0, error: null })
    }
    const entries = new Map(found.toReversed().flatMap((one) => Object.entries(one.entries)))
    return {
      modelCount: entries.size, providerCount: new Set(Array.from(entries.keys(), (key) => key.slice(0, key.indexOf("/")))).size,
      warnings: [...failures, ...found.flatMap(({ warnings }) => warnings)], entries, changed
    } satisfies Outcome
  })

  return CatalogueSync.of({
    sync: (subject, sources, occasion) => Semaphore.withPermits(turns, 1)(sync(subject, sources, occasion)),
    turn,
    stored: Effect.fnUntraced(function*(subject) {
      const states = yield* documents.list(SyncedModels.stateKind)
      return SyncedModels.Source.literals.flatMap((source) => {
        const state = readState(states.get(`${subject}/${source}`))
        return state._tag === "Some" ? [{ source, ...state.value }] : []
      })
    }),
    clear: (subject) => configuration.commit(Effect.map(
      Effect.forEach(SyncedModels.Source.literals, (source) => Effect.andThen(
        documents.remove(SyncedModels.entriesKind, `${subject}/${source}`), documents.remove(SyncedModels.stateKind, `${subject}/${source}`)
      )),
      (removed) => removed.filter(Boolean).length
    ))
  })
})

export const layer = Layer.effect(CatalogueSync, make)
