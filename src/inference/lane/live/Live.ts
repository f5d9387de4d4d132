/** The requests and sessions of this process, and what becomes of them when it stops. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Supervisor from "#actors/Supervisor.ts"
import { Turns } from "#actors/request/ports/Turns.ts"
import { Forks } from "#src/inference/lane/services/Forks.ts"
import { LaneOptions } from "#src/inference/lane/services/LaneOptions.ts"
import { LiveWatch } from "#src/inference/ports/LiveWatch.ts"
import { LiveCalls } from "#src/inference/ports/LiveCalls.ts"
import { FrontEnd } from "#src/platform/server/FrontEnd.ts"
import { LiveRequests } from "./LiveRequests.ts"
import { LiveSessions } from "./LiveSessions.ts"

export class Live extends Context.Service<Live, {
  readonly requests: LiveRequests
  readonly sessions: LiveSessions
}>()("gateway/lane/Live") {}

/** How often silent streams are looked for, ms. */
const beatMs = 500

export const layer = Layer.effect(Live, Effect.gen(function*() {
  const { fork, now } = yield* Forks
  const frontEnd = yield* FrontEnd
  const { graceMs, limits: { pulse } } = yield* LaneOptions
  const turns = yield* Turns
  const requests = new LiveRequests(yield* Supervisor.reporter("stream heartbeats"))
  yield* Effect.addFinalizer(() => requests.close)
  // Live streams get the grace period; those that still run then end with an error in their own format.
  frontEnd.onDrain(() => {
    fork(Effect.delay(Effect.sync(requests.shutDown), graceMs))
  })
  // A waiting request has no upstream yet: another node serves it sooner than this node's grace period ends.
  frontEnd.onDrain(turns.close)
  if (pulse.heartbeatMs > 0 || pulse.earlyMs > 0) yield* Supervisor.loop("stream heartbeats", Effect.delay(Effect.sync(() => requests.beat(now())), beatMs))
  return { requests, sessions: new LiveSessions() }
}))

/** The port LiveCalls over it. */
export const callsLayer = Layer.effect(LiveCalls, Effect.map(Live, ({ requests, sessions }) => ({ list: requests.list, sessions: sessions.list })))

/** The port LiveWatch over it. */
export const watchLayer = Layer.effect(LiveWatch, Effect.map(Live, ({ requests }) => ({
  watch: (onlooker) => {
    requests.onlooker = onlooker
  },
  running: () => requests.running
})))
