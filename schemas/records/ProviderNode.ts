import * as Schema from "effect/Schema"

export const NodeType = Schema.Literals(["openai-compatible", "anthropic-compatible"])
export const NodeApiType = Schema.Literals([
  "chat", "responses", "embeddings", "audio-transcriptions", "audio-speech", "images-generations", "rerank"
])
export type NodeApiType = typeof NodeApiType.Type

/** An operator-defined compatible endpoint, addressed as `<prefix>/<model>`. */
export const ProviderNode = Schema.Struct({
  id: Schema.String,
  type: NodeType,
  name: Schema.String,
  prefix: Schema.String,
  apiType: Schema.NullOr(NodeApiType),
  baseUrl: Schema.String,
  chatPath: Schema.NullOr(Schema.String),
  modelsPath: Schema.NullOr(Schema.String),
  iconUrl: Schema.NullOr(Schema.String),
  customHeaders: Schema.Record(Schema.String, Schema.String),
  dailyQuotaResetTimezone: Schema.NullOr(Schema.String),
  dailyQuotaResetHour: Schema.NullOr(Schema.Int),
  createdAt: Schema.String,
  updatedAt: Schema.String
})
export interface ProviderNode extends Schema.Schema.Type<typeof ProviderNode> {}
