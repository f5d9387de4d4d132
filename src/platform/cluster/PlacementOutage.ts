/**
 * One line when the records that hold placed work cannot be reached, and one when they can be again: the engine itself says so with a
 * stack at every try.
 */
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as RunnerStorage from "effect/cluster/RunnerStorage"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import { messageOf } from "#actors/thrown.ts"

/** The engine tries every two seconds: after this time without an error the outage is over, ms. */
const QUIET_MS = 5_000

class Outage {
  /** ms of the monotonic clock; null = there is none. */
  complainedAt: number | null = null

  /** True for the first complaint. */
  complains(now: number): boolean {
    const first = this.complainedAt === null
    this.complainedAt = now
    return first
  }

  /** True when this ends it. */
  answered(now: number): boolean {
    if (this.complainedAt === null || now - this.complainedAt < QUIET_MS) return false
    this.complainedAt = null
    return true
  }
}

const isComplaint = ({ logLevel }: Logger.Options<unknown>): boolean => logLevel === "Warn" || logLevel === "Error" || logLevel === "Fatal"

const reasonOf = ({ cause, message }: Logger.Options<unknown>): string => {
  const error = Cause.squash(cause)
  return `${String(Array.isArray(message) ? message[0] : message)}${cause.reasons.length === 0 ? "" : ` (${messageOf(error)})`}`
}

/** Passes on the engine's logs, but of an outage only its beginning, without a stack; the recovery is logged below. */
const quieted = (outage: Outage, now: () => number, logger: Logger.Logger<unknown, unknown>) => Logger.make<unknown, void>((options) => {
  if (!isComplaint(options)) {
    if (outage.complainedAt === null || options.logLevel !== "Info") logger.log(options)
    return
  }
  if (!outage.complains(now())) return
  logger.log({
    ...options, logLevel: "Warn", cause: Cause.empty,
    message: [`Placed work stands still on this node: its records do not answer. ${reasonOf(options)}`]
  })
})

/** Around the engine: its storage and its loggers, once each. */
export const layer = Layer.unwrap(Effect.gen(function*() {
  const outage = new Outage()
  const clock = yield* Clock.Clock
  const now = () => Number(clock.monotonicTimeNanosUnsafe()) / 1e6
  const loggers = yield* Logger.CurrentLoggers
  const storage = Layer.effect(RunnerStorage.RunnerStorage, Effect.map(RunnerStorage.RunnerStorage, (storage) => RunnerStorage.RunnerStorage.of({
    ...storage,
    refresh: (address, shards) => Effect.tap(storage.refresh(address, shards), () =>
      outage.answered(now())
        ? Effect.provideService(Effect.logInfo("Placed work goes on: its records answer again"), Logger.CurrentLoggers, loggers)
        : Effect.void)
  })))
  // One state for all loggers, so that the outage is logged once.
  const speaking = Logger.make<unknown, void>((options) => {
    for (const logger of loggers) logger.log(options)
  })
  return Layer.merge(storage, Logger.layer([quieted(outage, now, speaking)]))
}))
