/** The limit store of one process: the same transitions in memory. Several nodes may share one state, for tests. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Blocks from "#actors/limits/Blocks.ts"
import * as Rolling from "#actors/limits/Rolling.ts"
import { LimitStore } from "#actors/limits/ports/LimitStore.ts"

/** Windows, rates and keys with sessions that are remembered; more than that and the ended ones are looked for. */
const sweepAt = 10_000

export class State {
  readonly blocks = new Map<string, { readonly end: number; readonly blocks: Blocks.Blocks }>()
  readonly rates = new Map<string, Rolling.Rolling>()
  readonly replays = new Map<string, number>()
  readonly sessions = new Map<string, Map<string, number>>()

  /** Forgets everything, as a store that was flushed. */
  clear(): void {
    this.blocks.clear()
    this.rates.clear()
    this.replays.clear()
    this.sessions.clear()
  }

  sweep(now: number): void {
    if (this.blocks.size > sweepAt) for (const [id, { end }] of this.blocks) if (end <= now) this.blocks.delete(id)
    if (this.rates.size > sweepAt) for (const [id, rate] of this.rates) if (Rolling.current(rate, now).slots.length === 0) this.rates.delete(id)
  }
}

export interface Options {
  /** As the ledger names it. */
  readonly node: string
  readonly state?: State
  readonly now: () => number
  /** True behaves as one of several nodes. */
  readonly shared?: boolean
  readonly leaseMs?: number
}

export const make = ({ leaseMs, node, now, shared = false, state = new State() }: Options): LimitStore["Service"] => {
  const terms: Blocks.Terms = shared ? { leaseMs: leaseMs ?? 10_000, share: 4 } : { leaseMs: Number.POSITIVE_INFINITY, share: 1 }
  const rateOf = (id: string, windowMs: number, limit: number): Rolling.Rolling | null => {
    const known = state.rates.get(id)
    return known === undefined || known.windowMs !== windowMs ? null : known.limit === limit ? known : { ...known, limit }
  }
  return LimitStore.of({
    shared,
    exchange: (draws) => Effect.sync(() => {
      const at = now()
      state.sweep(at)
      return draws.map((draw) => {
        const [drawn, blocks] = Blocks.exchange(state.blocks.get(draw.id)?.blocks ?? null, draw, node, terms, at)
        if (blocks !== null) state.blocks.set(draw.id, { end: draw.end, blocks })
        return drawn
      })
    }),
    replayed: Effect.sync(() => {
      state.replays.set(node, now())
    }),
    replays: (nodes) => Effect.sync(() => nodes.map((name) => state.replays.get(name) ?? null)),
    permits: (id, windowMs, limit, want) => Effect.sync(() => {
      const at = now()
      const known = rateOf(id, windowMs, limit)
      if (known === null) return { known: false, granted: 0, slot: 0, forMs: 0, used: 0, waitMs: 0 }
      const [taken, next] = Rolling.take(known, want, at)
      state.rates.set(id, next)
      return taken._tag === "Taken"
        ? { known: true, granted: taken.count, slot: taken.slot, forMs: next.slotMs - at % next.slotMs, used: Rolling.count(next), waitMs: 0 }
        : { known: true, granted: 0, slot: 0, forMs: 0, used: taken.used, waitMs: taken.until - at }
    }),
    giveBack: (id, windowMs, slot) => Effect.sync(() => {
      const known = state.rates.get(id)
      if (known?.windowMs === windowMs) state.rates.set(id, Rolling.giveBack(known, slot))
    }),
    seedPermits: (id, windowMs, limit, seen) => Effect.sync(() => {
      if (rateOf(id, windowMs, limit) !== null) return
      const at = now()
      state.rates.set(id, seen.reduce((rate, [ageMs, count]) => Rolling.add(rate, count, at - ageMs), Rolling.make(windowMs, limit)))
    }),
    session: (id, session, limit, idleMs) => Effect.sync(() => {
      const at = now()
      const known = state.sessions.get(id) ?? new Map<string, number>()
      for (const [name, seen] of known) if (seen + idleMs <= at) known.delete(name)
      if (!known.has(session) && known.size >= limit) return false
      known.set(session, at)
      state.sessions.set(id, known)
      return true
    })
  })
}

export const layer = (node: string) => Layer.effect(LimitStore, Effect.map(Clock.Clock, (clock) => make({ node, now: () => clock.currentTimeMillisUnsafe() })))
