import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import { Configuration } from "#actors/ports/Configuration.ts"
import { DocumentStore } from "#actors/ports/Stores.ts"
import * as Refusal from "#schemas/api/Refusal.ts"
import { AGENTS_MAX, type CustomAgent, customAgentsOf, type NewCustomAgent, settingKey, slugOf, versionIssue } from "#schemas/agents/CustomAgent.ts"
import { answer } from "#src/management/answer.ts"
import { Audit } from "#src/management/audit/Audit.ts"
import * as Surface from "#src/management/Surface.ts"
import * as Agents from "./Agents.ts"
import { AcpGroup, type NewAgent } from "./api.ts"

const KIND = "setting"

export const layer = HttpApiBuilder.group(Surface.make(AcpGroup), "acp", Effect.fn(function*(handlers) {
  const agents = yield* Agents.make
  const audit = yield* Audit
  const configuration = yield* Configuration
  const documents = yield* DocumentStore

  /** Read under the writer's lock: two changes at once both stand. */
  const change = (next: (stored: ReadonlyArray<CustomAgent>) => ReadonlyArray<CustomAgent> | Refusal.Refusal) => configuration.commit(Effect.gen(function*() {
    const after = next(customAgentsOf(configuration.current().settings))
    if (after instanceof Refusal.Refusal) return yield* Effect.fail(after)
    yield* documents.put(KIND, settingKey, after)
  }))

  const add = Effect.fn("Agents.add")(function*({ protocol = "stdio", providerAlias = null, spawnArgs = [], ...input }: NewCustomAgent) {
    const issue = versionIssue(input)
    if (issue !== null) return yield* Effect.fail(Refusal.invalidField("versionCommand", issue))
    const agent: CustomAgent = { ...input, id: slugOf(input.id), protocol, providerAlias, spawnArgs }
    yield* change((stored) => {
      if (Agents.builtInIds.has(agent.id) || stored.some(({ id }) => id === agent.id)) return Refusal.conflict(`There is an agent ${agent.id} already`)
      return stored.length >= AGENTS_MAX ? Refusal.conflict(`${AGENTS_MAX} agents were added already: remove one first`) : [...stored, agent]
    })
    yield* audit.note({ action: "acp_agent.added", target: agent.id, resourceType: "acp-agent", details: { binary: agent.binary, versionCommand: agent.versionCommand, protocol } })
    return { agent: yield* agents.look(agent) }
  })

  const remove = Effect.fn("Agents.remove")(function*(id: string) {
    yield* change((stored) => {
      if (Agents.builtInIds.has(id)) return Refusal.conflict(`The agent ${id} is built in`)
      return stored.some((agent) => agent.id === id) ? stored.filter((agent) => agent.id !== id) : Refusal.notFound("Agent not found")
    })
    yield* audit.note({ action: "acp_agent.removed", target: id, resourceType: "acp-agent" })
    return { success: true as const }
  })

  const post = Effect.fnUntraced(function*(payload: typeof NewAgent.Type) {
    if ("action" in payload) return { ...yield* agents.list(true), refreshed: true as const }
    return yield* add(payload)
  })

  return handlers.handleAll({
    list: () => agents.list(false),
    add: ({ payload }) => answer(post(payload)),
    remove: ({ query }) => answer(remove(query.id))
  })
}))
