/**
 * The waiting room of one node: which requests may wait for what and for how long, and the shell around the lines of `Turns`,
 * which wakes a request when its turn comes. One timer serves all; none runs while no request waits.
 */
import type { Leave, TurnOutcome, Wish } from "#actors/request/ports/Turns.ts"
import type { Target } from "#actors/request/ports/Target.ts"
import type { Unavailable } from "#actors/request/ports/Resilience.ts"
import { type Block, type QueueEntry, WaitQueue } from "#actors/resilience/WaitQueue.ts"
import * as Errors from "#schemas/errors.ts"
import { PublicError } from "#schemas/errors.ts"
import type { Lines } from "./lines.ts"
import type { Tables } from "./Tables.ts"

/** Waiters of one node, whatever the settings say. */
const mostWaiting = 100_000
/** Turns of one request that may come to nothing while it waits for a busy place. */
const mostRounds = 10
/** The queue of waiters that wait for time only. */
const pauseLine = "pause"
/** The lane of all waiters that have none of their own; no key has this id. */
const commonLane = ""

/** A waiter. */
interface Waiter {
  readonly targets: ReadonlyArray<Target>
  /** An end of a cooldown that is farther away than this is not waited for, ms. */
  readonly patienceMs: number
  readonly turn: (turn: TurnOutcome) => void
}

/** What is fixed when the node starts. */
export interface WaitingRoomRules {
  /** Each key has a lane of its own in every line: keys have turns one after the other, and the depth of a queue is that of a lane. */
  readonly byKey: boolean
}

/** The effects of the shell: everything that touches time or fibers. */
export interface WaitingRoomEffects {
  /** ms since the epoch. */
  readonly now: () => number
  /** Runs once after so many ms; answers how to call it off. */
  readonly later: (ms: number, run: () => void) => () => void
  readonly soon: (run: () => void) => void
  /** A callback threw: the other waiters are not affected. */
  readonly defect: (cause: unknown) => void
}

/** What one blocked target lets a wish wait for. */
interface Chance {
  readonly target: Target
  readonly block: Block
  /** ms since the epoch. */
  readonly deadline: number
  readonly patienceMs: number
  /** What ends there is a cooldown. */
  readonly cooling: Unavailable["reason"] | null
}

const shuttingDown = (): PublicError => Errors.make("shutting_down", "The gateway is shutting down; repeat the request.", { retryAfterSeconds: 1 })

const queueFull = (depth: number): PublicError =>
  Errors.make("RATE_LIMIT_QUEUE_FULL", `${depth} requests wait already where this one would (requestQueue.maxQueueDepth, queueDepth); repeat it later.`, { retryAfterSeconds: 1 })

export class WaitingRoom implements Lines {
  private readonly turns: WaitQueue<Waiter>
  private readonly tables: Tables
  private readonly effects: WaitingRoomEffects
  private readonly rules: WaitingRoomRules
  private closed = false
  private serving = false
  private called = false
  private alarm: { readonly at: number; readonly off: () => void } | null = null

  constructor(tables: Tables, effects: WaitingRoomEffects, rules: WaitingRoomRules) {
    this.tables = tables
    this.effects = effects
    this.rules = rules
    this.turns = new WaitQueue(({ patienceMs, targets }, choice, now) => {
      const target = targets[choice]
      if (target === undefined) return { line: pauseLine, until: null }
      const block = tables.look(target, now)
      return block === null || block.until === null || block.until - now <= patienceMs ? block : { line: block.line, until: Number.POSITIVE_INFINITY }
    })
    tables.lines = this
  }

  get size(): number {
    return this.turns.size
  }

  readonly sizeOf = (line: string): number => this.turns.sizeOf(line)

  readonly freed = (line: string | null): void => {
    if (line === null) this.turns.freedAll()
    else this.turns.freed(line)
    this.serveSoon()
  }

  readonly join = (wish: Wish, turn: (turn: TurnOutcome) => void): Leave | PublicError | null => {
    const now = this.effects.now()
    let full: PublicError | null = null
    const chances: Array<Chance> = []
    for (const { target, unavailable } of wish.blocked) {
      const chance = this.chanceOf(wish, target, unavailable, now)
      if (chance instanceof PublicError) full = chance
      else if (chance !== null) chances.push(chance)
    }
    if (chances.length === 0) return full
    if (this.closed) return shuttingDown()
    if (this.turns.size >= mostWaiting) return queueFull(mostWaiting)
    let deadline = 0
    let patienceMs = Number.POSITIVE_INFINITY
    for (const chance of chances) {
      deadline = Math.max(deadline, chance.deadline)
      patienceMs = Math.min(patienceMs, chance.patienceMs)
      if (chance.cooling !== null) this.tables.recovering(chance.target, chance.cooling, now)
    }
    return this.enrol({ targets: chances.map(({ target }) => target), patienceMs, turn }, chances.map(({ block }) => block), Math.min(deadline, wish.deadline), this.laneOf(wish))
  }

  readonly mayJoin = (wish: Wish): boolean => {
    const now = this.effects.now()
    return !this.closed && this.turns.size < mostWaiting && wish.blocked.some(({ target, unavailable }) => {
      const chance = this.chanceOf(wish, target, unavailable, now)
      return chance !== null && !(chance instanceof PublicError)
    })
  }

  readonly pause = (ms: number, turn: (turn: TurnOutcome) => void): Leave => {
    if (this.closed) {
      this.effects.soon(() => turn(shuttingDown()))
      return () => {}
    }
    const over = (end: TurnOutcome): void => turn(end === "late" ? "go" : end)
    return this.enrol({ targets: [], patienceMs: 0, turn: over }, [{ line: pauseLine, until: null }], this.effects.now() + ms, commonLane)
  }

  readonly close = (): void => {
    if (this.closed) return
    this.closed = true
    for (const entry of this.turns.entries()) {
      const { waiter } = entry
      if (this.turns.leave(entry) && waiter !== null) this.call(waiter, shuttingDown())
    }
    this.serveSoon()
  }

  private laneOf({ keyId }: Wish): string {
    return this.rules.byKey && keyId !== null ? keyId : commonLane
  }

  private enrol(waiter: Waiter, blocks: ReadonlyArray<Block>, deadline: number, lane: string): Leave {
    const entry: QueueEntry<Waiter> = this.turns.join(waiter, blocks, deadline, lane)
    this.setAlarm()
    return () => {
      if (this.turns.leave(entry)) this.serveSoon()
    }
  }

  /** Whether the settings let this wish wait for a target; an error when its line is full. */
  private chanceOf(wish: Wish, target: Target, unavailable: Unavailable, now: number): Chance | PublicError | null {
    const block = this.tables.blockOf(target, unavailable)
    const { reason } = unavailable
    if (reason === "connection-cooldown" || reason === "model-cooldown") {
      return unavailable.soft === true ? null : this.coolingChance(wish, target, block, reason, now)
    }
    const bounds = reason === "model-busy"
      ? target.gate === undefined || target.gate.depth === 0 ? null : { maxWaitMs: target.gate.timeoutMs, depth: target.gate.depth }
      : reason === "connection-busy" ? this.tables.rulesFor(target).queue : null
    if (bounds === null || wish.rounds >= mostRounds) return null
    if (bounds.depth > 0 && this.turns.laneSizeOf(block.line, this.laneOf(wish)) >= bounds.depth) return queueFull(bounds.depth)
    const deadline = wish.since + bounds.maxWaitMs
    return deadline <= now ? null : { target, block, deadline, patienceMs: bounds.maxWaitMs, cooling: null }
  }

  private coolingChance({ combo, rounds, since }: Wish, target: Target, block: Block, cooling: Unavailable["reason"], now: number): Chance | null {
    const { comboCooldownWait, waitForCooldown } = this.tables.effective.settings
    const { enabled, most, patienceMs, total } = combo
      ? { enabled: comboCooldownWait.enabled, most: comboCooldownWait.maxAttempts, patienceMs: comboCooldownWait.maxWaitMs, total: comboCooldownWait.budgetMs }
      : {
        enabled: waitForCooldown.enabled, most: waitForCooldown.maxRetries, patienceMs: waitForCooldown.maxRetryWaitSec * 1000,
        total: waitForCooldown.maxRetryWaitSec * 1000 * waitForCooldown.maxRetries
      }
    const deadline = since + total
    const { until } = block
    if (!enabled || rounds >= most || until === null || until - now > patienceMs || until > deadline || deadline <= now) return null
    return { target, block, deadline, patienceMs, cooling }
  }

  private serveSoon(): void {
    if (this.called) return
    this.called = true
    // After the caller: a release of a place must not run another request.
    this.effects.soon(() => {
      this.called = false
      this.serve()
    })
  }

  private serve(): void {
    if (this.serving) return
    this.serving = true
    try {
      for (let turn = this.turns.next(this.effects.now()); turn !== null; turn = this.turns.next(this.effects.now())) this.call(turn.waiter, turn.end)
    } finally {
      this.serving = false
    }
    this.setAlarm()
  }

  private call(waiter: Waiter, end: TurnOutcome): void {
    this.tables.admitting = end === "go"
    try {
      waiter.turn(end)
    } catch (cause) {
      this.effects.defect(cause)
    } finally {
      this.tables.admitting = false
    }
  }

  private setAlarm(): void {
    const at = this.turns.wakeAt()
    if (this.alarm !== null && (at === null || at < this.alarm.at)) {
      this.alarm.off()
      this.alarm = null
    }
    if (at === null || this.alarm !== null) return
    const off = this.effects.later(Math.max(0, at - this.effects.now()), () => {
      this.alarm = null
      this.serve()
    })
    this.alarm = { at, off }
  }
}
