/** The ComboMetrics port in memory. */
import * as Layer from "effect/Layer"
import { type ComboRequest, ComboMetrics, type Metrics, type TargetMetrics } from "#src/inference/ports/ComboMetrics.ts"

/** Combos remembered; the one used longest ago goes first. */
const combosMax = 2_000
/** Targets remembered per combo; the one used longest ago goes first. */
const targetsMax = 500

interface Sums {
  requests: number
  successes: number
  /** Of the successful ones, ms. */
  latencyMs: number
  /** ms since the epoch. */
  lastUsedAt: number
}

interface TargetSums extends Sums {
  readonly provider: string
  readonly model: string
  readonly connectionId: string | null
}

interface ComboSums extends Sums {
  strategy: string
  fallbacks: number
  readonly targets: Map<string, TargetSums>
}

const nothing = (): Sums => ({ requests: 0, successes: 0, latencyMs: 0, lastUsedAt: 0 })

const count = (sums: Sums, ok: boolean, latencyMs: number, at: number): void => {
  sums.requests++
  if (ok) {
    sums.successes++
    sums.latencyMs += latencyMs
  }
  sums.lastUsedAt = Math.max(sums.lastUsedAt, at)
}

const shown = (sums: Sums) => ({
  requests: sums.requests,
  successes: sums.successes,
  failures: sums.requests - sums.successes,
  avgLatencyMs: sums.successes === 0 ? null : Math.round(sums.latencyMs / sums.successes),
  lastUsedAt: sums.requests === 0 ? null : new Date(sums.lastUsedAt).toISOString()
})

const view = (sums: ComboSums): Metrics => ({
  ...shown(sums),
  strategy: sums.strategy,
  fallbacks: sums.fallbacks,
  targets: Object.fromEntries(Array.from(sums.targets, ([key, target]): [string, TargetMetrics] =>
    [key, { ...shown(target), provider: target.provider, model: target.model, connectionId: target.connectionId }]))
})

/** The member, made when it is not there; then the one used longest ago makes room. No member moves: maps that change with each request cost dear. */
const touch = <A extends Sums>(map: Map<string, A>, key: string, make: () => A, most: number): A => {
  const known = map.get(key)
  if (known !== undefined) return known
  if (map.size >= most) map.delete(leastRecent(map))
  const member = make()
  map.set(key, member)
  return member
}

const leastRecent = (map: ReadonlyMap<string, Sums>): string => {
  let [oldest, at] = ["", Number.POSITIVE_INFINITY]
  for (const [key, { lastUsedAt }] of map) if (lastUsedAt < at) [oldest, at] = [key, lastUsedAt]
  return oldest
}

export const make = (): ComboMetrics["Service"] => {
  const combos = new Map<string, ComboSums>()
  return {
    record: (request: ComboRequest) => {
      const sums = touch(combos, request.combo, () => ({ ...nothing(), strategy: "", fallbacks: 0, targets: new Map() }), combosMax)
      count(sums, request.ok, request.latencyMs, request.at)
      sums.strategy = request.strategy
      if (request.attempts.length > 1) sums.fallbacks++
      for (const { connectionId, executionKey, latencyMs, model, ok, provider } of request.attempts) {
        count(touch(sums.targets, executionKey, () => ({ ...nothing(), provider, model, connectionId }), targetsMax), ok, latencyMs, request.at)
      }
    },
    all: () => Object.fromEntries(Array.from(combos, ([name, sums]) => [name, view(sums)])),
    of: (combo) => {
      const sums = combos.get(combo)
      return sums === undefined ? null : view(sums)
    },
    reset: (combo) => {
      if (combo === undefined) combos.clear()
      else combos.delete(combo)
    },
    rename: (from, to) => {
      const sums = combos.get(from)
      if (sums === undefined) return
      combos.delete(from)
      combos.set(to, sums)
    }
  }
}

export const layer: Layer.Layer<ComboMetrics> = Layer.sync(ComboMetrics, make)
