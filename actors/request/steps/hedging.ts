/** Two tries of one request at once: which one decides what comes next, and how the other one ends. */
import * as Effect from "effect/Effect"
import type { Try } from "#actors/request/Try.ts"
import type { Step } from "#actors/request/Walk.ts"

/** The other try of a hedged request decides what comes next. */
export const parted = "parted"

/** What comes after a try: a step, the end of the walk (null), or whatever the other one says. */
export type Next = Step | null | typeof parted

/** `joining` begins when `lead` did not decide in `delayMs`; the one that decides ends both. */
export const race = (lead: Effect.Effect<Next>, joining: Effect.Effect<Next>, delayMs: number): Effect.Effect<Next> =>
  Effect.raceFirst(Effect.flatMap(lead, deciding), Effect.flatMap(Effect.delay(joining, delayMs), deciding))

const deciding = (next: Next): Effect.Effect<Next> => next === parted ? Effect.never : Effect.succeed(next)

/** A try that ends at once when the other one answers, whatever it was waiting for. */
export const losable = (one: Try, attempt: Effect.Effect<Next>): Effect.Effect<Next> =>
  Effect.raceFirst(attempt, Effect.callback<Next>((resume) => {
    one.onLost = () => resume(Effect.succeed(parted))
  }))
