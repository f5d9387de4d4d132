import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import { Configuration } from "#actors/ports/Configuration.ts"
import { DocumentStore } from "#actors/ports/Stores.ts"
import * as Refusal from "#schemas/api/Refusal.ts"
import { type ChainInput, CHAINS, chainsOf, settingKey } from "#schemas/words/FallbackChains.ts"
import { answer } from "#src/management/answer.ts"
import { Audit } from "#src/management/audit/Audit.ts"
import * as Surface from "#src/management/Surface.ts"
import { FallbackChainsGroup } from "./api.ts"
import * as Chains from "./ports/chains.ts"

export const layer = HttpApiBuilder.group(Surface.make(FallbackChainsGroup), "fallbackChains", Effect.fn(function*(handlers) {
  const audit = yield* Audit
  const configuration = yield* Configuration
  const documents = yield* DocumentStore

  const stored = () => chainsOf(configuration.current().settings)

  const put = Effect.fn("FallbackChains.put")(function*(input: ChainInput) {
    const chain = yield* configuration.commit(Effect.gen(function*() {
      const next = Chains.read(configuration.current(), input)
      if (!("model" in next)) return yield* Effect.fail(Refusal.invalidFields(next))
      const others = stored().filter(({ model }) => model !== next.model)
      if (others.length >= CHAINS) return yield* Effect.fail(Refusal.invalidField("model", `At most ${CHAINS} models have a chain: remove one first`))
      yield* documents.put("setting", settingKey, [...others, next].sort((a, b) => a.model < b.model ? -1 : 1))
      return next
    }))
    const view = Chains.shown(configuration.current(), chain)
    yield* audit.note({
      action: "fallback.chain.set", target: chain.model, resourceType: "fallback-chain",
      details: { chain: view.chain.map(({ enabled, provider }) => enabled ? provider : `${provider} (off)`) }
    })
    return view
  })

  const remove = Effect.fn("FallbackChains.remove")(function*(name: string) {
    yield* configuration.commit(Effect.gen(function*() {
      const before = stored()
      const after = before.filter(({ model }) => model !== name)
      if (after.length === before.length) return yield* Effect.fail(Refusal.notFound("No chain of this model"))
      yield* documents.put("setting", settingKey, after)
    }))
    yield* audit.note({ action: "fallback.chain.removed", target: name, resourceType: "fallback-chain" })
    return { success: true as const }
  })

  return handlers.handleAll({
    list: () => Effect.sync(() => ({ chains: stored().map((chain) => Chains.shown(configuration.current(), chain)) })),
    put: ({ payload }) => answer(put(payload)),
    remove: ({ payload }) => answer(remove(payload.model))
  })
}))
