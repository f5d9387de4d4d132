/** Agents that editors start over the Agent Client Protocol: those that this release knows, and those of the setting `customAgents`. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Semaphore from "effect/Semaphore"
import { Configuration } from "#actors/ports/Configuration.ts"
import { argumentsOf, type CustomAgent, customAgentsOf } from "#schemas/agents/CustomAgent.ts"
import type { AgentView } from "./api.ts"
import { Machine } from "./Machine.ts"
import * as Programs from "./programs.ts"
import { tools } from "./tools.ts"

/** How long what was found is shown without looking again, ms. */
const CACHE_MS = 60_000
/** Programs that are asked at once. */
const AT_ONCE = 8

interface Agent {
  readonly view: Omit<AgentView, "installed" | "version">
  readonly versionArguments: ReadonlyArray<string>
}

const builtIn: ReadonlyArray<Agent> = tools.flatMap(({ agentArguments, command, id, name, providerAlias, versionArguments }) =>
  agentArguments === null ? [] : [{ view: { id, name, binary: command, protocol: "stdio", providerAlias, spawnArgs: agentArguments, isCustom: false }, versionArguments }])

/** Ids that no custom agent may take. */
export const builtInIds: ReadonlySet<string> = new Set(builtIn.map(({ view }) => view.id))

const ofCustom = (agent: CustomAgent): Agent => {
  const { binary, id, name, protocol, providerAlias, spawnArgs } = agent
  return { view: { id, name, binary, protocol, providerAlias, spawnArgs, isCustom: true }, versionArguments: argumentsOf(agent) }
}

interface Found {
  readonly agents: ReadonlyArray<AgentView>
  readonly at: number
  /** The stored custom agents that it was made of. */
  readonly of: unknown
}

export const make = Effect.gen(function*() {
  const configuration = yield* Configuration
  const machine = yield* Machine
  const { withPermit } = yield* Semaphore.make(1)
  let last: Found | null = null

  const look = Effect.fnUntraced(function*({ versionArguments, view }: Agent) {
    const found = yield* Programs.find(machine, view.binary)
    if (found === null) return { ...view, installed: false, version: null }
    const { version } = yield* Programs.probe(machine, found, versionArguments)
    return { ...view, installed: true, version }
  })

  const list = Effect.fn("Agents.list")(function*(refresh: boolean) {
    const now = yield* Clock.currentTimeMillis
    const { settings } = configuration.current()
    const of = JSON.stringify(settings.get("customAgents") ?? [])
    if (refresh || last === null || last.of !== of || now - last.at >= CACHE_MS) {
      const custom = customAgentsOf(settings).filter(({ id }) => !builtInIds.has(id)).map(ofCustom)
      last = { agents: yield* Effect.forEach([...builtIn, ...custom], look, { concurrency: AT_ONCE }), at: now, of }
    }
    const { agents, at } = last
    const count = (is: (agent: AgentView) => boolean): number => agents.filter(is).length
    return {
      agents,
      summary: {
        total: agents.length, installed: count(({ installed }) => installed), notFound: count(({ installed }) => !installed),
        builtIn: count(({ isCustom }) => !isCustom), custom: count(({ isCustom }) => isCustom)
      },
      cacheTtlMs: CACHE_MS,
      cacheAge: Math.max(0, now - at)
    }
  })

  return { list: (refresh: boolean) => withPermit(list(refresh)), look: (agent: CustomAgent) => look(ofCustom(agent)) }
})
