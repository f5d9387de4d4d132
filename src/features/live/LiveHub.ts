/**
 * The live events of this node and, over Redis, of all others, for the sockets that listen. While none does, on any node, no request is
 * watched and nothing is made.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Configuration, shownProvider, type Snapshot } from "#actors/ports/Configuration.ts"
import * as Supervisor from "#actors/Supervisor.ts"
import { LiveWatch } from "#src/inference/ports/LiveWatch.ts"
import * as Credentials from "./credentials.ts"
import { type LiveEvent, Teller } from "./events.ts"
import { LiveChannel } from "./LiveChannel.ts"
import { LiveOptions } from "./LiveOptions.ts"

/** A socket that listens. */
export interface Listener {
  /** All events of one round, of all channels. */
  readonly events: (events: ReadonlyArray<LiveEvent>) => void
  /** Called in each round, with the time in ms since the epoch. */
  readonly round: (now: number) => void
}

export class LiveHub extends Context.Service<LiveHub, {
  /** Events go to the listener from now on; answers the way to end that. */
  readonly add: (listener: Listener) => () => void
  /** The newest events, oldest first. */
  readonly backlog: () => ReadonlyArray<LiveEvent>
}>()("gateway/features/live/LiveHub") {}

/** How often events are handed over, ms: 10 times a second. */
export const ROUND_MS = 100
/** Events that a new listener is shown. */
export const BACKLOG = 500
/** Events of one round; those beyond are left out, so that a burst costs bounded memory. */
const MOST_EVENTS = 5_000
/** How often the other nodes are told that a client here listens, ms. */
const INTEREST_MS = 2_000
/** Interest of another node ends when it was not repeated for so long, ms. */
const INTEREST_ENDS_MS = 3 * INTEREST_MS

export const make = Effect.gen(function*() {
  const { nodeId: node } = yield* LiveOptions
  const clock = yield* Clock.Clock
  const configuration = yield* Configuration
  const live = yield* LiveWatch
  const channel = yield* LiveChannel
  const ticker = yield* Supervisor.ticker("live events")
  const now = () => clock.currentTimeMillisUnsafe()
  const listeners = new Set<Listener>()
  const shown = (provider: string): string => shownProvider(configuration.current(), provider)
  let teller = new Teller(node, shown)
  /** The records that were looked at last, and what they said of credentials; null while no client here listens. */
  let looked: { readonly connections: Snapshot["connections"]; readonly statuses: Credentials.Statuses } | null = null
  let pending: Array<LiveEvent> = []
  let backlog: Array<LiveEvent> = []
  let wantedUntil = 0
  let toldAt = 0
  let stopTicks: (() => void) | null = null

  const note = (events: ReadonlyArray<LiveEvent>): void => {
    for (const event of events) if (pending.length < MOST_EVENTS) pending.push(event)
  }
  const onlooker = {
    began: (request: Parameters<Teller["began"]>[0]) => note(teller.began(request, now())),
    attempted: (row: Parameters<Teller["attempted"]>[0]) => note(teller.attempted(row)),
    ended: (summary: Parameters<Teller["ended"]>[0]) => note(teller.ended(summary))
  }

  const give = (events: ReadonlyArray<LiveEvent>): void => {
    if (events.length === 0) return
    backlog = [...backlog, ...events].slice(-BACKLOG)
    for (const listener of listeners) listener.events(events)
  }

  const ofCredentials = (at: number): ReadonlyArray<LiveEvent> => {
    const snapshot = configuration.current()
    if (looked?.connections === snapshot.connections) return []
    const events = looked === null ? [] : Credentials.changed(looked.statuses, snapshot, node, shown, at)
    looked = { connections: snapshot.connections, statuses: Credentials.statusesOf(snapshot) }
    return events
  }

  const begin = (): void => {
    if (stopTicks !== null) return
    live.watch(onlooker)
    for (const request of live.running()) teller.began(request, now())
    stopTicks = ticker.every(ROUND_MS, round)
  }

  const end = (): void => {
    stopTicks?.()
    stopTicks = null
    live.watch(null)
    teller = new Teller(node, shown)
    looked = null
    pending = []
    backlog = []
  }

  const round = (): void => {
    const at = now()
    const wanted = at < wantedUntil
    if (listeners.size === 0 && !wanted) return end()
    note(teller.looked(live.running(), at))
    const events = pending
    pending = []
    if (listeners.size > 0 && at - toldAt >= INTEREST_MS) {
      toldAt = at
      channel.want()
    }
    if (wanted && events.length > 0) channel.send(events)
    give(events)
    // Every node reads the same records, so each tells its own clients.
    if (listeners.size > 0) give(ofCredentials(at))
    for (const listener of listeners) listener.round(at)
  }

  yield* channel.listen({
    wanted: () => {
      wantedUntil = now() + INTEREST_ENDS_MS
      begin()
    },
    events: (events) => {
      if (listeners.size > 0) give(events)
    }
  })
  yield* Effect.addFinalizer(() => Effect.sync(end))

  return LiveHub.of({
    add: (listener) => {
      listeners.add(listener)
      if (listeners.size === 1) {
        toldAt = now()
        channel.want()
      }
      begin()
      // Changes count from here on, not from the first round.
      if (listeners.size === 1) looked = null
      if (looked === null) ofCredentials(now())
      return () => void listeners.delete(listener)
    },
    backlog: () => backlog
  })
})

export const layer = Layer.effect(LiveHub, make)
