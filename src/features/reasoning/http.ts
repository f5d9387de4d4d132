import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import { Configuration, shownProvider } from "#actors/ports/Configuration.ts"
import * as Refusal from "#schemas/api/Refusal.ts"
import { type Forgotten, KeptReasoning } from "#src/inference/ports/pastCalls/KeptReasoning.ts"
import { answer } from "#src/management/answer.ts"
import { Audit } from "#src/management/audit/Audit.ts"
import { knownProvider } from "#src/management/knownProvider.ts"
import * as Surface from "#src/management/Surface.ts"
import { ReasoningGroup } from "./api.ts"

const PAGE = 50
const scopes = { All: "all", Call: "toolCallId", Provider: "provider" } as const

export const layer = HttpApiBuilder.group(Surface.make(ReasoningGroup), "reasoning", Effect.fn(function*(handlers) {
  const audit = yield* Audit
  const configuration = yield* Configuration
  const kept = yield* KeptReasoning

  const idOf = (provider: string): string => knownProvider(configuration.current(), provider) ?? provider
  const nameOf = (provider: string): string => shownProvider(configuration.current(), provider)

  const list = ({ limit = PAGE, model, offset = 0, provider }: { readonly limit?: number; readonly offset?: number; readonly provider?: string; readonly model?: string }) => {
    const all = kept.list()
    const owner = provider === undefined ? undefined : idOf(provider)
    const meant = all.filter(({ value }) => (owner === undefined || value.provider === owner) && (model === undefined || value.model === model))
    const byProvider: Record<string, number> = {}
    for (const { value } of all) byProvider[nameOf(value.provider)] = (byProvider[nameOf(value.provider)] ?? 0) + 1
    return {
      stats: { entries: all.length, characters: all.reduce((sum, { value }) => sum + value.reasoning.length, 0), ...kept.counts(), byProvider },
      entries: meant.slice(offset, offset + limit).map(({ until, value: { callId, model: name, provider: owned, reasoning } }) => ({
        tool_call_id: callId, provider: nameOf(owned), model: name, char_count: reasoning.length, expires_at: new Date(until).toISOString()
      }))
    }
  }

  const forget = Effect.fnUntraced(function*({ provider, toolCallId }: { readonly toolCallId?: string; readonly provider?: string }) {
    if (provider !== undefined && toolCallId !== undefined) return yield* Effect.fail(Refusal.badRequest("Name a toolCallId or a provider, or none to forget all"))
    const what: Forgotten = toolCallId !== undefined ? { _tag: "Call", callId: toolCallId } : provider !== undefined ? { _tag: "Provider", provider: idOf(provider) } : { _tag: "All" }
    const cleared = kept.forget(what)
    yield* audit.note({ action: "cache.reasoning-forgotten", resourceType: "cache", details: { removed: cleared, scope: scopes[what._tag] } })
    return { ok: true as const, cleared, scope: scopes[what._tag] }
  })

  return handlers.handleAll({
    kept: ({ query }) => Effect.sync(() => list(query)),
    forget: ({ query }) => answer(forget(query))
  })
}))
