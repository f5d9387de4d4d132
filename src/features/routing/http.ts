import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import { RoutingViews } from "#src/inference/ports/RoutingViews.ts"
import { Keys } from "#actors/ports/Keys.ts"
import { KeyStore } from "#actors/ports/Stores.ts"
import * as Refusal from "#schemas/api/Refusal.ts"
import { PublicError } from "#schemas/errors.ts"
import { answer } from "#src/management/answer.ts"
import { RoutingGroup } from "./api.ts"
import * as Surface from "#src/management/Surface.ts"

const page = 100

export const layer = HttpApiBuilder.group(Surface.make(RoutingGroup), "routing", Effect.fn(function*(handlers) {
  const views = yield* RoutingViews
  const stored = yield* KeyStore
  const keys = yield* Keys
  return handlers.handleAll({
    explain: ({ payload: { format = "chat-completions", keyId, model } }) => answer(Effect.gen(function*() {
      const record = keyId === undefined ? null : yield* stored.get(keyId)
      // With its issuer, whose lists bind it, too.
      const key = record === null ? null : yield* keys.find(record.keyHash)
      if (keyId !== undefined && key === null) return yield* Effect.fail(Refusal.notFound("API key not found"))
      const explained = views.explain(model, key, format)
      if (explained instanceof PublicError) {
        return yield* Effect.fail(Refusal.badRequest(explained.message, { code: explained.code, errorExtra: { ...explained.extra, status: explained.status } }))
      }
      return { model, ...explained }
    })),
    decisions: ({ query: { limit = page } }) => answer(Effect.sync(() => ({ decisions: views.decisions(limit) }))),
    decision: ({ params: { requestId } }) => answer(Effect.suspend(() => {
      const decision = views.decision(requestId)
      return decision === null
        ? Effect.fail(Refusal.notFound("No decision is kept for this request: see GET /api/usage/call-logs for its attempts"))
        : Effect.succeed({ decision })
    }))
  })
}))
