/** How many tunnels each proxy made, and how many calls failed for want of one, since the counts were last taken. */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Asides, type Named } from "#actors/egress/Asides.ts"

export interface TunnelCount {
  made: number
  failed: number
  /** Sum over the tunnels that were made, ms. */
  latencyMs: number
  /** Of the latest failure; null when there was none. */
  lastError: string | null
}

/** Characters of a failure that are kept. */
const ERROR_MAX = 300

export class TunnelCounts {
  /** Called after each count. */
  onCounted: (() => void) | null = null
  /** What failed a short while ago. */
  readonly asides = new Asides()
  /** ms since the epoch. */
  readonly now: () => number
  #byProxy = new Map<string, TunnelCount>()

  constructor(now: () => number) {
    this.now = now
  }

  made(proxy: string, ms: number): void {
    const count = this.#of(proxy)
    count.made++
    count.latencyMs += ms
    this.asides.made(proxy)
    this.onCounted?.()
  }

  /** It failed by a fault of its own. */
  setAside(proxy: Named): void {
    this.asides.failed(proxy, this.now())
  }

  /** Proxies with counts. */
  get size(): number {
    return this.#byProxy.size
  }

  failed(proxy: string, message: string): void {
    const count = this.#of(proxy)
    count.failed++
    count.lastError = message.slice(0, ERROR_MAX)
    this.onCounted?.()
  }

  /** The counts by proxy; they begin again at nothing. */
  take(): ReadonlyMap<string, TunnelCount> {
    const taken = this.#byProxy
    if (taken.size > 0) this.#byProxy = new Map()
    return taken
  }

  /** Gives back what was taken and could not be stored. */
  giveBack(counts: ReadonlyMap<string, TunnelCount>): void {
    for (const [proxy, { failed, lastError, latencyMs, made }] of counts) {
      const count = this.#of(proxy)
      count.made += made
      count.failed += failed
      count.latencyMs += latencyMs
      count.lastError ??= lastError
    }
  }

  #of(proxy: string): TunnelCount {
    let count = this.#byProxy.get(proxy)
    if (count === undefined) this.#byProxy.set(proxy, count = { made: 0, failed: 0, latencyMs: 0, lastError: null })
    return count
  }
}

/** Those of this process. */
export class Tunnels extends Context.Service<Tunnels, TunnelCounts>()("gateway/upstream/Tunnels") {}

export const layer = Layer.effect(Tunnels, Effect.map(Clock.Clock, (clock) => new TunnelCounts(() => clock.currentTimeMillisUnsafe())))
