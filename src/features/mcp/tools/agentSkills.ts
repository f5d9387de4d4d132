/** Tools over the pages that tell coding agents how to use this gateway. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { at, type Json, listAt } from "#src/management/inner/Inner.ts"
import { make, noArguments, type Tool } from "./Tool.ts"

const opt = Schema.optionalKey
const text = Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(100))
/** Part of a path: no dots. */
const pageId = text.check(Schema.isPattern(/^[a-z0-9-]+$/, { message: "Expected the id of a page, such as api-combos" }))

const path = "/api/agent-skills"

/** A list has no prompts: the pages hold them. */
const listed = (skill: Json): Json => {
  const { prompt: _prompt, ...view } = skill as Record<string, Json>
  return view
}

export const agentSkills: ReadonlyArray<Tool> = [
  make({
    name: "gateway_agent_skills_list", brief: "Lists agent skills.", scopes: ["read:catalog"], phase: 2, auditLevel: "basic",
    description: "Lists pages about this gateway for coding agents: groups of its HTTP interface (api), its commands (cli) and the operator's own. An area is one group or command.",
    sourceEndpoints: [path], args: Schema.Struct({ category: opt(Schema.Literals(["api", "cli", "own"])), area: opt(text) }),
    run: (asked, inner) => Effect.map(inner.get(path, asked), (found): Json => {
      const skills = listAt(found, "skills").map(listed)
      return { skills, total: skills.length }
    })
  }),
  make({
    name: "gateway_agent_skills_get", brief: "Reads an agent skill.", scopes: ["read:catalog"], phase: 2, auditLevel: "basic",
    description: "Reads one page about this gateway for coding agents, by its id: what it is about, and the page itself as Markdown.",
    sourceEndpoints: [`${path}/{id}`, `${path}/{id}/raw`], args: Schema.Struct({ id: pageId }),
    run: ({ id }, inner) => Effect.gen(function*() {
      const own = `${path}/${encodeURIComponent(id)}`
      const skill = at(yield* inner.get(own), "skill")
      return { skill: listed(skill), page: yield* inner.get(`${own}/raw`) }
    })
  }),
  make({
    name: "gateway_agent_skills_coverage", brief: "Coverage of agent skills.", scopes: ["read:catalog"], phase: 2, auditLevel: "basic",
    description: "Shows how many pages for coding agents there are of the HTTP interface and of commands, how many of them are stored, and when the last one was stored.",
    sourceEndpoints: [`${path}/coverage`], args: noArguments,
    run: (_args, inner) => inner.get(`${path}/coverage`)
  })
]
