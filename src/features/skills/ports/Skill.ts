import * as Schema from "effect/Schema"

/** `off`: never run; `on`: run when it is asked for. */
export const SkillMode = Schema.Literals(["on", "off"])
/** What lists may ask for: clients know `auto`, too, which no skill has here. */
export const ListedMode = Schema.Literals([...SkillMode.literals, "auto"])
export type SkillMode = typeof SkillMode.Type

/** Where a skill comes from: a marketplace, or its operator. */
export const marketNames = ["skillsmp", "skillssh"] as const
export type MarketName = typeof marketNames[number]
export const SkillSource = Schema.Literals([...marketNames, "local"])
export type SkillSource = typeof SkillSource.Type

/** JSON Schemas of what goes in and what comes out; an empty one takes everything. */
export const SkillSchema = Schema.Struct({
  input: Schema.Record(Schema.String, Schema.Json),
  output: Schema.Record(Schema.String, Schema.Json)
})
export interface SkillSchema extends Schema.Schema.Type<typeof SkillSchema> {}

/** Code of an operator, known as `name@version`. Times are ISO 8601. */
export const Skill = Schema.Struct({
  id: Schema.String,
  /** The only key in whose name it runs; null = any key. */
  apiKeyId: Schema.NullOr(Schema.String),
  name: Schema.String,
  /** Semantic version. */
  version: Schema.String,
  description: Schema.String,
  schema: SkillSchema,
  /** JavaScript: the body of `(input, context) => output`, or a module with such a function as its default export. */
  handler: Schema.String,
  enabled: Schema.Boolean,
  mode: SkillMode,
  tags: Schema.Array(Schema.String),
  sourceProvider: SkillSource,
  /** How often this name and version was installed. */
  installCount: Schema.Int,
  createdAt: Schema.String,
  updatedAt: Schema.String
})
export interface Skill extends Schema.Schema.Type<typeof Skill> {}

export const ExecutionStatus = Schema.Literals(["pending", "running", "success", "error", "timeout"])
export type ExecutionStatus = typeof ExecutionStatus.Type

/** One run of a skill. */
export const SkillExecution = Schema.Struct({
  id: Schema.String,
  skillId: Schema.String,
  apiKeyId: Schema.String,
  sessionId: Schema.NullOr(Schema.String),
  input: Schema.Json,
  /** Null until it succeeded. */
  output: Schema.Json,
  status: ExecutionStatus,
  errorMessage: Schema.NullOr(Schema.String),
  /** ms; null until it ended. */
  durationMs: Schema.NullOr(Schema.Int),
  /** ISO 8601. */
  createdAt: Schema.String
})
export interface SkillExecution extends Schema.Schema.Type<typeof SkillExecution> {}
