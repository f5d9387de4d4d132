import * as Clock from "effect/Clock"
import * as SecureRandom from "effect/crypto/SecureRandom"
import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import { Configuration } from "#actors/ports/Configuration.ts"
import { forgottenKey } from "#schemas/words/LastGood.ts"
import { RoutingViews } from "#src/inference/ports/RoutingViews.ts"
import { Keys } from "#actors/ports/Keys.ts"
import { DocumentStore, KeyStore } from "#actors/ports/Stores.ts"
import * as Refusal from "#schemas/api/Refusal.ts"
import { PublicError } from "#schemas/errors.ts"
import { answer } from "#src/management/answer.ts"
import { Audit } from "#src/management/audit/Audit.ts"
import { isOn } from "#src/routing/auto/lastGood.ts"
import { RoutingGroup } from "./api.ts"
import * as Surface from "#src/management/Surface.ts"

const page = 100
/** Entries of one list. */
const most = 1_000

export const layer = HttpApiBuilder.group(Surface.make(RoutingGroup), "routing", Effect.fn(function*(handlers) {
  const views = yield* RoutingViews
  const stored = yield* KeyStore
  const keys = yield* Keys
  const audit = yield* Audit
  const configuration = yield* Configuration
  const documents = yield* DocumentStore
  const random = yield* SecureRandom.SecureRandom

  const lastGood = () => {
    const { combos, settings } = configuration.current()
    const names = new Map(combos.map(({ id, name }) => [id, name]))
    const entries = views.lastGood().slice(0, most).map(({ comboId, connectionId, keyId, model, since }) =>
      ({ combo: names.get(comboId) ?? comboId.slice(comboId.indexOf(":") + 1), apiKeyId: keyId, model, connectionId, since: new Date(since).toISOString() }))
    return { enabled: isOn(settings), entries }
  }

  const forgetLastGood = Effect.gen(function*() {
    const now = yield* Clock.currentTimeMillis
    const id = yield* random.uuidV4()
    // Each node hears of the change, and forgets.
    yield* configuration.commit(documents.put("setting", forgottenKey, `${new Date(now).toISOString()} ${id}`))
    yield* audit.note({ action: "routing.last_good.forgotten", resourceType: "settings" })
    return { success: true as const }
  })
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
    lastGood: () => Effect.sync(lastGood),
    forgetLastGood: () => answer(forgetLastGood),
    decisions: ({ query: { limit = page } }) => answer(Effect.sync(() => ({ decisions: views.decisions(limit) }))),
    decision: ({ params: { requestId } }) => answer(Effect.suspend(() => {
      const decision = views.decision(requestId)
      return decision === null
        ? Effect.fail(Refusal.notFound("No decision is kept for this request: see GET /api/usage/call-logs for its attempts"))
        : Effect.succeed({ decision })
    }))
  })
}))
