/**
 * Fire drills of one node: at most one runs, and it ends after its seconds, when an operator stops it, or with the process. The fault
 * is played by the simulator itself, so no request asks here whether one runs.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as SecureRandom from "effect/crypto/SecureRandom"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as FiberSet from "effect/FiberSet"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import { Configuration } from "#actors/ports/Configuration.ts"
import { Nodes } from "#actors/ports/Nodes.ts"
import { ManagementCall } from "#schemas/api/Management.ts"
import { Audit } from "#src/management/audit/Audit.ts"
import { SimulatorFaults } from "#src/platform/configuration/SimulatorFaults.ts"
import type { DrillView, NewDrill } from "./api.ts"

/** Ended drills that the list shows. */
const PAST_MOST = 10

export class DrillError extends Schema.TaggedError<DrillError>()("DrillError", {
  reason: Schema.Literals(["simulator-off", "another-runs", "not-here"]),
  message: Schema.String
}) {}

export class Drills extends Context.Service<Drills, {
  readonly node: string
  readonly available: () => boolean
  /** The one that runs first, then the last ones. */
  readonly list: () => ReadonlyArray<DrillView>
  readonly start: (drill: NewDrill) => Effect.Effect<DrillView, DrillError, ManagementCall>
  readonly stop: (id: string) => Effect.Effect<DrillView, DrillError, ManagementCall>
}>()("gateway/features/drills/Drills") {}

interface Running {
  readonly view: Omit<DrillView, "endedAt" | "endedBy" | "struck">
  readonly struck: () => number
  readonly scope: Scope.Closeable
  stopped: boolean
  ended: DrillView | null
  fiber: Fiber.Fiber<void> | null
}

const iso = (ms: number): string => new Date(ms).toISOString()
const viewOf = ({ ended, struck, view }: Running): DrillView => ended ?? { ...view, endedAt: null, endedBy: null, struck: struck() }

export const make = Effect.gen(function*() {
  const audit = yield* Audit
  const configuration = yield* Configuration
  const faults = yield* SimulatorFaults
  const random = yield* SecureRandom.SecureRandom
  const { self } = yield* Nodes
  const fork = yield* FiberSet.makeRuntime<never, void, never>()
  let running: Running | null = null
  let past: ReadonlyArray<DrillView> = []

  const available = (): boolean => configuration.current().simulatorUrl !== null
  const note = (action: string, { endedBy, fault, id, node, share, struck }: DrillView, call: ManagementCall["Service"]) =>
    Effect.provideService(audit.note({
      action, target: id, resourceType: "drill", details: endedBy === null ? { fault, node, share } : { fault, node, share, struck, endedBy }
    }), ManagementCall, call)

  /** However it ended: the fault is over before anything else, and the next drill may start. */
  const over = Effect.fnUntraced(function*(one: Running) {
    yield* Scope.close(one.scope, Exit.void)
    one.ended = { ...viewOf(one), endedAt: iso(yield* Clock.currentTimeMillis), endedBy: one.stopped ? "operator" : "time" }
    running = null
    past = [one.ended, ...past].slice(0, PAST_MOST)
  })

  const start = Effect.fn("Drills.start")(function*({ fault, seconds, share = 1 }: NewDrill) {
    const call = yield* ManagementCall
    const id = yield* random.uuidV4()
    const now = yield* Clock.currentTimeMillis
    if (!available()) {
      return yield* new DrillError({ reason: "simulator-off", message: "The built-in simulator is turned off: start the gateway with GATEWAY_SIM_PROVIDER=auto or true" })
    }
    const scope = yield* Scope.make()
    if (running !== null) {
      const { endsAt, id: other } = running.view
      return yield* new DrillError({ reason: "another-runs", message: `Drill ${other} runs on this node until ${endsAt}: stop it, or wait` })
    }
    const view = { id, node: self.id, fault, share, startedAt: iso(now), endsAt: iso(now + seconds * 1_000) }
    const { struck } = yield* Scope.provide(faults.play(fault, share), scope)
    const one: Running = { view, struck, scope, stopped: false, ended: null, fiber: null }
    running = one
    one.fiber = fork(Effect.onExit(Effect.sleep(seconds * 1_000), (exit) => Effect.gen(function*() {
      yield* over(one)
      if (Exit.isSuccess(exit)) yield* note("drill.ended", viewOf(one), call)
    })))
    yield* note("drill.started", viewOf(one), call)
    return viewOf(one)
  }, Effect.uninterruptible)

  const stop = Effect.fn("Drills.stop")(function*(id: string) {
    const one = running
    if (one === null || one.view.id !== id || one.fiber === null) {
      return yield* new DrillError({ reason: "not-here", message: `No drill of this id runs on node ${self.id}` })
    }
    const isFirst = !one.stopped
    one.stopped = true
    yield* Fiber.interrupt(one.fiber)
    if (isFirst) yield* note("drill.stopped", viewOf(one), yield* ManagementCall)
    return viewOf(one)
  }, Effect.uninterruptible)

  return Drills.of({
    node: self.id,
    available,
    list: () => [...running === null ? [] : [viewOf(running)], ...past],
    start,
    stop
  })
})

export const layer = Layer.effect(Drills, make)
