/** The router of the configuration as it stands: made when it is first asked for after a change. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Configuration } from "#actors/ports/Configuration.ts"
import { Flags } from "#actors/ports/Flags.ts"
import { Resilience } from "#actors/request/ports/Resilience.ts"
import { makePricer } from "#src/providers/pricing.ts"
import * as Registry from "#src/providers/Registry.ts"
import { EvalScores } from "#src/routing/ports/EvalScores.ts"
import { Quotas } from "#src/routing/ports/Quotas.ts"
import { makeRouter, type Router, RouterMemory } from "#src/routing/Router.ts"

export class CurrentRouter extends Context.Service<CurrentRouter, {
  readonly now: () => Router
}>()("gateway/lane/CurrentRouter") {}

export const layer = Layer.effect(CurrentRouter, Effect.gen(function*() {
  const configuration = yield* Configuration
  const evals = yield* EvalScores
  const flags = yield* Flags
  const quotas = yield* Quotas
  const resilience = yield* Resilience
  const memory = new RouterMemory()
  let router: Router | null = null
  yield* Effect.acquireRelease(
    Effect.sync(() => configuration.onChange(() => {
      router = null
    })),
    (quiet) => Effect.sync(quiet)
  )
  return {
    now: () => router ??= makeRouter({
      resilience,
      quotas,
      memory,
      evals,
      random: Math.random,
      snapshot: configuration.current(),
      registry: Registry.builtin,
      noThinkingAliases: flags.isOn("NO_THINKING_ALIAS_ENABLED"),
      isOn: (flag) => flags.isOn(flag),
      thinkingLevels: !flags.isOn("GATEWAY_DISABLE_THINKING_LEVEL_VARIANTS"),
      priceOf: makePricer({ registry: Registry.builtin, user: configuration.current().pricing, synced: new Map() })
    })
  }
}))
