/** What a request actor works with. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Supervisor from "#actors/Supervisor.ts"
import { Flags } from "#actors/ports/Flags.ts"
import { Accounting } from "#actors/request/ports/Accounting.ts"
import { Credentials } from "#actors/request/ports/Credentials.ts"
import { Ledger } from "#actors/request/ports/Ledger.ts"
import { Resilience } from "#actors/request/ports/Resilience.ts"
import { Telemetry } from "#actors/request/ports/Telemetry.ts"
import { Turns } from "#actors/request/ports/Turns.ts"
import { Upstream } from "#actors/request/ports/Upstream.ts"
import type { Services } from "#actors/request/services.ts"
import { ConnectionMarks } from "#src/inference/lane/ConnectionMarks.ts"
import { Bills } from "#src/inference/lane/live/Bills.ts"
import { Live } from "#src/inference/lane/live/Live.ts"
import { Quotas } from "#src/routing/ports/Quotas.ts"
import { Forks } from "./Forks.ts"
import { Ids } from "./Ids.ts"
import { LearnedParameters } from "./LearnedParameters.ts"
import { LaneOptions } from "./LaneOptions.ts"
import type { LiveRequests } from "#src/inference/lane/live/LiveRequests.ts"
import * as StatusReason from "#schemas/statusReason.ts"

export class Requests extends Context.Service<Requests, Services>()("gateway/lane/Requests") {}

export const layer = Layer.effect(Requests, Effect.gen(function*() {
  const credentials = yield* Credentials
  const { now } = yield* Forks
  const live = yield* Live
  const { limits } = yield* LaneOptions
  const { makeAttemptId, nodeId } = yield* Ids
  const marks = yield* ConnectionMarks
  const learned = yield* LearnedParameters
  const quotas = yield* Quotas
  const flags = yield* Flags
  const failed = yield* Supervisor.reporter("request")
  return {
    accounting: yield* Accounting,
    ledger: yield* Ledger,
    resilience: yield* Resilience,
    telemetry: (yield* Bills).noting(watched(yield* Telemetry, live.requests)),
    turns: yield* Turns,
    upstream: yield* Upstream,
    credentials, limits, makeAttemptId, nodeId, now,
    guardsEgress: () => flags.isOn("NETWORK_ROTATION_SHARED_EGRESS_GUARD"),
    report: (target, end) => {
      if (StatusReason.of(end.upstreamStatus) === "credential" && target.tokenFrom !== null && target.tokenFrom !== undefined) credentials.refused(target.tokenFrom)
      // The headers came when the stream began, or just now.
      quotas.note(target, end.headers, end.firstContentAt ?? now())
      marks.report(target, end)
      learned.note(target, end)
    },
    defect: (requestId, cause) => failed(cause, { requestId }),
    closed: live.requests.remove
  }
}))

/** What the metrics are told an onlooker hears, too, while there is one. */
const watched = (telemetry: Telemetry["Service"], requests: LiveRequests): Telemetry["Service"] => ({
  ...telemetry,
  attemptSettled: (row) => {
    telemetry.attemptSettled(row)
    if (requests.onlooker !== null) requests.onlooker.attempted(row)
  },
  requestSettled: (summary) => {
    telemetry.requestSettled(summary)
    if (requests.onlooker !== null) requests.onlooker.ended(summary)
  }
})
