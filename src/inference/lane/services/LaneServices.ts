/** What serving an inference request needs from the rest of the gateway, whatever kind it is of. */
import type * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import type { LiveRequest } from "#actors/request/LiveRequest.ts"
import type { RecoveryOptions } from "#actors/request/Inbound.ts"
import type { Services } from "#actors/request/services.ts"
import type * as Intake from "#src/inference/lane/Intake.ts"
import type { LiveSessions } from "#src/inference/lane/live/LiveSessions.ts"
import type * as RouteReport from "#src/inference/lane/RouteReport.ts"
import type * as Stages from "#src/inference/lane/stages/Stages.ts"
import type { WaitServices } from "#src/inference/lane/stages/Waits.ts"
import type { MediaFetch } from "#src/platform/media/MediaFetch.ts"
import type { Router } from "#src/routing/Router.ts"

export interface LaneServices extends Intake.IntakeServices {
  readonly request: Services
  /** Where media are fetched that requests name by URL. */
  readonly media: MediaFetch["Service"]
  readonly router: () => Router
  /** What an admitted request passes before it is planned. */
  readonly stages: ReadonlyArray<Stages.Stage>
  /** Where a request waits for which no target is free. */
  readonly waits: WaitServices
  readonly report: RouteReport.Report
  readonly sessions: LiveSessions
  /** Comment lines are allowed as heartbeats (GATEWAY_SSE_COMMENTS). */
  readonly sseComments: boolean
  readonly recovery: () => RecoveryOptions
  /** Makes the unique part of response ids. */
  readonly makeResponseId: () => string
  /** Forks a request's fiber under the front end's scope. */
  readonly fork: (effect: Effect.Effect<void>) => Fiber.Fiber<void>
  readonly live: { readonly add: (request: LiveRequest) => void; readonly remove: (request: LiveRequest) => void }
}
