/** The port ConfigFile over a file of this machine. */
import * as fs from "node:fs/promises"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Result from "effect/Result"
import type * as Schema from "effect/Schema"
import * as Semaphore from "effect/Semaphore"
import { Configuration } from "#actors/ports/Configuration.ts"
import type { StoreError } from "#actors/ports/StoreError.ts"
import { DocumentStore } from "#actors/ports/Stores.ts"
import { messageOf } from "#actors/thrown.ts"
import * as FileOwned from "#schemas/FileOwned.ts"
import { configFileOf } from "#src/platform/configuration/configFile.ts"
import type { Settings } from "#src/platform/configuration/Settings.ts"
import type { Applier } from "./Applier.ts"
import { ConfigFile, ConfigFileError, type Report } from "./ports/ConfigFile.ts"
import * as Following from "./following.ts"
import { type Declared, read } from "./read.ts"
import * as Turn from "./Turn.ts"

/** How records are made as a file says: by the management API, which stands on this service. */
export class Appliers extends Context.Service<Appliers, Deferred.Deferred<Applier>>()("gateway/features/configFile/Appliers") {}

/** Faults of another gateway's declarations that a message names. */
const FAULTS_TOLD = 10

const make = Effect.fnUntraced(function*(settings: Settings["Service"]) {
  const configuration = yield* Configuration
  const documents = yield* DocumentStore
  const appliers = yield* Appliers
  const one = yield* Semaphore.make(1)
  // The embedded database belongs to one process.
  const isAlone = settings.databaseUrl === null
  const file = configFileOf(settings)
  let last: Report | null = null

  const forget = (all: ReadonlyArray<FileOwned.FileOwned>) => configuration.commit(
    Effect.forEach(all, ({ kind, name }) => documents.remove(FileOwned.KIND, FileOwned.keyOf(kind, name)), { discard: true })
  )
  const ownedBy = (isRemote: boolean) => [...configuration.current().fileOwned.values()].filter((owned) => FileOwned.isRemote(owned) === isRemote)

  /** A start without a file: what another one declared may be changed by operators again. */
  const release: Effect.Effect<Report | null, ConfigFileError | StoreError> = Effect.gen(function*() {
    const declared = ownedBy(false)
    if (declared.length === 0) return null
    yield* forget(declared)
    yield* Effect.logWarning(`No configuration file: ${declared.length} records that one declared stay as they are, and may be changed by the API again.`)
    return null
  })

  const broken = (message: string) => new ConfigFileError({ file: file ?? "", message })
  const text = (from: string) => Effect.tryPromise({
    try: () => fs.readFile(from, "utf8"),
    catch: (error) => broken(`The configuration file ${from} cannot be read: ${messageOf(error)}`)
  })
  const declaredIn = Effect.fnUntraced(function*(from: string) {
    const content = yield* text(from)
    const declared = yield* Effect.promise(() => read(content, settings.environment))
    if (Result.isSuccess(declared)) return declared.success
    return yield* Effect.fail(broken(`Nothing of the configuration file ${from} was applied:\n${declared.failure.map(({ message, path: at }) => `  ${at}: ${message}`).join("\n")}`))
  })

  const applied = Effect.fnUntraced(function*(from: string, declared: ReadonlyArray<Declared>, waiting: ReadonlyArray<Following.Waiting> = []) {
    const applier = yield* Deferred.await(appliers)
    return yield* isAlone ? applier(from, declared, Effect.void, waiting) : Turn.within(documents, (renew) => applier(from, declared, renew, waiting))
  })

  const followed = (address: string, config: Readonly<Record<string, Schema.Json>>): Effect.Effect<Report, ConfigFileError | StoreError> => Effect.gen(function*() {
    if (file !== null) return yield* Effect.fail(broken(`The configuration file ${file} declares the records of this gateway; it follows no other`))
    const { content, environment, waiting } = Following.follow(config, settings.environment)
    const declared = yield* Effect.promise(() => read(JSON.stringify(content), environment))
    if (Result.isFailure(declared)) {
      return yield* Effect.fail(broken(`Nothing of ${address} was applied: ${declared.failure.slice(0, FAULTS_TOLD).map(({ message, path: at }) => `${at}: ${message}`).join("; ")}`))
    }
    const entries = yield* applied(address, declared.success, waiting)
    const refused = waiting.map(({ kind, message, name }) => ({ kind, name, action: "refused" as const, message }))
    return { file: address, at: new Date(yield* Clock.currentTimeMillis).toISOString(), error: null, entries: [...entries, ...refused] }
  })

  const reported = (from: string): Effect.Effect<Report | null, ConfigFileError | StoreError> => Effect.gen(function*() {
    const at = new Date(yield* Clock.currentTimeMillis).toISOString()
    const declared = yield* Effect.tapError(declaredIn(from), ({ message }) => Effect.sync(() => {
      last = { file: from, at, error: message, entries: [] }
    }))
    const entries = yield* applied(from, declared)
    last = { file: from, at, error: null, entries }
    for (const { kind, message, name } of entries) if (message !== null) yield* Effect.logError(`${from}: the ${kind} '${name}' was refused: ${message}`)
    const changed = entries.filter(({ action }) => action !== "unchanged" && action !== "refused").length
    yield* Effect.logInfo(`${from} is applied: ${entries.length} entries, ${changed} changes`)
    return last
  })

  const unstored = (error: StoreError) => broken(`The configuration file could not be applied whole: ${error.message}`)
  const inTurn = <A>(work: Effect.Effect<A, ConfigFileError | StoreError>): Effect.Effect<A, ConfigFileError> =>
    Semaphore.withPermits(one, 1)(Effect.catchTag(work, "StoreError", (error) => Effect.fail(unstored(error))))
  return ConfigFile.of({
    path: file,
    apply: inTurn(file === null ? release : reported(file)),
    follow: (address, config) => inTurn(followed(address, config)),
    unfollow: inTurn(Effect.suspend(() => {
      const declared = ownedBy(true)
      return Effect.as(declared.length === 0 ? Effect.void : forget(declared), declared.length)
    })),
    last: () => last
  })
})

export const layer = (settings: Settings["Service"]) => Layer.effect(ConfigFile, make(settings)).pipe(
  Layer.provideMerge(Layer.effect(Appliers, Deferred.make<Applier>()))
)
