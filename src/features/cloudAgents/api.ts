import * as Schema from "effect/Schema"
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as HttpApiSchema from "effect/http-api/HttpApiSchema"
import * as OpenApi from "effect/http-api/OpenApi"
import { Access, grants, reads, writes } from "#schemas/api/Access.ts"
import { SentBack, sentBack } from "#schemas/api/SentBack.ts"
import { queryInteger, Success, text } from "#schemas/api/fields.ts"
import { AgentId, CloudTask, TaskStatus } from "./ports/CloudTask.ts"

const opt = Schema.optionalKey

export const LISTED = { default: 50, most: 500 } as const

export const NewTask = Schema.Struct({
  providerId: AgentId,
  prompt: text(1, 10_000),
  source: Schema.Struct({ repoName: text(1, 200), repoUrl: text(1, 2_000), branch: opt(text(1, 255)) }),
  options: opt(Schema.Struct({ autoCreatePr: opt(Schema.Boolean), planApprovalRequired: opt(Schema.Boolean), environment: opt(Schema.NullOr(text(1, 200))) }))
})
export interface NewTask extends Schema.Schema.Type<typeof NewTask> {}

/** Of its fields only `externalId` and `conversationUrl` have other names in replies. */
const { conversationUrl, externalId, ...fields } = CloudTask.fields
export const TaskView = Schema.Struct({
  ...fields,
  external_id: externalId,
  conversation_url: conversationUrl
}).annotate({ identifier: "CloudTask" })
export interface TaskView extends Schema.Schema.Type<typeof TaskView> {}

export const TaskAction = Schema.Struct({ action: Schema.Literals(["approve", "message", "cancel"]), message: opt(text(1, 10_000)) })
export interface TaskAction extends Schema.Schema.Type<typeof TaskAction> {}

const Credential = Schema.Struct({
  providerId: AgentId,
  name: Schema.String,
  configured: Schema.Boolean,
  /** Its first characters and `...`; null without one. */
  apiKey: Schema.NullOr(Schema.String),
  baseUrl: Schema.String
}).annotate({ identifier: "AgentCredential" })
export type CredentialView = typeof Credential.Type

/** `apiKey`: as the list shows it, it stays. */
export const CredentialChange = Schema.Struct({ providerId: AgentId, apiKey: text(1, 4_000), baseUrl: opt(Schema.NullOr(text(1, 2_000))) })
export interface CredentialChange extends Schema.Schema.Type<typeof CredentialChange> {}

const path = "/api/v1/agents"
const One = Schema.Struct({ data: Schema.Struct({ task: TaskView }) })
const params = { id: Schema.String }
const byId = { id: text(1, 100) }

/** Tasks for coding agents that run at their vendors. */
export const CloudAgentsGroup = HttpApiGroup.make("cloudAgents").add(
  HttpApiEndpoint.get("list", `${path}/tasks`, {
    query: { provider: opt(AgentId), status: opt(TaskStatus), limit: opt(queryInteger(1, LISTED.most)) },
    success: Schema.Struct({ data: Schema.Array(TaskView) })
  }).annotate(Access, reads).annotate(OpenApi.Summary, "Tasks of cloud agents, newest first, as they were last seen"),
  HttpApiEndpoint.post("create", `${path}/tasks`, { payload: NewTask, success: One.pipe(HttpApiSchema.status(201)) })
    .annotate(Access, writes).annotate(OpenApi.Summary, "Give a task to a cloud agent"),
  HttpApiEndpoint.delete("removeById", `${path}/tasks`, { query: byId, success: Success })
    .annotate(Access, writes).annotate(OpenApi.Summary, "Forget a task; its agent is not told"),
  HttpApiEndpoint.get("get", `${path}/tasks/:id`, { params, success: One })
    .annotate(Access, reads).annotate(OpenApi.Summary, "One task, read again from its agent unless it is over"),
  HttpApiEndpoint.post("act", `${path}/tasks/:id`, { params, payload: TaskAction, success: One })
    .annotate(Access, writes).annotate(OpenApi.Summary, "Approve the plan, send a message, or cancel here: the agent is not told"),
  HttpApiEndpoint.delete("remove", `${path}/tasks/:id`, { params, success: Success })
    .annotate(Access, writes).annotate(OpenApi.Summary, "Forget a task; its agent is not told"),
  HttpApiEndpoint.get("credentials", `${path}/credentials`, { success: Schema.Struct({ credentials: Schema.Array(Credential) }) })
    .annotate(Access, reads).annotate(OpenApi.Summary, "Cloud agents and whether each has a credential, masked"),
  HttpApiEndpoint.put("putCredential", `${path}/credentials`, { payload: CredentialChange, success: Credential })
    .annotate(SentBack, sentBack({ by: ["providerId"] })).annotate(Access, grants).annotate(OpenApi.Summary, "Store the API key of an agent, sealed"),
  HttpApiEndpoint.delete("removeCredential", `${path}/credentials`, { query: { providerId: AgentId }, success: Success })
    .annotate(Access, grants).annotate(OpenApi.Summary, "Remove the API key of an agent")
).annotateMerge(OpenApi.annotations({ title: "Cloud agents", description: "Tasks for coding agents that run at their vendors." }))
