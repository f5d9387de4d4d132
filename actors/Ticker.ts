/**
 * A timer of plain callbacks that keeps running after an exception. It imports nothing, so that worker threads can have it
 * without loading effect; in the process, `Supervisor.ticker` makes one that logs and counts exceptions.
 */
export interface Ticker {
  /** Calls `tick` every so many ms until the answer is called. The timer holds no process open. */
  readonly every: (ms: number, tick: () => void) => () => void
  /** Runs one part of a tick: an exception is reported and does not affect the other parts. */
  readonly guard: (part: () => void) => void
  /** Tells of what a part threw that its caller caught. */
  readonly failed: (error: unknown) => void
}

/** `failed` is called with each exception; `before` runs at the start of each tick, and its exception counts as the tick's. */
export const make = (failed: (error: unknown) => void, before?: () => void): Ticker => {
  const guard = (part: () => void): void => {
    try {
      part()
    } catch (error) {
      failed(error)
    }
  }
  return {
    failed,
    guard,
    every: (ms, tick) => {
      const turn = before === undefined ? tick : () => {
        before()
        tick()
      }
      const timer = setInterval(() => guard(turn), ms)
      timer.unref()
      return () => clearInterval(timer)
    }
  }
}

/** For threads and tools without a supervisor: an exception becomes a warning of the process. */
export const warning = (what: string): Ticker =>
  make((error) => process.emitWarning(`${what} failed and goes on: ${error instanceof Error ? error.stack ?? error.message : String(error)}`))
