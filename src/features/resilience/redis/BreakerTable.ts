/**
 * What the nodes of a gateway know together of open provider breakers: a decorator of the node's own `Resilience`, which keeps
 * deciding when a breaker opens. An opening is announced to every node, and all of them refuse for the same time. Afterwards one
 * node at a time may probe: a node that has traffic for the provider asks for the claim when the time is up, so that its next
 * request finds it there, and gives an unused one back when another node wants it. Memory only, and no waiting; `BreakerEffects`
 * reaches the other nodes.
 */
import type { OwnFailures } from "#actors/request/OwnFailures.ts"
import { type Pass, type Resilience, stricter, type Unavailable, type Verdict } from "#actors/request/ports/Resilience.ts"
import type { BreakerView, ResilienceControl } from "#src/features/resilience/ports/ResilienceControl.ts"
import type { Target } from "#actors/request/ports/Target.ts"
import { counts } from "#actors/resilience/ProviderBreaker.ts"
import * as StatusReason from "#schemas/statusReason.ts"

/** A probe without a result for this long, ms, is lost and another node may take its place: every block ends. */
export const CLAIM_MS = 60_000
/** An unused claim is returned after this time, ms: the rest would be too short for a probe. */
const UNUSED_MS = 30_000
/** How long a node asks without new traffic after it last refused a request, ms. */
const WANTED_MS = 600_000
/** A node without the claim asks again after this time, ms. */
const ASK_AGAIN_MS = 500

/** `forMs`: how long it stays open from now on; null = closed. A duration, because the clocks of nodes differ. */
export interface BreakerNotice {
  readonly provider: string
  /** The one model that is refused; null = all of them. */
  readonly model: string | null
  readonly forMs: number | null
}

export interface BreakerEffects {
  readonly tell: (notice: BreakerNotice) => void
  /** Asks for the one probe of a provider; `won` also when the store is unavailable (each node decides alone then). */
  readonly claim: (provider: string, answer: (won: boolean) => void) => void
  readonly giveUp: (provider: string) => void
  /** A request was refused because another node has the claim: a node that does not use its claim returns it. */
  readonly want: (provider: string) => void
  /** Calls back once, after `ms`. */
  readonly after: (ms: number, run: () => void) => void
  readonly now: () => number
}

interface Open {
  /** The one model that is refused; null = all of them. */
  readonly model: string | null
  until: number
  readonly forMs: number
  phase: "waiting" | "asking" | "held" | "probing"
  /** When the claim ends, is given back, or may be asked for again. */
  turnsAt: number
  /** When the claim ends for all nodes. */
  claimEnds: number
  /** When a request was refused or failed last. */
  wantedAt: number
  /** A request was refused, and this was not yet announced to the other nodes. */
  needsBroadcast: boolean
  /** A look at it is due: one at a time. */
  isDue: boolean
}

type Inner = Pick<Resilience["Service"], "check" | "enter" | "health">
type Control = ResilienceControl["Service"]

const isPass = (given: Pass | Unavailable): given is Pass => "release" in given

export class BreakerTable {
  readonly #inner: Inner
  readonly #control: Control
  readonly #effects: BreakerEffects
  readonly #open = new Map<string, Open>()

  constructor(inner: Inner, control: Control, effects: BreakerEffects) {
    this.#inner = inner
    this.#control = control
    this.#effects = effects
    const now = effects.now()
    // What the node remembers from before its start.
    for (const view of control.breakers(now)) if (view.state === "open") this.#opened(view.provider, view.model, view.retryAfterMs, now)
  }

  readonly check = (target: Target, now: number, ownFailures?: OwnFailures | null): Unavailable | null => {
    const open = this.#openFor(target, ownFailures)
    const own = this.#inner.check(target, now, ownFailures)
    return open === undefined ? own : stricter(this.#refusal(target, open, now), own)
  }

  readonly enter = (target: Target, now: number, passesGuesses?: boolean, ownFailures?: OwnFailures | null): Pass | Unavailable => {
    const open = this.#openFor(target, ownFailures)
    const refusal = open === undefined ? null : this.#refusal(target, open, now)
    if (refusal !== null) return refusal
    const given = this.#inner.enter(target, now, passesGuesses, ownFailures)
    if (!isPass(given)) return given
    if (open !== undefined) {
      open.phase = "probing"
      open.turnsAt = open.claimEnds
    }
    return new SharedPass(this, given, target, open ?? null)
  }

  /** What is open for this target: nothing when only another model is refused, or when its request failed there itself. */
  #openFor(target: Target, ownFailures: OwnFailures | null | undefined): Open | undefined {
    const open = this.#open.size === 0 ? undefined : this.#open.get(target.provider)
    return open === undefined || (open.model !== null && open.model !== target.model) || ownFailures?.excusesBreaker(target) === true ? undefined : open
  }

  /** Another node has said it. */
  hear({ forMs, model, provider }: BreakerNotice): void {
    const now = this.#effects.now()
    if (this.#open.get(provider)?.phase === "held") this.#effects.giveUp(provider)
    if (forMs !== null) this.#opened(provider, model, forMs, now)
    else {
      this.#open.delete(provider)
      this.#control.resetBreakers(provider, now)
    }
  }

  /** Another node has a request to probe with. */
  wanted(provider: string): void {
    const open = this.#open.get(provider)
    if (open?.phase === "held") this.#giveBack(provider, open, this.#effects.now())
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
        failures: 0, lastFailureAt: null, ...known, provider, model: open.model, state: now < open.until ? "open" : "half-open", retryAfterMs: Math.max(0, open.until - now)
      })
    }
    return [...views.values()]
  }

  readonly reset = (provider: string | null, now: number): number => {
    const names = new Set(this.breakers(now).filter((view) => view.state !== "closed" && (provider === null || view.provider === provider)).map((view) => view.provider))
    this.#control.resetBreakers(provider, now)
    for (const name of names) {
      this.#open.delete(name)
      this.#effects.tell({ provider: name, model: null, forMs: null })
      this.#effects.giveUp(name)
    }
    return names.size
  }

  /** A call has ended, or its first content came; null says nothing. */
  settled(target: Target, probe: Open | null, verdict: Pick<Verdict, "ok" | "status" | "network"> | null, now: number): void {
    const { provider } = target
    const failed = verdict !== null && !verdict.ok && (counts(verdict.status, verdict.network) || this.#opensByLimit(target, verdict.status, now))
    if (probe !== null && probe.phase === "probing" && this.#open.get(provider) === probe) {
      this.#effects.giveUp(provider)
      if (failed) this.#tellOpened(provider, this.#ownOf(target, now) ?? { model: probe.model, until: now + probe.forMs }, now)
      else if (verdict?.ok === true) {
        this.#open.delete(provider)
        this.#effects.tell({ provider, model: null, forMs: null })
      } else {
        probe.phase = "waiting"
        probe.turnsAt = now
      }
      return
    }
    const known = this.#open.get(provider)
    if (!failed || (known !== undefined && (known.model === null || known.model === target.model))) return
    const own = this.#ownOf(target, now)
    if (own !== null) this.#tellOpened(provider, own, now)
  }

  /** A rate limit has opened the node's own breaker, as useUpstream429BreakerHints allows. */
  #opensByLimit(target: Target, status: number, now: number): boolean {
    return StatusReason.of(status) === "rate-limit" && this.#ownOf(target, now) !== null
  }

  /** What the node's own breaker refuses, and until when; null when it lets the target in. */
  #ownOf(target: Target, now: number): { readonly model: string | null; readonly until: number } | null {
    if (this.#inner.health(target, now).breaker !== "open") return null
    const view = this.#control.breakers(now).find(({ provider }) => provider === target.provider)
    return view === undefined ? null : { model: view.model, until: now + view.retryAfterMs }
  }

  #tellOpened(provider: string, { model, until }: { readonly model: string | null; readonly until: number }, now: number): void {
    const forMs = Math.max(1, Math.round(until - now))
    const open = this.#opened(provider, model, forMs, now)
    // Its traffic made it open, so it will have some when the time is up.
    open.wantedAt = now
    this.#look(provider, open, now)
    this.#effects.tell({ provider, model, forMs })
  }

  #opened(provider: string, model: string | null, forMs: number, now: number): Open {
    const open: Open = { model, until: now + forMs, forMs, phase: "waiting", turnsAt: 0, claimEnds: 0, wantedAt: 0, needsBroadcast: false, isDue: false }
    this.#open.set(provider, open)
    return open
  }

  #refusal(target: Target, open: Open, now: number): Unavailable | null {
    const { provider } = target
    if (now >= open.until) {
      if (open.phase === "held" && now < open.claimEnds) return null
      open.needsBroadcast = true
      this.#turn(provider, open, now)
      // The answer may have come at once.
      if ((open.phase as Open["phase"]) === "held") return null
    }
    open.wantedAt = now
    this.#look(provider, open, now)
    return now < open.until
      ? { reason: "breaker-open", until: open.until, detail: `Provider ${target.providerAlias} failed on several calls; the nodes of this gateway try it again later` }
      : { reason: "breaker-probing", until: now + ASK_AGAIN_MS, detail: `One call tries whether provider ${target.providerAlias} is well again` }
  }

  /** What the time alone changes: a claim that was not used is given back, one whose probe was lost is over, one that is wanted is asked for. */
  #turn(provider: string, open: Open, now: number): void {
    if (open.phase === "asking" || now < open.turnsAt) return
    if (open.phase === "held") {
      this.#giveBack(provider, open, now)
      return
    }
    if (open.phase === "probing") open.phase = "waiting"
    this.#ask(provider, open)
  }

  /** Another node that wants it asks before this node does again. */
  #giveBack(provider: string, open: Open, now: number): void {
    open.phase = "waiting"
    open.turnsAt = now + 2 * ASK_AGAIN_MS
    this.#effects.giveUp(provider)
  }

  /** Comes back when time changes something, for as long as the provider is wanted. */
  #look(provider: string, open: Open, now: number): void {
    if (open.isDue) return
    open.isDue = true
    const at = open.phase === "asking" ? now + ASK_AGAIN_MS : Math.max(open.until, open.turnsAt)
    this.#effects.after(Math.max(1, at - now), () => {
      open.isDue = false
      if (this.#open.get(provider) !== open) return
      const at = this.#effects.now()
      const isWanted = at - open.wantedAt < WANTED_MS
      if (at >= open.until && (isWanted || open.phase === "held")) this.#turn(provider, open, at)
      if (isWanted || open.phase === "held") this.#look(provider, open, at)
    })
  }

  #ask(provider: string, open: Open): void {
    open.phase = "asking"
    this.#effects.claim(provider, (won) => {
      const now = this.#effects.now()
      if (open.phase !== "asking" || this.#open.get(provider) !== open) {
        if (won) this.#effects.giveUp(provider)
        return
      }
      open.phase = won ? "held" : "waiting"
      open.claimEnds = now + CLAIM_MS
      open.turnsAt = now + (won ? UNUSED_MS : ASK_AGAIN_MS)
      if (!won && open.needsBroadcast) this.#effects.want(provider)
      open.needsBroadcast = false
      this.#look(provider, open, now)
    })
  }
}

/** A place at a target whose outcome is announced to the other nodes when it matters to them. */
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

  release(verdict: Verdict | null, now: number, ownFailures: OwnFailures | null = null): void {
    this.#inner.release(verdict, now, ownFailures)
    if (this.#probe !== null || (verdict !== null && !verdict.ok)) this.#table.settled(this.#target, this.#probe, verdict, now)
  }
}
