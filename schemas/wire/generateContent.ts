/**
 * Requests of the generateContent format (Gemini API v1beta and Vertex AI v1). Member names are the camelCase ones: the codec
 * renames snake_case spellings, which the vendor takes too, and drops nulls before it decodes. A part is a union by member: the one
 * data member that is present says what it is; a part with none of these members is a kind that only the vendor knows.
 */
import * as Schema from "effect/Schema"

const optional = Schema.optionalKey
const atLeastOne = Schema.isMinLength(1)
const Int = Schema.Int
/** Its values came out of JSON.parse; to look at each again would be half of the work of a long request. */
const JsonObject = Schema.Record(Schema.String, Schema.Unknown)

/** Bytes in base64. */
export const Blob = Schema.Struct({
  mimeType: Schema.NonEmptyString,
  data: Schema.NonEmptyString,
  displayName: optional(Schema.String)
})

/** A file of the vendor's store, a bucket or the web. */
export const FileData = Schema.Struct({
  fileUri: Schema.NonEmptyString,
  mimeType: optional(Schema.String),
  displayName: optional(Schema.String)
})

export const FunctionCall = Schema.Struct({
  id: optional(Schema.String),
  name: Schema.NonEmptyString,
  args: optional(JsonObject)
})

/** A medium inside a tool's result. */
const FunctionResponsePart = Schema.Struct({
  inlineData: optional(Blob),
  fileData: optional(FileData)
})

const FunctionResponse = Schema.Struct({
  id: optional(Schema.String),
  name: Schema.NonEmptyString,
  response: optional(JsonObject),
  parts: optional(Schema.Array(FunctionResponsePart))
})

export const Part = Schema.Struct({
  text: optional(Schema.String),
  inlineData: optional(Blob),
  fileData: optional(FileData),
  functionCall: optional(FunctionCall),
  functionResponse: optional(FunctionResponse),
  thought: optional(Schema.Boolean),
  thoughtSignature: optional(Schema.String)
})
export interface Part extends Schema.Schema.Type<typeof Part> {}

export const Content = Schema.Struct({
  role: optional(Schema.Literals(["user", "model", "function"])),
  parts: Schema.Array(Part).check(atLeastOne)
})
export interface Content extends Schema.Schema.Type<typeof Content> {}

/** System text; its role says nothing, and the vendor ignores it. */
const SystemInstruction = Schema.Struct({
  parts: Schema.Array(Schema.Struct({ text: Schema.String })).check(atLeastOne)
})

const FunctionDeclaration = Schema.Struct({
  name: Schema.NonEmptyString,
  description: optional(Schema.String),
  /** OpenAPI 3.0 subset; its types are written in capitals. */
  parameters: optional(JsonObject),
  /** JSON schema; excludes `parameters`. */
  parametersJsonSchema: optional(JsonObject)
})

export const Tool = Schema.Struct({
  functionDeclarations: optional(Schema.Array(FunctionDeclaration))
})

const FunctionCallingConfig = Schema.Struct({
  mode: optional(Schema.Literals(["MODE_UNSPECIFIED", "AUTO", "ANY", "NONE", "VALIDATED"])),
  allowedFunctionNames: optional(Schema.Array(Schema.String))
})

const ToolConfig = Schema.Struct({
  functionCallingConfig: optional(FunctionCallingConfig)
})

const ThinkingConfig = Schema.Struct({
  includeThoughts: optional(Schema.Boolean),
  /** Tokens; 0 switches thinking off, -1 lets the model decide. */
  thinkingBudget: optional(Int),
  thinkingLevel: optional(Schema.String)
})

export const GenerationConfig = Schema.Struct({
  maxOutputTokens: optional(Int),
  temperature: optional(Schema.Finite),
  topP: optional(Schema.Finite),
  topK: optional(Schema.Finite),
  stopSequences: optional(Schema.Array(Schema.String)),
  seed: optional(Int),
  candidateCount: optional(Int),
  presencePenalty: optional(Schema.Finite),
  frequencyPenalty: optional(Schema.Finite),
  responseMimeType: optional(Schema.String),
  responseSchema: optional(JsonObject),
  responseJsonSchema: optional(JsonObject),
  responseLogprobs: optional(Schema.Boolean),
  logprobs: optional(Int),
  responseModalities: optional(Schema.Array(Schema.String)),
  thinkingConfig: optional(ThinkingConfig)
})

export const Request = Schema.Struct({
  contents: Schema.Array(Content).check(atLeastOne),
  systemInstruction: optional(SystemInstruction),
  tools: optional(Schema.Array(Tool)),
  toolConfig: optional(ToolConfig),
  generationConfig: optional(GenerationConfig),
  serviceTier: optional(Schema.String),
  store: optional(Schema.Boolean)
})
export interface Request extends Schema.Schema.Type<typeof Request> {}
