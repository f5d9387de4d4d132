/**
 * The limits of one key on this node: its meters and rates, and the exchanges with the limit store that keep them supplied. Decisions
 * read this memory; only missing amounts are requested, one exchange of a key at a time.
 */
import * as Effect from "effect/Effect"
import * as Semaphore from "effect/Semaphore"
import * as Meter from "#actors/limits/Meter.ts"
import { Rate, REFUSED_MS } from "#actors/limits/Rate.ts"
import { RuleCounter } from "#actors/limits/RuleCounter.ts"
import type { AmountRule, LimitRules } from "#actors/limits/rules.ts"
import { unitsPerUsd } from "#actors/limits/rules.ts"
import { ShortWait, type LimitLedger, type Used } from "#actors/limits/ports/LimitLedger.ts"
import type { BlockDraw, BlockDrawn, LimitStore, LimitStoreDown } from "#actors/limits/ports/LimitStore.ts"
import type { StoreError } from "#actors/ports/StoreError.ts"

/** A block stops being used this long before its lease ends, ms: clocks drift and answers take time. */
const leaseMarginMs = 1_000
/** After an exchange that brought nothing the next refusals are answered without another one, ms. */
const shortMs = 100
/** A node returns a block that was unused for this long, ms. */
const idleMs = 2_000
/** How often the truth about expired blocks is looked for, ms. */
const lookMs = 1_000
/** After this silence of a node with an expired block, ms, the ledger's amount counts as its spending. */
export const releaseMs = 15 * 60_000

export interface World {
  readonly store: LimitStore["Service"]
  readonly ledger: LimitLedger["Service"]
  /** ms since the epoch: which window it is. */
  readonly now: () => number
  /** ms by a monotonic clock that counts through pauses of the process: whether this node still holds a block. */
  readonly steady: () => number
  readonly nodeId: string
  /** Succeeds once the ledger has the usage of earlier runs of this node and the store was informed; run it before an exchange. */
  readonly begun: Effect.Effect<void, LimitFailure>
  /** A limit is used up, or near. */
  readonly crossed: (keyId: string, counter: RuleCounter) => void
}

type Sums = ReadonlyMap<RuleCounter, ReadonlyMap<string, number>>

export type LimitFailure = LimitStoreDown | StoreError

/** A place in a rate that was taken, or how long to wait for one. */
export interface Permit {
  /** 0 = it was taken. */
  readonly waitMs: number
  /** Where the store counts it as a request of now; null for one that this node held, which counts as used when it cannot be held longer. */
  readonly slot: number | null
}

export const heldPermit: Permit = { waitMs: 0, slot: null }

/** What a rule counts of used rows: tokens, or costs in its units. */
export const amountOf = (rule: AmountRule, used: ReadonlyArray<Used>): number => {
  let sum = 0
  for (const row of used) {
    if (rule.within === null || rule.within(row)) sum += rule.kind === "tokens" ? row.tokens : Math.round(row.costUsd * unitsPerUsd)
  }
  return sum
}

export class KeyLimits {
  readonly id: string
  rules: LimitRules
  counters: ReadonlyArray<RuleCounter> = []
  rates: ReadonlyArray<Rate> = []
  /** Sessions this node knows to be active, and until when it need not ask again (ms since the epoch). */
  readonly sessions = new Map<string, number>()
  lastUsedAt = 0
  /** Output tokens of recent answers, the largest, slowly forgotten. */
  largestAnswer = 0
  private readonly world: World
  private readonly turn = Semaphore.makeUnsafe(1)

  constructor(world: World, id: string, rules: LimitRules) {
    this.world = world
    this.id = id
    this.rules = rules
    this.follow(rules)
  }

  /** New rules: what stands is kept, with its new limit. */
  follow(rules: LimitRules): void {
    const now = this.world.now()
    this.rules = rules
    this.counters = rules.amounts.map((rule) => {
      const known = this.counters.find((counter) => counter.rule.id === rule.id)
      if (known === undefined) return new RuleCounter(rule, now)
      known.rule = rule
      if (known.meter.limit !== rule.limit) this.apply(known, { _tag: "Limit", limit: rule.limit })
      return known
    })
    this.rates = rules.rates.map((rule) => {
      const known = this.rates.find((rate) => rate.rule.id === rule.id)
      if (known === undefined) return new Rate(rule)
      if (known.rule.limit !== rule.limit) known.permits = 0
      known.rule = rule
      known.refusedUntil = 0
      return known
    })
  }

  apply(counter: RuleCounter, event: Meter.MeterEvent): Meter.MeterReply {
    const now = this.world.steady()
    const [reply, meter] = Meter.step(counter.meter, event, now)
    counter.meter = meter
    if (reply._tag === "Done" && (reply.crossed || counter.comesNear())) this.world.crossed(this.id, counter)
    return reply
  }

  /** Brings a counter into the window of now. Alone, a window that began while we watched is known to be empty. */
  roll(counter: RuleCounter, now: number): void {
    const before = counter.meter
    counter.meter = Meter.rolled(before, counter.rule.window, now)
    if (counter.meter === before) return
    counter.unsettled = []
    counter.nextExpiryAt = Number.POSITIVE_INFINITY
    counter.shortUntil = 0
    counter.unsure = false
    counter.isCounted = false
    // Of a window that began while the meter counted it has seen everything.
    if (before.held !== null && before.end === counter.meter.start) counter.basedAt = counter.meter.start
    if (!this.world.store.shared && before.held !== null) this.supplyAlone(counter)
  }

  /** In one process the store answers at once, and the block is all there is. */
  private supplyAlone(counter: RuleCounter): void {
    const draw = this.drawOf(counter, { need: 1, want: Number.MAX_SAFE_INTEGER, seen: new Map(), settled: [] })
    const [answer] = Effect.runSync(this.world.store.exchange([draw]))
    if (answer !== undefined && answer.known) this.drawn(counter, answer, draw, this.world.steady())
  }

  private drawOf({ meter, rule }: RuleCounter, terms: Pick<BlockDraw, "need" | "want" | "seen" | "settled">): BlockDraw {
    return { id: `${this.id}:${rule.id}:${meter.start}`, end: meter.end, limit: meter.limit, total: meter.total, reserved: meter.reserved, ...terms }
  }

  /** `askedAt`: the lease runs from its request, however late the answer was read. */
  private drawn(counter: RuleCounter, answer: BlockDrawn, draw: BlockDraw, askedAt: number): void {
    counter.isCounted = answer.held > 0 || draw.reserved > 0
    counter.unsettled = answer.unsettled
    counter.nextExpiryAt = answer.nextExpiryMs === null ? Number.POSITIVE_INFINITY : askedAt + answer.nextExpiryMs
    this.apply(counter, {
      _tag: "Drawn", start: counter.meter.start, booked: answer.booked, reported: answer.reported, held: answer.held, sent: draw.total,
      heldUntil: answer.leaseMs === Number.POSITIVE_INFINITY ? answer.leaseMs : askedAt + answer.leaseMs - leaseMarginMs
    })
  }

  /**
   * Asks the store for blocks, and the ledger where the store knows nothing or this node does not know its own part. `settled`: the ledger
   * is asked in any case, and has all that these nodes used.
   */
  private exchange(
    counters: ReadonlyArray<RuleCounter>, needOf: (counter: RuleCounter) => number, settled: ReadonlyArray<string> | null = null
  ): Effect.Effect<void, LimitFailure> {
    const { begun, ledger, steady, store } = this.world
    const wantOf = (counter: RuleCounter): number =>
      store.shared ? counter.meter.reserved + counter.waiting + Math.max(4 * counter.typical, Meter.unreported(counter.meter)) : Number.MAX_SAFE_INTEGER
    /** Answers what the store does not know. */
    const once = (some: ReadonlyArray<RuleCounter>, seen: Sums | null) => Effect.suspend(() => {
      const askedAt = steady()
      // A report can never be withdrawn: a node that dies now must find the amount in its journal.
      if (store.shared) ledger.journal()
      const asked = some.map((counter) => {
        const need = needOf(counter)
        // What is given back is not used while the answer is on its way; what is kept is not asked to shrink, for the answer may get lost.
        if (need === 0) this.apply(counter, { _tag: "Yield" })
        counter.unsure = true
        const draw = this.drawOf(counter, {
          need: need === 0 ? 0 : Math.max(need, Meter.remaining(counter.meter, askedAt)), want: need === 0 ? 0 : wantOf(counter),
          seen: seen?.get(counter) ?? null, settled: settled ?? []
        })
        return { counter, draw, start: counter.meter.start }
      })
      return Effect.map(store.exchange(asked.map(({ draw }) => draw)), (answers) => asked.filter(({ counter, draw, start }, index) => {
        const answer = answers[index]
        // An answer is for the window of its request.
        if (answer === undefined || counter.meter.start !== start) return false
        counter.unsure = false
        if (answer.known) this.drawn(counter, answer, draw, askedAt)
        return !answer.known
      }).map(({ counter }) => counter))
    })
    const seeded = (some: ReadonlyArray<RuleCounter>) => some.length === 0 ? Effect.void : Effect.flatMap(this.sumsOf(some), (sums) => once(some, sums))
    return Effect.gen({ self: this }, function*() {
      if (store.shared) yield* begun
      if (settled !== null) return yield* seeded(counters)
      const based = counters.filter(({ basedAt, meter }) => basedAt === meter.start)
      const unknown = based.length === 0 ? [] : yield* once(based, null)
      yield* seeded(based.length === counters.length ? unknown : counters.filter((counter) => unknown.includes(counter) || !based.includes(counter)))
    })
  }

  /** Nodes with expired blocks of which the ledger has all: their journals were replayed, or they are silent for too long to be waited for. */
  private settledNodes(counters: ReadonlyArray<RuleCounter>): Effect.Effect<ReadonlyArray<string>, LimitFailure> {
    const { steady, store } = this.world
    return Effect.suspend(() => {
      const at = steady()
      for (const counter of counters) counter.lookedAt = at
      const blocks = counters.flatMap(({ unsettled }) => unsettled)
      const nodes = Array.from(new Set(blocks.map(({ node }) => node)))
      return Effect.map(store.replays(nodes), (times) => nodes.filter((node, index) => {
        const replayedAt = times[index] ?? null
        // All of the node's blocks, for it is named once for all of them.
        return blocks.every((block) => block.node !== node || block.forMs >= releaseMs || (replayedAt !== null && replayedAt > block.grantedAt))
      }))
    })
  }

  /** What the ledger says each node used in the counters' windows; a counter that did not know its own part learns it. */
  private sumsOf(counters: ReadonlyArray<RuleCounter>): Effect.Effect<Sums, StoreError> {
    const asked = counters.map((counter) => [counter, counter.meter.start] as const)
    const starts = Array.from(new Set(asked.map(([, start]) => start)))
    return Effect.map(
      Effect.forEach(starts, (start) => Effect.map(this.world.ledger.used(this.id, start), (used) => [start, Map.groupBy(used, ({ nodeId }) => nodeId)] as const)),
      (pairs) => {
        const byStart = new Map(pairs)
        const sums = new Map<RuleCounter, ReadonlyMap<string, number>>()
        for (const [counter, start] of asked) {
          const { meter, rule } = counter
          const own = new Map<string, number>()
          // The answer is about a window that has ended in the meantime.
          for (const [node, used] of meter.start === start ? byStart.get(start) ?? [] : []) own.set(node, amountOf(rule, used))
          sums.set(counter, own)
          if (counter.basedAt === meter.start || meter.start !== start) continue
          counter.basedAt = start
          this.apply(counter, { _tag: "Base", start, amount: own.get(this.world.nodeId) ?? 0 })
        }
        return sums
      }
    )
  }

  /** True when nothing but an exchange can say more about this reservation. */
  lacks(counter: RuleCounter, amount: number, now: number): boolean {
    const { meter } = counter
    if (meter.held === null) return true
    if (Meter.used(meter) >= meter.limit) return false
    const free = Meter.available(meter, now)
    const enough = amount <= free || (free > 0 && meter.inFlight === 0)
    return !enough && (now >= meter.heldUntil || (this.world.store.shared && now >= counter.shortUntil))
  }

  /** Supplies what the amounts lack; waits its turn, and asks only if it is still lacking then. */
  supply(needs: ReadonlyArray<readonly [counter: RuleCounter, amount: number]>): Effect.Effect<void, LimitFailure> {
    return Effect.suspend(() => {
      for (const [counter, amount] of needs) counter.waiting += amount
      return Effect.ensuring(
        this.turn.withPermits(1)(Effect.suspend(() => {
          const now = this.world.steady()
          const amounts = new Map(needs)
          const lacking = needs.filter(([counter, amount]) => this.lacks(counter, amount, now)).map(([counter]) => counter)
          if (lacking.length === 0) return Effect.void
          return Effect.tap(
            this.exchange(lacking, (counter) => counter.meter.reserved + Math.max(1, amounts.get(counter) ?? 1)),
            () => Effect.sync(() => {
              const at = this.world.steady()
              for (const counter of lacking) {
                const free = Meter.available(counter.meter, at)
                if (free < (amounts.get(counter) ?? 1) && !(free > 0 && counter.meter.inFlight === 0)) counter.shortUntil = at + shortMs
              }
            })
          )
        })),
        Effect.sync(() => {
          for (const [counter, amount] of needs) counter.waiting -= amount
        })
      )
    })
  }

  /** Tells the store what was spent, renews blocks in use and gives idle ones back. */
  readonly renew: Effect.Effect<void, LimitFailure> = Effect.suspend(() => {
    this.rollAll()
    const now = this.world.steady()
    const isLost = ({ lookedAt, unsettled }: RuleCounter): boolean => unsettled.length > 0 && now - lookedAt >= lookMs
    const isDue = (counter: RuleCounter): boolean => {
      const { isCounted, lastUsedAt, meter, nextExpiryAt, unsure } = counter
      return Meter.unreported(meter) > 0 || unsure || isLost(counter) || now >= nextExpiryAt
        || (isCounted && (now - lastUsedAt > idleMs || now > meter.heldUntil - 5_000))
    }
    const due = this.counters.filter(isDue)
    if (due.length === 0) return Effect.void
    const needOf = ({ lastUsedAt, meter, typical }: RuleCounter) => meter.reserved === 0 && now - lastUsedAt > idleMs ? 0 : meter.reserved + typical
    return this.turn.withPermits(1)(Effect.gen({ self: this }, function*() {
      yield* this.exchange(due, needOf)
      const lost = this.counters.filter(isLost)
      const settled = lost.length === 0 ? [] : yield* this.settledNodes(lost)
      if (settled.length > 0) yield* this.exchange(lost, needOf, settled)
    }))
  })

  /** Raises what is booked to what the ledger says. */
  readonly reconcile: Effect.Effect<void, LimitFailure> = Effect.suspend(() => {
    this.rollAll()
    const known = this.counters.filter(({ meter }) => meter.held !== null)
    const needOf = ({ meter, typical }: RuleCounter) => this.world.store.shared && meter.held === 0 ? 0 : meter.reserved + typical
    return known.length === 0 ? Effect.void : this.turn.withPermits(1)(this.exchange(known, needOf, []))
  })

  /** Books what was spent and gives everything back: the node stops. */
  readonly leave: Effect.Effect<void, LimitFailure> = Effect.suspend(() => {
    const due = this.counters.filter(({ isCounted, meter, unsure }) => Meter.unreported(meter) > 0 || unsure || isCounted)
    return due.length === 0 ? Effect.void : this.turn.withPermits(1)(this.exchange(due, () => 0))
  })

  private rollAll(): void {
    const now = this.world.now()
    for (const counter of this.counters) this.roll(counter, now)
  }

  /** A place in a rate: taken from what this node holds, else false. */
  takePermit(rate: Rate, now: number): boolean {
    if (rate.permits <= 0 || now >= rate.permitsUntil) return false
    rate.permits--
    rate.usedOfGrant++
    return true
  }

  /** Asks for places; takes one, or answers how long to wait for one. */
  askPermit(rate: Rate): Effect.Effect<Permit, LimitFailure> {
    const { ledger, now, store } = this.world
    const { limit, windowMs } = rate.rule
    const id = this.windowOf(rate)
    const ask: Effect.Effect<Permit, LimitFailure> = Effect.suspend(() => {
      // Ahead of need only while it was used before, and never much of the limit.
      const ahead = store.shared ? Math.min(Math.floor(rate.usedOfGrant / 2), Math.floor(limit / 20)) : 0
      // However late the answer is read: places may be used from now on.
      const at = now()
      return Effect.flatMap(store.permits(id, windowMs, limit, Math.max(1, rate.waiting) + ahead), (answer) => {
        if (!answer.known) return Effect.andThen(seed, ask)
        if (answer.granted === 0) {
          rate.refusedUntil = at + Math.min(answer.waitMs, REFUSED_MS)
          // From when it was read: the wait was counted after the question had left.
          rate.freeAt = now() + answer.waitMs
          return Effect.succeed({ waitMs: Math.max(1, answer.waitMs), slot: null })
        }
        rate.permits = answer.granted - 1
        rate.permitsUntil = at + answer.forMs
        rate.usedOfGrant = 1
        return Effect.succeed({ waitMs: 0, slot: answer.slot })
      })
    })
    const seed = Effect.suspend(() => Effect.flatMap(Effect.provideService(ledger.requests(this.id, windowMs), ShortWait, true), (seen) => store.seedPermits(id, windowMs, limit, seen)))
    return Effect.suspend(() => {
      rate.waiting++
      return Effect.ensuring(
        this.turn.withPermits(1)(Effect.suspend(() => this.takePermit(rate, now()) ? Effect.succeed(heldPermit) : ask)),
        Effect.sync(() => {
          rate.waiting--
        })
      )
    })
  }

  /** Returns the place of a request that is not made. A place stays used when the store is not informed. */
  returnPermit(rate: Rate, { slot }: Permit): Effect.Effect<void> {
    if (slot !== null) return Effect.ignore(this.world.store.giveBack(this.windowOf(rate), rate.rule.windowMs, slot))
    return Effect.sync(() => {
      rate.permits++
    })
  }

  private windowOf(rate: Rate): string {
    return `${this.id}:${rate.rule.id}`
  }
}
