/** Drives the transition of a request with any sequence of events, runs its intents in a model, and notes what they break. */
import { assert } from "@effect/vitest"
import * as Schema from "effect/Schema"
import type { Unavailable } from "#actors/request/ports/Resilience.ts"
import * as RequestState from "#actors/request/walk/RequestState.ts"
import * as Transition from "#actors/request/walk/transition.ts"
import { once } from "#actors/request/ports/WalkPolicy.ts"
import * as Errors from "#schemas/errors.ts"

const upTo = (maximum: number) => Schema.Int.check(Schema.isBetween({ minimum: 0, maximum }))
const Health = Schema.Literals(["well", "well", "busy", "resting", "guess"])

/** Times in ms. */
export const World = Schema.Struct({
  targets: Schema.Array(Health).check(Schema.isMinLength(1), Schema.isMaxLength(4)),
  isCombo: Schema.Boolean,
  lastResort: Schema.Boolean,
  maxAttempts: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 5 })),
  deadline: Schema.NullOr(upTo(60)),
  maxRetries: upTo(2),
  maxSetRetries: upTo(2),
  failoverBeforeRetry: Schema.Boolean,
  delayMs: upTo(20),
  hedgeDelayMs: Schema.NullOr(upTo(10)),
  mayQueue: Schema.Boolean,
  drains: Schema.Boolean,
  continues: Schema.Boolean,
  stopsAtEmpty: Schema.Boolean,
  sibling: Schema.Boolean
})
export type World = typeof World.Type

/** One choice among what can happen next; `waitMs` passes before. */
export const Acts = Schema.Array(Schema.Struct({ pick: upTo(1_000), kind: upTo(1_000), waitMs: upTo(8) })).check(Schema.isMaxLength(60))

type Event = RequestState.RequestEvent
type Intent = RequestState.Intent
type End = RequestState.End

const error = Errors.make("bad_gateway", "no")
const maxContinuations = 2
/** When a target that rests is back, ms. */
const backAt = 30

export const rulesOf = (world: World): RequestState.WalkRules => {
  const policy = {
    ...once, maxRetries: world.maxRetries, maxSetRetries: world.maxSetRetries, failoverBeforeRetry: world.failoverBeforeRetry,
    retryDelayMs: world.delayMs, fallbackDelayMs: world.delayMs, setRetryDelayMs: world.delayMs, hedgeDelayMs: world.hedgeDelayMs
  }
  const blocked = (index: number, at: number): Unavailable | null => {
    const health = world.targets[index]
    if (health === undefined || health === "well") return null
    if (health === "busy") return { reason: "connection-busy", until: null, detail: "" }
    return at >= backAt ? null : { reason: "connection-cooldown", until: backAt, detail: "", soft: health === "guess" }
  }
  return {
    size: world.targets.length, isCombo: world.isCombo, lastResort: world.lastResort, policy, policyOf: () => policy, maxAttempts: world.maxAttempts,
    deadline: world.deadline ?? Number.POSITIVE_INFINITY, maxContinuations, mayQueue: world.mayQueue, drains: world.drains,
    recovery: { holds: false, continues: world.continues, stopsAtEmpty: world.stopsAtEmpty, sibling: world.sibling },
    isSameModel: (one, other) => one % 2 === other % 2, sharesEgress: (one, other) => one !== other && one % 3 === other % 3, blocked, resting: blocked, mayWaitFor: (_, __, rounds) => rounds < 3, errorOf: () => error
  }
}

interface Running {
  readonly continues: boolean
  committed: boolean
}

const skipsOf = ({ course }: RequestState.State): number => course === null ? 0 : course.skips.length

const starts: ReadonlySet<Intent["_tag"]> = new Set(["Prepare", "Queue", "Call", "Delay", "ArmHedge", "SendHead", "KeepPartial"])
const terminal: ReadonlySet<Intent["_tag"]> = new Set(["Give", "EndStream", "Refuse", "Abandon"])

export class Driver {
  state = RequestState.fresh
  now = 0
  readonly world: World
  private readonly rules: RequestState.WalkRules
  /** Tries by what they wait for. */
  private readonly preparing = new Set<number>()
  private readonly queued = new Set<number>()
  private readonly running = new Map<number, Running>()
  private delayed = false
  private hedgeArmed = false
  private draining = false
  private readonly called = new Set<number>()
  /** Calls whose content came. */
  private readonly spoke = new Set<number>()
  private readonly settled: Array<number> = []
  private finals = 0
  private terminals = 0
  private abandoned = false
  private attempts = 0
  private continuations = 0
  private committed = false
  private clientGone = false
  private shuttingDown = false
  /** Tries that were begun when an interceptor refused the whole request. */
  private triesAtBar: number | null = null
  private readonly performed: Array<string> = []
  private readonly seen: Array<{ readonly state: RequestState.State; readonly event: Event; readonly now: number; readonly skips: number; readonly intents: string }> = []

  constructor(world: World) {
    this.world = world
    this.rules = rulesOf(world)
    this.send({ _tag: "Started" })
  }

  /** Lets time pass, then one of the things that can happen happens. */
  act({ kind, pick, waitMs }: { readonly kind: number; readonly pick: number; readonly waitMs: number }): void {
    this.now += waitMs
    const possible = this.possible(kind)
    const event = possible[pick % possible.length]
    if (event !== undefined) this.happen(event)
  }

  /** Ends what is left, and checks what must hold of every request that is over. */
  finish(): void {
    this.happen({ _tag: "ShutDown" })
    for (const id of this.running.keys()) this.end(id, { outcome: "policy" }, null, null)
    assert.isTrue(RequestState.isDone(this.state), "it ends")
    assert.deepStrictEqual([...this.settled].sort(), [...this.called].sort(), "every call is settled once")
    assert.isAtMost(this.finals, 1)
    assert.isAtMost(this.terminals, 1)
    // What threw may have been the terminal event itself.
    if (!this.clientGone) assert.isTrue(this.abandoned || this.terminals === 1, "the client hears one terminal event, unless it left")
    assert.strictEqual(this.preparing.size + this.queued.size + this.running.size, 0, "no try is left behind")
    assert.isFalse(this.delayed || this.hedgeArmed, "no timer is left behind")
    const { state } = this
    for (const event of [...this.strays(0), ...this.strays(1), { _tag: "Started" } as const, { _tag: "ShutDown" } as const, { _tag: "DrainOver" } as const]) {
      assert.deepStrictEqual(Transition.step(state, event, this.now, this.rules)[1], [], `nothing follows the end: ${event._tag}`)
    }
    for (const { event, intents, now, skips, state: before } of this.seen) {
      assert.strictEqual(skipsOf(before), skips, `a state never changes: ${event._tag}`)
      assert.strictEqual(JSON.stringify(Transition.step(before, event, now, this.rules)[1]), intents, `a state never changes: ${event._tag}`)
    }
  }

  /** Intents so far, in their order. */
  get intents(): ReadonlyArray<string> {
    return this.performed
  }

  private possible(kind: number): ReadonlyArray<Event> {
    const events: Array<Event> = []
    for (const id of this.preparing) {
      const skip: Unavailable | null = kind % 3 === 0 ? null : { reason: "limit", until: null, detail: "" }
      const refused = { _tag: "Refused", id, error, final: kind % 7 === 0, yields: kind % 2 === 0, skip } as const
      events.push({ _tag: "Ready", id }, { _tag: "Ready", id }, refused, { _tag: "Blocked", id, unavailable: { reason: "connection-busy", until: null, detail: "" } })
    }
    for (const id of this.queued) events.push({ _tag: "TurnCame", id, turn: kind % 3 === 0 ? "late" : kind % 5 === 0 ? null : kind % 7 === 0 ? error : "go" })
    for (const [id, call] of this.running) {
      if (!call.committed) events.push({ _tag: "Spoke", id }, { _tag: "Committed", id }, { _tag: "Committed", id })
      const ended = endOf(kind, call.committed)
      events.push({ _tag: "Ended", id, ...ended }, { _tag: "Ended", id, ...ended })
    }
    if (this.delayed) events.push({ _tag: "DelayOver" }, { _tag: "DelayOver" })
    if (this.hedgeArmed) events.push({ _tag: "HedgeDue" }, { _tag: "HedgeDue" })
    if (this.draining) events.push({ _tag: "DrainOver" })
    if (kind % 11 === 0) events.push({ _tag: "ClientLeft" })
    if (kind % 23 === 0) events.push({ _tag: "ShutDown" })
    if (kind % 29 === 0 && !this.abandoned) events.push({ _tag: "Defect" })
    return kind % 13 === 0 ? this.strays(kind) : events
  }

  /** Events of tries that are not there, or not so far. */
  private strays(kind: number): ReadonlyArray<Event> {
    const id = kind % 9
    const strays: ReadonlyArray<Event> = [
      { _tag: "DelayOver" }, { _tag: "HedgeDue" },
      { _tag: "Ready", id }, { _tag: "TurnCame", id, turn: "go" }, { _tag: "Blocked", id, unavailable: { reason: "inactive", until: null, detail: "" } },
      { _tag: "Refused", id, error, final: false, yields: false, skip: null }, { _tag: "Committed", id }, { _tag: "Spoke", id },
      { _tag: "Ended", id, ...endOf(kind, false) }
    ]
    return strays.filter((event) => {
      switch (event._tag) {
        case "DelayOver":
          return !this.delayed
        case "HedgeDue":
          return !this.hedgeArmed
        case "Ended":
        case "Spoke":
        case "Committed":
          return !this.running.has(id)
        case "TurnCame":
          return !this.queued.has(id)
        default:
          return !this.preparing.has(id)
      }
    })
  }

  /** The event as the world knows it, then as the request does. */
  private happen(event: Event): void {
    switch (event._tag) {
      case "Ready":
      case "Blocked":
        this.preparing.delete(event.id)
        break
      case "Refused":
        if (this.preparing.has(event.id) && event.final) this.triesAtBar ??= this.state.tries
        break
      case "TurnCame":
        this.queued.delete(event.id)
        break
      case "Spoke":
        if (this.running.has(event.id)) this.spoke.add(event.id)
        break
      case "Committed": {
        const call = this.running.get(event.id)
        if (call !== undefined) call.committed = true
        break
      }
      case "Ended":
        this.running.delete(event.id)
        break
      case "DelayOver":
        this.delayed = false
        break
      case "HedgeDue":
        this.hedgeArmed = false
        break
      case "DrainOver":
        this.draining = false
        break
      case "ClientLeft":
        if (!this.state.over) this.clientGone = true
        break
      case "ShutDown":
        this.shuttingDown = true
        break
    }
    this.send(event)
  }

  private end(id: number, end: Partial<End>, partialText: string | null, retryAfterMs: number | null): void {
    const committed = this.running.get(id)?.committed === true
    this.happen({ _tag: "Ended", id, end: { ...failure, ...end, retryable: false, committed }, partialText, retryAfterMs })
  }

  private send(event: Event): void {
    const before = this.state
    const [state, intents] = Transition.step(before, event, this.now, this.rules)
    this.seen.push({ state: before, event, now: this.now, skips: skipsOf(before), intents: JSON.stringify(intents) })
    this.state = state
    const last = intents.findIndex(({ _tag }) => _tag === "Prepare")
    assert.isTrue(last === -1 || last === intents.length - 1, "Prepare is the last intent")
    if (event._tag === "HedgeDue" && last !== -1) {
      const waiting = before.primary !== null && !before.primary.called ? 1 : 0
      assert.isBelow(this.attempts + waiting, this.world.maxAttempts, "a hedge is inside the attempt budget")
      assert.isBelow(this.now, this.rules.deadline, "a hedge is inside the deadline")
      assert.isFalse(this.spoke.has((before.primary as RequestState.TryState).id), "a hedge beside a target that answers")
    }
    for (const intent of intents) this.perform(intent)
  }

  private perform(intent: Intent): void {
    const { _tag } = intent
    this.performed.push(_tag)
    if (starts.has(_tag)) {
      assert.isFalse(this.clientGone, `${_tag} for a client that left`)
      assert.isFalse(this.shuttingDown, `${_tag} after the shutdown`)
      assert.isTrue(this.terminals === 0 && !this.abandoned, `${_tag} after a terminal event`)
    }
    if (terminal.has(_tag)) {
      assert.isFalse(this.clientGone, `${_tag} to a client that left`)
      if (_tag !== "Abandon") this.terminals++
    }
    switch (intent._tag) {
      case "Prepare":
        assert.isFalse(this.called.has(intent.id))
        assert.isTrue(!this.committed || this.world.continues, "no target is asked after the commit point, unless to continue")
        if (this.triesAtBar !== null) assert.isBelow(intent.id, this.triesAtBar, "no new target after a final refusal")
        this.preparing.add(intent.id)
        break
      case "Queue":
        assert.isTrue(this.world.mayQueue)
        this.queued.add(intent.id)
        break
      case "Call":
        this.call(intent.id, intent.attempt, intent.continues)
        break
      case "Cancel":
        assert.isFalse(this.called.has(intent.id), "a call is cut, not cancelled")
        this.preparing.delete(intent.id)
        this.queued.delete(intent.id)
        break
      case "Cut":
        if (this.running.has(intent.id)) {
          if (intent.reason === "client-gone") this.end(intent.id, { outcome: "client-abort", error: null }, null, null)
          else this.end(intent.id, { outcome: "policy" }, null, null)
        }
        break
      case "Settle":
        assert.isTrue(this.called.has(intent.id), "only what was called is settled")
        assert.isFalse(this.running.has(intent.id), "a call that runs is not settled")
        this.settled.push(intent.id)
        if (intent.as === "final") this.finals++
        break
      case "SendHead":
        assert.isFalse(this.committed, "one commit point")
        this.committed = true
        break
      case "Give":
        assert.isFalse(this.committed, "a whole answer has no commit point before it")
        break
      case "EndStream":
        assert.isTrue(this.committed)
        break
      case "Delay":
        assert.isBelow(this.now + intent.ms, this.rules.deadline, "a delay ends inside the deadline")
        this.delayed = true
        break
      case "StopDelay":
        this.delayed = false
        break
      case "ArmHedge":
        assert.isFalse(this.hedgeArmed)
        this.hedgeArmed = true
        break
      case "DisarmHedge":
        this.hedgeArmed = false
        break
      case "Drain":
        assert.isTrue(this.world.drains && this.committed)
        this.draining = true
        break
      case "Abandon":
        this.abandoned = true
        break
      case "KeepPartial":
        assert.isTrue(this.world.continues && this.committed)
        break
    }
  }

  private call(id: number, attempt: number, continues: boolean): void {
    assert.isFalse(this.called.has(id), "a try is called once")
    assert.strictEqual(attempt, ++this.attempts)
    assert.isAtMost(attempt, this.world.maxAttempts, "calls are inside the attempt budget")
    assert.strictEqual(continues, this.committed, "no replay after the commit point, no continuation before it")
    if (continues) assert.isAtMost(++this.continuations, maxContinuations)
    this.called.add(id)
    this.running.set(id, { continues, committed: continues })
    assert.isAtMost(this.running.size, this.world.hedgeDelayMs === null || continues ? 1 : 2, "calls at once")
  }
}

export const failure: End = {
  outcome: "upstream-status", error, retryable: true, repeatable: false, rejected: false, committed: false, phase: null, upstreamStatus: 503
}

/** Ways in which a call ends by itself. */
const endOf = (kind: number, committed: boolean): { readonly end: End; readonly partialText: string | null; readonly retryAfterMs: number | null } => {
  const quiet = { partialText: null, retryAfterMs: null }
  if (committed) {
    return kind % 3 === 0
      ? { ...quiet, end: { ...failure, outcome: "completed", error: null, retryable: false, committed, upstreamStatus: 200 } }
      : { ...quiet, partialText: kind % 5 === 0 ? null : `text ${kind % 2}`, end: { ...failure, outcome: "upstream-reset", retryable: false, committed, upstreamStatus: 200 } }
  }
  switch (kind % 7) {
    case 0:
      return { ...quiet, end: { ...failure, outcome: "completed", error: null, retryable: false, upstreamStatus: 200 } }
    case 1:
      return { ...quiet, end: { ...failure, outcome: "upstream-reset", repeatable: true, upstreamStatus: 200 } }
    case 2:
      return { ...quiet, end: { ...failure, retryable: false, upstreamStatus: 400 } }
    case 3:
      return { ...quiet, retryAfterMs: kind, end: { ...failure, upstreamStatus: 429 } }
    case 4:
      return { ...quiet, end: { ...failure, outcome: "policy", rejected: true, upstreamStatus: 200 } }
    case 5:
      return { ...quiet, end: { ...failure, outcome: "gateway-timeout", phase: "first-event", upstreamStatus: 200 } }
    default:
      return { ...quiet, end: failure }
  }
}
