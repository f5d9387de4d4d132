/**
 * One timer for all exchanges that wait for their client. An exchange is watched only while its client is behind or
 * its body is still arriving, so the usual request costs nothing here and no timer runs on an idle server.
 */
import type { Ticker } from "#actors/Ticker.ts"

export interface Watched {
  /** `now` in milliseconds of `performance.now()`. */
  readonly tick: (now: number) => void
}

export class Watch {
  private readonly watched = new Set<Watched>()
  private readonly tickMillis: number
  private readonly ticker: Ticker
  private stopTicks: (() => void) | undefined

  constructor(tickMillis: number, ticker: Ticker) {
    this.tickMillis = tickMillis
    this.ticker = ticker
  }

  add(item: Watched): void {
    this.watched.add(item)
    this.stopTicks ??= this.ticker.every(this.tickMillis, this.sweep)
  }

  delete(item: Watched): void {
    this.watched.delete(item)
  }

  get size(): number {
    return this.watched.size
  }

  private readonly sweep = (): void => {
    const now = performance.now()
    for (const item of this.watched) {
      try {
        item.tick(now)
      } catch (error) {
        this.ticker.failed(error)
      }
    }
    if (this.watched.size === 0) this.stop()
  }

  stop(): void {
    this.stopTicks?.()
    this.stopTicks = undefined
  }
}
