/** A small world for strategies: candidates with what is known of them, a seeded generator, and moments over both. */
import * as Schema from "effect/Schema"
import type { BreakerState, TargetHealth } from "#actors/request/ports/Resilience.ts"
import type { Target } from "#actors/request/ports/Target.ts"
import type { Connection } from "#schemas/records/Connection.ts"
import type { Candidate, Memory, Moment, Order, QuotaWindow } from "#src/routing/models/candidate.ts"
import type { ComboConfig } from "#schemas/records/Combo.ts"
import type { Strategic } from "#src/routing/strategies/ranking.ts"

export const now = 1_800_000_000_000

/** Everything that matters of one candidate; what is left out is unknown or harmless. */
export interface Spec {
  readonly key: string
  readonly step?: string
  readonly weight?: number
  readonly provider?: string
  readonly tags?: ReadonlyArray<string>
  readonly price?: number | null
  readonly window?: number | null
  readonly capabilities?: ReadonlyArray<string> | null
  readonly down?: boolean
  readonly breaker?: BreakerState
  readonly inFlight?: number
  readonly uses?: number
  readonly errorRate?: number | null
  readonly p95?: number | null
  readonly ttft?: number | null
  readonly quota?: ReadonlyArray<QuotaWindow>
  readonly thresholds?: Readonly<Record<string, number | null>>
  readonly maxConcurrent?: number | null
}

const targetOf = (spec: Spec): Target => ({
  provider: spec.provider ?? "acme",
  providerAlias: spec.provider ?? "ac",
  publicModel: `${spec.provider ?? "acme"}/m`,
  model: "m",
  connection: {
    id: spec.key, providerSpecificData: {}, maxConcurrent: spec.maxConcurrent ?? null, quotaWindowThresholds: spec.thresholds ?? null
  } as unknown as Connection,
  wireFormat: "chat-completions",
  origin: "http://127.0.0.1",
  path: "/",
  streamPath: "/",
  maxOutputTokens: null,
  reasoning: null,
  thinking: null,
  headers: [],
  price: spec.price === undefined || spec.price === null ? null : { input: spec.price, output: spec.price },
  streamOptions: true,
  proxy: null
})

export interface World {
  readonly candidates: ReadonlyArray<Candidate>
  readonly targets: ReadonlyArray<Target>
  readonly moment: (change?: Partial<Moment>) => Moment
}

export const worldOf = (specs: ReadonlyArray<Spec>): World => {
  const specOf = new Map<Target, Spec>()
  const candidates = specs.map((spec): Candidate => {
    const target = targetOf(spec)
    specOf.set(target, spec)
    return {
      executionKey: spec.key, stepId: spec.step ?? spec.key, weight: spec.weight ?? 0, label: null, tags: spec.tags ?? [], prompt: null,
      target, contextWindow: spec.window ?? null, capabilities: spec.capabilities ?? null
    }
  })
  const health = (target: Target): TargetHealth => {
    const spec = specOf.get(target) as Spec
    return {
      breaker: spec.breaker ?? "closed", failures: 0, inFlight: spec.inFlight ?? 0, uses: spec.uses ?? 0, lastUsedAt: 0,
      latencyP95Ms: spec.p95 ?? null, ttftP50Ms: spec.ttft ?? null, errorRate: spec.errorRate ?? null
    }
  }
  return {
    candidates,
    targets: candidates.map(({ target }) => target),
    moment: (change = {}) => ({
      now,
      random: seeded(1),
      unavailable: (target) =>
        specOf.get(target)?.down === true ? { reason: "connection-cooldown", until: now + 1_000, detail: "cooling" } : null,
      health,
      quota: (target) => specOf.get(target)?.quota ?? [],
      session: null,
      promptPrefix: "",
      promptTokens: 0,
      needs: { tools: false, vision: false, structuredOutput: false },
      keyId: null,
      ...change
    })
  }
}

/** mulberry32: the same numbers for the same seed. */
export const seeded = (seed: number): () => number => {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let t = Math.imul(state ^ (state >>> 15), state | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296
  }
}

export const keysOf = (candidates: ReadonlyArray<Candidate>): ReadonlyArray<string> => candidates.map(({ executionKey }) => executionKey)
export const firstOf = (order: Order): string => (order.order[0] as Candidate).executionKey

/** The first choices of `count` requests one after another, each answered by its first choice. */
export const served = (logic: Strategic, world: World, config: ComboConfig, count: number, moment = world.moment()): ReadonlyArray<string> => {
  let memory: Memory = null
  const firsts: Array<string> = []
  for (let i = 0; i < count; i++) {
    const order = logic.order(world.candidates, config, memory, moment)
    const first = order.order[0] as Candidate
    firsts.push(first.executionKey)
    // Through JSON, because that is all a memory may hold.
    memory = JSON.parse(JSON.stringify(logic.succeeded(first, config, order.memory, moment))) as Memory
  }
  return firsts
}

export const counted = (keys: ReadonlyArray<string>): Readonly<Record<string, number>> => {
  const counts: Record<string, number> = {}
  for (const key of keys) counts[key] = (counts[key] ?? 0) + 1
  return counts
}

/** Sum of squared deviations over what is expected. */
export const chiSquare = (seen: ReadonlyArray<number>, expected: ReadonlyArray<number>): number =>
  seen.reduce((sum, count, i) => sum + (count - (expected[i] as number)) ** 2 / (expected[i] as number), 0)

const between = (minimum: number, maximum: number) => Schema.Int.check(Schema.isBetween({ minimum, maximum }))
const Share = between(0, 100)

/** Any pool of up to 12 candidates in up to 5 steps, some of them away. */
export const Pool = Schema.Array(Schema.Struct({
  step: between(0, 4), weight: between(0, 5), provider: between(0, 2), price: Schema.NullOr(between(0, 50)), window: Schema.NullOr(between(1, 200_000)),
  tools: Schema.NullOr(Schema.Boolean), down: Schema.Boolean, breaker: Schema.Literals(["closed", "degraded", "open", "half-open"]),
  inFlight: between(0, 4), uses: between(0, 9), errorRate: Schema.NullOr(Share), p95: Schema.NullOr(between(1, 5_000)),
  ttft: Schema.NullOr(between(1, 5_000)), remaining: Schema.NullOr(Share), resetsIn: Schema.NullOr(between(-3_600_000, 700_000_000))
})).check(Schema.isMaxLength(12))

export const poolWorld = (pool: typeof Pool.Type): World => worldOf(pool.map((one, i): Spec => ({
  key: `k${i}`, step: `s${one.step}`, weight: one.weight, provider: `p${one.provider}`, price: one.price, window: one.window,
  capabilities: one.tools === null ? null : one.tools ? ["tools"] : [], down: one.down, breaker: one.breaker, inFlight: one.inFlight,
  uses: one.uses, errorRate: one.errorRate === null ? null : one.errorRate / 100, p95: one.p95, ttft: one.ttft,
  quota: one.remaining === null ? [] : [{ name: "weekly", remainingPercent: one.remaining, resetsAt: one.resetsIn === null ? null : now + one.resetsIn }]
})))

/** Any configuration that the filter or a strategy reads. */
export const Config = Schema.Struct({
  stickyRoundRobinLimit: Schema.optionalKey(between(0, 4)),
  stickyWeightedLimit: Schema.optionalKey(between(1, 4)),
  predictiveTtftMs: Schema.optionalKey(between(0, 3_000)),
  explorationRate: Schema.optionalKey(Schema.Literals([0, 0.5, 1])),
  routerStrategy: Schema.optionalKey(Schema.Literals(["rules", "score", "eco", "fast", "sla-aware", "lkgp", "nonsense"])),
  modePack: Schema.optionalKey(Schema.Literals(["ship-fast", "cheap", "offline-friendly", "nonsense"])),
  budgetCap: Schema.optionalKey(Schema.Literals([0, 0.0001, 0.01])),
  budgetFallback: Schema.optionalKey(Schema.Literals(["cheapest", "strict"])),
  slaTargetP95Ms: Schema.optionalKey(between(1, 3_000)),
  slaHardConstraints: Schema.optionalKey(Schema.Boolean),
  candidatePool: Schema.optionalKey(Schema.Array(Schema.Literals(["p0", "s1", "k2", "nobody"])).check(Schema.isMaxLength(3))),
  contextRequirements: Schema.optionalKey(Schema.Struct({
    minContextWindow: Schema.optionalKey(between(0, 200_000)),
    preferLargeContext: Schema.optionalKey(Schema.Boolean),
    contextFilterMode: Schema.optionalKey(Schema.Literals(["strict", "lenient"]))
  }))
})
