import * as Schema from "effect/Schema"
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as HttpApiSchema from "effect/http-api/HttpApiSchema"
import * as OpenApi from "effect/http-api/OpenApi"
import { Access, reads, writes } from "#schemas/api/Access.ts"
import { clearable, listOf, Success, text } from "#schemas/api/fields.ts"

const opt = Schema.optionalKey

const name = text(1, 64).check(Schema.isPattern(/^[a-z0-9]+(?:-[a-z0-9]+)*$/, { message: "Expected lower-case letters, digits and single '-' between them" }))
const fields = {
  description: text(1, 1_024),
  prompt: text(1, 50_000),
  model: clearable(text(1, 300)),
  temperature: clearable(Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 2 })))
}

export const NewAgentSkill = Schema.Struct({ name, ...fields })
export type NewAgentSkill = typeof NewAgentSkill.Type
export const AgentSkillChange = Schema.Struct({ ...fields, name: opt(name), description: opt(fields.description), prompt: opt(fields.prompt) })
export type AgentSkillChange = typeof AgentSkillChange.Type

const Category = Schema.Literals(["api", "cli", "own"])

export const AgentSkillView = Schema.Struct({
  id: Schema.String,
  name: Schema.String,
  description: Schema.String,
  /** `own`: an operator wrote it; the others are made from the gateway's own descriptions. */
  category: Category,
  /** The group of calls, or the command; null for an operator's own. */
  area: Schema.NullOr(Schema.String),
  /** Whether a page of it is stored; others are made when they are read. */
  generated: Schema.Boolean,
  /** These are null in the catalogue's own entries. */
  prompt: Schema.NullOr(Schema.String),
  model: Schema.NullOr(Schema.String),
  temperature: Schema.NullOr(Schema.Finite),
  createdAt: Schema.NullOr(Schema.String),
  updatedAt: Schema.NullOr(Schema.String)
}).annotate({ identifier: "AgentSkill" })
export type AgentSkillView = typeof AgentSkillView.Type

const Share = Schema.Struct({ have: Schema.Int, total: Schema.Int })
const ids = Schema.Array(Schema.String)

export const Generation = Schema.Struct({
  /** Says what would be done. */
  dryRun: opt(Schema.Boolean),
  /** Removes stored pages whose entry is gone. */
  prune: opt(Schema.Boolean),
  onlyIds: opt(listOf(text(1, 100), 500))
})
export type Generation = typeof Generation.Type

export const Generated = Schema.Struct({
  generated: ids, unchanged: ids, pruned: ids, orphansDetected: ids, errors: Schema.Array(Schema.Struct({ id: Schema.String, message: Schema.String }))
})
export type Generated = typeof Generated.Type

export const Coverage = Schema.Struct({ api: Share, cli: Share, totalSkills: Schema.Int, generatedAt: Schema.NullOr(Schema.String) })
export type Coverage = typeof Coverage.Type

const params = { id: Schema.String }
const One = Schema.Struct({ skill: AgentSkillView })
const path = "/api/agent-skills"

/** Pages about this gateway for coding agents. */
export const AgentSkillsGroup = HttpApiGroup.make("agentSkills").add(
  HttpApiEndpoint.get("list", path, {
    query: { category: opt(Category), area: opt(text(1, 100)) }, success: Schema.Struct({ skills: Schema.Array(AgentSkillView) })
  }).annotate(Access, reads).annotate(OpenApi.Summary, "The catalogue, and skills of the operator's own"),
  HttpApiEndpoint.post("create", path, { payload: NewAgentSkill, success: One.pipe(HttpApiSchema.status(201)) })
    .annotate(Access, writes).annotate(OpenApi.Summary, "Add a skill of the operator's own"),
  HttpApiEndpoint.get("coverage", `${path}/coverage`, { success: Coverage })
    .annotate(Access, reads).annotate(OpenApi.Summary, "How many entries of the catalogue have a stored page, and when the last one was stored"),
  HttpApiEndpoint.post("generate", `${path}/generate`, { payload: Generation, success: Generated })
    .annotate(Access, writes).annotate(OpenApi.Summary, "Make the catalogue's pages from this release, and store them"),
  HttpApiEndpoint.get("get", `${path}/:id`, { params, success: One }).annotate(Access, reads).annotate(OpenApi.Summary, "One skill"),
  HttpApiEndpoint.get("raw", `${path}/:id/raw`, { params, success: Schema.String.pipe(HttpApiSchema.asText({ contentType: "text/markdown; charset=utf-8" })) })
    .annotate(Access, reads).annotate(OpenApi.Summary, "Its SKILL.md: the stored page, else one of this release"),
  HttpApiEndpoint.put("update", `${path}/:id`, { params, payload: AgentSkillChange, success: One })
    .annotate(Access, writes).annotate(OpenApi.Summary, "Change a skill of the operator's own; what is left out stays"),
  HttpApiEndpoint.delete("remove", `${path}/:id`, { params, success: Success }).annotate(Access, writes).annotate(OpenApi.Summary, "Remove a skill of the operator's own")
).annotateMerge(OpenApi.annotations({ title: "Agent skills", description: "Pages about this gateway for coding agents." }))
