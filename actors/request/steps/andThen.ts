/** Continues at once with a value that is there, or later with the result of an effect: a call without a wait costs no effect. */
import * as Effect from "effect/Effect"

export type Soon<A> = A | Effect.Effect<A>

/** Goes on at once with a value that is there, and as an effect with one that is not. */
export const andThen = <A, B>(value: Soon<A>, next: (value: A) => Soon<B>): Soon<B> =>
  Effect.isEffect(value) ? Effect.flatMap(value, (made) => toEffect(next(made))) : next(value)

const toEffect = <A>(value: Soon<A>): Effect.Effect<A> => Effect.isEffect(value) ? value : Effect.succeed(value)
