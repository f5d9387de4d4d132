/**
 * One coarse timer for the deadlines of all calls.
 *
 * An entry costs a list insert and a list removal, never a native timer. A deadline that only moves later is not moved in the
 * wheel: the entry is asked for its true deadline when its slot comes up, and goes back if it is not due yet.
 */
import { performance } from "node:perf_hooks"
import * as Ticker from "#actors/Ticker.ts"

/** Resolution in ms: a deadline ends at its time or at most two ticks later (the interval is not aligned with the slots). */
const defaultTickMs = 25
/** Slots in the ring (about 13 s with the default tick); a later deadline waits in the last slot and is asked again. */
const slotCount = 512
/** The interval stops after this many ticks without an entry, so that an idle process does not wake up. */
const idleTicksBeforeStop = 80
/** An entry that threw is looked at again after this time, ms: its call still has deadlines. */
const againMs = 1_000

/** What the wheel holds; a call extends this class, so that an entry is not a second object. */
export abstract class WheelEntry {
  /** Time in ms (of the wheel's clock) at which the wheel will look at this entry; 0 = not in the wheel. */
  wheelAt = 0
  wheelSlot = -1
  wheelNext: WheelEntry | null = null
  wheelPrevious: WheelEntry | null = null
  /** Looked at: answers the next time to look, or Infinity to leave. May come once more in the tick in which it was cancelled. */
  abstract onTick(now: number): number
}

export interface Options {
  /** Resolution in ms. */
  readonly tickMs?: number
  /** Monotonic clock in ms. */
  readonly now?: () => number
  /** Runs the ticks and handles their exceptions. */
  readonly ticker?: Ticker.Ticker
}

const monotonicNow = (): number => performance.now()

export class TimerWheel {
  readonly now: () => number
  readonly tickMs: number
  readonly #slots: Array<WheelEntry | null> = Array.from<WheelEntry | null>({ length: slotCount }).fill(null)
  #tick = 0
  #size = 0
  #idleTicks = 0
  readonly #ticker: Ticker.Ticker
  #stopTicks: (() => void) | null = null
  #closed = false

  constructor(options: Options = {}) {
    this.now = options.now ?? monotonicNow
    this.tickMs = options.tickMs ?? defaultTickMs
    this.#ticker = options.ticker ?? Ticker.warning("A deadline of an upstream call")
  }

  get size(): number {
    return this.#size
  }

  /** True while the interval runs. */
  get running(): boolean {
    return this.#stopTicks !== null
  }

  /** Makes sure that the entry is looked at no later than `at` (plus two ticks); a later time than before is ignored. */
  schedule(entry: WheelEntry, at: number): void {
    if (entry.wheelAt !== 0) {
      if (at >= entry.wheelAt) return
      this.cancel(entry)
    }
    if (at === Infinity || this.#closed) return
    if (this.#stopTicks === null) this.#start()
    this.#insert(entry, at)
  }

  cancel(entry: WheelEntry): void {
    if (entry.wheelAt === 0) return
    const next = entry.wheelNext
    const previous = entry.wheelPrevious
    if (previous !== null) previous.wheelNext = next
    else this.#slots[entry.wheelSlot] = next
    if (next !== null) next.wheelPrevious = previous
    entry.wheelNext = null
    entry.wheelPrevious = null
    entry.wheelAt = 0
    this.#size--
  }

  /** Looks at every entry whose slot has come; called by the interval, and by tests with their own clock. */
  advance(): void {
    const now = this.now()
    const target = Math.floor(now / this.tickMs)
    const first = Math.max(this.#tick + 1, target - slotCount + 1)
    const due: Array<WheelEntry> = []
    for (let tick = first; tick <= target; tick++) {
      for (let entry = this.#slots[tick % slotCount] ?? null; entry !== null; entry = this.#slots[tick % slotCount] ?? null) {
        this.cancel(entry)
        due.push(entry)
      }
    }
    this.#tick = Math.max(this.#tick, target)
    for (const entry of due) {
      let again = now + againMs
      try {
        again = entry.onTick(now)
      } catch (error) {
        this.#ticker.failed(error)
      }
      if (again !== Infinity && entry.wheelAt === 0 && !this.#closed) this.#insert(entry, again)
    }
    if (this.#size > 0) this.#idleTicks = 0
    else if (++this.#idleTicks >= idleTicksBeforeStop) this.#stop()
  }

  /** Stops the interval for good; entries are forgotten. */
  close(): void {
    this.#closed = true
    this.#stop()
  }

  #insert(entry: WheelEntry, at: number): void {
    const wanted = Math.ceil(at / this.tickMs)
    const tick = Math.min(Math.max(wanted, this.#tick + 1), this.#tick + slotCount - 1)
    const slot = tick % slotCount
    const head = this.#slots[slot] ?? null
    entry.wheelAt = tick * this.tickMs
    entry.wheelSlot = slot
    entry.wheelNext = head
    entry.wheelPrevious = null
    if (head !== null) head.wheelPrevious = entry
    this.#slots[slot] = entry
    this.#size++
  }

  #start(): void {
    this.#tick = Math.floor(this.now() / this.tickMs)
    this.#idleTicks = 0
    // setImmediate: after a stall of the loop, bytes that already arrived are read before anything is called late.
    const advance = () => this.#ticker.guard(() => this.advance())
    this.#stopTicks = this.#ticker.every(this.tickMs, () => void setImmediate(advance))
  }

  #stop(): void {
    this.#stopTicks?.()
    this.#stopTicks = null
  }
}
