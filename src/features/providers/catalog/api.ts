import * as Schema from "effect/Schema"
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as HttpApiSchema from "effect/http-api/HttpApiSchema"
import * as OpenApi from "effect/http-api/OpenApi"
import { Access, administers, reads, writes } from "#schemas/api/Access.ts"
import { Document, Success, text } from "#schemas/api/fields.ts"

const opt = Schema.optionalKey
const alias = text(1, 200)
const model = text(1, 400)

const Aliases = Schema.Struct({ aliases: Schema.Record(Schema.String, Schema.String), catalogVersion: Schema.String })
const Resolved = Schema.Struct({
  alias: Schema.String,
  resolved: Schema.Struct({
    provider: Schema.String,
    providerAlias: Schema.String,
    model: Schema.String,
    qualifiedId: Schema.String,
    source: Schema.String,
    target: Schema.String,
    metadata: Document
  }),
  catalogVersion: Schema.String
})
const AliasSet = Schema.Struct({ success: Schema.Literal(true), model: Schema.String, alias: Schema.String })
const setAlias = { payload: Schema.Struct({ alias, model }), success: AliasSet }
const versionHeader = { "x-model-catalog-version": Schema.String }

const CatalogModel = Schema.Struct({
  id: Schema.String,
  name: Schema.String,
  type: Schema.String,
  custom: Schema.Boolean,
  capabilities: opt(Schema.Json),
  context_length: opt(Schema.Int),
  max_output_tokens: opt(Schema.Int),
  input_modalities: opt(Schema.Array(Schema.String)),
  output_modalities: opt(Schema.Array(Schema.String)),
  supported_endpoints: opt(Schema.Array(Schema.String))
})
export interface CatalogModel extends Schema.Schema.Type<typeof CatalogModel> {}

const Synced = Schema.Struct({
  lists: Schema.Array(Schema.Struct({
    provider: Schema.String,
    connectionId: Schema.String,
    syncedAt: Schema.NullOr(Schema.String),
    models: Schema.Array(Schema.Struct({
      id: Schema.String,
      name: Schema.NullOr(Schema.String),
      /** Tokens; absent when the upstream does not say. */
      contextWindow: opt(Schema.Int),
      maxOutputTokens: opt(Schema.Int)
    }))
  }))
})

const ListedModel = Schema.Struct({
  /** Of the provider or node. */
  provider: Schema.String,
  model: Schema.String,
  /** As a request names it. */
  fullModel: Schema.String,
  name: Schema.String,
  type: Schema.String,
  custom: Schema.Boolean,
  /** A connection can serve it now. */
  active: Schema.Boolean,
  aliases: Schema.Array(Schema.String)
}).annotate({ identifier: "ListedModel" })

const Tested = Schema.Struct({
  provider: Schema.String,
  model: Schema.String,
  connectionId: Schema.String,
  valid: Schema.Boolean,
  latencyMs: Schema.Number,
  statusCode: Schema.NullOr(Schema.Int),
  error: Schema.NullOr(Schema.String)
}).annotate({ identifier: "ModelTest" })

/** Model aliases and the catalogue. */
export const ModelsGroup = HttpApiGroup.make("models").add(
  HttpApiEndpoint.get("aliases", "/api/models/alias", {
    query: { alias: opt(alias) },
    success: [HttpApiSchema.WithHeaders(Schema.Union([Aliases, Resolved]), versionHeader)]
  }).annotate(Access, reads).annotate(OpenApi.Summary, "All aliases, or what one id resolves to"),
  HttpApiEndpoint.get("synced", "/api/synced-available-models", { query: { provider: opt(text(1, 120)) }, success: Synced })
    .annotate(Access, reads).annotate(OpenApi.Summary, "What upstreams listed when their models were synchronised last, by connection"),
  HttpApiEndpoint.put("setAlias", "/api/models/alias", setAlias)
    .annotate(Access, writes).annotate(OpenApi.Summary, "Set an alias"),
  HttpApiEndpoint.post("postAlias", "/api/models/alias", setAlias)
    .annotate(Access, writes).annotate(OpenApi.Summary, "As PUT"),
  HttpApiEndpoint.delete("removeAlias", "/api/models/alias", { query: { alias }, success: Success })
    .annotate(Access, writes).annotate(OpenApi.Summary, "Remove an alias"),
  HttpApiEndpoint.get("settingAliases", "/api/settings/model-aliases", {
    success: Schema.Struct({ aliases: Schema.Record(Schema.String, Schema.String) })
  }).annotate(Access, reads).annotate(OpenApi.Summary, "Aliases, as the settings page shows them"),
  HttpApiEndpoint.post("addSettingAlias", "/api/settings/model-aliases", {
    payload: Schema.Struct({ from: alias, to: model }), success: Success
  }).annotate(Access, writes).annotate(OpenApi.Summary, "Set an alias"),
  HttpApiEndpoint.delete("removeSettingAlias", "/api/settings/model-aliases", {
    query: { from: opt(alias) }, success: Success
  }).annotate(Access, writes).annotate(OpenApi.Summary, "Remove an alias; `from` in the query or in a JSON body"),
  HttpApiEndpoint.get("all", "/api/models", { query: { provider: opt(text(1, 120)) }, success: Schema.Struct({ models: Schema.Array(ListedModel) }) })
    .annotate(Access, reads).annotate(OpenApi.Summary, "Every model with its aliases, as one list"),
  HttpApiEndpoint.post("test", "/api/models/test", {
    payload: Schema.Struct({ provider: text(1, 120), model: text(1, 240), connectionId: opt(text(1, 120)) }), success: Tested
  }).annotate(Access, administers).annotate(OpenApi.Summary, "Ask a model for one token, with the first active connection or the named one"),
  HttpApiEndpoint.get("catalog", "/api/models/catalog", {
    success: Schema.Struct({
      catalog: Schema.Record(Schema.String, Schema.Struct({
        provider: Schema.String, active: Schema.Boolean, models: Schema.Array(CatalogModel)
      })),
      catalogVersion: Schema.String
    })
  }).annotate(Access, reads).annotate(OpenApi.Summary, "Models by provider and type")
).annotateMerge(OpenApi.annotations({ title: "Models", description: "Aliases and the model catalogue." }))
