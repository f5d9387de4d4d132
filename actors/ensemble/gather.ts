/**
 * Asks all members of a panel at once and decides when enough have answered: when all ended, a grace period after the
 * quorum, or at the hard limit. Members that still run then are interrupted.
 */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"

export interface GatherPatience {
  /** Answers that are enough. */
  readonly minPanel: number
  /** How long the others may take after the quorum, ms. */
  readonly stragglerGraceMs: number
  /** Longest time for all members, ms. */
  readonly panelHardTimeoutMs: number
}

/** What each call gave, in the order of the calls; null for one that was interrupted. A call answers null when it gave nothing. */
export const gather = <A>(calls: ReadonlyArray<Effect.Effect<A | null>>, patience: GatherPatience): Effect.Effect<ReadonlyArray<A | null>> =>
  Effect.gen(function*() {
    const given = calls.map((): A | null => null)
    const allAnswered = yield* Deferred.make<void>()
    const enough = yield* Deferred.make<void>()
    const quorum = Math.min(Math.max(1, patience.minPanel), calls.length)
    let answers = 0
    let open = calls.length
    const fibers = yield* Effect.forEach(calls, (call, i) =>
      Effect.forkChild(Effect.flatMap(call, (value) => {
        given[i] = value
        if (value !== null) answers++
        open--
        if (open === 0) return Deferred.succeed(allAnswered, undefined)
        return answers >= quorum ? Deferred.succeed(enough, undefined) : Effect.void
      })))
    if (calls.length > 0) {
      const patient = Effect.andThen(Deferred.await(enough), Effect.sleep(patience.stragglerGraceMs))
      yield* Effect.raceFirst(Deferred.await(allAnswered), Effect.raceFirst(patient, Effect.sleep(patience.panelHardTimeoutMs)))
    }
    yield* Fiber.interruptAll(fibers)
    return given
  })
