import * as Schema from "effect/Schema"
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as HttpApiSchema from "effect/http-api/HttpApiSchema"
import * as OpenApi from "effect/http-api/OpenApi"
import { Access, reads, writes } from "#schemas/api/Access.ts"
import { clearable, integer, listOf, Success, text } from "#schemas/api/fields.ts"
import { Explanation, Format } from "#schemas/api/Explanation.ts"
import { Combo, ComboConfig, ComboMapping, Strategy, StrategyName, TargetConfig } from "#schemas/records/Combo.ts"
import { Mode } from "#schemas/words/Compression.ts"
import { Owner } from "#schemas/FileOwned.ts"

const opt = Schema.optionalKey
const weight = opt(Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 100 })))

const ModelStepInput = Schema.Struct({
  kind: opt(Schema.Literal("model")),
  id: opt(text(1, 200)),
  provider: clearable(text(1, 200)),
  /** Another name of `provider`. */
  providerId: clearable(text(1, 200)),
  model: text(1, 300),
  connectionId: clearable(text(1, 200)),
  weight,
  label: clearable(text(0, 200)),
  tags: opt(listOf(text(0, 100), 20)),
  prompt: clearable(text(0, 20_000))
}).annotate({ identifier: "ModelStepInput" })

const ComboStepInput = Schema.Struct({
  kind: Schema.Literal("combo-ref"),
  id: opt(text(1, 200)),
  comboName: text(1, 100),
  weight,
  label: clearable(text(0, 200))
}).annotate({ identifier: "ComboStepInput" })

/** `"provider/model"`, a model step or a reference to another combo. */
export const StepInput = Schema.Union([text(1, 300), ModelStepInput, ComboStepInput])
export type StepInput = typeof StepInput.Type

/** The fields a client may set. */
const fields = {
  description: clearable(text(0, 2_000)),
  models: opt(listOf(StepInput, 200)),
  strategy: opt(StrategyName),
  config: opt(ComboConfig),
  allowedProviders: opt(listOf(text(1, 200), 500)),
  system_message: clearable(text(0, 50_000)),
  tool_filter_regex: clearable(text(0, 1_000)),
  context_cache_protection: opt(Schema.Boolean),
  context_length: clearable(integer(1_000, 2_000_000)),
  dimensions: opt(Combo.fields.dimensions),
  isActive: opt(Schema.Boolean),
  isHidden: opt(Schema.Boolean),
  sortOrder: opt(integer(0, 1_000_000))
}

export const NewCombo = Schema.Struct({ name: Combo.fields.name, ...fields })
export interface NewCombo extends Schema.Schema.Type<typeof NewCombo> {}

/** `compressionOverride` is stored as config.compressionMode; null takes it away. */
export const ComboChange = Schema.Struct({
  name: opt(Combo.fields.name), ...fields, compressionOverride: clearable(Schema.Union([Mode, Schema.Literal("")])),
  /** `updatedAt` of the combo that the change was made from: 409 when it was changed since. */
  ifUpdatedAt: opt(text(1, 40))
})
export interface ComboChange extends Schema.Schema.Type<typeof ComboChange> {}

/** A combo as replies show it. */
export const ComboView = Schema.Struct({
  ...Combo.fields,
  owner: Owner,
  warning: opt(Schema.Struct({ code: Schema.Literal("COMBO_NAME_SHADOWS_MODEL"), modelId: Schema.String, providerId: Schema.String }))
}).annotate({ identifier: "Combo" })
export interface ComboView extends Schema.Schema.Type<typeof ComboView> {}

const Combos = Schema.Struct({ combos: Schema.Array(ComboView) })

const BuilderOptions = Schema.Struct({
  strategies: Schema.Array(Strategy),
  combos: Schema.Array(Schema.Struct({ id: Schema.String, name: Schema.String })),
  providers: Schema.Array(Schema.Struct({
    /** What a step's `provider` is: a registry id or a node's prefix. */
    id: Schema.String,
    name: Schema.String,
    connections: Schema.Array(Schema.Struct({ id: Schema.String, name: Schema.String, defaultModel: Schema.NullOr(Schema.String) })),
    models: Schema.Array(Schema.Struct({ id: Schema.String, name: Schema.String, type: Schema.String }))
  }))
})

const Metrics = Schema.Struct({
  requests: Schema.Int,
  successes: Schema.Int,
  failures: Schema.Int,
  avgLatencyMs: Schema.NullOr(Schema.Number),
  lastUsedAt: Schema.NullOr(Schema.String),
  strategy: Schema.String,
  fallbacks: Schema.Int,
  targets: Schema.Record(Schema.String, Schema.Struct({
    requests: Schema.Int,
    successes: Schema.Int,
    failures: Schema.Int,
    avgLatencyMs: Schema.NullOr(Schema.Number),
    lastUsedAt: Schema.NullOr(Schema.String),
    provider: Schema.String,
    model: Schema.String,
    connectionId: Schema.NullOr(Schema.String)
  }))
}).annotate({ identifier: "ComboMetrics" })

/** Outcome of one target of POST /api/combos/test. */
export const TargetTest = Schema.Struct({
  model: Schema.String,
  provider: Schema.NullOr(Schema.String),
  stepId: Schema.String,
  executionKey: Schema.String,
  connectionId: Schema.NullOr(Schema.String),
  label: Schema.NullOr(Schema.String),
  status: Schema.Literals(["ok", "error"]),
  statusCode: opt(Schema.Int),
  error: opt(Schema.String),
  latencyMs: Schema.Number,
  responseText: opt(Schema.String)
})
export interface TargetTest extends Schema.Schema.Type<typeof TargetTest> {}

/** A combo that is not stored; `id`: of the one that it would replace. */
export const DraftCombo = Schema.Struct({ id: opt(text(1, 200)), name: Combo.fields.name, ...fields }).annotate({ identifier: "DraftCombo" })
export interface DraftCombo extends Schema.Schema.Type<typeof DraftCombo> {}

const Sums = Schema.Struct({
  /** Requests that got an answer. */
  answered: Schema.Int,
  costUsd: Schema.Number,
  p50Ms: Schema.NullOr(Schema.Number),
  p95Ms: Schema.NullOr(Schema.Number)
})

/** What past requests of a combo's name would have become under a draft. */
export const BackTest = Schema.Struct({
  /** Requests that were looked at; the newest, of the last days that were asked for. */
  requests: Schema.Int,
  from: Schema.NullOr(Schema.String),
  to: Schema.NullOr(Schema.String),
  actual: Sums,
  draft: Schema.Struct({
    ...Sums.fields,
    /** Answers that the same target gave to the same request. */
    measured: Schema.Int,
    /** Answers by a target that was not asked then: its latency is the middle of its own past answers. */
    assumed: Schema.Int,
    /** Answers by a target that has no past answers: their latency is in no percentile. */
    unmeasured: Schema.Int,
    /** Requests that the draft could not place, such as one that it gives no target. */
    refused: Schema.Int,
    /** Answers by a model without a price, which count as free. */
    unpriced: Schema.Int
  }),
  /** Most answers first. */
  targets: Schema.Array(Schema.Struct({ provider: Schema.String, model: Schema.String, actual: Schema.Int, draft: Schema.Int }))
}).annotate({ identifier: "BackTest" })
export interface BackTest extends Schema.Schema.Type<typeof BackTest> {}

/** Null takes a layer away; a given one replaces it. */
const Defaults = Schema.Struct({
  comboDefaults: clearable(ComboConfig),
  providerOverrides: clearable(Schema.Record(Schema.String, TargetConfig))
})
export interface Defaults extends Schema.Schema.Type<typeof Defaults> {}

const DefaultsView = Schema.Struct({ comboDefaults: ComboConfig, providerOverrides: Schema.Record(Schema.String, TargetConfig) })

const id = { id: Schema.String }
const path = "/api/combos"
const comboName = { combo: opt(text(1, 100)) }

/** Combos: named routing plans of several targets. */
export const CombosGroup = HttpApiGroup.make("combos").add(
  HttpApiEndpoint.get("list", path, { success: Combos })
    .annotate(Access, reads).annotate(OpenApi.Summary, "Combos by sortOrder, then name"),
  HttpApiEndpoint.post("create", path, { payload: NewCombo, success: ComboView.pipe(HttpApiSchema.status(201)) })
    .annotate(Access, writes).annotate(OpenApi.Summary, "Create a combo; a name that shadows a model gives a warning"),
  HttpApiEndpoint.post("reorder", `${path}/reorder`, {
    payload: Schema.Struct({
      comboIds: Schema.Array(text(1, 200)).check(Schema.isMinLength(1), Schema.isMaxLength(1_000), Schema.isUnique())
    }),
    success: Combos
  }).annotate(Access, writes).annotate(OpenApi.Summary, "Put combos first in this order; the others follow as they were"),
  HttpApiEndpoint.get("builderOptions", `${path}/builder/options`, { success: BuilderOptions })
    .annotate(Access, reads).annotate(OpenApi.Summary, "What a step can name: providers, connections, models, combos"),
  HttpApiEndpoint.get("auto", `${path}/auto`, {
    success: Schema.Struct({
      enabled: Schema.Boolean,
      defaultVariant: Schema.String,
      variants: Schema.Array(Schema.Struct({
        id: Schema.String,
        modePack: Schema.NullOr(Schema.String),
        explorationRate: Schema.NullOr(Schema.Number),
        category: Schema.NullOr(Schema.String),
        tier: Schema.NullOr(Schema.String)
      }))
    })
  }).annotate(Access, reads).annotate(OpenApi.Summary, "Automatic variants that can be asked for as a model"),
  HttpApiEndpoint.get("metrics", `${path}/metrics`, {
    query: comboName,
    success: Schema.Struct({ metrics: Schema.Union([Schema.NullOr(Metrics), Schema.Record(Schema.String, Metrics)]) })
  }).annotate(Access, reads).annotate(OpenApi.Summary, "Counts of one combo, or of all by name, since the start of this node"),
  HttpApiEndpoint.delete("resetMetrics", `${path}/metrics`, { query: comboName, success: Success })
    .annotate(Access, writes).annotate(OpenApi.Summary, "Forget the counts of one combo, or of all"),
  HttpApiEndpoint.post("test", `${path}/test`, {
    payload: Schema.Struct({ comboName: text(1, 100) }),
    success: Schema.Struct({ results: Schema.Array(TargetTest) })
  }).annotate(Access, writes).annotate(OpenApi.Summary, "Ask every target of a combo once, at most 20 s each"),
  HttpApiEndpoint.post("explain", `${path}/explain`, {
    payload: Schema.Struct({ combo: DraftCombo, keyId: opt(text(1, 200)), format: opt(Format) }),
    success: Explanation
  }).annotate(Access, writes).annotate(OpenApi.Summary, "What would happen to a request if this combo were stored")
    .annotate(OpenApi.Description, "Nothing is stored and nothing is sent. Refuses what storing the combo would refuse."),
  HttpApiEndpoint.post("simulate", `${path}/simulate`, {
    payload: Schema.Struct({ combo: DraftCombo, days: opt(integer(1, 90)), limit: opt(integer(1, 1_000)) }),
    success: BackTest
  }).annotate(Access, writes).annotate(OpenApi.Summary, "What the last requests of this combo's name would have become under a draft")
    .annotate(OpenApi.Description, "Reads the call log and asks no provider. Cooldowns, breakers and quotas of that time are not known, and count as open ways."),
  HttpApiEndpoint.get("get", `${path}/:id`, { params: id, success: ComboView })
    .annotate(Access, reads).annotate(OpenApi.Summary, "One combo"),
  HttpApiEndpoint.put("update", `${path}/:id`, { params: id, payload: ComboChange, success: ComboView })
    .annotate(Access, writes).annotate(OpenApi.Summary, "Change the given fields; references follow a new name"),
  HttpApiEndpoint.delete("remove", `${path}/:id`, { params: id, success: Success })
    .annotate(Access, writes).annotate(OpenApi.Summary, "Delete a combo and its mappings"),
  HttpApiEndpoint.get("readDefaults", "/api/settings/combo-defaults", { success: DefaultsView })
    .annotate(Access, reads).annotate(OpenApi.Summary, "Configuration of every combo, and of one provider's targets"),
  HttpApiEndpoint.patch("defaults", "/api/settings/combo-defaults", { payload: Defaults, success: DefaultsView }).annotate(Access, writes).annotate(OpenApi.Summary, "Replace a layer; null takes it away")
).annotateMerge(OpenApi.annotations({ title: "Combos", description: "Named routing plans of several targets." }))

const mapping = {
  pattern: ComboMapping.fields.pattern,
  comboId: text(1, 200),
  priority: opt(integer(-1_000_000_000, 1_000_000_000)),
  enabled: opt(Schema.Boolean),
  description: clearable(text(0, 1_000))
}
export const NewMapping = Schema.Struct(mapping)
export interface NewMapping extends Schema.Schema.Type<typeof NewMapping> {}
export const MappingChange = Schema.Struct({ ...mapping, pattern: opt(mapping.pattern), comboId: opt(mapping.comboId) })
export interface MappingChange extends Schema.Schema.Type<typeof MappingChange> {}

const oneMapping = Schema.Struct({ mapping: ComboMapping })
const mappings = "/api/model-combo-mappings"

/** Patterns that send model ids to combos. */
export const ComboMappingsGroup = HttpApiGroup.make("comboMappings").add(
  HttpApiEndpoint.get("list", mappings, { success: Schema.Struct({ mappings: Schema.Array(ComboMapping) }) })
    .annotate(Access, reads).annotate(OpenApi.Summary, "Mappings in the order in which they are asked"),
  HttpApiEndpoint.post("create", mappings, { payload: NewMapping, success: oneMapping.pipe(HttpApiSchema.status(201)) })
    .annotate(Access, writes).annotate(OpenApi.Summary, "Send model ids of a pattern to a combo"),
  HttpApiEndpoint.get("get", `${mappings}/:id`, { params: id, success: oneMapping })
    .annotate(Access, reads).annotate(OpenApi.Summary, "One mapping"),
  HttpApiEndpoint.put("update", `${mappings}/:id`, { params: id, payload: MappingChange, success: oneMapping })
    .annotate(Access, writes).annotate(OpenApi.Summary, "Change the given fields"),
  HttpApiEndpoint.delete("remove", `${mappings}/:id`, { params: id, success: Success })
    .annotate(Access, writes).annotate(OpenApi.Summary, "Delete a mapping")
).annotateMerge(OpenApi.annotations({ title: "Model-combo mappings", description: "Patterns of model ids that combos serve." }))
