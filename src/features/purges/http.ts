import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import type { StoreError } from "#actors/ports/StoreError.ts"
import { answer } from "#src/management/answer.ts"
import { Audit } from "#src/management/audit/Audit.ts"
import * as Surface from "#src/management/Surface.ts"
import { PurgesGroup } from "./api.ts"
import { Purges } from "./Purges.ts"

export const layer = HttpApiBuilder.group(Surface.make(PurgesGroup), "purges", Effect.fn(function*(handlers) {
  const audit = yield* Audit
  const purges = yield* Purges

  const purge = (what: string, remove: Effect.Effect<number, StoreError>, action = "logs.purged") => answer(Effect.tap(
    Effect.map(remove, (deleted) => ({ deleted })),
    ({ deleted }) => audit.note({ action, target: what, resourceType: "logs", details: { deleted } })
  ))

  return handlers.handleAll({
    requestHistory: () => purge("request-history", Effect.zipWith(purges.calls, purges.bodies, (calls) => calls)),
    callLogs: () => purge("call-logs", purges.calls),
    detailedLogs: () => purge("detailed-logs", purges.bodies),
    expired: () => purge("logs", purges.expired, "compliance.cleanup"),
    quotaSnapshots: () => purge("quota-snapshots", purges.quotaSnapshots)
  })
}))
