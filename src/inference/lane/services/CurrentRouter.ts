/** The router of the configuration as it stands: made when it is first asked for after a change. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Configuration, type Snapshot } from "#actors/ports/Configuration.ts"
import { Flags } from "#actors/ports/Flags.ts"
import { Resilience } from "#actors/request/ports/Resilience.ts"
import { SessionPlaces } from "#src/inference/ports/SessionPlaces.ts"
import { Tunnels } from "#src/platform/upstream/egress/TunnelCounts.ts"
import * as AsideProxies from "#src/routing/models/asideProxies.ts"
import { variantsOf } from "#src/routing/models/resolverView.ts"
import type { Combo } from "#schemas/records/Combo.ts"
import { makePricer, viewOf } from "#src/providers/pricing.ts"
import { registryOf } from "#src/providers/syncedFacts.ts"
import { forgottenKey } from "#schemas/words/LastGood.ts"
import * as LastGood from "#src/routing/auto/lastGood.ts"
import { EvalScores } from "#src/routing/ports/EvalScores.ts"
import { Quotas, unknown } from "#src/routing/ports/Quotas.ts"
import { makeRouter, type Router, RouterMemory, type RouterOptions } from "#src/routing/Router.ts"

export class CurrentRouter extends Context.Service<CurrentRouter, {
  readonly now: () => Router
  /** What answered last on this node, newest first. */
  readonly lastGood: () => ReadonlyArray<LastGood.LastGood>
  /** As if a combo stood among the combos, in place of the one of its id. */
  readonly withDraft: (draft: Combo) => Router
  /** The same with a memory of its own, while nothing is blocked and no quota is known. */
  readonly rehearsal: (draft: Combo) => Router
}>()("gateway/lane/CurrentRouter") {}

export const layer = Layer.effect(CurrentRouter, Effect.gen(function*() {
  const configuration = yield* Configuration
  const evals = yield* EvalScores
  const flags = yield* Flags
  const quotas = yield* Quotas
  const resilience = yield* Resilience
  const { asides } = yield* Tunnels
  const { cachePlaces, keyOf } = yield* SessionPlaces
  const memory = new RouterMemory()
  if (cachePlaces !== null) {
    memory.cachePins.news = { keyOf, tell: cachePlaces.tell }
    yield* cachePlaces.hear(memory.cachePins.onPin)
  }
  let router: Router | null = null
  let forgotten = configuration.current().settings.get(forgottenKey)
  yield* Effect.acquireRelease(
    Effect.sync(() => configuration.onChange((snapshot) => {
      router = null
      const told = snapshot.settings.get(forgottenKey)
      if (told === forgotten) return
      forgotten = told
      LastGood.forget(memory.memories)
    })),
    (quiet) => Effect.sync(quiet)
  )
  const options = (snapshot: Snapshot): RouterOptions => ({
    resilience: flags.isOn("PROXY_SKIP_RECENTLY_FAILED") && snapshot.egress !== null ? AsideProxies.over(resilience, asides) : resilience,
    quotas,
    memory,
    evals,
    random: Math.random,
    snapshot,
    registry: registryOf(snapshot),
    ...variantsOf(flags),
    isOn: (flag) => flags.isOn(flag),
    priceOf: makePricer(viewOf(snapshot))
  })
  const drafted = (draft: Combo): Snapshot => {
    const snapshot = configuration.current()
    return { ...snapshot, combos: [...snapshot.combos.filter(({ id }) => id !== draft.id), draft] }
  }
  return {
    now: () => router ??= makeRouter(options(configuration.current())),
    lastGood: () => LastGood.listed(memory.memories),
    withDraft: (draft) => makeRouter(options(drafted(draft))),
    rehearsal: (draft) => makeRouter({
      ...options(drafted(draft)), memory: new RouterMemory(), quotas: unknown,
      resilience: { check: () => null, enter: resilience.enter, spent: resilience.spent, health: resilience.health }
    })
  }
}))
