/** GET /v1/models/health, also below /api, and GET /v1/combos: what a key may use, and whether it can be used now. */
import * as Effect from "effect/Effect"
import { Configuration } from "#actors/ports/Configuration.ts"
import { UsageStore } from "#actors/ports/UsageStore.ts"
import type { LatencyStatistics } from "#actors/ports/UsageStore.ts"
import type { ApiKey } from "#schemas/records/ApiKey.ts"
import * as Endpoint from "#src/inference/lane/services/Endpoint.ts"
import { Forks } from "#src/inference/lane/services/Forks.ts"
import { Inference } from "#src/inference/lane/services/Inference.ts"
import * as KeyReads from "#src/inference/lane/services/KeyReads.ts"
import { catalogView } from "#src/routing/models/catalogView.ts"
import * as ModelCatalog from "#src/routing/models/modelCatalog.ts"
import * as ModelHealth from "./modelHealth.ts"

const category = "models" as const
const hourMs = 3_600_000
/** Outcomes are read again after this time: many callers ask one question of the ledger. */
const outcomesFor = "5 seconds"
/** Models whose targets are looked at before other requests get a turn. */
const stretch = 32

export const endpoints = [
  Endpoint.make("GET", "/v1/models/health", category), Endpoint.make("GET", "/api/v1/models/health", category), Endpoint.make("GET", "/v1/combos", category)
] as const satisfies ReadonlyArray<Endpoint.Endpoint>

const listing: ModelCatalog.CatalogOptions = { prefixMode: "canonical", includeNames: false, noThinkingAliases: false, thinkingLevels: false }

/** Models by their own ids: an alias or a variant is as healthy as its model. */
const isModel = ({ id, owned_by: owner, root }: ModelCatalog.ModelEntry): boolean => owner !== "combo" && id === `${owner}/${root}`

const none: ReadonlyMap<string, LatencyStatistics> = new Map()

export const routes = Effect.gen(function*() {
  const { now } = yield* Forks
  const configuration = yield* Configuration
  const store = yield* UsageStore
  const { request: { resilience }, router } = yield* Inference

  /** Null while the ledger cannot be read: what routing knows is told all the same. */
  const outcomes = yield* Effect.cachedWithTTL(
    Effect.suspend(() => store.latencies("model", { since: now() - hourMs })).pipe(
      Effect.map((rows): ReadonlyMap<string, LatencyStatistics> | null =>
        new Map(rows.map((row) => [ModelHealth.outcomeKey(row.provider, row.model ?? ""), row]))),
      Effect.catchTag("StoreError", () => Effect.succeed(null))
    ),
    outcomesFor
  )

  const health = Effect.fn("ModelReads.health")(function*(key: ApiKey | null) {
    const known = yield* outcomes
    const current = router()
    const entries = ModelCatalog.entriesOf(catalogView(configuration.current()), listing)
      .filter((entry) => isModel(entry) && (key === null || current.admits(key, entry.id)))
    const at = now()
    const asking = { router: current, resilience, key, now: at }
    const data: Array<ModelHealth.ModelHealth> = []
    for (const [index, entry] of entries.entries()) {
      if (index % stretch === stretch - 1) yield* Effect.yieldNow
      data.push(ModelHealth.healthOf(asking, entry, known ?? none))
    }
    return {
      object: "list", generated_at: new Date(at).toISOString(), outcomes_known: known !== null,
      summary: Object.fromEntries(ModelHealth.statuses.map((status) => [status, data.filter((one) => one.status === status).length])),
      data
    }
  })

  const combos = (key: ApiKey | null) => {
    const current = router()
    const at = now()
    return {
      object: "list",
      data: configuration.current().combos
        .filter(({ isActive, isHidden, name }) => isActive && !isHidden && (key === null || current.admits(key, name)))
        .map(({ context_length: contextLength, createdAt, name, strategy }) => ({
          id: name, object: "combo", created: Math.floor(Date.parse(createdAt) / 1_000), strategy, context_length: contextLength ?? null,
          ...ModelHealth.availabilityOf({ router: current, resilience, key, now: at }, name)
        }))
    }
  }

  const [models, modelsBelowApi, ofCombos] = endpoints
  return yield* KeyReads.mounted([
    ...[models, modelsBelowApi].map((endpoint) => ({ endpoint, category, noun: "The health of models", answer: health })),
    { endpoint: ofCombos, category, noun: "The list of combos", answer: (key: ApiKey | null) => Effect.sync(() => combos(key)) }
  ])
})
