/**
 * Tasks of cloud agents: given to the agent, read again from it until they are over. An agent that cannot be asked leaves a task as it was
 * last seen. A change that another caller made in between wins.
 */
import * as Clock from "effect/Clock"
import * as SecureRandom from "effect/crypto/SecureRandom"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import { DocumentStore } from "#actors/ports/Stores.ts"
import { checkKept, UrlGuard } from "#actors/ports/UrlGuard.ts"
import * as Refusal from "#schemas/api/Refusal.ts"
import * as ControlCalls from "#src/platform/upstream/egress/ControlCalls.ts"
import * as AgentCalls from "./AgentCalls.ts"
import { agents } from "./agents/all.ts"
import { ACTIVITIES_MAX, type Call, type CloudAgent, type Json, objectIn, type Progress, type Taken, textIn } from "./agents/CloudAgent.ts"
import { type AgentId, type CloudTask, isOver, type TaskActivity, type TaskStatus } from "./ports/CloudTask.ts"
import { CloudTaskStore } from "./ports/CloudTaskStore.ts"

/** Tasks that are kept; the oldest finished ones go first. */
const TASKS_MAX = 1_000
/** A task without an id of its agent after this time, ms, lost its gateway while it was given. */
const GIVEN_MS = 120_000

/** Pages of one list that are read; of a longer one the newest part is missed. */
const PAGES_MAX = 50

/** Documents of this kind are sealed by their store. */
const SECRET_KIND = "secret"
const keyOf = (id: AgentId): string => `cloudAgent.${id}`

export interface Given {
  readonly providerId: AgentId
  readonly prompt: string
  readonly source: CloudTask["source"]
  readonly options: CloudTask["options"]
}

const iso = (ms: number): string => new Date(ms).toISOString()

/** The task with what an answer tells of it. What is over stays over. */
export const advanced = (task: CloudTask, progress: Progress & Partial<Taken>, at: string): CloudTask => {
  const status = progress.status ?? task.status
  const { conversationUrl = task.conversationUrl, externalId = task.externalId, result = task.result } = progress
  const error = status === "failed" ? progress.error ?? task.error ?? "The agent failed." : null
  const activities = progress.activities?.slice(-ACTIVITIES_MAX) ?? task.activities
  const next: CloudTask = { ...task, externalId, status, result, error, activities, conversationUrl, completedAt: isOver(status) ? task.completedAt ?? at : null }
  return JSON.stringify(next) === JSON.stringify(task) ? task : { ...next, updatedAt: at > task.updatedAt ? at : iso(Date.parse(task.updatedAt) + 1) }
}

/** What a task is that its agent never confirmed: the gateway ended while it gave it. Null while it may still be given. */
export const lost = (task: Pick<CloudTask, "createdAt" | "externalId">, nowMs: number): Progress | null =>
  task.externalId !== null || nowMs - Date.parse(task.createdAt) < GIVEN_MS
    ? null
    : { status: "failed", error: "The gateway stopped while it gave the task: look at the agent's own page." }

export const make = Effect.gen(function*() {
  const documents = yield* DocumentStore
  const guard = yield* UrlGuard
  const random = yield* SecureRandom.SecureRandom
  const store = yield* CloudTaskStore
  const calls = AgentCalls.make(yield* ControlCalls.make, guard)
  const now = Effect.map(Clock.currentTimeMillis, iso)

  const accessOf = (id: AgentId) => Effect.map(documents.get(SECRET_KIND, keyOf(id)), (value): AgentCalls.Access | null => {
    const { apiKey, baseUrl } = objectIn(typeof value === "string" ? JSON.parse(value) : null)
    const key = textIn(apiKey)
    return key === null ? null : { apiKey: key, baseUrl: textIn(baseUrl) ?? agents[id].baseUrl }
  })

  const access = (agent: CloudAgent) => Effect.flatMap(accessOf(agent.id), (found) => found === null
    ? Effect.fail(Refusal.badRequest(`${agent.title} has no API key: store one by PUT /api/v1/agents/credentials`, { code: "agent_credentials_missing" }))
    : Effect.succeed(found))

  const find = (id: string) => Effect.flatMap(store.get(id), (task) => task === null ? Effect.fail(Refusal.notFound("Task not found")) : Effect.succeed(task))

  /** Stores what became of it; the stored one where another change came first. */
  const advance = Effect.fnUntraced(function*(task: CloudTask, progress: Progress & Partial<Taken>, at: string) {
    const next = advanced(task, progress, at)
    if (next === task || (yield* store.replace(next, task.updatedAt))) return next
    return yield* find(task.id)
  })

  const create = Effect.fn("CloudAgents.create")(function*(given: Given) {
    const agent = agents[given.providerId]
    const refused = agent.refusal(given)
    if (refused !== null) return yield* Effect.fail(Refusal.invalidField(refused.field, refused.message))
    const credentials = yield* access(agent)
    const at = yield* now
    const task: CloudTask = {
      ...given, id: yield* random.uuidV4(), externalId: null, status: "queued", result: null, activities: [], error: null, conversationUrl: null,
      createdAt: at, updatedAt: at, completedAt: null
    }
    // Before the call: a task that an agent works on is never unknown here.
    yield* store.insert(task)
    yield* store.trim(TASKS_MAX)
    const answer = yield* Effect.result(calls.ask(agent, credentials, agent.start(given)))
    const taken = Result.isSuccess(answer) ? agent.taken(answer.success) : null
    if (taken === null) {
      const failure = Result.isFailure(answer) ? answer.failure : new Refusal.Refusal(502, "server_error", "upstream_error", `${agent.title}'s answer names no task`)
      yield* advance(task, { status: "failed", error: failure.error.message }, yield* now)
      return yield* Effect.fail(failure)
    }
    // It may have been cancelled meanwhile: then the agent works on it all the same, and its page is named.
    const current = yield* find(task.id)
    return yield* advance(current, isOver(current.status) ? { ...taken, status: current.status } : { status: "running", ...taken }, yield* now)
  })

  const look = Effect.fnUntraced(function*(task: CloudTask, externalId: string) {
    const agent = agents[task.providerId]
    const credentials = yield* access(agent)
    let seen: Progress = {}
    for (const { call: first, next, read } of agent.look(externalId)) {
      let call: Call | null = first
      let listed: ReadonlyArray<TaskActivity> = []
      for (let page = 0; call !== null && page < PAGES_MAX; page++) {
        const answer: Json = yield* calls.ask(agent, credentials, call)
        const progress = read(answer)
        listed = [...listed, ...progress.activities ?? []].slice(-ACTIVITIES_MAX)
        seen = { ...seen, ...progress, ...progress.activities === undefined ? {} : { activities: listed } }
        call = next === undefined ? null : next(answer)
      }
    }
    return yield* advance(task, seen, yield* now)
  })

  const read = Effect.fn("CloudAgents.read")(function*(id: string) {
    const task = yield* find(id)
    if (isOver(task.status)) return task
    if (task.externalId !== null) {
      return yield* Effect.catchTag(look(task, task.externalId), "Refusal", (refusal) => Effect.as(
        Effect.annotateLogs(Effect.logWarning(`a task of a cloud agent was not read again: ${refusal.error.message}`), { taskId: id }), task
      ))
    }
    const nowMs = yield* Clock.currentTimeMillis
    const end = lost(task, nowMs)
    return end === null ? task : yield* advance(task, end, iso(nowMs))
  })

  const wrongState = (action: string, status: TaskStatus) => Effect.fail(Refusal.badRequest(`The task is ${status}: it cannot be ${action}`, { code: "wrong_state" }))

  /** A task that its agent has taken. */
  const atAgent = (task: CloudTask) => task.externalId === null ? wrongState("reached yet", task.status) : Effect.succeed(task.externalId)

  const approve = Effect.fn("CloudAgents.approve")(function*(id: string) {
    const task = yield* find(id)
    const agent = agents[task.providerId]
    if (task.status !== "awaiting_approval") return yield* wrongState("approved", task.status)
    if (agent.approve === null) return yield* Effect.fail(Refusal.badRequest(`${agent.title} has no plans to approve: send a message`, { code: "wrong_state" }))
    yield* calls.ask(agent, yield* access(agent), agent.approve(yield* atAgent(task)))
    return yield* advance(task, { status: "running" }, yield* now)
  })

  const message = Effect.fn("CloudAgents.message")(function*(id: string, text: string) {
    const task = yield* find(id)
    if (task.status === "cancelled" || task.status === "failed") return yield* wrongState("written to", task.status)
    const agent = agents[task.providerId]
    yield* calls.ask(agent, yield* access(agent), agent.message(yield* atAgent(task), text))
    return yield* advance(task, { status: "running" }, yield* now)
  })

  const cancel = Effect.fn("CloudAgents.cancel")(function*(id: string) {
    const task = yield* find(id)
    if (isOver(task.status)) return yield* wrongState("cancelled", task.status)
    return yield* advance(task, { status: "cancelled" }, yield* now)
  })

  const put = Effect.fn("CloudAgents.put")(function*(id: AgentId, apiKey: string, baseUrl: string | null) {
    if (baseUrl !== null && /[?#]/.test(baseUrl)) return yield* Effect.fail(Refusal.invalidField("baseUrl", "Expected an address without a query and a fragment: paths are put behind it"))
    if (baseUrl !== null) yield* Effect.mapError(checkKept(guard, baseUrl, "provider"), ({ message }) => Refusal.invalidField("baseUrl", message))
    yield* documents.put(SECRET_KIND, keyOf(id), JSON.stringify({ apiKey, baseUrl }))
  })

  return {
    list: store.list,
    create, read, approve, message, cancel, put, accessOf,
    remove: (id: string) => Effect.flatMap(store.remove(id), (isThere) => isThere ? Effect.void : Effect.fail(Refusal.notFound("Task not found"))),
    forget: (id: AgentId) => documents.remove(SECRET_KIND, keyOf(id))
  }
})
