import * as Schema from "effect/Schema"
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as OpenApi from "effect/http-api/OpenApi"
import { Access, reads, writes } from "#schemas/api/Access.ts"
import * as SyncedModels from "#schemas/catalogue/SyncedModels.ts"
import { prices } from "#src/features/pricing/api.ts"

const opt = Schema.optionalKey
const warnings = Schema.Array(Schema.String)

const Synced = Schema.Struct({
  success: Schema.Literal(true), modelCount: Schema.Int, providerCount: Schema.Int, source: Schema.String, dryRun: Schema.Boolean, warnings: opt(warnings),
  /** Prices that would be stored; with `dryRun` only. */
  data: opt(prices)
}).annotate({ identifier: "CatalogueSync" })
export interface Synced extends Schema.Schema.Type<typeof Synced> {}

const Status = Schema.Struct({
  /** Whether it is read on a schedule. */
  enabled: Schema.Boolean,
  intervalMs: Schema.Int,
  /** What the schedule reads. */
  activeSources: Schema.Array(SyncedModels.Source),
  lastSync: Schema.NullOr(Schema.String),
  nextSync: Schema.NullOr(Schema.String),
  /** Why the last time failed. */
  lastError: Schema.NullOr(Schema.String),
  /** What is stored. */
  sources: Schema.Array(Schema.Struct({
    source: SyncedModels.Source, host: Schema.String, syncedAt: Schema.String, modelCount: Schema.Int, providerCount: Schema.Int, warnings
  }))
}).annotate({ identifier: "CatalogueSyncStatus" })
export interface Status extends Schema.Schema.Type<typeof Status> {}

const Cleared = Schema.Struct({ success: Schema.Literal(true), cleared: Schema.Int })

const dryRun = opt(Schema.Boolean)

/** Prices and facts of models from public lists. */
export const PricingSyncGroup = HttpApiGroup.make("pricingSync").add(
  HttpApiEndpoint.post("syncPrices", "/api/pricing/sync", {
    payload: Schema.Struct({ sources: opt(Schema.NonEmptyArray(SyncedModels.Source).check(Schema.isMaxLength(SyncedModels.Source.literals.length))), dryRun }),
    success: Synced
  }).annotate(Access, writes).annotate(OpenApi.Summary, "Read the prices of the sources now"),
  HttpApiEndpoint.get("pricesStatus", "/api/pricing/sync", { success: Status })
    .annotate(Access, reads).annotate(OpenApi.Summary, "Which prices were read, when, and when they are read again"),
  HttpApiEndpoint.delete("clearPrices", "/api/pricing/sync", { success: Cleared })
    .annotate(Access, writes).annotate(OpenApi.Summary, "Remove the prices that were read"),
  HttpApiEndpoint.post("syncFacts", "/api/settings/models-dev", { payload: Schema.Struct({ dryRun }), success: Synced })
    .annotate(Access, writes).annotate(OpenApi.Summary, "Read limits, modalities and capabilities of models from models.dev now"),
  HttpApiEndpoint.get("factsStatus", "/api/settings/models-dev", { success: Status })
    .annotate(Access, reads).annotate(OpenApi.Summary, "Which facts of models were read, when, and when they are read again"),
  HttpApiEndpoint.delete("clearFacts", "/api/settings/models-dev", { success: Cleared })
    .annotate(Access, writes).annotate(OpenApi.Summary, "Remove the facts that were read")
).annotateMerge(OpenApi.annotations({ title: "Synchronised catalogues", description: "Prices and facts of models from public lists." }))
