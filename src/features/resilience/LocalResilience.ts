/**
 * The `Resilience` of one node: decisions in memory, and a writer that keeps cooldowns on their connections and open breakers as
 * documents, so that a restart does not run into what was known. Writes are gathered, never on the hot path, and a failed one
 * costs nothing but that memory.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FiberSet from "effect/FiberSet"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Supervisor from "#actors/Supervisor.ts"
import { Configuration } from "#actors/ports/Configuration.ts"
import { allModels, CooldownFeed, layerAlone } from "#src/features/resilience/ports/CooldownFeed.ts"
import { Flags } from "#actors/ports/Flags.ts"
import { Resilience } from "#actors/request/ports/Resilience.ts"
import { ResilienceControl } from "#src/features/resilience/ports/ResilienceControl.ts"
import { Turns } from "#actors/request/ports/Turns.ts"
import { ConnectionStore, DocumentStore } from "#actors/ports/Stores.ts"
import type { StoreError } from "#actors/ports/StoreError.ts"
import * as ProviderBreaker from "#actors/resilience/ProviderBreaker.ts"
import * as Expired from "#src/features/resilience/expired.ts"
import { marksOf } from "#src/features/resilience/ports/marks.ts"
import * as StoredBreaker from "#src/features/resilience/storedBreaker.ts"
import { ClockSteps, storedCooldown } from "#src/features/resilience/local/places.ts"
import type { Outside } from "#src/features/resilience/ports/resilienceSettings.ts"
import * as NodeVolumes from "#src/features/resilience/local/NodeVolumes.ts"
import { Tables } from "#src/features/resilience/local/Tables.ts"
import { WaitingRoom } from "#src/features/resilience/local/WaitingRoom.ts"

/** Kind of the documents that hold open breakers, by provider. */
const breakerKind = "breaker"
/** How long changes are gathered before the next write. */
const gather = "250 millis"
/** How long a stop waits for the last write. */
const finalWrite = "1 second"

/** How often the living nodes are counted. */
const countEvery = "2 seconds"

/** What the environment says (RATE_LIMIT_MAX_WAIT_MS, RATE_LIMIT_MAX_QUEUE_DEPTH); null = unset. */
export interface Options extends Pick<Outside, "maxWaitMs" | "maxQueueDepth"> {
  /** Counts the nodes that live; absent = this one is alone. */
  readonly countNodes?: Effect.Effect<number, StoreError>
}

export const make = Effect.fnUntraced(function*(options: Options) {
  const feed = yield* CooldownFeed
  const flags = yield* Flags
  const configuration = yield* Configuration
  const connections = yield* ConnectionStore
  const documents = yield* DocumentStore
  const clock = yield* Clock.Clock
  const fork = yield* FiberSet.makeRuntime<never, void, never>()
  const now = () => clock.currentTimeMillisUnsafe()
  let cooled = new Set<string>()
  let tripped = new Set<string>()
  let writing = false
  let nodes = 1

  const steps = new ClockSteps()
  const later = (): void => {
    steps.note(now())
    if (writing) return
    writing = true
    fork(Supervisor.supervised("cooldown records", writer))
  }
  const tables = new Tables(configuration.current(), {
    connection: (id, { guessed, level, reason, status, until }, at) => {
      cooled.add(id)
      const place = tables.place(id)
      if (place !== undefined) place.unwritten = true
      later()
      feed.cool({ connectionId: id, forMs: Math.max(0, until - at), until, level, reason, status, guessed })
    },
    provider: (provider, { guessed, level, reason, status, until }, at) => feed.lock({
      provider, connectionId: null, model: allModels, forMs: Math.max(0, until - at), failures: level, status, rest: { level, reason, guessed }, whole: true
    }),
    rest: ({ id, provider }, model, { guessed, level, reason, status, until }, at) => {
      steps.note(now())
      feed.lock({ provider, connectionId: id, model, forMs: Math.max(0, until - at), failures: level, status, rest: { level, reason, guessed } })
    },
    lockout: ({ id, provider }, model, lockout, at) => {
      steps.note(now())
      feed.lock({
        provider, connectionId: id, model,
        forMs: lockout === null ? 0 : Math.max(0, lockout.until - at), failures: lockout?.failures ?? 0, status: lockout?.status ?? 0
      })
    },
    expired: (id, message, at) => void fork(Expired.mark(configuration, connections, id, message, at)),
    breaker: (provider) => {
      tripped.add(provider)
      later()
    }
  }, {
    maxWaitMs: options.maxWaitMs, maxQueueDepth: options.maxQueueDepth, autoQueue: () => flags.isOn("RATE_LIMIT_AUTO_ENABLE"),
    softLockout: () => flags.isOn("AMBIGUOUS_401_SOFT_LOCKOUT"), nodes: () => nodes
  })
  const used = NodeVolumes.make(configuration, tables)
  const run = Effect.runForkWith(yield* Effect.context<never>())
  const room = new WaitingRoom(tables, {
    now,
    later: (ms, ring) => {
      const fiber = fork(Effect.delay(Effect.sync(ring), ms))
      return () => fiber.interruptUnsafe()
    },
    soon: queueMicrotask,
    defect: (cause) => {
      run(Effect.logError("A turn of the waiting room failed", cause))
    }
  }, { byKey: flags.isOn("GATEWAY_CHAT_VIRTUAL_LANES") })

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
    const { failures, lastFailureAt, lastStatus, only, openUntil } = place.breaker
    return documents.put(breakerKind, provider, { openUntil, failures, only, lastFailureAt, lastStatus, profile: place.profile })
  }

  /** Everything that waits, in one commit: the snapshot is rebuilt once for a whole burst. */
  const flush = Effect.gen(function*() {
    const ids = cooled
    const providers = tripped
    cooled = new Set()
    tripped = new Set()
    yield* Effect.forEach(providers, writeBreaker, { discard: true })
    if (ids.size === 0) return
    yield* Effect.onExit(configuration.commit(Effect.forEach(ids, writeConnection, { discard: true })), (exit) => Effect.sync(() => {
      // What began while it was written has its own turn; what could not be written is only known here.
      for (const id of ids) if (!cooled.has(id)) tables.written(id, Exit.isSuccess(exit))
    }))
  }).pipe(Effect.catch((error) => Effect.logWarning(`Cooldowns and breakers were not stored: ${error.message}`)))

  const writer: Effect.Effect<void> = Effect.gen(function*() {
    while (cooled.size > 0 || tripped.size > 0) {
      yield* Effect.sleep(gather)
      yield* flush
    }
    writing = false
  })

  const start = now()
  for (const [provider, value] of yield* documents.list(breakerKind)) {
    Option.map(StoredBreaker.read(value), ({ profile, ...stored }) => {
      // A clock that was set back must not prolong it.
      const openUntil = Math.min(stored.openUntil, start + tables.effective.breaker[profile].resetTimeoutMs)
      tables.restore(provider, { ...ProviderBreaker.fresh, ...stored, openUntil }, profile)
    })
  }
  yield* feed.hear({
    cooled: (notice) => tables.receiveCooldown(notice, now()),
    locked: (notice) => tables.receiveLockout(notice, now()),
    cleared: ({ connectionId, model, provider }) => void tables.clearLockouts(provider, model, connectionId, now())
  })
  const configured = (): void => {
    tables.configured(configuration.current())
    used.changed()
  }
  const quiet = configuration.onChange(configured)
  if (options.countNodes !== undefined) {
    const counted = Effect.map(options.countNodes, (count) => {
      if (count === nodes) return
      nodes = count
      configured()
    })
    // What cannot be counted now is as it was.
    fork(Supervisor.supervised("node count", Effect.andThen(Effect.ignore(counted), Effect.sleep(countEvery))))
  }
  // Before the fibers of the set are interrupted: what was learned last is written, too, unless the store holds the stop up.
  yield* Effect.addFinalizer(() => Effect.andThen(
    Effect.timeoutOrElse(Effect.interruptible(flush), { duration: finalWrite, orElse: () => Effect.void }),
    Effect.sync(quiet)
  ))

  /** The clock is asked of what is blocked alone: a call that may go costs nothing more. */
  const check: typeof tables.check = (target, at, ownFailures) => {
    const blocked = tables.check(target, at, ownFailures)
    const step = blocked === null ? 0 : steps.stepOf(now())
    if (step === 0) return blocked
    tables.setBack(step, now())
    return tables.check(target, now(), ownFailures)
  }

  return Context.make(Resilience, {
    check, enter: tables.enter, spent: used.spent, health: tables.health
  }).pipe(Context.add(ResilienceControl, {
    settings: () => tables.effective.settings,
    breakers: (at) => tables.breakers(at),
    cooldowns: (at) => tables.cooldowns(at),
    lockouts: (at) => tables.lockouts(at),
    places: () => tables.places(),
    models: () => tables.models(),
    inFlight: () => tables.inFlight(),
    resetBreakers: (provider, at) => {
      if (tables.clearLockouts(provider, allModels, null, at) > 0) feed.clear({ provider, model: allModels, connectionId: null })
      return tables.resetBreakers(provider, at)
    },
    clearLockouts: (provider, model, connectionId, at) => {
      feed.clear({ provider, model, connectionId })
      return tables.clearLockouts(provider, model, connectionId, at)
    },
    resetPlaces: () => tables.resetPlaces()
  }), Context.merge(used.context), Context.add(Turns, { join: room.join, mayJoin: room.mayJoin, pause: room.pause, close: room.close }))
})

export const layerWith = (options: Options) => Layer.effectContext(make(options))

/** Alone, and without a word of the environment. */
export const layer = layerWith({ maxWaitMs: null, maxQueueDepth: null }).pipe(Layer.provide(layerAlone))
