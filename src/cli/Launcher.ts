/**
 * Runs one command as the process: signals in, exit code out.
 *
 * The first SIGTERM or SIGINT interrupts the command, so that its scopes close in order (a drain, for `serve`); the second
 * one leaves at once. Whatever hangs while closing, the process ends within the command's stopping time.
 */
import { flushCompileCache } from "node:module"
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { exitCodes, explain } from "./Failure.ts"

/** The command's say in how its process ends. */
export class Launcher extends Context.Service<Launcher, {
  /** Longest time from the signal to the end of this command, with exit code 0 (ms). */
  readonly serves: (stopMs: number) => void
  /** A stop that no signal asked for begins: the stopping time runs. */
  readonly stopping: Effect.Effect<void>
  /** The command was asked to start anew: once everything is closed, the process replaces itself. */
  readonly restart: Effect.Effect<void>
}>()("gateway/cli/Launcher") {}

/** Stopping time of a command that does not say its own (ms). */
const defaultStopMs = 5_000

/** Starts the same command in this very process; where the system cannot do that, the exit code asks the supervisor. */
const replaceProcess = (): void => {
  try {
    flushCompileCache()
    process.execve?.(process.execPath, [process.execPath, ...process.execArgv, ...process.argv.slice(1)], process.env)
  } catch {
    // Falls through to the exit code.
  }
}

export const run = <A, E>(command: Effect.Effect<A, E, Launcher>): void => {
  let stopMs = defaultStopMs
  let isService = false
  let wantsRestart = false
  let signals = 0
  let watchdog: NodeJS.Timeout | null = null

  const beginStop = (): void => {
    watchdog ??= setTimeout(() => {
      process.stderr.write(`gateway: not everything closed within ${stopMs} ms; leaving it behind\n`)
      process.exit(exitCodes.failed)
    }, stopMs).unref()
  }
  const launcher = Launcher.of({
    serves: (ms) => {
      isService = true
      stopMs = ms
    },
    stopping: Effect.sync(beginStop),
    restart: Effect.sync(() => {
      wantsRestart = true
    })
  })

  // A reader that left (`gateway keys list | head`) is no reason to crash.
  process.stdout.on("error", () => undefined)
  process.stderr.on("error", () => undefined)

  // Holds the loop while the command, or a pipe, waits for something that does not.
  setInterval(() => undefined, 2 ** 30)
  let interrupt = (): void => undefined
  let isOver = false
  const onSignal = (): void => {
    signals++
    if (signals > 1 || isOver) process.exit(exitCodes.interrupted)
    beginStop()
    interrupt()
  }
  // Before the command runs: what it prints may be answered by a signal at once.
  process.on("SIGTERM", onSignal)
  process.on("SIGINT", onSignal)
  const fiber = Effect.runFork(Effect.provideService(command, Launcher, launcher))
  interrupt = () => fiber.interruptUnsafe()

  /** A pipe holds 64 KiB; what a command printed beyond waits for its reader. A service's last lines hold no stop up. */
  const leave = (code: number): void => {
    if (isService) process.exit(code)
    isOver = true
    process.stdout.write("", () => process.stderr.write("", () => process.exit(code)))
  }

  fiber.addObserver((exit) => {
    if (Exit.isSuccess(exit)) {
      if (wantsRestart && signals === 0) {
        replaceProcess()
        process.exit(exitCodes.restart)
      }
      return leave(0)
    }
    if (Cause.hasInterruptsOnly(exit.cause)) process.exit(isService && signals > 0 ? 0 : exitCodes.interrupted)
    const { exitCode, text } = explain(exit.cause)
    if (text !== "") process.stderr.write(`gateway: ${text}\n`)
    leave(exitCode)
  })
}
