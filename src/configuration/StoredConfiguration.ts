/** The Configuration port over the record stores: loads everything once, rebuilds the snapshot after each commit. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Semaphore from "effect/Semaphore"
import { Configuration, type Snapshot } from "#actors/ports/Configuration.ts"
import { ComboMappingStore, ComboStore, ConnectionStore, CustomModelStore, DocumentStore, NodeStore } from "#actors/ports/Stores.ts"
import type { Connection } from "#schemas/records/Connection.ts"

/** Terminal states: such a connection is not tried until a test, a re-login or an edit clears it (supplement 1.2). */
const terminal: ReadonlySet<string> = new Set(["expired", "banned", "credits_exhausted"])

const groupActive = (connections: ReadonlyArray<Connection>): ReadonlyMap<string, ReadonlyArray<Connection>> => {
  const groups = new Map<string, Array<Connection>>()
  for (const connection of connections) {
    if (!connection.isActive || terminal.has(connection.testStatus)) continue
    const group = groups.get(connection.provider)
    if (group === undefined) groups.set(connection.provider, [connection])
    else group.push(connection)
  }
  for (const group of groups.values()) {
    group.sort((a, b) => a.priority - b.priority || (a.createdAt < b.createdAt ? -1 : a.createdAt > b.createdAt ? 1 : a.id < b.id ? -1 : 1))
  }
  return groups
}

export interface Options {
  /** Base URL of the built-in simulator, once it runs; null = not offered by policy. */
  readonly simulatorUrl: string | null
  /** `auto`: offered only while no real connection exists (decisions 3). */
  readonly simulatorMode: "auto" | "always" | "never"
}

export const make = Effect.fnUntraced(function*(options: Options) {
  const connectionStore = yield* ConnectionStore
  const nodeStore = yield* NodeStore
  const customModelStore = yield* CustomModelStore
  const comboStore = yield* ComboStore
  const mappingStore = yield* ComboMappingStore
  const documents = yield* DocumentStore
  const writing = yield* Semaphore.make(1)
  const listeners = new Set<(snapshot: Snapshot) => void>()
  let version = 0

  const load = Effect.gen(function*() {
    const connections = yield* connectionStore.list
    const nodes = yield* nodeStore.list
    const customModels = yield* customModelStore.list
    const combos = yield* comboStore.list
    const comboMappings = yield* mappingStore.list
    const aliases = yield* documents.list("alias")
    const settings = yield* documents.list("setting")
    const flagOverrides = yield* documents.list("flag")
    const pricing = yield* documents.list("pricing")
    const offerSimulator = options.simulatorMode === "always" || (options.simulatorMode === "auto" && connections.length === 0)
    const snapshot: Snapshot = {
      version: ++version,
      connections,
      connectionById: new Map(connections.map((c) => [c.id, c])),
      activeByProvider: groupActive(connections),
      nodes,
      nodeById: new Map(nodes.map((n) => [n.id, n])),
      nodeByPrefix: new Map(nodes.map((n) => [n.prefix, n])),
      customModels,
      combos,
      comboMappings,
      aliases: new Map([...aliases].map(([key, value]) => [key, String(value)])),
      settings,
      flagOverrides: new Map([...flagOverrides].map(([key, value]) => [key, String(value)])),
      pricing,
      simulatorUrl: offerSimulator ? options.simulatorUrl : null
    }
    return snapshot
  })

  let current = yield* load
  const reload = Effect.map(load, (snapshot) => {
    current = snapshot
    for (const listener of listeners) listener(snapshot)
  })
  return Configuration.of({
    current: () => current,
    // One writer at a time, so that two commits cannot publish their snapshots in the wrong order.
    commit: (write) => Semaphore.withPermits(writing, 1)(Effect.tap(write, () => reload)),
    reload: Semaphore.withPermits(writing, 1)(reload),
    onChange: (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    }
  })
})

export const layer = (options: Options) => Layer.effect(Configuration, make(options))
