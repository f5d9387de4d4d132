/**
 * A timer of plain callbacks that a throw does not end. It imports nothing, so that worker threads can have it without loading effect;
 * in the process `Supervisor.ticker` makes one whose throws are logged and counted.
 */
export interface Ticker {
  /** Calls `tick` every so many ms until the answer is called. The timer holds no process open. */
  readonly every: (ms: number, tick: () => void) => () => void
  /** Runs one part of a tick: a throw is told and costs the other parts nothing. */
  readonly guard: (part: () => void) => void
  /** Tells of what a part threw that its caller caught. */
  readonly failed: (error: unknown) => void
}

/** `failed` hears of each throw; `before` runs at the begin of each tick, and its throw counts as the tick's. */
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

/** For threads and tools, where no supervisor hears of a throw: it becomes a warning of the process. */
export const warning = (what: string): Ticker =>
  make((error) => process.emitWarning(`${what} failed and goes on: ${error instanceof Error ? error.stack ?? error.message : String(error)}`))
