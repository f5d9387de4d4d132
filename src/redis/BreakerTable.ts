/**
 * What the nodes of a gateway know together of open provider breakers: a decorator of the node's own `Resilience`, which keeps
 * deciding when a breaker opens. An opening is told to every node, and all of them refuse for the same time. Afterwards one node at a
 * time may probe: whoever has traffic asks for the claim, and is refused like everybody until it has it. Memory only, and no waiting;
 * the hands reach the other nodes.
 */
import type { Pass, Resilience, Unavailable, Verdict } from "#actors/ports/Resilience.ts"
import type { BreakerView, ResilienceControl } from "#actors/ports/ResilienceControl.ts"
import type { Target } from "#actors/ports/Target.ts"
import { counts } from "#actors/ProviderBreaker.ts"

/** A probe that is not heard of for so long is lost, and another node may have its place, ms: every block ends. */
export const CLAIM_MS = 60_000
/** Who did not get the claim asks again after this time, ms. */
const ASK_AGAIN_MS = 500

/** `forMs`: open for so long from now on; null = closed. A duration, because the clocks of nodes differ. */
export interface Told {
  readonly provider: string
  readonly forMs: number | null
}

export interface Hands {
  readonly tell: (told: Told) => void
  /** Asks for the one probe of a provider; `won` also when nobody can be asked (each node decides alone then). */
  readonly claim: (provider: string, answer: (won: boolean) => void) => void
  readonly giveUp: (provider: string) => void
  readonly now: () => number
}

interface Open {
  until: number
  readonly forMs: number
  phase: "waiting" | "asking" | "held" | "probing"
  /** When the claim ends, or may be asked for again. */
  turnsAt: number
}

type Inner = Resilience["Service"]
type Control = ResilienceControl["Service"]

const isPass = (given: Pass | Unavailable): given is Pass => "release" in given

export class BreakerTable {
  readonly #inner: Inner
  readonly #control: Control
  readonly #hands: Hands
  readonly #open = new Map<string, Open>()

  constructor(inner: Inner, control: Control, hands: Hands) {
    this.#inner = inner
    this.#control = control
    this.#hands = hands
    const now = hands.now()
    // What the node remembers from before its start.
    for (const view of control.breakers(now)) if (view.state === "open") this.#opened(view.provider, view.retryAfterMs, now)
  }

  readonly check = (target: Target, now: number): Unavailable | null => {
    const open = this.#open.size === 0 ? undefined : this.#open.get(target.provider)
    return (open === undefined ? null : this.#refusal(target, open, now)) ?? this.#inner.check(target, now)
  }

  readonly enter = (target: Target, now: number, lastResort?: boolean): Pass | Unavailable => {
    const open = this.#open.size === 0 ? undefined : this.#open.get(target.provider)
    const refusal = open === undefined ? null : this.#refusal(target, open, now)
    if (refusal !== null) return refusal
    const given = this.#inner.enter(target, now, lastResort)
    if (!isPass(given)) return given
    if (open !== undefined) {
      open.phase = "probing"
      open.turnsAt = now + CLAIM_MS
    }
    return new SharedPass(this, given, target, open ?? null)
  }

  /** Another node has said it. */
  hear({ forMs, provider }: Told): void {
    const now = this.#hands.now()
    if (forMs !== null) this.#opened(provider, forMs, now)
    else {
      this.#open.delete(provider)
      this.#control.resetBreakers(provider, now)
    }
  }

  /** The node's own breakers, and those that only others have seen fail. */
  readonly breakers = (now: number): ReadonlyArray<BreakerView> => {
    const own = this.#control.breakers(now)
    if (this.#open.size === 0) return own
    const views = new Map(own.map((view) => [view.provider, view]))
    for (const [provider, open] of this.#open) {
      const known = views.get(provider)
      if (known?.state === "open" || known?.state === "half-open") continue
      views.set(provider, {
        failures: 0, lastFailureAt: null, ...known, provider, state: now < open.until ? "open" : "half-open", retryAfterMs: Math.max(0, open.until - now)
      })
    }
    return [...views.values()]
  }

  readonly reset = (provider: string | null, now: number): number => {
    const names = new Set(this.breakers(now).filter((view) => view.state !== "closed" && (provider === null || view.provider === provider)).map((view) => view.provider))
    this.#control.resetBreakers(provider, now)
    for (const name of names) {
      this.#open.delete(name)
      this.#hands.tell({ provider: name, forMs: null })
      this.#hands.giveUp(name)
    }
    return names.size
  }

  /** A call has ended, or its first content came; null says nothing. */
  settled(target: Target, probe: Open | null, verdict: Pick<Verdict, "ok" | "status" | "network"> | null, now: number): void {
    const { provider } = target
    const failed = verdict !== null && !verdict.ok && counts(verdict.status, verdict.network)
    if (probe !== null && probe.phase === "probing" && this.#open.get(provider) === probe) {
      this.#hands.giveUp(provider)
      if (failed) this.#tellOpened(provider, this.#untilOf(target, now) ?? now + probe.forMs, now)
      else if (verdict?.ok === true) {
        this.#open.delete(provider)
        this.#hands.tell({ provider, forMs: null })
      } else {
        probe.phase = "waiting"
        probe.turnsAt = now
      }
      return
    }
    if (!failed || this.#open.has(provider)) return
    const until = this.#untilOf(target, now)
    if (until !== null) this.#tellOpened(provider, until, now)
  }

  /** Until when the node's own breaker refuses; null when it does not. */
  #untilOf(target: Target, now: number): number | null {
    if (this.#inner.health(target, now).breaker !== "open") return null
    return this.#control.breakers(now).reduce<number | null>((found, view) => view.provider === target.provider ? now + view.retryAfterMs : found, null)
  }

  #tellOpened(provider: string, until: number, now: number): void {
    const forMs = Math.max(1, Math.round(until - now))
    this.#opened(provider, forMs, now)
    this.#hands.tell({ provider, forMs })
  }

  #opened(provider: string, forMs: number, now: number): void {
    this.#open.set(provider, { until: now + forMs, forMs, phase: "waiting", turnsAt: 0 })
  }

  #refusal(target: Target, open: Open, now: number): Unavailable | null {
    if (now < open.until) {
      return { reason: "breaker-open", until: open.until, detail: `Provider ${target.providerAlias} failed on several calls; the nodes of this gateway try it again later` }
    }
    // A claim that was never used, or whose probe was lost.
    if ((open.phase === "held" || open.phase === "probing") && now >= open.turnsAt) open.phase = "waiting"
    if (open.phase === "held") return null
    if (open.phase === "waiting" && now >= open.turnsAt) this.#ask(target.provider, open)
    // The answer may have come at once.
    if ((open.phase as Open["phase"]) === "held") return null
    return { reason: "breaker-probing", until: now + ASK_AGAIN_MS, detail: `One call tries whether provider ${target.providerAlias} is well again` }
  }

  #ask(provider: string, open: Open): void {
    open.phase = "asking"
    this.#hands.claim(provider, (won) => {
      if (open.phase !== "asking") return
      open.phase = won ? "held" : "waiting"
      open.turnsAt = this.#hands.now() + (won ? CLAIM_MS : ASK_AGAIN_MS)
    })
  }
}

/** A place at a target whose outcome the other nodes hear of when it matters to them. */
class SharedPass implements Pass {
  readonly #table: BreakerTable
  readonly #inner: Pass
  readonly #target: Target
  readonly #probe: Open | null

  constructor(table: BreakerTable, inner: Pass, target: Target, probe: Open | null) {
    this.#table = table
    this.#inner = inner
    this.#target = target
    this.#probe = probe
  }

  get executionMs(): number {
    return this.#inner.executionMs ?? 0
  }

  answered(now: number): void {
    this.#inner.answered(now)
    if (this.#probe !== null) this.#table.settled(this.#target, this.#probe, { ok: true, status: 200, network: false }, now)
  }

  release(verdict: Verdict | null, now: number): void {
    this.#inner.release(verdict, now)
    if (this.#probe !== null || (verdict !== null && !verdict.ok)) this.#table.settled(this.#target, this.#probe, verdict, now)
  }
}
