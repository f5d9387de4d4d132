/**
 * Keeps the model lists of provider nodes, so that they are offered without a manual sync: a node's endpoint is asked when its first
 * connection is stored, and again once per refresh interval. A list that cannot be read leaves the old one as it is.
 */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as FiberSet from "effect/FiberSet"
import * as Layer from "effect/Layer"
import * as Semaphore from "effect/Semaphore"
import { Configuration, type Snapshot } from "#actors/ports/Configuration.ts"
import { Flags } from "#actors/ports/Flags.ts"
import type { Connection } from "#schemas/records/Connection.ts"
import type { ProviderNode } from "#schemas/records/ProviderNode.ts"
import { ManagementOptions } from "#src/management/ManagementOptions.ts"
import * as Rounds from "#src/platform/structures/Rounds.ts"
import { Upstreams } from "#src/features/providers/Upstreams.ts"

/** Between two looks for lists that have grown old. */
const every = "60 seconds"
/** Pause before a list that could not be read is requested again (ms). */
const retryMs = 300_000
/** Endpoints asked at once. */
const parallel = 4

interface ListRead {
  /** What the list depends on: another address or credential makes it due at once. */
  readonly identity: string
  readonly at: number
  readonly read: boolean
}

export interface Due {
  readonly node: ProviderNode
  readonly connection: Connection
  readonly identity: string
}

/** Nodes whose list is due, each with the connection that asks for it. Pure. */
export const due = (snapshot: Pick<Snapshot, "nodes" | "activeByProvider">, asked: ReadonlyMap<string, ListRead>, everyMs: number, now: number): ReadonlyArray<Due> =>
  snapshot.nodes.flatMap((node) => {
    const connection = snapshot.activeByProvider.get(node.id)?.[0]
    if (connection === undefined) return []
    const identity = [connection.id, node.baseUrl, node.modelsPath ?? ""].join(" ")
    const last = asked.get(node.id)
    const fresh = last !== undefined && last.identity === identity && now - last.at < (last.read ? everyMs : Math.min(everyMs, retryMs))
    return fresh ? [] : [{ node, connection, identity }]
  })

export const make = Effect.gen(function*() {
  const configuration = yield* Configuration
  const flags = yield* Flags
  const { modelListsEveryMs } = yield* ManagementOptions
  const upstreams = yield* Upstreams
  if (modelListsEveryMs === 0) return
  const asked = new Map<string, ListRead>()
  const turn = yield* Semaphore.make(1)
  const fork = yield* FiberSet.makeRuntime<never, void, never>()

  const ask = ({ connection, identity, node }: Due) => Effect.gen(function*() {
    const read = yield* Effect.match(upstreams.refresh(connection), { onSuccess: () => true, onFailure: () => false })
    asked.set(node.id, { identity, at: yield* Clock.currentTimeMillis, read })
  })

  const round = Semaphore.withPermits(turn, 1)(Effect.gen(function*() {
    const now = yield* Clock.currentTimeMillis
    const { nodeById } = configuration.current()
    for (const id of asked.keys()) if (!nodeById.has(id)) asked.delete(id)
    yield* Effect.forEach(due(configuration.current(), asked, modelListsEveryMs, now), ask, { concurrency: parallel, discard: true })
  }))

  const on = (): boolean => configuration.current().nodes.length > 0 && !flags.isOn("GATEWAY_DISABLE_BACKGROUND_SERVICES")
  const rounds = yield* Rounds.make("model lists", on, Duration.fromInputUnsafe(every), round)
  const look = (): void => {
    rounds.wake()
    if (on()) fork(Effect.catchDefect(round, (defect) => Effect.logError("model lists could not be looked at", defect)))
  }
  look()
  yield* Effect.acquireRelease(Effect.sync(() => configuration.onChange(look)), (quiet) => Effect.sync(quiet))
})

export const layer = Layer.effectDiscard(make)
