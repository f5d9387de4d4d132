/** A task that another agent gave the gateway, and its transitions. Pure: nothing leaves an end state. */
import * as Schema from "effect/Schema"

export const states = ["submitted", "working", "completed", "failed", "cancelled"] as const
export const TaskState = Schema.Literals(states)
export type TaskState = typeof TaskState.Type

export const isEnded = (state: TaskState): boolean => state !== "submitted" && state !== "working"

/** Whose fault a failure is: what the caller asked, what its key may do, its money, a provider, or the gateway. */
export const Fault = Schema.Struct({ kind: Schema.Literals(["invalid", "not_authorized", "budget", "provider", "internal"]), message: Schema.String })
export interface Fault extends Schema.Schema.Type<typeof Fault> {}

export const Artifact = Schema.Struct({ name: Schema.String, type: Schema.Literals(["text", "data", "error"]), content: Schema.Json })
export interface Artifact extends Schema.Schema.Type<typeof Artifact> {}

export const TaskMessage = Schema.Struct({ id: Schema.String, role: Schema.String, content: Schema.String })
export interface TaskMessage extends Schema.Schema.Type<typeof TaskMessage> {}

const Metadata = Schema.Record(Schema.String, Schema.Json)

/** What a task is about and what came of it; the rest of the record decides who sees it and how long. */
export const TaskContent = Schema.Struct({
  /** Text of the last message. */
  input: Schema.String,
  messages: Schema.Array(TaskMessage),
  /** What the client said beside its messages: model, combo, limits. */
  request: Metadata,
  artifacts: Schema.Array(Artifact),
  events: Schema.Array(Schema.Struct({ timestamp: Schema.String, state: TaskState, message: Schema.NullOr(Schema.String) })),
  metadata: Metadata,
  /** Set when it failed. */
  fault: Schema.NullOr(Fault)
})
export interface TaskContent extends Schema.Schema.Type<typeof TaskContent> {}

/** Times are ms since the epoch. */
export interface A2aTask extends TaskContent {
  readonly id: string
  /** `key:<id>`, `token:<id>` or `operator`: no other caller sees it. */
  readonly owner: string
  readonly contextId: string
  readonly skill: string
  readonly state: TaskState
  /** Grows with each transition and each piece of the answer. */
  readonly revision: number
  readonly createdAt: number
  readonly updatedAt: number
  readonly completedAt: number | null
  /** A task that has not ended by then fails. */
  readonly expiresAt: number
  /** The record is removed then. */
  readonly goneAt: number
  /** The key allows no logging: the store holds states and events alone. */
  readonly isPrivate: boolean
}

/** A task that has not ended by then fails, ms. */
export const TTL_MS = 5 * 60_000
/** How long an ended task can be read, ms. */
const KEEP_MS = 30 * 86_400_000
/** Longest text of an artifact, characters. */
export const MOST_TEXT = 1024 * 1024

export interface Beginning {
  readonly id: string
  readonly owner: string
  readonly contextId: string
  readonly skill: string
  readonly messages: ReadonlyArray<TaskMessage>
  readonly request: Readonly<Record<string, Schema.Json>>
  readonly isPrivate: boolean
}

const iso = (ms: number): string => new Date(ms).toISOString()

export const submitted = (beginning: Beginning, now: number): A2aTask => ({
  ...beginning, input: beginning.messages.at(-1)?.content ?? "", state: "submitted", artifacts: [], metadata: {}, fault: null, revision: 1,
  events: [{ timestamp: iso(now), state: "submitted", message: null }],
  createdAt: now, updatedAt: now, completedAt: null, expiresAt: now + TTL_MS, goneAt: now + (beginning.isPrivate ? TTL_MS : KEEP_MS)
})

const moved = (task: A2aTask, state: TaskState, now: number, message: string | null, more: Partial<A2aTask> = {}): A2aTask => isEnded(task.state) ? task : {
  ...task, ...more, state, revision: task.revision + 1, updatedAt: now, completedAt: isEnded(state) ? now : null,
  events: [...task.events, { timestamp: iso(now), state, message }]
}

export const working = (task: A2aTask, now: number): A2aTask => moved(task, "working", now, null)

/** A piece of the answer's text came. */
export const said = (task: A2aTask, text: string, now: number): A2aTask => {
  if (isEnded(task.state)) return task
  const [answer] = task.artifacts
  const before = answer !== undefined && typeof answer.content === "string" ? answer.content : ""
  return { ...task, artifacts: [{ name: "answer", type: "text", content: before + text }, ...task.artifacts.slice(1)], revision: task.revision + 1, updatedAt: now }
}

export const completed = (task: A2aTask, artifacts: ReadonlyArray<Artifact>, metadata: TaskContent["metadata"], now: number): A2aTask =>
  moved(task, "completed", now, null, { artifacts, metadata })

export const failed = (task: A2aTask, fault: Fault, metadata: TaskContent["metadata"], now: number): A2aTask =>
  moved(task, "failed", now, fault.message, { fault, artifacts: [...task.artifacts, { name: "error", type: "error", content: fault.message }], metadata: { ...task.metadata, ...metadata } })

export const cancelled = (task: A2aTask, now: number): A2aTask => moved(task, "cancelled", now, "The task was cancelled.")

/** Where no node works on it any more. */
export const abandoned = (task: A2aTask, now: number): A2aTask =>
  failed(task, { kind: "internal", message: "The node that worked on this task stopped. Send the message again." }, { restartable: true }, now)

export const overdue = (task: A2aTask, now: number): A2aTask =>
  failed(task, { kind: "internal", message: `The task did not end within ${TTL_MS / 1000} s.` }, { restartable: true }, now)
