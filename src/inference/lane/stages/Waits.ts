/**
 * A request for which no target is free waits for its turn where the settings allow it, and is planned again; else it is
 * refused. If its client leaves meanwhile, no upstream is called.
 */
import * as Effect from "effect/Effect"
import { type TurnOutcome, Turns, type Wish } from "#actors/request/ports/Turns.ts"
import type { Services } from "#actors/request/services.ts"
import { PublicError } from "#schemas/errors.ts"
import { type AdmittedCall, left, type Stage } from "./Stages.ts"
import { Blocked } from "#src/routing/unavailable.ts"

/** What a request has behind it when it is planned again. */
export interface Waited {
  /** When it was first planned, ms since the epoch. */
  readonly since: number
  /** Its turns so far. */
  readonly rounds: number
  /** It waited long enough: the answer now is final. */
  readonly last: boolean
}

export interface WaitServices {
  readonly turns: Turns["Service"]
  /** A whole request, ms; 0 = no limit (GATEWAY_TOTAL_TIMEOUT_MS). */
  readonly totalMs: number
  /** ms since the epoch. */
  readonly now: () => number
}

/** Lets the call wait and plans it `again` when its turn has come, or refuses it with the planner's words. */
export const waitOrRefuse = <C extends AdmittedCall>(
  services: WaitServices, refusal: PublicError, call: C, waited: Waited | undefined, again: (call: C, waited: Waited) => void
): void => {
  if (!(refusal instanceof Blocked) || (waited !== undefined && waited.last)) {
    call.passage.refuse(refusal, waited?.since)
    return
  }
  const since = waited === undefined ? services.now() : waited.since
  const rounds = waited === undefined ? 0 : waited.rounds
  const blocked = refusal.skipped.flatMap(({ candidate: { target }, unavailable }) => isOurs(unavailable) ? [{ target, unavailable }] : [])
  const wish: Wish = { blocked, keyId: call.key?.id ?? null, combo: refusal.combo, since, deadline: deadlineOf(since, services.totalMs), rounds }
  const joined = services.turns.join(wish, (turn: TurnOutcome) => {
    if (turn instanceof PublicError) call.passage.refuse(turn, since)
    else again(call, { since, rounds: rounds + 1, last: turn === "late" })
  })
  if (joined === null) call.passage.refuse(refusal, since)
  else if (joined instanceof PublicError) call.passage.refuse(joined, since)
  else call.passage.onGone(() => {
    joined()
    call.passage.refuse(left("its request waited"), since)
  })
}

const deadlineOf = (since: number, totalMs: number): number => totalMs === 0 ? Number.POSITIVE_INFINITY : since + totalMs

type Skipped = Blocked["skipped"][number]["unavailable"]
const waitable: ReadonlySet<string> = new Set(["connection-busy", "model-busy", "connection-cooldown", "model-cooldown"])

/** What the resilience port said, and not a strategy: only that passes. */
const isOurs = (unavailable: Skipped): unavailable is Extract<Skipped, { readonly soft?: boolean }> => waitable.has(unavailable.reason)

const cooling: ReadonlySet<string> = new Set(["connection-cooldown", "model-cooldown"])

const withoutCooldowns = (wish: Wish): Wish => ({ ...wish, blocked: wish.blocked.filter(({ unavailable }) => !cooling.has(unavailable.reason)) })

/** For kinds of requests that wait for a free place, and never for the end of a cooldown: a provider's 429 is passed on at once. */
export const neverForCooldowns = (services: Services): Services => {
  const { turns } = services
  return turns === undefined ? services : {
    ...services,
    turns: { join: (wish, turn) => turns.join(withoutCooldowns(wish), turn), mayJoin: (wish) => turns.mayJoin(withoutCooldowns(wish)) }
  }
}

/** Adds a key's `throttleDelayMs` before dispatch. */
export const throttle = (turns: Turns["Service"]): Stage => ({
  name: "throttle",
  applies: ({ key }) => key !== null && key.policy.throttleDelayMs > 0,
  run: (call, next) => {
    const leave = turns.pause(call.key === null ? 0 : call.key.policy.throttleDelayMs, (turn) => {
      if (turn instanceof PublicError) call.passage.refuse(turn)
      else next(call)
    })
    call.passage.onGone(() => {
      leave()
      call.passage.refuse(left("its request waited"))
    })
  }
})

export const stage = Effect.map(Turns, throttle)
