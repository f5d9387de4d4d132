import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import { KeyStore } from "#actors/ports/Stores.ts"
import { UsageStore } from "#actors/ports/UsageStore.ts"
import * as Refusal from "#schemas/api/Refusal.ts"
import type { LedgerRow } from "#schemas/records/LedgerRow.ts"
import { answer } from "#src/management/answer.ts"
import { Audit } from "#src/management/audit/Audit.ts"
import * as Surface from "#src/management/Surface.ts"
import { BodiesGroup } from "./api.ts"
import { CallBodies } from "./CallBodies.ts"

/** Attempts of one request id that are looked at; a client may have used the id before. */
const LOOKED_AT = 200
/** Attempts before the one that is asked for; the first of its request is among them. */
const CANDIDATES = 20

export const layer = HttpApiBuilder.group(Surface.make(BodiesGroup), "bodies", Effect.fn(function*(handlers) {
  const audit = yield* Audit
  const bodies = yield* CallBodies
  const keys = yield* KeyStore
  const usage = yield* UsageStore

  const missing = Effect.fnUntraced(function*({ apiKeyId }: LedgerRow) {
    const key = apiKeyId === null ? null : yield* keys.get(apiKeyId)
    if (key?.policy.noLog === true) return Refusal.notFound("The bodies of this call are not kept: its API key has noLog.", { code: "bodies_no_log" })
    if (!bodies.isOn()) return Refusal.notFound("The bodies of this call are not kept: setting callLogBodies is off.", { code: "bodies_off" })
    return Refusal.notFound(
      "The bodies of this call are not kept: callLogBodies was off when it ran, callLogBodyShare left it out, callLogBodyHours or callLogBodyTotalMb ended it, or there was no room for it.",
      { code: "bodies_not_kept" }
    )
  })

  const read = Effect.fn("Bodies.read")(function*(id: string) {
    const byRequest = yield* usage.rows({ requestId: id, limit: LOOKED_AT })
    const found = byRequest.find((row) => row.final) ?? byRequest[0] ?? (yield* usage.rows({ attemptId: id, limit: 1 }))[0]
    if (found === undefined) return yield* Effect.fail(Refusal.notFound("Call log not found"))
    const { attemptId, requestId, startedAt } = found
    const attempts = byRequest.length > 0 ? byRequest : yield* usage.rows({ requestId, limit: LOOKED_AT })
    const before = attempts.filter((row) => row.startedAt <= startedAt).slice(0, CANDIDATES).map((row) => row.attemptId)
    const kept = yield* bodies.find([...new Set([attemptId, ...before])], attemptId)
    if (kept === null) return yield* Effect.fail(yield* missing(found))
    if (kept === "sealed") {
      return yield* Effect.fail(Refusal.notFound("The bodies of this call were sealed with another master secret, or were altered.", { code: "bodies_sealed" }))
    }
    yield* audit.note({ action: "call.bodies.read", resourceType: "call", target: requestId })
    const { createdAt, ...view } = kept
    return { requestId, keptAt: new Date(createdAt).toISOString(), ...view }
  })

  return handlers.handleAll({ read: ({ params }) => answer(read(params.id)) })
}))
