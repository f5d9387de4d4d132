/** A node's resilience over fast stores, with the records a test wants. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as TestClock from "effect/testing/TestClock"
import type { OwnFailures } from "#actors/request/OwnFailures.ts"
import { CooldownFeed, layerAlone } from "#src/features/resilience/ports/CooldownFeed.ts"
import { Configuration } from "#actors/ports/Configuration.ts"
import { Flags } from "#actors/ports/Flags.ts"
import { type Pass, Resilience, type Unavailable, type Verdict } from "#actors/request/ports/Resilience.ts"
import { ResilienceControl } from "#src/features/resilience/ports/ResilienceControl.ts"
import { Turns } from "#actors/request/ports/Turns.ts"
import { Secrets } from "#actors/ports/Secrets.ts"
import { ConnectionStore, DocumentStore } from "#actors/ports/Stores.ts"
import type { Target } from "#actors/request/ports/Target.ts"
import type { FlagKey } from "#schemas/flagCatalogue.ts"
import type { Connection } from "#schemas/records/Connection.ts"
import * as AloneFeed from "#src/platform/cluster/AloneFeed.ts"
import * as LocalRecordLocks from "#src/platform/cluster/LocalRecordLocks.ts"
import * as StoredConfiguration from "#src/platform/configuration/StoredConfiguration.ts"
import * as LocalResilience from "#src/features/resilience/LocalResilience.ts"
import * as Sealer from "#src/platform/secrets/Sealer.ts"
import * as MemoryStores from "#test/support/memoryStores.ts"
import { connection } from "#test/suites/records.ts"

export const target = (record: Connection | null = connection(), more: Partial<Target> = {}): Target => ({
  provider: record?.provider ?? "openai", providerAlias: "openai", publicModel: "openai/m", model: "m", connection: record,
  wireFormat: "chat-completions", origin: "https://api.example.com", path: "/v1/chat/completions", streamPath: "/v1/chat/completions",
  maxOutputTokens: null, reasoning: null, thinking: null, headers: [], price: null, streamOptions: true, proxy: null, ...more
})

export const verdict = (status: number, more: Partial<Verdict> = {}): Verdict => ({
  ok: status >= 200 && status < 300, status, network: status === 0, message: "", retryAfterMs: null, accountWide: false, ttftMs: 10, latencyMs: 100, ...more
})

export const isPass = (given: Pass | Unavailable): given is Pass => "release" in given

const stores = MemoryStores.layer.pipe(
  Layer.provideMerge(Layer.succeed(Secrets, Sealer.make({ current: Redacted.make("test master secret 0123456789"), previous: [] })))
)

/** Stores that outlive a node. */
export const makeStores = Layer.build(stores)

export interface Options {
  readonly connections?: ReadonlyArray<Connection>
  readonly settings?: Readonly<Record<string, unknown>>
  /** Flags that are on. */
  readonly flags?: ReadonlyArray<FlagKey>
  /** Other nodes; default none. */
  readonly feed?: CooldownFeed["Service"]
}

/** Starts a node over stores; it stops with the scope. */
export const start = Effect.fnUntraced(function*<R>(context: Context.Context<R | ConnectionStore | DocumentStore>, options: Options = {}) {
  const connections = Context.get(context, ConnectionStore)
  const documents = Context.get(context, DocumentStore)
  for (const record of options.connections ?? []) yield* connections.insert(record)
  for (const [name, value] of Object.entries(options.settings ?? {})) yield* documents.put("setting", name, value)
  const flags = new Set<FlagKey>(options.flags ?? [])
  const built = yield* Layer.build(LocalResilience.layerWith({ maxWaitMs: null, maxQueueDepth: null }).pipe(
    Layer.provide(options.feed === undefined ? layerAlone : Layer.succeed(CooldownFeed, options.feed)),
    Layer.provideMerge(Layer.succeed(Flags, { isOn: (key) => flags.has(key), value: () => "", source: () => "default" as const })),
    Layer.provideMerge(StoredConfiguration.layer({ simulatorUrl: null, simulatorMode: "never" })),
    Layer.provideMerge(Layer.merge(AloneFeed.layerFeed, LocalRecordLocks.layer)),
    Layer.provideMerge(Layer.succeedContext(context))
  ))
  const resilience = Context.get(built, Resilience)
  const enter = (to: Target, now: number, passesGuesses?: boolean, ownFailures?: OwnFailures): Pass => {
    const given = resilience.enter(to, now, passesGuesses, ownFailures)
    if (!isPass(given)) throw new Error(`refused: ${given.reason}`)
    return given
  }
  return {
    resilience,
    enter,
    /** One call from its beginning to its end. */
    call: (to: Target, status: number, now: number, more: Partial<Verdict> = {}) => enter(to, now).release(verdict(status, more), now),
    control: Context.get(built, ResilienceControl),
    turns: Context.get(built, Turns),
    configuration: Context.get(built, Configuration),
    connections,
    documents,
    /** Lets the writer write. */
    written: TestClock.adjust("1 second")
  }
})

export const make = (options: Options = {}) => Effect.flatMap(makeStores, (context) => start(context, options))
