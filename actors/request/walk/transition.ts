/**
 * The walk of one request as a pure transition: an event in, the next state and its intents out.
 *
 * The fallback rule: inside one attempt and deadline budget, before the commit point, while the client waits. After the commit
 * point no target is called again, except to continue an answer that broke off. A hedged request has two tries at once: the one
 * that answers, or that ends as the only one left, decides what comes next. Every try that was called is settled once, and the
 * client gets one terminal event unless it left.
 */
import * as AttemptFailure from "#actors/request/steps/attemptFailure.ts"
import { Course, firstBack } from "./Course.ts"
import { type CutReason, type End, fresh, type RequestEvent, type Intent, type WalkRules, type State, type RequestTransition, type TryState } from "./RequestState.ts"
import type { Unavailable } from "#actors/request/ports/Resilience.ts"
import { type NextTarget, notAsked } from "./Walk.ts"
import type { PublicError } from "#schemas/errors.ts"

type Of<Tag extends RequestEvent["_tag"]> = Extract<RequestEvent, { readonly _tag: Tag }>
type Intents = Array<Intent>

const none: ReadonlyArray<Intent> = []
const disarm: Intent = { _tag: "DisarmHedge" }

/** What one event of a request makes of its state, and what is to be done. */
export const step = (state: State, event: RequestEvent, now: number, rules: WalkRules): RequestTransition =>
  plainStep(state, event, rules) ?? anyStep(state, event, now, rules)

const anyStep = (state: State, event: RequestEvent, now: number, rules: WalkRules): RequestTransition => {
  switch (event._tag) {
    case "Started":
      return state.over ? [state, none] : enter(state, firstTry, rules, [])
    case "Ready":
      return ready(state, event)
    case "Ended":
      return ended(state, event, now, rules)
    case "Committed":
      return committed(state, event)
    case "Spoke":
      return [spoke(state, event), none]
    case "Blocked":
      return blocked(state, event, now, rules)
    case "TurnCame":
      return turnCame(state, event, now, rules)
    case "Refused":
      return refused(state, event, now, rules)
    case "DelayOver":
      return state.delayed === null ? [state, none] : enter({ ...state, delayed: null }, { ...state.delayed, repeated: false }, rules, [])
    case "HedgeDue":
      return state.hedgeArmed ? join({ ...state, hedgeArmed: false }, now, rules, []) : [state, none]
    case "ClientLeft":
      return clientLeft(state, rules)
    case "DrainOver":
      return state.clientGone && !state.over ? stop(state, "client-gone", null, []) : [state, none]
    case "ShutDown":
      return state.over || state.shuttingDown ? [state, none] : stop({ ...state, shuttingDown: true }, "shutting-down", AttemptFailure.shuttingDown(), [])
    case "Defect":
      return defect(state)
  }
}

// ---- tries ----------------------------------------------------------------------------------------------------------------------

/** Which target comes next, and how: `TryState` says what the members mean. */
type NextTry = Pick<TryState, "index" | "insists" | "repeated">

const firstTry: NextTry = { index: 0, insists: false, repeated: false }

const tryOf = (state: State, { index, insists, repeated }: NextTry): TryState =>
  ({ id: state.tries, index, repeated, insists, called: false, speaks: false, blocked: null })

const prepare = ({ id, index, insists, repeated }: TryState, rules: WalkRules): Intent =>
  // A repetition passes over the pause that followed from the failure: it is our own guess.
  ({ _tag: "Prepare", id, index, passesGuesses: repeated || insists || rules.lastResort })

/** The try that waits for its call; null for one that was cancelled meanwhile. */
const waiting = ({ hedge, primary }: State, id: number): TryState | null => {
  const one = primary !== null && primary.id === id ? primary : hedge !== null && hedge.id === id ? hedge : null
  return one === null || one.called ? null : one
}

/** The try whose place, credential and budget are being asked for: neither called, nor in the line for a place. */
const preparing = (state: State, id: number): TryState | null => {
  const one = waiting(state, id)
  return one === null || one.blocked !== null ? null : one
}

const changed = (state: State, one: TryState): State =>
  state.primary !== null && state.primary.id === one.id ? { ...state, primary: one } : { ...state, hedge: one }

const without = (state: State, one: TryState): State => state.primary === one
  ? { ...state, primary: null }
  : state.hedge === one ? { ...state, hedge: null } : { ...state, losing: null }

/** The next target is called, as the primary try; `intents`: what comes before. */
const enter = (state: State, next: NextTry, rules: WalkRules, intents: Intents): RequestTransition => {
  const primary = tryOf(state, next)
  const { hedgeDelayMs } = rules.policyOf(next.index)
  const hedgeArmed = hedgeDelayMs !== null && state.continuations === 0
  if (hedgeArmed) intents.push({ _tag: "ArmHedge", ms: hedgeDelayMs })
  intents.push(prepare(primary, rules))
  return [{ ...state, primary, hedgeArmed, tries: state.tries + 1 }, intents]
}

/** The next free target beside one that is silent: inside the attempt and deadline budget, at most two at once. */
const join = (state: State, now: number, rules: WalkRules, intents: Intents): RequestTransition => {
  const { primary } = state
  if (primary === null || primary.speaks || state.hedge !== null || state.over || state.barred) return [state, intents]
  // The call that the first one is still waiting to make is counted.
  if (state.attempts + (primary.called ? 0 : 1) >= rules.maxAttempts || now >= rules.deadline) return [state, intents]
  const course = new Course(rules, state.course)
  const next = course.beside(now)
  if (next === null) return [{ ...state, course }, intents]
  const hedge = tryOf(state, { index: next.index, insists: next.repeats, repeated: false })
  intents.push(prepare(hedge, rules))
  return [{ ...state, course, hedge, tries: state.tries + 1 }, intents]
}

const ready = (state: State, { id }: Of<"Ready">): RequestTransition => {
  const one = preparing(state, id)
  if (one === null) return [state, none]
  const attempt = state.attempts + 1
  const called = { ...one, called: true }
  return [
    state.primary === one ? { ...state, primary: called, attempts: attempt } : { ...state, hedge: called, attempts: attempt },
    [{ _tag: "Call", id, attempt, continues: state.continuations > 0 }]
  ]
}

const spoke = (state: State, { id }: Of<"Spoke">): State =>
  state.primary !== null && state.primary.id === id && state.primary.called ? { ...state, primary: { ...state.primary, speaks: true } } : state

/** The commit point: from here on no target is called again, and the other try is not needed. */
const committed = (state: State, { id }: Of<"Committed">): RequestTransition => {
  const one = running(state, id)
  if (one === null || one === state.losing || state.over) return [state, none]
  const intents: Intents = []
  const losing = drop(state.primary === one ? state.hedge : state.primary, "hedge-lost", intents)
  if (state.hedgeArmed) intents.push(disarm)
  intents.push({ _tag: "SendHead", id })
  return [{ ...state, primary: one, hedge: null, losing, hedgeArmed: false, committed: true }, intents]
}

/** Ends a try that is not needed any more; answers it if its end is still to come. */
const drop = (one: TryState | null, reason: CutReason, intents: Intents): TryState | null => {
  if (one === null) return null
  intents.push(one.called ? { _tag: "Cut", id: one.id, reason } : { _tag: "Cancel", id: one.id })
  return one.called ? one : null
}

// ---- waits and refusals before the call -----------------------------------------------------------------------------------------

/** A target without a free place is skipped; if it is the only target, or its rest is waited for, the request waits. */
const blocked = (state: State, { id, unavailable }: Of<"Blocked">, now: number, rules: WalkRules): RequestTransition => {
  const one = preparing(state, id)
  if (one === null) return [state, none]
  if (!rules.mayQueue || (rules.size > 1 && one.index !== state.restsAt)) return skipped(state, one, unavailable, now, rules)
  return [{ ...changed(state, { ...one, blocked: unavailable }), rounds: state.rounds + 1 }, [{ _tag: "Queue", id, unavailable, rounds: state.rounds }]]
}

const turnCame = (state: State, { id, turn }: Of<"TurnCame">, now: number, rules: WalkRules): RequestTransition => {
  const one = waiting(state, id)
  if (one === null || one.blocked === null) return [state, none]
  if (turn === "go") return [changed(state, { ...one, blocked: null }), [prepare(one, rules)]]
  return turn === null || turn === "late" ? skipped(state, one, one.blocked, now, rules) : passedOver(state, one, turn, turn, now, rules)
}

/** Skips a target that became unavailable after planning; the error of a wire call takes precedence. */
const skipped = (state: State, one: TryState, unavailable: Unavailable, now: number, rules: WalkRules): RequestTransition => {
  const course = new Course(rules, state.course)
  course.leaveOut(one.index, unavailable, now)
  const error = rules.errorOf(one.index, unavailable, now)
  return passedOver({ ...state, course }, one, error, state.failure ?? error, now, rules)
}

const refused = (state: State, { error, final, id, skip, yields }: Of<"Refused">, now: number, rules: WalkRules): RequestTransition => {
  const one = preparing(state, id)
  if (one === null) return [state, none]
  let { course } = state
  if (skip !== null) {
    course = new Course(rules, course)
    course.skips.push({ index: one.index, unavailable: skip })
  }
  const last = yields && !final ? state.failure ?? error : error
  return passedOver({ ...state, course, barred: state.barred || final }, one, error, last, now, rules)
}

/** A target that costs no wire call: the next one may be tried, and the client gets `last` when there is none. */
const passedOver = (state: State, one: TryState, refusal: PublicError, last: PublicError, now: number, rules: WalkRules): RequestTransition => {
  const intents: Intents = [{ _tag: "Cancel", id: one.id }]
  const rest = { ...without(state, one), refusal }
  if (rest.primary !== null || rest.hedge !== null) return state.hedge === one ? join(rest, now, rules, intents) : [rest, intents]
  if (rest.barred) return refuse(rest, last, now, intents)
  const course = new Course(rules, rest.course)
  const next = inTime(course.after(one.index, notAsked, now), now, rules)
  const walked = { ...rest, course }
  return next === null ? refuse(walked, last, now, intents) : proceed(walked, next, one.index, rules, intents)
}

// ---- the end of a call ----------------------------------------------------------------------------------------------------------

const ended = (state: State, event: Of<"Ended">, now: number, rules: WalkRules): RequestTransition => {
  const { end, id } = event
  const one = running(state, id)
  if (one === null) return [state, none]
  if (state.over || state.losing === one) return [without(state, one), [{ _tag: "Settle", id, as: "late" }]]
  if (end.error === null) return decided(state, one, end, null, now)
  const course = new Course(rules, state.course)
  course.hear(one.index, end.error, event.retryAfterMs, now)
  const heard: State = { ...without(state, one), course, failure: end.error }
  if (heard.primary !== null || heard.hedge !== null) {
    // The other try decides.
    if (end.committed || state.clientGone || state.shuttingDown) return decided(state, one, end, course, now)
    course.note(one.index, course.failed(one.index, end, now))
    return [heard, [{ _tag: "Settle", id, as: "failed" }]]
  }
  if (state.clientGone || state.shuttingDown || state.barred || state.attempts >= rules.maxAttempts) return decided(state, one, end, course, now)
  const settle: Intent = { _tag: "Settle", id, as: "failed" }
  if (continues(state, event, rules)) {
    return proceed(
      { ...heard, restsAt: -1, continuations: state.continuations + 1, partialText: event.partialText }, again(one), one.index, rules,
      [{ _tag: "KeepPartial", id }, settle]
    )
  }
  const next = end.committed ? null : afterFailure(state, course, one, end, now, rules)
  if (next === null) return decided(state, one, end, course, now)
  return proceed({ ...heard, restsAt: next.rests ? next.step.index : -1 }, next.step, one.index, rules, [settle])
}

/** The outcome of the request is the one of this call; `course` is null for an answer. */
const decided = (state: State, one: TryState, end: End, course: Course | null, now: number): RequestTransition => {
  const { id } = one
  const intents: Intents = []
  const other = state.primary === one ? state.hedge : state.primary
  // A client that left has cut every try already.
  const losing = state.clientGone ? null : drop(other, state.shuttingDown ? "shutting-down" : "hedge-lost", intents)
  if (state.hedgeArmed) intents.push(disarm)
  intents.push({ _tag: "Settle", id, as: "final" })
  if (!state.clientGone && end.outcome !== "client-abort") {
    if (end.committed) intents.push({ _tag: "EndStream", id })
    else if (end.error === null) intents.push({ _tag: "Give", id })
    else intents.push({ _tag: "Refuse", error: course === null ? end.error : course.hinted(end.error, now) })
  }
  return [{
    ...state, primary: state.clientGone ? other : null, hedge: null, losing: losing ?? state.losing, hedgeArmed: false, over: true, course: course ?? state.course, failure: end.error
  }, intents]
}

const running = ({ hedge, primary, losing }: State, id: number): TryState | null => {
  const one = primary !== null && primary.id === id ? primary : hedge !== null && hedge.id === id ? hedge : losing
  return one === null || one.id !== id || !one.called ? null : one
}

/** An answer that broke off after the commit point is continued by another call, a bounded number of times. */
const continues = ({ continuations, partialText }: State, event: Of<"Ended">, { maxContinuations, recovery }: WalkRules): boolean => {
  const { end } = event
  if (!recovery.continues || !end.committed || end.outcome !== "upstream-reset" || event.partialText === null) return false
  if (continuations >= maxContinuations) return false
  return !(recovery.stopsAtEmpty && continuations > 0 && event.partialText === partialText)
}

const again = ({ index }: TryState): NextTarget => ({ index, delayMs: 0, repeats: true })

interface Following {
  readonly step: NextTarget
  /** The request waits for the end of that target's rest. */
  readonly rests: boolean
}

/** The step after a failure before the commit point. A stream that ended without content is repeated once on the same connection. */
const afterFailure = (state: State, course: Course, one: TryState, end: End, now: number, rules: WalkRules): Following | null => {
  // Another provider of a combo may accept a request that this one refused.
  if (!end.retryable && !(rules.isCombo && end.outcome === "upstream-status")) return null
  if (end.repeatable && !one.repeated) return { step: again(one), rests: false }
  if (end.repeatable) course.leaveSiblings(one.index)
  if (end.phase === "connect" && end.outcome !== "policy") course.leaveEgress(one.index)
  const next = course.after(one.index, course.failed(one.index, end, now), now)
  if (next !== null) {
    const step = inTime(next, now, rules)
    return step === null ? null : { step, rests: false }
  }
  const step = inTime(afterRest(state, now, rules), now, rules)
  return step === null ? null : { step, rests: true }
}

/** All targets rest because their upstreams said so: asks the first one that is back, if the settings allow the wait. */
const afterRest = ({ rounds }: State, now: number, rules: WalkRules): NextTarget | null => {
  if (!rules.mayQueue || rules.isCombo) return null
  const first = firstBack(rules, now)
  return first === null || !rules.mayWaitFor(first.index, first.unavailable, rounds) ? null : { index: first.index, delayMs: 0, repeats: false }
}

/** A step whose delay would outlast the deadline is dropped. */
const inTime = (next: NextTarget | null, now: number, { deadline }: WalkRules): NextTarget | null =>
  next === null || now + next.delayMs >= deadline ? null : next

/** Continues with the next step; `from`: the target that was called before. */
const proceed = (state: State, { delayMs, index, repeats }: NextTarget, from: number, rules: WalkRules, intents: Intents): RequestTransition => {
  if (state.hedgeArmed) intents.push(disarm)
  if (delayMs === 0) return enter(state, { index, insists: repeats, repeated: index === from && index !== state.restsAt }, rules, intents)
  intents.push({ _tag: "Delay", ms: delayMs })
  return [{ ...state, hedgeArmed: false, delayed: { index, insists: repeats } }, intents]
}

// ---- the end of the request -----------------------------------------------------------------------------------------------------

const refuse = (state: State, error: PublicError, now: number, intents: Intents): RequestTransition => {
  if (state.hedgeArmed) intents.push(disarm)
  intents.push({ _tag: "Refuse", error: state.course === null ? error : state.course.hinted(error, now) })
  return [{ ...state, hedgeArmed: false, over: true }, intents]
}

/** The client's key decides whether an answer that has begun is read to its end. */
const clientLeft = (state: State, rules: WalkRules): RequestTransition => {
  if (state.clientGone || state.over) return [state.clientGone ? state : { ...state, clientGone: true }, none]
  const gone = { ...state, clientGone: true }
  const { primary } = state
  if (rules.drains && state.committed && primary !== null && primary.called) return [gone, [{ _tag: "Drain", id: primary.id }]]
  return stop(gone, "client-gone", null, [])
}

/** Cuts what was called, cancels what waits; `error`: for the client, when no call brings its own end. */
const stop = (state: State, reason: CutReason, error: PublicError | null, intents: Intents): RequestTransition => {
  const { hedge, primary } = state
  if (state.hedgeArmed) intents.push(disarm)
  if (state.delayed !== null) intents.push({ _tag: "StopDelay" })
  const stopped: State = {
    ...state, hedgeArmed: false, delayed: null,
    // A waiting try goes first: the end of a call decides, and finds no other try to drop.
    primary: primary !== null && primary.called ? primary : null,
    hedge: hedge !== null && hedge.called ? hedge : null
  }
  for (const one of [primary, hedge]) if (one !== null && !one.called) intents.push({ _tag: "Cancel", id: one.id })
  for (const one of [stopped.primary, stopped.hedge]) if (one !== null) intents.push({ _tag: "Cut", id: one.id, reason })
  if (stopped.primary !== null || stopped.hedge !== null) return [stopped, intents]
  if (error !== null && !state.clientGone) intents.push({ _tag: "Refuse", error })
  return [{ ...stopped, over: true, refusal: error ?? state.refusal }, intents]
}

/** Whatever still runs is cut, and only settled. */
const defect = (state: State): RequestTransition => {
  const intents: Intents = []
  drop(state.losing, "defect", intents)
  const [stopped] = stop({ ...state, over: true }, "defect", null, intents)
  if (!state.clientGone) intents.push({ _tag: "Abandon" })
  return [stopped, intents]
}

// ---- the way of most requests ---------------------------------------------------------------------------------------------------

/**
 * Most requests are called once and get their answer. They share the values of these steps, made once by the rules above, because a
 * state never changes: steps of its own cost each request 1.5 kB.
 */
const plainStep = (state: State, event: RequestEvent, rules: WalkRules): RequestTransition | null => {
  switch (event._tag) {
    case "Started":
      return state === fresh && !rules.lastResort && rules.policyOf(0).hedgeDelayMs === null ? started : null
    case "Ready":
      return state === started[0] && event.id === 0 ? called : null
    case "Committed":
      return state === called[0] && event.id === 0 ? streaming : null
    case "Ended":
      if (event.id !== 0 || event.end.error !== null || event.end.outcome !== "completed") return null
      if (event.end.committed) return state === streaming[0] ? streamed : null
      return state === called[0] ? answered : null
    default:
      return null
  }
}

const only = tryOf(fresh, firstTry)
const answer: End = { outcome: "completed", error: null, retryable: false, repeatable: false, rejected: false, committed: false, phase: null, upstreamStatus: 200 }

const started: RequestTransition = [{ ...fresh, primary: only, tries: 1 }, [{ _tag: "Prepare", id: only.id, index: only.index, passesGuesses: false }]]
const called = ready(started[0], { _tag: "Ready", id: only.id })
const streaming = committed(called[0], { _tag: "Committed", id: only.id })
const answered = decided(called[0], called[0].primary as TryState, answer, null, 0)
const streamed = decided(streaming[0], streaming[0].primary as TryState, { ...answer, committed: true }, null, 0)
