/**
 * The `Resilience` of one node: decisions in memory, and a writer that keeps cooldowns on their connections and open breakers as
 * documents, so that a restart does not run into what was known. Writes are gathered, never on the hot path, and a failed one
 * costs nothing but that memory.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as FiberSet from "effect/FiberSet"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { Configuration } from "#actors/ports/Configuration.ts"
import { Resilience } from "#actors/ports/Resilience.ts"
import { ResilienceControl } from "#actors/ports/ResilienceControl.ts"
import { ConnectionStore, DocumentStore } from "#actors/ports/Stores.ts"
import type { StoreError } from "#actors/ports/StoreError.ts"
import * as Breaker from "#actors/ProviderBreaker.ts"
import type { Connection } from "#schemas/records/Connection.ts"
import { ProfileName } from "#schemas/records/ResilienceSettings.ts"
import { storedCooldown } from "./places.ts"
import { isTerminal, Tables } from "./Tables.ts"

/** Kind of the documents that hold open breakers, by provider. */
export const breakerKind = "breaker"
/** Changes are gathered for so long before the next write. */
const gather = "250 millis"
/** How long a stop waits for the last write. */
const lastWords = "1 second"

const StoredBreaker = Schema.Struct({
  openUntil: Schema.Finite,
  failures: Schema.Int,
  lastFailureAt: Schema.NullOr(Schema.Finite),
  lastStatus: Schema.Int,
  profile: ProfileName
})
const readBreaker = Schema.decodeUnknownOption(StoredBreaker)

type Marks = Partial<Pick<Connection, "rateLimitedUntil" | "backoffLevel" | "testStatus">>

/**
 * What must change in a connection's record so that it says this cooldown: a longer one of somebody else stands, and a terminal
 * status is never overwritten (supplement 1.2). `ours` is what this node wrote last. Empty when the record says it already.
 */
export const marksOf = (
  record: Connection,
  cooldown: { readonly until: number; readonly level: number },
  ours: { readonly until: number },
  now: number
): Marks => {
  const stored = storedCooldown(record)
  const running = now < cooldown.until
  const foreign = stored.until > now && stored.until !== ours.until
  const until = Math.max(running ? cooldown.until : 0, foreign ? stored.until : 0)
  const cools = until > now
  const status = isTerminal(record) ? record.testStatus : cools ? "unavailable" : record.testStatus === "unavailable" ? "active" : record.testStatus
  return {
    ...(until === stored.until ? {} : { rateLimitedUntil: until === 0 ? null : new Date(until).toISOString() }),
    ...(cooldown.level === record.backoffLevel ? {} : { backoffLevel: cooldown.level }),
    ...(status === record.testStatus ? {} : { testStatus: status })
  }
}

export const make = Effect.gen(function*() {
  const configuration = yield* Configuration
  const connections = yield* ConnectionStore
  const documents = yield* DocumentStore
  const clock = yield* Clock.Clock
  const fork = yield* FiberSet.makeRuntime<never, void, never>()
  const now = () => clock.currentTimeMillisUnsafe()
  let cooled = new Set<string>()
  let tripped = new Set<string>()
  let writing = false

  const later = (): void => {
    if (writing) return
    writing = true
    fork(writer)
  }
  const tables = new Tables(configuration.current(), {
    connection: (id) => {
      cooled.add(id)
      later()
    },
    breaker: (provider) => {
      tripped.add(provider)
      later()
    }
  })

  const writeConnection = Effect.fnUntraced(function*(id: string) {
    const place = tables.place(id)
    const record = place === undefined ? null : yield* connections.get(id)
    if (place === undefined || record === null) return
    const marks = marksOf(record, place.cooldown, place.written, now())
    if (Object.keys(marks).length > 0) yield* connections.patch(id, marks)
    place.written = storedCooldown({ ...record, ...marks })
  })

  const writeBreaker = (provider: string): Effect.Effect<unknown, StoreError> => {
    const place = tables.providerPlace(provider)
    if (place === undefined || place.breaker.openUntil === null) return documents.remove(breakerKind, provider)
    const { failures, lastFailureAt, lastStatus, openUntil } = place.breaker
    return documents.put(breakerKind, provider, { openUntil, failures, lastFailureAt, lastStatus, profile: place.profile })
  }

  /** Everything that waits, in one commit: the snapshot is rebuilt once for a whole burst. */
  const flush = Effect.gen(function*() {
    const ids = cooled
    const providers = tripped
    cooled = new Set()
    tripped = new Set()
    yield* Effect.forEach(providers, writeBreaker, { discard: true })
    if (ids.size > 0) yield* configuration.commit(Effect.forEach(ids, writeConnection, { discard: true }))
  }).pipe(Effect.catch((error) => Effect.logWarning(`Cooldowns and breakers were not stored: ${error.message}`)))

  const writer: Effect.Effect<void> = Effect.gen(function*() {
    while (cooled.size > 0 || tripped.size > 0) {
      yield* Effect.sleep(gather)
      yield* flush
    }
  }).pipe(Effect.ensuring(Effect.sync(() => {
    writing = false
  })))

  const start = now()
  for (const [provider, value] of yield* documents.list(breakerKind)) {
    Option.map(readBreaker(value), ({ profile, ...stored }) => {
      // A clock that was set back must not prolong it.
      const openUntil = Math.min(stored.openUntil, start + tables.effective.breaker[profile].resetTimeoutMs)
      tables.restore(provider, { ...Breaker.fresh, ...stored, openUntil }, profile)
    })
  }
  const quiet = configuration.onChange((snapshot) => tables.configured(snapshot))
  // Before the fibers of the set are interrupted: what was learned last is written, too, unless the store holds the stop up.
  yield* Effect.addFinalizer(() => Effect.andThen(
    Effect.timeoutOrElse(Effect.interruptible(flush), { duration: lastWords, orElse: () => Effect.void }),
    Effect.sync(quiet)
  ))

  return Context.make(Resilience, {
    check: tables.check, enter: tables.enter, health: tables.health, onFree: tables.onFree
  }).pipe(Context.add(ResilienceControl, {
    settings: () => tables.effective.settings,
    breakers: (at) => tables.breakers(at),
    cooldowns: (at) => tables.cooldowns(at),
    lockouts: (at) => tables.lockouts(at),
    places: () => tables.places(),
    inFlight: () => tables.inFlight(),
    resetBreakers: (provider, at) => tables.resetBreakers(provider, at),
    clearLockouts: (provider, model, connectionId, at) => tables.clearLockouts(provider, model, connectionId, at),
    resetPlaces: () => tables.resetPlaces()
  }))
})

export const layer = Layer.effectContext(make)
