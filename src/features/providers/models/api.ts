import * as Schema from "effect/Schema"
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as OpenApi from "effect/http-api/OpenApi"
import { Access, administers, reads } from "#schemas/api/Access.ts"
import { SentBack, sentBack } from "#schemas/api/SentBack.ts"
import { clearable, integer, listOf, text } from "#schemas/api/fields.ts"
import { CompatByProtocol, GenerationConfig, TargetFormat } from "#schemas/words/ModelFormats.ts"

const opt = Schema.optionalKey
const tokens = integer(1, 1_000_000_000)

/** Fields of a custom model. */
export const ModelInput = Schema.Struct({
  provider: text(1, 120),
  modelId: text(1, 240),
  modelName: clearable(text(0, 240)),
  source: opt(text(1, 60)),
  apiFormat: opt(Schema.Literals([
    "chat-completions", "responses", "embeddings", "rerank", "audio-transcriptions", "audio-speech", "images-generations", "video"
  ])),
  supportedEndpoints: opt(listOf(text(1, 60), 20)),
  targetFormat: clearable(TargetFormat),
  modelType: clearable(Schema.Literals(["chat", "embedding", "image", "rerank"])),
  max_input_tokens: clearable(tokens),
  max_output_tokens: clearable(tokens),
  contextWindowOverride: clearable(tokens),
  dimensions: clearable(tokens),
  supportsVision: clearable(Schema.Boolean),
  isFree: clearable(Schema.Boolean),
  isHidden: opt(Schema.Boolean),
  normalizeToolCallId: opt(Schema.Boolean),
  preserveOpenAIDeveloperRole: clearable(Schema.Boolean),
  supportedInputTypes: opt(listOf(text(1, 60), 20)),
  upstreamHeaders: opt(Schema.Record(Schema.String, Schema.String)),
  compatByProtocol: opt(CompatByProtocol),
  generationConfig: opt(GenerationConfig)
}).annotate({ identifier: "CustomModelInput" })
export interface ModelInput extends Schema.Schema.Type<typeof ModelInput> {}

export const ModelView = Schema.Struct({
  provider: Schema.String,
  modelId: Schema.String,
  modelName: Schema.NullOr(Schema.String),
  source: Schema.String,
  apiFormat: Schema.String,
  supportedEndpoints: Schema.Array(Schema.String),
  targetFormat: Schema.NullOr(Schema.String),
  modelType: Schema.NullOr(Schema.String),
  max_input_tokens: Schema.NullOr(Schema.Int),
  max_output_tokens: Schema.NullOr(Schema.Int),
  contextWindowOverride: Schema.NullOr(Schema.Int),
  dimensions: Schema.NullOr(Schema.Int),
  supportsVision: Schema.NullOr(Schema.Boolean),
  isFree: Schema.NullOr(Schema.Boolean),
  isHidden: Schema.Boolean,
  supportedInputTypes: Schema.Array(Schema.String),
  upstreamHeaders: Schema.Record(Schema.String, Schema.String),
  normalizeToolCallId: opt(Schema.Json),
  preserveOpenAIDeveloperRole: opt(Schema.Json),
  compatByProtocol: opt(Schema.Json),
  generationConfig: opt(Schema.Json),
  createdAt: Schema.String,
  updatedAt: Schema.String
}).annotate({ identifier: "CustomModel" })
export interface ModelView extends Schema.Schema.Type<typeof ModelView> {}

const overrides = Schema.Record(Schema.String, ModelView)
const modelReply = Schema.Struct({ model: ModelView })
const path = "/api/provider-models"

/** Models an operator adds to a provider or node, and overrides of built-in ones. */
export const ProviderModelsGroup = HttpApiGroup.make("providerModels").add(
  HttpApiEndpoint.get("list", path, {
    query: { provider: opt(text(1, 120)) },
    success: Schema.Struct({ models: Schema.Array(ModelView), modelCompatOverrides: overrides })
  }).annotate(Access, reads).annotate(OpenApi.Summary, "Custom models and overrides"),
  HttpApiEndpoint.post("create", path, { payload: ModelInput, success: modelReply })
    .annotate(Access, administers).annotate(OpenApi.Summary, "Add a custom model"),
  HttpApiEndpoint.put("update", path, {
    payload: ModelInput,
    success: Schema.Union([modelReply, Schema.Struct({ ok: Schema.Literal(true), modelCompatOverrides: overrides })])
  }).annotate(SentBack, sentBack({ by: ["provider", "modelId"], asked: ["provider"] })).annotate(Access, administers).annotate(OpenApi.Summary, "Change a custom model, or override a built-in one"),
  HttpApiEndpoint.patch("hide", path, {
    query: { provider: text(1, 120), modelId: opt(text(1, 240)) },
    payload: Schema.Struct({ isHidden: Schema.Boolean, modelIds: opt(listOf(text(1, 240), 500)) }),
    success: Schema.Struct({
      ok: Schema.Literal(true), updated: Schema.Int, models: Schema.Array(ModelView), modelCompatOverrides: overrides
    })
  }).annotate(Access, administers).annotate(OpenApi.Summary, "Hide or show models"),
  HttpApiEndpoint.delete("remove", path, {
    query: { provider: text(1, 120), model: opt(text(1, 240)), all: opt(Schema.Literals(["true", "false"])) },
    success: Schema.Struct({ removed: opt(Schema.Boolean), cleared: opt(Schema.Boolean) })
  }).annotate(Access, administers).annotate(OpenApi.Summary, "Remove one custom model, or all of a provider"),
  HttpApiEndpoint.post("validateAndAdd", `${path}/validate-and-add`, { payload: ModelInput, success: modelReply })
    .annotate(Access, administers).annotate(OpenApi.Summary, "Probe the model upstream, then add it")
).annotateMerge(OpenApi.annotations({ title: "Provider models", description: "Custom models and overrides of built-in ones." }))
