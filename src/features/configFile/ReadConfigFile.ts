/** The port ConfigFile over a file of this machine. */
import * as fs from "node:fs/promises"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Result from "effect/Result"
import * as Semaphore from "effect/Semaphore"
import { Configuration } from "#actors/ports/Configuration.ts"
import type { StoreError } from "#actors/ports/StoreError.ts"
import { DocumentStore } from "#actors/ports/Stores.ts"
import * as FileOwned from "#schemas/FileOwned.ts"
import { configFileOf } from "#src/platform/configuration/configFile.ts"
import type { Settings } from "#src/platform/configuration/Settings.ts"
import type { Applier } from "./Applier.ts"
import { ConfigFile, ConfigFileError, type Report } from "./ports/ConfigFile.ts"
import { read } from "./read.ts"
import * as Turn from "./Turn.ts"

/** How records are made as a file says: by the management API, which stands on this service. */
export class Appliers extends Context.Service<Appliers, Deferred.Deferred<Applier>>()("gateway/features/configFile/Appliers") {}

const reasonOf = (error: unknown): string => error instanceof Error ? error.message : String(error)

const make = Effect.fnUntraced(function*(settings: Settings["Service"]) {
  const configuration = yield* Configuration
  const documents = yield* DocumentStore
  const appliers = yield* Appliers
  const one = yield* Semaphore.make(1)
  // The embedded database belongs to one process.
  const isAlone = settings.databaseUrl === null
  const file = configFileOf(settings)
  let last: Report | null = null

  /** A start without a file: what another one declared may be changed by operators again. */
  const release: Effect.Effect<Report | null, ConfigFileError | StoreError> = Effect.gen(function*() {
    if (configuration.current().fileOwned.size === 0) return null
    const released = yield* configuration.commit(documents.clear(FileOwned.KIND))
    yield* Effect.logWarning(`No configuration file: ${released} records that one declared stay as they are, and may be changed by the API again.`)
    return null
  })

  const broken = (message: string) => new ConfigFileError({ file: file ?? "", message })
  const text = (from: string) => Effect.tryPromise({
    try: () => fs.readFile(from, "utf8"),
    catch: (error) => broken(`The configuration file ${from} cannot be read: ${reasonOf(error)}`)
  })
  const declaredIn = Effect.fnUntraced(function*(from: string) {
    const content = yield* text(from)
    const declared = yield* Effect.promise(() => read(content, settings.environment))
    if (Result.isSuccess(declared)) return declared.success
    return yield* Effect.fail(broken(`Nothing of the configuration file ${from} was applied:\n${declared.failure.map(({ message, path: at }) => `  ${at}: ${message}`).join("\n")}`))
  })

  const reported = (from: string): Effect.Effect<Report | null, ConfigFileError | StoreError> => Effect.gen(function*() {
    const at = new Date(yield* Clock.currentTimeMillis).toISOString()
    const declared = yield* Effect.tapError(declaredIn(from), ({ message }) => Effect.sync(() => {
      last = { file: from, at, error: message, entries: [] }
    }))
    const applier = yield* Deferred.await(appliers)
    const entries = yield* isAlone ? applier(from, declared, Effect.void) : Turn.within(documents, (renew) => applier(from, declared, renew))
    last = { file: from, at, error: null, entries }
    for (const { kind, message, name } of entries) if (message !== null) yield* Effect.logError(`${from}: the ${kind} '${name}' was refused: ${message}`)
    const changed = entries.filter(({ action }) => action !== "unchanged" && action !== "refused").length
    yield* Effect.logInfo(`${from} is applied: ${entries.length} entries, ${changed} changes`)
    return last
  })

  const unstored = (error: StoreError) => broken(`The configuration file could not be applied whole: ${error.message}`)
  return ConfigFile.of({
    path: file,
    apply: Semaphore.withPermits(one, 1)(Effect.catchTag(file === null ? release : reported(file), "StoreError", (error) => Effect.fail(unstored(error)))),
    last: () => last
  })
})

export const layer = (settings: Settings["Service"]) => Layer.effect(ConfigFile, make(settings)).pipe(
  Layer.provideMerge(Layer.effect(Appliers, Deferred.make<Applier>()))
)
