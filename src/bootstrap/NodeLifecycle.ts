/** The Lifecycle port of one process: starting -> ready -> draining -> gone. */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Context from "effect/Context"
import * as Layer from "effect/Layer"
import { Lifecycle } from "#actors/ports/Lifecycle.ts"
import { version } from "#schemas/version.ts"
import { processIdOf } from "#src/platform/configuration/nodeId.ts"
import type { Values } from "#src/platform/configuration/Settings.ts"

/** The launcher's side of the lifecycle. */
export class LifecycleControl extends Context.Service<LifecycleControl, {
  readonly markMigrated: () => void
  readonly markReady: () => void
  readonly markDraining: () => void
  /** Ends when the process was asked over HTTP to stop. */
  readonly stopRequested: Effect.Effect<"restart" | "shutdown">
}>()("gateway/bootstrap/LifecycleControl") {}

/** Time for the reply of POST /api/shutdown to leave (ms). */
const replyGraceMs = 500

export const layer = (options: { readonly nodeId: string; readonly startedAt: number }) =>
  Layer.effectContext(Effect.gen(function*() {
    const stop = yield* Deferred.make<"restart" | "shutdown">()
    let ready = false
    let draining = false
    let migrated = false
    return Context.make(Lifecycle, {
      version,
      startedAt: options.startedAt,
      nodeId: options.nodeId,
      ready: () => ready,
      draining: () => draining,
      migrated: () => migrated,
      requestShutdown: (kind) => {
        setTimeout(() => Deferred.doneUnsafe(stop, Effect.succeed(kind)), replyGraceMs)
      }
    }).pipe(Context.add(LifecycleControl, {
      markMigrated: () => {
        migrated = true
      },
      markReady: () => {
        ready = true
      },
      markDraining: () => {
        draining = true
      },
      stopRequested: Deferred.await(stop)
    }))
  }))

export const layerOf = (settings: Values, startedAt: number) => layer({ nodeId: processIdOf(settings), startedAt })
