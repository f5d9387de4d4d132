/** The lane with all that it needs, as every operation is served by it. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Configuration } from "#actors/ports/Configuration.ts"
import { Flags } from "#actors/ports/Flags.ts"
import { Lifecycle } from "#actors/ports/Lifecycle.ts"
import type { RecoveryOptions } from "#actors/request/Inbound.ts"
import { Telemetry } from "#actors/request/ports/Telemetry.ts"
import { Turns } from "#actors/request/ports/Turns.ts"
import * as Forms from "#src/inference/lane/forms/forms.ts"
import { Live } from "#src/inference/lane/live/Live.ts"
import * as RouteReport from "#src/inference/lane/RouteReport.ts"
import type { Stage } from "#src/inference/lane/stages/Stages.ts"
import * as MediaFetch from "#src/platform/media/MediaFetch.ts"
import { Blocked } from "#src/routing/unavailable.ts"
import { Admission } from "./Admission.ts"
import { Bodies } from "./Bodies.ts"
import { CurrentRouter } from "./CurrentRouter.ts"
import { Forks } from "./Forks.ts"
import { Ids } from "./Ids.ts"
import { LaneOptions } from "./LaneOptions.ts"
import type { LaneServices } from "./LaneServices.ts"
import { Reports } from "./Reports.ts"
import { Bills } from "#src/inference/lane/live/Bills.ts"
import { Requests } from "./Requests.ts"

export class Inference extends Context.Service<Inference, LaneServices>()("gateway/lane/Inference") {}

const noRecovery: RecoveryOptions = { holds: false, sibling: false, continues: false, stopsAtEmpty: false }

const recoveryOf = (flags: Flags["Service"]) => (): RecoveryOptions => {
  const holds = flags.isOn("STREAM_RECOVERY_ENABLED")
  const sibling = flags.isOn("STREAM_EARLY_EOF_SIBLING_FAILOVER_ENABLED")
  const continues = flags.isOn("STREAM_RECOVERY_MIDSTREAM_ENABLED")
  return holds || sibling || continues
    ? { holds, sibling, continues, stopsAtEmpty: flags.isOn("STREAM_RECOVERY_TOOLCALL_ORDER_FIX") }
    : noRecovery
}

/** A request that was refused before it was planned, in metrics and the log. */
const refusedOver = (telemetry: Telemetry["Service"], now: () => number): LaneServices["refused"] => (endpoint, tags, error, asker) => {
  const at = now()
  telemetry.requestStarted(endpoint, false)
  telemetry.requestSettled({
    requestId: tags.requestId, method: "POST", endpoint, requestedModel: asker?.model ?? null, provider: null, model: null, apiKeyId: asker?.key?.id ?? null,
    status: error.status, clientStatus: error.status, outcome: "policy", errorCode: error.code, stream: false, attempts: 0, cache: "off",
    startedAt: asker?.since ?? at, latencyMs: at - (asker?.since ?? at), ttftMs: null, bytesOut: 0, ...(error instanceof Blocked ? { route: RouteReport.lineOfBlocked(error) } : {})
  })
}

/** `stages`: what an admitted request passes before it is planned, in this order. */
export const layer = <E, R>(stages: Effect.Effect<ReadonlyArray<Stage>, E, R>) => Layer.effect(Inference, Effect.gen(function*() {
  const configuration = yield* Configuration
  const flags = yield* Flags
  const { now } = yield* Forks
  const { makeResponseId } = yield* Ids
  const { requests, sessions } = yield* Live
  const { limits, maxBodyBytes, sseComments } = yield* LaneOptions
  const { draining } = yield* Lifecycle
  const { now: router } = yield* CurrentRouter
  const run = Effect.runForkWith(yield* Effect.context<never>())
  return {
    admission: yield* Admission,
    request: yield* Requests,
    stages: yield* stages,
    waits: { turns: yield* Turns, totalMs: limits.timeouts.total, now },
    report: yield* Reports,
    bodies: yield* Bodies,
    router, sessions, makeResponseId, sseComments, draining,
    ...yield* Forms.services,
    media: MediaFetch.make(yield* MediaFetch.Network),
    maxBodyBytes: () => {
      const megabytes = configuration.current().settings.get("maxBodySizeMb")
      return typeof megabytes === "number" && megabytes > 0 ? megabytes * 1024 * 1024 : maxBodyBytes
    },
    recovery: recoveryOf(flags),
    // The live requests are the scope of these fibers: each is enrolled before it starts and interrupted when the layer closes.
    fork: run,
    live: requests,
    refused: refusedOver((yield* Bills).noting(yield* Telemetry), now)
  }
}))
