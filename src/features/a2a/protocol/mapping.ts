/** A task as the protocol's messages say it, and what changed between two looks at it. */
import { Role, type StreamResponse, type Task, TaskState } from "@a2a-js/sdk"
import { type A2aTask, type Artifact, isEnded, states } from "#src/features/a2a/ports/A2aTask.ts"

type Part = Task["history"][number]["parts"][number]

const stateOf: Readonly<Record<A2aTask["state"], TaskState>> = {
  submitted: TaskState.TASK_STATE_SUBMITTED, working: TaskState.TASK_STATE_WORKING, completed: TaskState.TASK_STATE_COMPLETED,
  failed: TaskState.TASK_STATE_FAILED, cancelled: TaskState.TASK_STATE_CANCELED
}

/** The record's state of one of the protocol's; null for one that no task of the gateway has. */
export const ofState = (state: TaskState): A2aTask["state"] | null => states.find((name) => stateOf[name] === state) ?? null

const text = (value: string): Part => ({ content: { $case: "text", value }, metadata: undefined, filename: "", mediaType: "text/plain" })

const partOf = ({ content, type }: Artifact): Part => type === "data"
  ? { content: { $case: "data", value: content }, metadata: undefined, filename: "", mediaType: "application/json" }
  : text(String(content))

const artifactOf = (artifact: Artifact, part = partOf(artifact)): Task["artifacts"][number] => ({
  artifactId: artifact.name, name: artifact.name, description: "", parts: [part], metadata: undefined, extensions: []
})

const statusOf = (task: A2aTask): NonNullable<Task["status"]> => {
  const last = task.events.at(-1)
  const message = last?.message ?? null
  return {
    state: stateOf[task.state],
    timestamp: last?.timestamp,
    message: message === null ? undefined : {
      messageId: `${task.id}-${task.events.length}`, contextId: task.contextId, taskId: task.id, role: Role.ROLE_AGENT, parts: [text(message)],
      metadata: undefined, extensions: [], referenceTaskIds: []
    }
  }
}

const metadataOf = ({ metadata, skill }: A2aTask): Record<string, unknown> => ({ skill, ...metadata })

export const taskOf = (task: A2aTask): Task => ({
  id: task.id, contextId: task.contextId, status: statusOf(task), artifacts: task.artifacts.map((artifact) => artifactOf(artifact)),
  history: task.messages.map(({ content, id, role }) => ({
    messageId: id, contextId: task.contextId, taskId: task.id, role: role === "user" ? Role.ROLE_USER : Role.ROLE_AGENT, parts: [text(content)],
    metadata: undefined, extensions: [], referenceTaskIds: []
  })),
  metadata: metadataOf(task)
})

/** What a reader who has seen `before` is told of `after`: the first time the task, then pieces of artifacts and states. */
export const changes = (before: A2aTask | null, after: A2aTask): ReadonlyArray<StreamResponse> => {
  if (before === null) return [{ payload: { $case: "task", value: taskOf(after) } }]
  const told = new Array<StreamResponse>()
  const isOver = isEnded(after.state)
  for (const [index, artifact] of after.artifacts.entries()) {
    const known = before.artifacts[index]
    const same = known !== undefined && known.name === artifact.name ? known : null
    const grown = same !== null && typeof same.content === "string" && typeof artifact.content === "string" && artifact.content.startsWith(same.content)
    if (grown && same.content === artifact.content) continue
    if (same !== null && !grown && JSON.stringify(same.content) === JSON.stringify(artifact.content)) continue
    const piece = grown ? text(String(artifact.content).slice(String(same.content).length)) : undefined
    told.push({ payload: { $case: "artifactUpdate", value: {
      taskId: after.id, contextId: after.contextId, artifact: artifactOf(artifact, piece), append: grown, lastChunk: isOver, metadata: undefined
    } } })
  }
  if (before.state !== after.state) told.push({ payload: { $case: "statusUpdate", value: {
    taskId: after.id, contextId: after.contextId, status: statusOf(after), metadata: isOver ? metadataOf(after) : undefined
  } } })
  return told
}
