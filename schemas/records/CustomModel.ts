import * as Schema from "effect/Schema"

/** A model an operator added to a provider or node, or an override of a built-in one. */
export const CustomModel = Schema.Struct({
  provider: Schema.String,
  modelId: Schema.String,
  modelName: Schema.NullOr(Schema.String),
  source: Schema.String,
  apiFormat: Schema.String,
  supportedEndpoints: Schema.Array(Schema.String),
  targetFormat: Schema.NullOr(Schema.String),
  modelType: Schema.NullOr(Schema.String),
  maxInputTokens: Schema.NullOr(Schema.Int),
  maxOutputTokens: Schema.NullOr(Schema.Int),
  contextWindowOverride: Schema.NullOr(Schema.Int),
  dimensions: Schema.NullOr(Schema.Int),
  supportsVision: Schema.NullOr(Schema.Boolean),
  isFree: Schema.NullOr(Schema.Boolean),
  isHidden: Schema.Boolean,
  supportedInputTypes: Schema.Array(Schema.String),
  upstreamHeaders: Schema.Record(Schema.String, Schema.String),
  /** normalizeToolCallId, preserveOpenAIDeveloperRole, compatByProtocol and generationConfig (`schemas/words/ModelFormats.ts`), and the upstream's own id. */
  extra: Schema.Record(Schema.String, Schema.Json),
  createdAt: Schema.String,
  updatedAt: Schema.String
})
export interface CustomModel extends Schema.Schema.Type<typeof CustomModel> {}
