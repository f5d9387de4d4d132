/** The stage of searches, assembled from what it works with. */
import * as Crypto from "node:crypto"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Configuration, shownProvider } from "#actors/ports/Configuration.ts"
import { Lifecycle } from "#actors/ports/Lifecycle.ts"
import { Telemetry } from "#actors/request/ports/Telemetry.ts"
import { PublicError } from "#schemas/errors.ts"
import { ResponseCache } from "#src/features/cache/ports/ResponseCache.ts"
import * as Identity from "#src/inference/lane/bodies/identity.ts"
import { CurrentRouter } from "#src/inference/lane/services/CurrentRouter.ts"
import { Forks } from "#src/inference/lane/services/Forks.ts"
import type { Stage } from "#src/inference/lane/stages/Stages.ts"
import * as Request from "#src/wire/search/request.ts"
import { SearchCaching, type SearchingCall } from "./stage.ts"
import { SearchStatistics } from "./statistics/SearchStatistics.ts"

export class Searches extends Context.Service<Searches, { readonly caching: Stage }>()("gateway/features/search/Searches") {}

/** Changes with the form of what is kept. */
const version = 1

/** `ttlMs`: of connections that say nothing. */
const make = Effect.fnUntraced(function*(ttlMs: number) {
  const { fork, now } = yield* Forks
  const { draining } = yield* Lifecycle
  const router = yield* CurrentRouter
  const telemetry = yield* Telemetry
  const cache = yield* ResponseCache
  const configuration = yield* Configuration
  const statistics = yield* SearchStatistics

  const ttlOf = (connectionId: string | null): number => {
    const own = connectionId === null ? undefined : configuration.current().connections.find(({ id }) => id === connectionId)?.providerSpecificData["cacheTTLMs"]
    return typeof own === "number" && own >= 0 ? own : ttlMs
  }

  /** The key and what it may use, the providers that may answer, and everything that the client says. */
  const identify = ({ head, key, large, parsed }: SearchingCall): string | null => {
    const request = large === undefined ? Request.read(parsed) : null
    const resolved = router.now().identify({ model: head.model, key, face: "search" })
    if (request === null || request instanceof PublicError || resolved instanceof PublicError) return null
    const said = Identity.canonical(request)
    const tenant = key === null ? "anonymous" : key.id
    return said === null ? null : `${tenant}.${Crypto.hash("sha256", JSON.stringify(["search", version, tenant, key === null ? "" : key.policy, resolved, said]), "hex")}`
  }

  return Searches.of({
    caching: new SearchCaching({ cache, statistics, identify, ttlOf, shown: (provider) => shownProvider(configuration.current(), provider), now, telemetry, draining, fork })
  })
})

export const layer = (ttlMs: number) => Layer.effect(Searches, make(ttlMs))

export const stage = Effect.map(Searches, ({ caching }) => caching)
