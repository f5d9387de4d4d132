/** Tools over skills, the code that runs in a sandbox: an API key without management rights uses them for itself only. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { at, type Json, listAt, numberAt, textAt, ToolFailure } from "#src/management/inner/Inner.ts"
import { make, type Tool } from "./Tool.ts"

const opt = Schema.optionalKey
const text = Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(200))

const path = "/api/skills"
/** Skills of a gateway, which are one page of its list. */
const MOST = 200
/** Executions where no number is given. */
const EXECUTIONS = 20

/** Without the code: it is the operator's. */
const viewOf = (skill: Json): Json => {
  const { handler: _handler, ...view } = skill as Record<string, Json>
  return view
}

export const skills: ReadonlyArray<Tool> = [
  make({
    name: "gateway_skills_list", brief: "Lists skills.", scopes: ["read:skills"], phase: 2, auditLevel: "basic",
    description: "Lists skills with the schemas of their input and output: those that run for an API key, those whose name contains a text, those that are enabled or not.",
    sourceEndpoints: [path], args: Schema.Struct({ apiKeyId: opt(text), name: opt(text), enabled: opt(Schema.Boolean) }),
    run: ({ apiKeyId, enabled, name }, inner) => Effect.map(inner.get(path, { apiKeyId, q: name, limit: MOST }), (found): Json => {
      // Descriptions and tags are searched, too.
      const part = name?.toLowerCase()
      const wanted = listAt(found, "skills").filter((skill) =>
        (enabled === undefined || at(skill, "enabled") === enabled) && (part === undefined || textAt(skill, "name").toLowerCase().includes(part)))
      return { skills: wanted.map(viewOf), total: wanted.length }
    })
  }),
  make({
    name: "gateway_skills_enable", brief: "Switches a skill on or off.", scopes: ["write:skills"], phase: 2, auditLevel: "full",
    description: "Switches a skill that runs for an API key on or off. A skill that runs for any key needs management rights.",
    sourceEndpoints: [path, `${path}/{id}`], args: Schema.Struct({ apiKeyId: text, skillId: text, enabled: Schema.Boolean }),
    run: ({ apiKeyId, enabled, skillId }, inner) => Effect.gen(function*() {
      const known = listAt(yield* inner.get(path, { apiKeyId, limit: MOST }), "skills").some((skill) => textAt(skill, "id") === skillId)
      if (!known) return yield* new ToolFailure({ code: "not_found", message: `No skill that runs for this API key has the id '${skillId}'` })
      const changed = yield* inner.send("PUT", `${path}/${encodeURIComponent(skillId)}`, { enabled })
      return { success: true, skill: viewOf(at(changed, "skill")) }
    })
  }),
  make({
    name: "gateway_skills_execute", brief: "Runs a skill.", scopes: ["execute:skills"], phase: 2, auditLevel: "full",
    description: "Runs a skill in a sandbox in the name of an API key, and waits for its end. The name means the newest version that is on; name@version means that one.",
    sourceEndpoints: [`${path}/executions`], args: Schema.Struct({ apiKeyId: text, skillName: text, input: Schema.Json, sessionId: opt(Schema.String.check(Schema.isMaxLength(200))) }),
    run: (asked, inner) => Effect.map(inner.send("POST", `${path}/executions`, asked), (answer): Json => {
      // The audit keeps a summary of the result, and of the input a hash only.
      const { input: _input, ...execution } = at(answer, "execution") as Record<string, Json>
      return { success: execution["status"] === "success", execution }
    })
  }),
  make({
    name: "gateway_skills_executions", brief: "Lists executions of skills.", scopes: ["read:skills"], phase: 2, auditLevel: "basic",
    description: "Lists executions of skills, newest first, with their inputs, outputs and errors: of one API key, or of all.",
    sourceEndpoints: [`${path}/executions`],
    args: Schema.Struct({ apiKeyId: opt(text), limit: opt(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 100 }))) }),
    run: ({ apiKeyId, limit = EXECUTIONS }, inner) => Effect.map(inner.get(`${path}/executions`, { apiKeyId, limit }), (found): Json =>
      ({ executions: at(found, "executions"), total: numberAt(found, "total") }))
  })
]
