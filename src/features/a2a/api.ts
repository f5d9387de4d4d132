import * as Schema from "effect/Schema"
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as OpenApi from "effect/http-api/OpenApi"
import { Access, anyone, bearer, bearerWrites, FrameErrors } from "#schemas/api/Access.ts"
import * as FrameDocs from "./frameDocs.ts"
import { TaskState } from "./ports/A2aTask.ts"
import { TaskView } from "./protocol/views.ts"

const Skill = Schema.Struct({
  id: Schema.String, name: Schema.String, description: Schema.String, tags: Schema.Array(Schema.String), examples: Schema.Array(Schema.String)
})

const A2aStatus = Schema.Struct({
  status: Schema.Literals(["ok", "disabled"]),
  online: Schema.Boolean,
  enabled: Schema.Boolean,
  /** Tasks that are stored, by state; null while the record store cannot be read. */
  tasks: Schema.NullOr(Schema.Struct({ submitted: Schema.Int, working: Schema.Int, completed: Schema.Int, failed: Schema.Int, cancelled: Schema.Int })),
  /** Null while the server is switched off. */
  agent: Schema.NullOr(Schema.Struct({ name: Schema.String, description: Schema.String, version: Schema.String, url: Schema.String })),
  capabilities: Schema.Struct({ streaming: Schema.Boolean, pushNotifications: Schema.Boolean }),
  skills: Schema.Array(Skill)
})

const whole = (least: number, most: number) => Schema.optionalKey(Schema.NumberFromString.check(Schema.isInt(), Schema.isBetween({ minimum: least, maximum: most })))

/** Most tasks of a page. */
const MOST_LISTED = 200

/** Frames, streams and cards are the protocol's own. */
const Frames = Schema.Unknown
const params = { id: Schema.String }
const One = Schema.Struct({ task: TaskView })

export const A2aGroup = HttpApiGroup.make("a2a").add(
  HttpApiEndpoint.post("send", "/a2a", { success: Frames }).annotate(Access, bearerWrites).annotate(FrameErrors, true)
    .annotate(OpenApi.Summary, "Send a JSON-RPC frame: the gateway's own dialect, or the Agent2Agent protocol 0.3 or 1.0").annotate(OpenApi.Transform, FrameDocs.describe),
  HttpApiEndpoint.get("card", "/.well-known/agent.json", { success: Frames }).annotate(Access, anyone).annotate(OpenApi.Summary, "The agent card"),
  HttpApiEndpoint.get("newCard", "/.well-known/agent-card.json", { success: Frames }).annotate(Access, anyone)
    .annotate(OpenApi.Summary, "The agent card where newer clients look for it; the header A2A-Version chooses its form"),
  HttpApiEndpoint.get("status", "/api/a2a/status", { success: A2aStatus }).annotate(Access, anyone)
    .annotate(OpenApi.Summary, "Whether agents are served, and what they may ask for"),
  HttpApiEndpoint.get("list", "/api/a2a/tasks", {
    query: { state: Schema.optionalKey(TaskState), skill: Schema.optionalKey(Schema.String.check(Schema.isMaxLength(200))), limit: whole(1, MOST_LISTED), offset: whole(0, 1_000_000) },
    success: Schema.Struct({ tasks: Schema.Array(TaskView), total: Schema.Int, limit: Schema.Int, offset: Schema.Int })
  }).annotate(Access, bearer).annotate(OpenApi.Summary, "The caller's own tasks, newest first"),
  HttpApiEndpoint.get("get", "/api/a2a/tasks/:id", { params, success: One }).annotate(Access, bearer).annotate(OpenApi.Summary, "One of the caller's own tasks"),
  HttpApiEndpoint.post("cancel", "/api/a2a/tasks/:id/cancel", { params, success: One }).annotate(Access, bearerWrites)
    .annotate(OpenApi.Summary, "Cancel one of the caller's own tasks; 409 when it has ended")
).annotateMerge(OpenApi.annotations({ title: "Agent-to-agent server", description: "Skills of the gateway for other agents, over the Agent2Agent protocol." }))
