/**
 * The response cache of one node: memory first, then the tier that nodes share, then the durable one. Writes to the lower tiers
 * are made in batches off the request path; a tier that does not answer is skipped for a short time, and a look-up continues
 * without it.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as FiberSet from "effect/FiberSet"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Semaphore from "effect/Semaphore"
import * as Supervisor from "#actors/Supervisor.ts"
import { Configuration, type Snapshot } from "#actors/ports/Configuration.ts"
import { type CacheConfig, type CachedAnswer, type Forgotten, ResponseCache, ResponseCacheStore, SharedCacheTier } from "#src/features/cache/ports/ResponseCache.ts"
import type { StoreError } from "#actors/ports/StoreError.ts"
import { MemoryCache } from "./MemoryCache.ts"
import * as Rounds from "#src/platform/structures/Rounds.ts"

/** What holds while no setting says otherwise. */
export interface Options {
  readonly maxEntries: number
  readonly maxBytes: number
  readonly ttlMs: number
}

/** Longest look-up, ms; then the request continues without it. A model's answer takes seconds: a slow database is worth a wait. */
const lookUpMs = { shared: 50, durable: 250 } as const
/** A tier that failed is not used for this long, ms. */
const restMs = 1_000
/** Between two writes to the durable tier, ms. */
const writeEveryMs = 500
/** Answers that wait for the durable tier; more are not kept there. */
const maxBacklog = 1_000
/** Bytes of those. */
const maxBacklogBytes = 16 * 1024 * 1024
/** Answers per statement. */
const batchSize = 100
/** Between two sweeps of the durable tier, ms. */
const sweepEveryMs = 60_000
/** Answers that the durable tier keeps. */
const maxStored = 10_000

const numberIn = (settings: Snapshot["settings"], name: string, otherwise: number): number => {
  const value = settings.get(name)
  return typeof value === "number" && value >= 0 ? value : otherwise
}

/** A tier that failed a moment ago, or took too long. */
class Patience {
  private readonly now: () => number
  private until = 0
  constructor(now: () => number) {
    this.now = now
  }
  get rests(): boolean {
    return this.now() < this.until
  }
  failed(): void {
    this.until = this.now() + restMs
  }
}

export const make = Effect.fnUntraced(function*(options: Options) {
  const clock = yield* Clock.Clock
  const configuration = yield* Configuration
  const store = yield* ResponseCacheStore
  const shared = Option.getOrNull(yield* Effect.serviceOption(SharedCacheTier))
  const now = (): number => clock.currentTimeMillisUnsafe()

  const configOf = ({ settings }: Snapshot): CacheConfig => ({
    enabled: settings.get("semanticCacheEnabled") !== false,
    maxEntries: numberIn(settings, "semanticCacheMaxSize", options.maxEntries),
    maxBytes: options.maxBytes,
    ttlMs: numberIn(settings, "semanticCacheTTL", options.ttlMs)
  })
  let config = configOf(configuration.current())
  const unsubscribe = configuration.onChange((snapshot) => {
    config = configOf(snapshot)
  })
  yield* Effect.addFinalizer(() => Effect.sync(unsubscribe))

  const fork = yield* FiberSet.makeRuntime<never, void, never>()
  const lock = yield* Semaphore.make(1)
  const memory = new MemoryCache(() => config)
  const storeRests = new Patience(now)
  const sharedRests = new Patience(now)
  let backlog: Array<CachedAnswer> = []
  let backlogBytes = 0
  /** What a write has begun with. */
  let begun: ReadonlyArray<CachedAnswer> = []
  /** Counts what was forgotten: an answer that was read before it is not kept in memory. */
  let forgets = 0
  let hitsOf = new Map<string, number>()
  const figures = { hits: 0, misses: 0, tokensSaved: 0, costSavedUsd: 0, lost: 0 }

  shared?.onRemoved((signatures) => {
    forgets++
    if (signatures === null) memory.forget({ _tag: "All" })
    else for (const signature of signatures) memory.delete(signature)
    const isGone = ({ signature }: CachedAnswer): boolean => signatures === null || signatures.includes(signature)
    // The node that forgets has written what waited on it, not what waits here.
    backlog = backlog.filter((answer) => !isGone(answer))
    backlogBytes = backlog.reduce((bytes, { body }) => bytes + body.length, 0)
    const late = begun.filter(isGone)
    if (late.length > 0) fork(removeAgain(late))
  })

  const lookUp = (patience: Patience, withinMs: number, find: Effect.Effect<CachedAnswer | null, StoreError>): Effect.Effect<CachedAnswer | null> =>
    Effect.suspend(() => patience.rests ? Effect.succeed(null) : find.pipe(
      Effect.timeoutOption(withinMs),
      Effect.catchTag("StoreError", () => Effect.succeedNone),
      Effect.map((found) => {
        if (Option.isSome(found)) return found.value
        patience.failed()
        return null
      })
    ))

  const keep = (answer: CachedAnswer | null, before: number): CachedAnswer | null => {
    if (answer === null || answer.expiresAt <= now()) return null
    if (before === forgets) memory.set(answer)
    return answer
  }

  const find = (signature: string): Effect.Effect<CachedAnswer | null> => Effect.suspend(() => {
    const before = forgets
    const durable = Effect.suspend(() => lookUp(storeRests, lookUpMs.durable, store.find(signature, now())))
    const found = shared === null
      ? durable
      : Effect.flatMap(lookUp(sharedRests, lookUpMs.shared, shared.find(signature)), (answer) => answer === null ? durable : Effect.succeed(answer))
    return Effect.map(found, (answer) => keep(answer, before))
  })

  const logLost = (error: StoreError) => Effect.logWarning(`Cached answers were not stored: ${error.message}`)

  /** What one turn writes, one after the other; what cannot be written is given up, because it can be asked for again. */
  const write = lock.withPermits(1)(Effect.suspend(() => {
    const answers = backlog
    const hits = [...hitsOf].map(([signature, count]) => ({ signature, hits: count }))
    backlog = []
    backlogBytes = 0
    begun = answers
    hitsOf = new Map()
    const batches: Array<ReadonlyArray<CachedAnswer>> = []
    for (let i = 0; i < answers.length; i += batchSize) batches.push(answers.slice(i, i + batchSize))
    return Effect.forEach(batches, (batch) => store.put(batch).pipe(Effect.catchTag("StoreError", (error) => {
      figures.lost += batch.length
      storeRests.failed()
      return logLost(error)
    })), { discard: true }).pipe(
      Effect.andThen(hits.length === 0 ? Effect.void : Effect.ignore(store.noteHits(hits))),
      Effect.ensuring(Effect.sync(() => {
        begun = []
      }))
    )
  }))

  /** Behind the write that has begun with them. */
  const removeAgain = (answers: ReadonlyArray<CachedAnswer>): Effect.Effect<void> =>
    lock.withPermits(1)(Effect.forEach(answers, ({ signature }) => Effect.ignore(store.remove({ _tag: "Signature", signature })), { discard: true }))

  /** All that was put so far is written. In a fiber of its own: a reader that leaves must not take with it what waited to be written. */
  const written = Effect.suspend(() => Fiber.join(fork(write)))

  const writing = yield* Rounds.make("cache writes", () => backlog.length > 0 || hitsOf.size > 0, writeEveryMs, write)
  yield* Supervisor.loop("cache eviction", Effect.delay(Effect.ignore(Effect.suspend(() => store.sweep(now(), maxStored))), sweepEveryMs))
  yield* Effect.addFinalizer(() => write)
  const runShared = yield* Effect.map(Effect.context<never>(), Effect.runForkWith)

  const forget = (what: Forgotten): Effect.Effect<number, StoreError> => Effect.gen(function*() {
    memory.forget(what)
    // What waits to be written would come back.
    yield* written
    const signatures = yield* store.remove(what)
    forgets++
    for (const signature of signatures) memory.delete(signature)
    // The shared tier knows only signatures, and may hold what the durable one has not: it is filled again from there.
    if (shared !== null) yield* shared.remove(what._tag === "Signature" ? [what.signature] : null)
    return signatures.length
  })

  return ResponseCache.of({
    config: () => config,
    peek: (signature) => memory.get(signature, now()),
    find,
    put: (answer) => {
      if (config.ttlMs === 0) return
      memory.set(answer)
      if (shared !== null && !sharedRests.rests) {
        runShared(shared.put(answer, config.ttlMs).pipe(Effect.catchTag("StoreError", () => Effect.sync(() => sharedRests.failed()))))
      }
      if (backlog.length >= maxBacklog || backlogBytes + answer.body.length > maxBacklogBytes) {
        figures.lost++
        return
      }
      backlog.push(answer)
      writing.wake()
      backlogBytes += answer.body.length
    },
    noteHit: (answer) => {
      figures.hits++
      figures.tokensSaved += answer.tokensIn + answer.tokensOut
      figures.costSavedUsd += answer.costUsd
      hitsOf.set(answer.signature, (hitsOf.get(answer.signature) ?? 0) + 1)
      writing.wake()
    },
    noteMiss: () => {
      figures.misses++
    },
    figures: () => ({ ...figures, memoryEntries: memory.size, memoryBytes: memory.bytes }),
    forget,
    entries: (query) => Effect.andThen(written, Effect.suspend(() => store.entries(query, now()))),
    stored: Effect.andThen(written, Effect.suspend(() => store.count(now())))
  })
})

export const layer = (options: Options) => Layer.effect(ResponseCache, make(options))
