import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import { answer } from "#src/management/answer.ts"
import * as Surface from "#src/management/Surface.ts"
import { AgentSkillsGroup, type AgentSkillView } from "./api.ts"
import { ManagedAgentSkills } from "./ManagedAgentSkills.ts"

const shown = (skill: AgentSkillView) => ({ skill })

export const layer = HttpApiBuilder.group(Surface.make(AgentSkillsGroup), "agentSkills", Effect.fn(function*(handlers) {
  const managed = yield* ManagedAgentSkills
  return handlers.handleAll({
    list: ({ query }) => answer(Effect.map(managed.list(query), (skills) => ({ skills }))),
    create: ({ payload }) => answer(Effect.map(managed.create(payload), shown)),
    coverage: () => answer(managed.coverage),
    generate: ({ payload }) => answer(managed.generate(payload)),
    get: ({ params }) => answer(Effect.map(managed.get(params.id), shown)),
    raw: ({ params }) => answer(managed.raw(params.id)),
    update: ({ params, payload }) => answer(Effect.map(managed.update(params.id, payload), shown)),
    remove: ({ params }) => answer(Effect.as(managed.remove(params.id), { success: true as const }))
  })
}))
