/**
 * A sandbox that stays for one program: its exported functions are called one at a time, each call in a fresh context, so that nothing of
 * a call is left for the next one. The process is started before it is needed, and anew as soon as one was lost.
 */
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import * as Semaphore from "effect/Semaphore"
import * as SandboxProcess from "./SandboxProcess.ts"
import * as Seal from "./seal.ts"

/** Calls of one process: the memory that the engine does not give back goes with it. */
const CALLS_MAX = 1_000
/** Calls that wait for their turn. */
const WAITING_MAX = 64
/** A process that could not be started is not tried again for so long, ms. */
const REST_MS = 5_000

export interface Call {
  /** The exported function; `""` asks for the names of all of them. */
  readonly name: string
  /** JSON texts. */
  readonly input: string
  readonly context: string
  /** Of the call, with its wait for the process and for its turn. */
  readonly timeoutMs: number
}

export interface Resident {
  /** Starts the process, unless there is one, and waits for it. */
  readonly warm: Effect.Effect<void, Seal.Unsealed>
  /** Until the calls that wait have ended. */
  readonly idle: Effect.Effect<void>
  /** The outcome is hostile: its JSON must be checked. Interrupted, it runs on to its end. Not to be called any more when the scope is closed. */
  readonly call: (call: Call) => Effect.Effect<SandboxProcess.Outcome, Seal.Unsealed>
}

/** A process, or the one that is being started. */
interface Standing {
  readonly scope: Scope.Closeable
  readonly process: Deferred.Deferred<SandboxProcess.SandboxProcess, Seal.Unsealed>
  calls: number
}

/** `longestMs`: of any call. */
export const make = Effect.fnUntraced(function*(code: string, longestMs: number) {
  const scope = yield* Effect.scope
  const clock = yield* Clock.Clock
  const turn = Semaphore.makeUnsafe(1)
  const cpuSeconds = Math.ceil(CALLS_MAX * longestMs / 1_000) + 30
  let standing: Standing | null = null
  let waiting = 0
  let failure: { readonly error: Seal.Unsealed; readonly at: number } | null = null

  const drop = (one: Standing) => Effect.suspend(() => {
    if (standing === one) standing = null
    return Scope.close(one.scope, Exit.void)
  })

  /** Goes on when the call that needed it does not wait any more. */
  const started = Effect.fnUntraced(function*(one: Standing) {
    const opened = yield* SandboxProcess.open(cpuSeconds).pipe(
      Scope.provide(one.scope),
      Effect.catchDefect((defect) => Effect.fail(new Seal.Unsealed({ message: `the sandbox cannot be started (${String(defect)})` }))),
      Effect.tapError((error) => Effect.sync(() => {
        failure = { error, at: clock.currentTimeMillisUnsafe() }
      })),
      Effect.exit
    )
    yield* Deferred.done(one.process, opened)
    if (Exit.isFailure(opened)) yield* drop(one)
  })

  /** In one step, so that two calls never start two. */
  const stand: Effect.Effect<Standing, Seal.Unsealed> = Effect.suspend(() => {
    if (standing !== null) return Effect.succeed(standing)
    if (failure !== null && clock.currentTimeMillisUnsafe() - failure.at < REST_MS) return Effect.fail(failure.error)
    const one: Standing = { scope: Scope.forkUnsafe(scope), process: Deferred.makeUnsafe<SandboxProcess.SandboxProcess, Seal.Unsealed>(), calls: 0 }
    standing = one
    return Effect.as(Effect.forkIn(started(one), scope), one)
  })

  const replace = (one: Standing) => Effect.andThen(drop(one), Effect.forkIn(Effect.ignore(stand), scope))

  const run = Effect.fnUntraced(function*({ context, input, name }: Call) {
    const one = yield* stand
    const process = yield* Deferred.await(one.process)
    const job: SandboxProcess.Job = one.calls === 0 ? { code, name, input, context } : { name, input, context }
    one.calls++
    // What a call that was ended left behind is not known.
    const outcome = yield* Effect.onInterrupt(process.ask(job), () => replace(one))
    if (process.isOver() || one.calls >= CALLS_MAX) yield* replace(one)
    return outcome
  })

  const call = (asked: Call): Effect.Effect<SandboxProcess.Outcome, Seal.Unsealed> => Effect.suspend(() => {
    if (waiting >= WAITING_MAX) return Effect.succeed<SandboxProcess.Outcome>({ _tag: "Failed", message: `${WAITING_MAX} calls wait for it already.` })
    waiting++
    let runs = false
    const begun = Effect.suspend(() => {
      runs = true
      return run(asked)
    })
    const work = Effect.timeoutOrElse(turn.withPermits(1)(begun), {
      duration: asked.timeoutMs, orElse: () => Effect.succeed<SandboxProcess.Outcome>({ _tag: "TimedOut" })
    }).pipe(Effect.ensuring(Effect.sync(() => {
      waiting--
    })))
    // Callers that leave must not end the process of all others: a call that runs goes on, and one that waits is given up.
    return Effect.flatMap(Effect.forkIn(work, scope), (fiber) => Effect.onInterrupt(Fiber.join(fiber), () => runs ? Effect.void : Fiber.interrupt(fiber)))
  })

  return { call, warm: Effect.asVoid(Effect.flatMap(stand, ({ process }) => Deferred.await(process))), idle: turn.withPermits(1)(Effect.void) } satisfies Resident
})
