/** Router strategies of automatic routing: each orders scored candidates, best first. Pure and deterministic. */
import type { ComboConfig } from "#schemas/records/Combo.ts"
import type { Candidate, Moment, Skipped } from "#src/routing/models/candidate.ts"
import type { Scored } from "#src/routing/auto/factors.ts"
import { narrow, type Filtered } from "#src/routing/strategies/filter.ts"
import { blendedPrice } from "#src/routing/strategies/price.ts"
import { breakerScore, sortedBy, tightest } from "#src/routing/strategies/ranking.ts"

export type RouterName = "rules" | "score" | "cost" | "latency" | "sla" | "lkgp"

const names: Readonly<Record<string, RouterName>> = {
  "rules": "rules", "score": "score", "cost": "cost", "eco": "cost", "latency": "latency", "fast": "latency",
  "sla-aware": "sla", "sla": "sla", "lkgp": "lkgp"
}

/** Every name that `routerStrategy` may have. */
export const routerNames: ReadonlyArray<string> = Object.keys(names)
export const isRouter = (name: string): boolean => Object.hasOwn(names, name)

/** Unknown names are `rules`. */
export const routerOf = (name: string | undefined): RouterName => name !== undefined && isRouter(name) ? names[name] as RouterName : "rules"

/** More than half of the breakers (one per provider) are open. */
export const isIncident = (candidates: ReadonlyArray<Candidate>, moment: Moment): boolean => {
  const open = new Map<string, boolean>()
  for (const { target } of candidates) open.set(target.provider, moment.health(target).breaker === "open")
  let count = 0
  for (const isOpen of open.values()) if (isOpen) count++
  return count * 2 > open.size
}

type Router = (scored: ReadonlyArray<Scored>, config: ComboConfig, moment: Moment, incident: boolean) => ReadonlyArray<Candidate>

const candidatesOf = (scored: ReadonlyArray<Scored>): ReadonlyArray<Candidate> => scored.map(({ candidate }) => candidate)
const scoresOf = (scored: ReadonlyArray<Scored>): ((candidate: Candidate) => number) => {
  const scores = new Map(scored.map(({ candidate, score }) => [candidate, score]))
  return (candidate) => scores.get(candidate) ?? 0
}

/** Rules before the score: in an incident the healthiest first; always a breaker that is being probed behind those that serve. */
const rules: Router = (scored, _config, moment, incident) => {
  const scoreOf = scoresOf(scored)
  return sortedBy(candidatesOf(scored), (candidate) => {
    const health = breakerScore(moment.health(candidate.target))
    return [incident ? -health : health > 0.5 ? 0 : 1, -scoreOf(candidate)]
  })
}

const score: Router = (scored) => {
  const scoreOf = scoresOf(scored)
  return sortedBy(candidatesOf(scored), (candidate) => [-scoreOf(candidate)])
}

const cost: Router = (scored, _config, { promptTokens }) => {
  const scoreOf = scoresOf(scored)
  return sortedBy(candidatesOf(scored), (candidate) => [blendedPrice(candidate.target, promptTokens) ?? Infinity, -scoreOf(candidate)])
}

/** ms that an error rate of 1 counts for. */
const errorPenaltyMs = 1_000

/** p95 + errorRate x 1000, lowest first; unmeasured ones last. */
const latency: Router = (scored, _config, { health }) => {
  const scoreOf = scoresOf(scored)
  return sortedBy(candidatesOf(scored), (candidate) => {
    const { errorRate, latencyP95Ms } = health(candidate.target)
    return [latencyP95Ms === null ? Infinity : latencyP95Ms + (errorRate ?? 0) * errorPenaltyMs, -scoreOf(candidate)]
  })
}

/** 1 within the limit, then in inverse proportion; one half without data or limit. */
const within = (value: number | null, limit: number | undefined): number =>
  value === null || limit === undefined ? 0.5 : value <= limit ? 1 : limit / value

/** Latency, errors, price, breaker, quota. */
const slaWeights = [0.35, 0.35, 0.15, 0.1, 0.05] as const

const sla: Router = (scored, config, moment) => {
  const scoreOf = scoresOf(scored)
  return sortedBy(candidatesOf(scored), (candidate) => {
    const { target } = candidate
    const health = moment.health(target)
    const met = slaWeights[0] * within(health.latencyP95Ms, config.slaTargetP95Ms) +
      slaWeights[1] * within(health.errorRate, config.slaMaxErrorRate) +
      slaWeights[2] * within(blendedPrice(target, moment.promptTokens), config.slaMaxCostPer1MTokens) +
      slaWeights[3] * breakerScore(health) + slaWeights[4] * (tightest(moment.quota(target), moment.now) ?? 100) / 100
    return [-met, -scoreOf(candidate)]
  })
}

export const routers: Readonly<Record<Exclude<RouterName, "lkgp">, Router>> = { rules, score, cost, latency, sla }

/** With slaHardConstraints: those known to break the agreement leave, while a candidate remains. */
export const withinSla = (from: Filtered, config: ComboConfig, moment: Moment): Filtered => {
  if (config.slaHardConstraints !== true || routerOf(config.routerStrategy) !== "sla") return from
  return narrow(from, ({ target }): Skipped["unavailable"] | null => {
    const { errorRate, latencyP95Ms } = moment.health(target)
    const price = blendedPrice(target, moment.promptTokens)
    const breaks = (value: number | null, limit: number | undefined): boolean => value !== null && limit !== undefined && value > limit
    if (breaks(latencyP95Ms, config.slaTargetP95Ms)) return broken("too-slow", `p95 ${latencyP95Ms} ms above slaTargetP95Ms`)
    if (breaks(errorRate, config.slaMaxErrorRate)) return broken("excluded", `error rate ${errorRate} above slaMaxErrorRate`)
    if (breaks(price, config.slaMaxCostPer1MTokens)) return broken("over-budget", `${price} USD per 1M tokens above slaMaxCostPer1MTokens`)
    return null
  }, "sla")
}

const broken = (reason: "too-slow" | "excluded" | "over-budget", detail: string): Skipped["unavailable"] => ({ reason, until: null, detail })

