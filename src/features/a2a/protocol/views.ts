/** A task as the management API and the gateway's own dialect show it: times as ISO 8601, and nothing of its owner. */
import * as Schema from "effect/Schema"
import { type A2aTask, Artifact, TaskContent, TaskState } from "#src/features/a2a/ports/A2aTask.ts"

export const TaskView = Schema.Struct({
  id: Schema.String,
  contextId: Schema.String,
  skill: Schema.String,
  state: TaskState,
  input: Schema.String,
  output: Schema.NullOr(Schema.String),
  messages: TaskContent.fields.messages,
  artifacts: Schema.Array(Artifact),
  events: TaskContent.fields.events,
  metadata: TaskContent.fields.metadata,
  createdAt: Schema.String,
  updatedAt: Schema.String,
  completedAt: Schema.NullOr(Schema.String),
  expiresAt: Schema.String
}).annotate({ identifier: "AgentTask" })
export interface TaskView extends Schema.Schema.Type<typeof TaskView> {}

const iso = (ms: number): string => new Date(ms).toISOString()

export const viewOf = (task: A2aTask): TaskView => {
  const answer = task.artifacts.find(({ type }) => type === "text")
  return {
    id: task.id, contextId: task.contextId, skill: task.skill, state: task.state, input: task.input,
    output: typeof answer?.content === "string" ? answer.content : null, messages: task.messages, artifacts: task.artifacts, events: task.events,
    metadata: task.metadata, createdAt: iso(task.createdAt), updatedAt: iso(task.updatedAt),
    completedAt: task.completedAt === null ? null : iso(task.completedAt), expiresAt: iso(task.expiresAt)
  }
}

/** The same as JSON of a frame. */
export const recordView = (task: A2aTask): Schema.Json => {
  const { artifacts, events, messages, ...rest } = viewOf(task)
  return { ...rest, artifacts: artifacts.map((one) => ({ ...one })), events: events.map((one) => ({ ...one })), messages: messages.map((one) => ({ ...one })) }
}
