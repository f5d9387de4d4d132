/**
 * Look-ups in the record store that a request waits for. The wait is bounded; the look-up itself continues, so that a store that
 * is only slow has answered when the request is repeated. Equal look-ups are coalesced, and while the store does not answer at
 * all new ones are refused at once: a frozen pool collects no requests.
 */
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as FiberSet from "effect/FiberSet"
import { StoreError } from "#actors/ports/StoreError.ts"

/** Questions that are asked at once; more are refused. */
const capacity = 1_000
/** Questions that are asked of a store that says nothing: enough to notice that it is back. */
const probes = 16

export interface Options {
  /** Names the questions in errors. */
  readonly name: string
  /** Longest wait, ms. */
  readonly withinMs: number
  /**
   * An answer without a waiter is kept this long for the next caller, ms; default 0, for look-ups that keep their answer
   * themselves.
   */
  readonly keepMs?: number
}

export interface LookUps<A> {
  /** Equal keys ask the same. Fails with `unavailable` after the wait at the latest. */
  readonly ask: (key: string, question: Effect.Effect<A, StoreError>) => Effect.Effect<A, StoreError>
}

interface Question<A> {
  readonly began: number
  waiting: number
  readonly answer: Deferred.Deferred<A, StoreError>
}

/** What is in the socket already is read before a deadline counts: the loop may have been late, not the store. */
const nextLoopTurn = Effect.callback<void>((resume) => {
  const turn = setImmediate(() => resume(Effect.void))
  return Effect.sync(() => clearImmediate(turn))
})

export const make = Effect.fnUntraced(function*<A>({ keepMs = 0, name, withinMs }: Options) {
  const clock = yield* Clock.Clock
  const fork = yield* FiberSet.makeRuntime<never, void, never>()
  /** Oldest first. */
  const inFlight = new Map<string, Question<A>>()
  /** Answers that came too late, oldest first. */
  const kept = new Map<string, { readonly value: A; readonly until: number }>()
  let answeredAt = Number.NEGATIVE_INFINITY
  const now = () => Number(clock.monotonicTimeNanosUnsafe()) / 1e6
  const unavailable = (message: string) => new StoreError({ store: name, operation: "lookUp", reason: "unavailable", message: `${name}: ${message}` })
  const late = unavailable(`no answer from the record store within ${withinMs} ms (GATEWAY_LOOKUP_TIMEOUT_MS).`)
  const busy = unavailable(`${capacity} look-ups wait for the record store.`)

  /** The oldest question is overdue, and none that is younger was answered. */
  const isSilent = (at: number): boolean => {
    const oldest = inFlight.values().next().value
    return oldest !== undefined && at - oldest.began >= withinMs && answeredAt < oldest.began
  }

  const keep = (key: string, value: A): void => {
    const at = now()
    for (const [name, { until }] of kept) {
      if (until > at && kept.size < capacity) break
      kept.delete(name)
    }
    kept.set(key, { value, until: at + keepMs })
  }

  /** A kept answer is good once. */
  const takeKept = (key: string, at: number): { readonly value: A } | null => {
    const found = kept.get(key)
    if (found === undefined) return null
    kept.delete(key)
    return found.until > at ? found : null
  }

  const begin = (key: string, question: Effect.Effect<A, StoreError>, began: number): Question<A> => {
    const one: Question<A> = { began, waiting: 0, answer: Deferred.makeUnsafe<A, StoreError>() }
    inFlight.set(key, one)
    fork(Effect.matchCauseEffect(question, {
      onFailure: (cause) => Effect.sync(() => {
        inFlight.delete(key)
        Deferred.doneUnsafe(one.answer, Effect.failCause(cause))
      }),
      onSuccess: (value) => Effect.sync(() => {
        inFlight.delete(key)
        answeredAt = now()
        if (one.waiting === 0 && keepMs > 0) keep(key, value)
        Deferred.doneUnsafe(one.answer, Effect.succeed(value))
      })
    }))
    return one
  }

  const wait = (one: Question<A>, ms: number): Effect.Effect<A, StoreError> => {
    const { answer } = one
    one.waiting++
    return Deferred.await(answer).pipe(
      Effect.timeoutOrElse({
        duration: ms,
        orElse: () => Effect.andThen(nextLoopTurn, Effect.suspend(() => Deferred.isDoneUnsafe(answer) ? Deferred.await(answer) : Effect.fail(late)))
      }),
      Effect.ensuring(Effect.sync(() => {
        one.waiting--
      }))
    )
  }

  const lookUps: LookUps<A> = {
    ask: (key, question) => Effect.suspend(() => {
      const at = now()
      const known = inFlight.get(key)
      if (known === undefined) {
        const answered = kept.size === 0 ? null : takeKept(key, at)
        if (answered !== null) return Effect.succeed(answered.value)
        const silent = isSilent(at)
        if (inFlight.size >= (silent ? probes : capacity)) return Effect.fail(silent ? late : busy)
        const one = begin(key, question, at)
        return silent ? Effect.fail(late) : wait(one, withinMs)
      }
      const left = known.began + withinMs - at
      return left <= 0 ? Effect.fail(late) : wait(known, left)
    })
  }
  return lookUps
})
