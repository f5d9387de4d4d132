import * as Schema from "effect/Schema"

/** A skill that an operator wrote for coding agents. Times are ISO 8601. */
export const AgentSkill = Schema.Struct({
  id: Schema.String,
  /** Lower-case letters, digits and `-`. */
  name: Schema.String,
  description: Schema.String,
  /** Markdown: what the agent reads. */
  prompt: Schema.String,
  /** The model that it was written for; shown to agents. */
  model: Schema.NullOr(Schema.String),
  temperature: Schema.NullOr(Schema.Finite),
  createdAt: Schema.String,
  updatedAt: Schema.String
})
export interface AgentSkill extends Schema.Schema.Type<typeof AgentSkill> {}
