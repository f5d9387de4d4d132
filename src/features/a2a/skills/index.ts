/** The skills: what the agent card says of them, and how one is made ready for a caller. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { A2aCaller } from "#src/features/a2a/A2aCaller.ts"
import type { Json } from "#src/management/inner/Inner.ts"
import * as Scopes from "#src/management/inner/scopes.ts"
import * as Reports from "./reports.ts"
import type { Skilled } from "./Skill.ts"
import type { SkillServices } from "./SkillServices.ts"
import * as SmartRouting from "./smartRouting.ts"

export interface SkillCard {
  readonly id: string
  readonly name: string
  readonly description: string
  readonly tags: ReadonlyArray<string>
  readonly examples: ReadonlyArray<string>
}

export const DEFAULT_SKILL = "smart-routing"

export const skills: ReadonlyArray<SkillCard> = [
  {
    id: DEFAULT_SKILL, name: "Smart routing", tags: ["routing", "chat", "llm"],
    description: "Sends a conversation to a model or combo by the gateway's routing, with the caller's limits, and says how it was routed and what it cost.",
    examples: ["Write a haiku about routers", "Summarize this text in two sentences"]
  },
  {
    id: "quota-management", name: "Quota management", tags: ["quota", "budget", "limits"],
    description: "Reports what is left of quotas and budgets: of the caller's key, or of the whole gateway for callers that may read it.",
    examples: ["How much of my budget is left?", "Which connections have no quota left?"]
  },
  {
    id: "provider-discovery", name: "Provider discovery", tags: ["providers", "models", "discovery"],
    description: "Lists the providers and models that the caller may use.",
    examples: ["Which models can I call?", "Which providers are connected?"]
  },
  {
    id: "cost-analysis", name: "Cost analysis", tags: ["cost", "usage", "analytics"],
    description: "Sums calls, tokens and costs of a range: of the caller's key, or of the whole gateway by provider and model.",
    examples: ["What did I spend in the last 7 days?", "Which model costs most?"]
  },
  {
    id: "health-report", name: "Health report", tags: ["health", "monitoring", "resilience"],
    description: "Reports the gateway's state and its active providers; callers that may read it also get circuit breakers and rate limits.",
    examples: ["Is the gateway healthy?", "Are circuit breakers open?"]
  }
]

/** What lets a key read about the whole gateway. */
const scopeOf: Readonly<Record<keyof typeof Reports.reports, string>> = {
  "quota-management": "read:quota", "provider-discovery": "read:models", "cost-analysis": "read:usage", "health-report": "read:health"
}

const reportNames = Object.keys(Reports.reports) as ReadonlyArray<keyof typeof Reports.reports>

const routing = Schema.decodeUnknownResult(SmartRouting.Options, { errors: "all" })
const reporting = Schema.decodeUnknownResult(Reports.Options, { errors: "all" })

/** The skill for this caller, or what is wrong with the request. `request`: what the client said beside its messages. */
export const ready = (services: SkillServices, id: string, caller: A2aCaller, request: Readonly<Record<string, Json>>): Skilled | string => {
  if (id === DEFAULT_SKILL) {
    const options = routing(request)
    return options._tag === "Failure" ? `metadata: ${options.failure.message.slice(0, 500)}` : SmartRouting.make(services, { key: caller.key, head: caller.head }, options.success)
  }
  const name = reportNames.find((known) => known === id)
  if (name === undefined) return `There is no skill '${id.slice(0, 100)}'. Known skills: ${skills.map((skill) => skill.id).join(", ")}.`
  const options = reporting(request)
  if (options._tag === "Failure") return `metadata: ${options.failure.message.slice(0, 500)}`
  const isWide = Scopes.missing(caller.scopes, [scopeOf[name]]) === null
  return {
    run: () => Effect.flatMap(Clock.currentTimeMillis, (now) => Reports.run(Reports.reports[name], {
      services, key: caller.key, isWide, options: options.success, now,
      inner: services.innerOf({ key: caller.key, acts: isWide ? caller.acts : { kind: "anonymous" }, ...(caller.presents === null ? {} : { presents: caller.presents }) })
    }))
  }
}
