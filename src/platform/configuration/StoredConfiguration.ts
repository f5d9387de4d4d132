/**
 * The Configuration port over the record stores: loads everything once, rebuilds the snapshot after each commit, its own or another
 * node's.
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Semaphore from "effect/Semaphore"
import * as Egress from "#actors/egress/Egress.ts"
import { type Change, ChangeFeed, type ChangeKind } from "#actors/ports/ChangeFeed.ts"
import { blockedProviders, Configuration, type Snapshot } from "#actors/ports/Configuration.ts"
import { RecordLocks } from "#actors/ports/RecordLocks.ts"
import { StoreError } from "#actors/ports/StoreError.ts"
import { ComboMappingStore, ComboStore, ConnectionStore, CustomModelStore, DocumentStore, NodeStore, ProxyStore } from "#actors/ports/Stores.ts"
import { isOn } from "#schemas/flagCatalogue.ts"
import type { Connection } from "#schemas/records/Connection.ts"
import * as SyncedModels from "#schemas/catalogue/SyncedModels.ts"
import * as FileOwned from "#schemas/FileOwned.ts"
import * as InterceptionRules from "#schemas/tools/InterceptionRules.ts"
import * as ParamFilters from "#schemas/words/ParamFilters.ts"
import type { Settings } from "./Settings.ts"
import { SimulatorAddress } from "./SimulatorAddress.ts"
import * as SyncedCatalogue from "./SyncedCatalogue.ts"

/** Terminal states: such a connection is not tried until a test, a re-login or an edit clears it. */
const terminal: ReadonlySet<string> = new Set(["expired", "banned", "credits_exhausted"])

const groupActive = (connections: ReadonlyArray<Connection>, blocked: ReadonlySet<string>): ReadonlyMap<string, ReadonlyArray<Connection>> => {
  const groups = new Map<string, Array<Connection>>()
  for (const connection of connections) {
    if (!connection.isActive || terminal.has(connection.testStatus) || blocked.has(connection.provider)) continue
    const group = groups.get(connection.provider)
    if (group === undefined) groups.set(connection.provider, [connection])
    else group.push(connection)
  }
  for (const group of groups.values()) {
    group.sort((a, b) => a.priority - b.priority || (a.createdAt < b.createdAt ? -1 : a.createdAt > b.createdAt ? 1 : a.id < b.id ? -1 : 1))
  }
  return groups
}

/** How long a change waits for the changes before it, ms: a store that hangs must not line them up. */
const turnMs = 5_000

const tooLate = new StoreError({
  store: "Configuration", operation: "commit", reason: "unavailable", message: `Configuration.commit: the changes before this one did not end within ${turnMs} ms.`
})

/** Kinds of changes that concern the snapshot; of documents, only those of `documentKinds`. */
const kinds = new Set<ChangeKind>(["connection", "node", "custom-model", "combo", "combo-mapping", "proxy", "proxy-assignment"])
const documentKinds: ReadonlySet<string> = new Set(["alias", "setting", "flag", "pricing", SyncedModels.stateKind, ParamFilters.documentKind, InterceptionRules.documentKind, FileOwned.KIND])

const concerns = (change: Change): boolean =>
  change.kind === "document" ? documentKinds.has(change.id.slice(0, change.id.indexOf("/"))) : kinds.has(change.kind)

export interface Options {
  /** Base URL of the built-in simulator, once it runs; null = turned off. */
  readonly simulatorUrl: string | null
  /** Whether its models are listed. `auto`: only while no real connection exists. It is callable by name in every mode but `never`. */
  readonly simulatorMode: "auto" | "always" | "never"
  /** For flags that the snapshot itself depends on. */
  readonly environment?: Readonly<Record<string, string | undefined>>
  /** PRICING_SYNC_SOURCES: the source that counts first stands first. */
  readonly pricingSources?: ReadonlyArray<string>
}

export const make = Effect.fnUntraced(function*(options: Options) {
  const connectionStore = yield* ConnectionStore
  const nodeStore = yield* NodeStore
  const customModelStore = yield* CustomModelStore
  const comboStore = yield* ComboStore
  const mappingStore = yield* ComboMappingStore
  const documents = yield* DocumentStore
  const proxyStore = yield* ProxyStore
  const feed = yield* ChangeFeed
  const loadSynced = SyncedCatalogue.make(documents, options.pricingSources ?? [])
  const locked = (yield* RecordLocks).of("configuration")
  const writing = yield* Semaphore.make(1)
  const listeners = new Set<(snapshot: Snapshot) => void>()
  let version = 0
  /** The version of the records that the snapshot shows at least. */
  let loaded = 0

  const load = Effect.gen(function*() {
    const before = yield* feed.version
    const connections = yield* connectionStore.list
    const nodes = yield* nodeStore.list
    const customModels = yield* customModelStore.list
    const combos = yield* comboStore.list
    const comboMappings = yield* mappingStore.list
    const aliases = yield* documents.list("alias")
    const settings = yield* documents.list("setting")
    const flagOverrides = yield* documents.list("flag")
    const pricing = yield* documents.list("pricing")
    const synced = yield* loadSynced
    const paramFilters = yield* documents.list(ParamFilters.documentKind)
    const interceptions = yield* documents.list(InterceptionRules.documentKind)
    const fileOwned = yield* documents.list(FileOwned.KIND)
    const proxies = yield* proxyStore.list
    const assignments = yield* proxyStore.assignments
    const simulatorUrl = options.simulatorMode === "never" ? null : options.simulatorUrl
    const flags = new Map([...flagOverrides].map(([key, value]) => [key, String(value)]))
    const chooses = isOn("PROXY_AUTO_SELECT_ENABLED", flags, options.environment ?? {})
    const snapshot: Snapshot = {
      version: ++version,
      connections,
      connectionById: new Map(connections.map((c) => [c.id, c])),
      activeByProvider: groupActive(connections, blockedProviders({ settings })),
      nodes,
      nodeById: new Map(nodes.map((n) => [n.id, n])),
      nodeByPrefix: new Map(nodes.map((n) => [n.prefix, n])),
      customModels,
      combos,
      comboMappings,
      aliases: new Map([...aliases].map(([key, value]) => [key, String(value)])),
      settings,
      flagOverrides: flags,
      pricing,
      synced,
      paramFilters,
      interceptions,
      fileOwned: FileOwned.byRecord(fileOwned),
      egress: Egress.make({ proxies, assignments, settings, chooses }),
      simulatorUrl,
      simulatorListed: simulatorUrl !== null && (options.simulatorMode === "always" || connections.length === 0)
    }
    loaded = before
    return snapshot
  })

  let current = yield* load
  const reload = Effect.map(load, (snapshot) => {
    current = snapshot
    for (const listener of listeners) listener(snapshot)
  })
  /** What another node committed before this turn: a write may read the snapshot, too. */
  const catchUp = Effect.flatMap(feed.version, (version) => version > loaded ? reload : Effect.void)
  yield* feed.hear((news) => Semaphore.withPermits(writing, 1)(Effect.suspend(() =>
    // Null: what is there may be anything, and older than what is shown (a backup was restored). A commit of this node has been loaded
    // already when it comes back as news.
    news.changes !== null && (news.version <= loaded || !news.changes.some(concerns)) ? Effect.void : reload)))

  return Configuration.of({
    current: () => current,
    // One writer at a time in this process, so that two commits cannot publish their snapshots in the wrong order, and one on all nodes,
    // so that each reads what the one before it wrote.
    commit: (write) => Effect.suspend(() => {
      let state: "waits" | "begun" | "given up" = "waits"
      const turn = Semaphore.withPermits(writing, 1)(Effect.suspend(() => {
        if (state === "given up") return Effect.fail(tooLate)
        state = "begun"
        return Effect.tap(locked(Effect.andThen(catchUp, write)), () => Effect.tap(reload, () => Effect.sync(feed.announce)))
      }))
      const patience = Effect.interruptible(Effect.delay(Effect.suspend(() => {
        // A change that has begun is carried through.
        if (state === "begun") return Effect.never
        state = "given up"
        return Effect.fail(tooLate)
      }), turnMs))
      return Effect.raceFirst(turn, patience)
    }),
    reload: Semaphore.withPermits(writing, 1)(reload),
    onChange: (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    }
  })
})

export const layer = (options: Options) => Layer.effect(Configuration, make(options))

const simulatorModes = { auto: "auto", true: "always", false: "never" } as const

/** The simulator is known unless the operator turned it off. */
export const layerOf = ({ environment, pricingSources, simulator }: Settings["Service"]) => Layer.unwrap(Effect.map(SimulatorAddress, ({ url }) => layer({
  environment,
  simulatorUrl: simulator === "false" ? null : `${url}/v1`,
  simulatorMode: simulatorModes[simulator],
  pricingSources
})))
