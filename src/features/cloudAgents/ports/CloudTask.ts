/** Tasks that were given to a cloud agent: what was asked, and what is known of it. */
import * as Schema from "effect/Schema"

/** `awaiting_approval`: the agent waits for an approval of its plan, or for a message. */
export const TaskStatus = Schema.Literals(["queued", "running", "awaiting_approval", "completed", "failed", "cancelled"])
export type TaskStatus = typeof TaskStatus.Type

/** Nothing more comes of a task in one of these. */
export const isOver = (status: TaskStatus): boolean => status === "completed" || status === "failed" || status === "cancelled"

export const AgentId = Schema.Literals(["jules", "devin", "cursor"])
export type AgentId = typeof AgentId.Type

const opt = Schema.optionalKey
const nullable = <S extends Schema.Top>(schema: S) => Schema.NullOr(schema)

export const TaskSource = Schema.Struct({ repoName: Schema.String, repoUrl: Schema.String, branch: opt(Schema.String) })
export type TaskSource = typeof TaskSource.Type

export const TaskOptions = Schema.Struct({ autoCreatePr: Schema.Boolean, planApprovalRequired: Schema.Boolean })
export type TaskOptions = typeof TaskOptions.Type

export const TaskActivity = Schema.Struct({
  id: Schema.String,
  type: Schema.Literals(["plan", "command", "code_change", "message", "error", "completion"]),
  content: Schema.String,
  /** ISO 8601; null where the agent's API tells none. */
  timestamp: nullable(Schema.String),
  metadata: Schema.Record(Schema.String, Schema.Json)
})
export type TaskActivity = typeof TaskActivity.Type

/** What the agent made; null where its API does not tell. */
export const TaskResult = Schema.Struct({ prUrl: nullable(Schema.String), prNumber: nullable(Schema.Int), summary: nullable(Schema.String) })
export type TaskResult = typeof TaskResult.Type

export const CloudTask = Schema.Struct({
  id: Schema.String,
  providerId: AgentId,
  /** The agent's own id of it; null until the agent has taken it. */
  externalId: nullable(Schema.String),
  status: TaskStatus,
  prompt: Schema.String,
  source: TaskSource,
  options: TaskOptions,
  result: nullable(TaskResult),
  /** Oldest first. */
  activities: Schema.Array(TaskActivity),
  error: nullable(Schema.String),
  /** The agent's page of it. */
  conversationUrl: nullable(Schema.String),
  /** ISO 8601, as the next two. */
  createdAt: Schema.String,
  updatedAt: Schema.String,
  completedAt: nullable(Schema.String)
})
export interface CloudTask extends Schema.Schema.Type<typeof CloudTask> {}
