import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import * as Refusal from "#schemas/api/Refusal.ts"
import { answer } from "#src/management/answer.ts"
import { Audit } from "#src/management/audit/Audit.ts"
import * as StoredCredentials from "#src/management/ownership/storedCredentials.ts"
import * as Surface from "#src/management/Surface.ts"
import type { Access } from "./AgentCalls.ts"
import { agents } from "./agents/all.ts"
import { CloudAgentsGroup, type CredentialView, LISTED, type NewTask, type TaskAction, type TaskView } from "./api.ts"
import * as CloudAgents from "./CloudAgents.ts"
import { AgentId, type CloudTask } from "./ports/CloudTask.ts"

const viewOf = ({ conversationUrl, externalId, ...fields }: CloudTask): TaskView =>
  ({ ...fields, external_id: externalId, conversation_url: conversationUrl })

/** At most a third of it. */
const masked = (key: string): string => `${key.slice(0, Math.min(6, Math.floor(key.length / 3)))}...`

const credentialView = (id: AgentId, access: Access | null): CredentialView => ({
  providerId: id, name: agents[id].title, configured: access !== null, apiKey: access === null ? null : masked(access.apiKey), baseUrl: access?.baseUrl ?? agents[id].baseUrl
})

export const layer = HttpApiBuilder.group(Surface.make(CloudAgentsGroup), "cloudAgents", Effect.fn(function*(handlers) {
  const audit = yield* Audit
  const desk = yield* CloudAgents.make
  const scope = yield* Effect.scope
  /** Goes on when its caller leaves: what an agent was told is stored and noted in any case. */
  const carried = <A, E, R>(work: Effect.Effect<A, E, R>) => Effect.flatMap(Effect.forkIn(work, scope), Fiber.join)

  const one = (task: CloudTask) => ({ data: { task: viewOf(task) } })
  const note = (action: string, { id, providerId, source }: CloudTask) =>
    audit.note({ action, target: id, resourceType: "cloud-task", details: { providerId, repository: source.repoName } })

  const create = ({ options, prompt, providerId, source }: NewTask) => Effect.gen(function*() {
    if (typeof options?.environment === "string") {
      return yield* Effect.fail(Refusal.notSupportedYet([{ field: "options.environment", message: "The agent chooses its environment" }]))
    }
    const { autoCreatePr = false, planApprovalRequired = false } = options ?? {}
    const task = yield* desk.create({ providerId, prompt, source, options: { autoCreatePr, planApprovalRequired } })
    yield* note("cloud_task.created", task)
    return one(task)
  })

  const act = (id: string, { action, message }: TaskAction) => Effect.gen(function*() {
    if (action === "message" && message === undefined) return yield* Effect.fail(Refusal.invalidField("message", "Expected the text to send"))
    const task = yield* action === "approve" ? desk.approve(id) : action === "cancel" ? desk.cancel(id) : desk.message(id, message ?? "")
    yield* note(action === "approve" ? "cloud_task.approved" : action === "cancel" ? "cloud_task.cancelled" : "cloud_task.messaged", task)
    return one(task)
  })

  const remove = (id: string) => Effect.gen(function*() {
    yield* desk.remove(id)
    yield* audit.note({ action: "cloud_task.deleted", target: id, resourceType: "cloud-task" })
    return { success: true as const }
  })

  const credentialOf = (id: AgentId) => Effect.map(desk.accessOf(id), (access) => credentialView(id, access))
  const noteCredential = (action: string, id: AgentId) => audit.note({ action, target: id, resourceType: "cloud-agent" })

  return handlers.handleAll({
    list: ({ query }) => answer(Effect.map(
      desk.list({ providerId: query.provider, status: query.status, limit: query.limit ?? LISTED.default }), (tasks) => ({ data: tasks.map(viewOf) })
    )),
    create: ({ payload }) => answer(carried(create(payload))),
    removeById: ({ query }) => answer(remove(query.id)),
    get: ({ params }) => answer(Effect.map(desk.read(params.id), one)),
    act: ({ params, payload }) => answer(carried(act(params.id, payload))),
    remove: ({ params }) => answer(remove(params.id)),
    credentials: () => answer(Effect.map(Effect.forEach(AgentId.literals, credentialOf), (credentials) => ({ credentials }))),
    putCredential: ({ payload: { apiKey, baseUrl, providerId } }) => answer(Effect.gen(function*() {
      const stored = yield* desk.accessOf(providerId)
      const keeps = stored !== null && apiKey === masked(stored.apiKey)
      if (keeps) {
        const [from, to] = [stored.baseUrl, baseUrl ?? agents[providerId].baseUrl].map(StoredCredentials.originOf) as [string | null, string | null]
        yield* StoredCredentials.refuseMove({ field: "baseUrl", from, to })
      }
      yield* desk.put(providerId, keeps ? stored.apiKey : apiKey, baseUrl ?? null)
      yield* noteCredential("cloud_agent.credential_stored", providerId)
      return yield* credentialOf(providerId)
    })),
    removeCredential: ({ query }) => answer(Effect.gen(function*() {
      if (!(yield* desk.forget(query.providerId))) return yield* Effect.fail(Refusal.notFound(`${agents[query.providerId].title} has no API key`))
      yield* noteCredential("cloud_agent.credential_removed", query.providerId)
      return { success: true as const }
    }))
  })
}))
