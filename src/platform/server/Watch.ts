/**
 * One timer for all exchanges that wait for their client. An exchange is watched only while its client is behind or
 * its body is still arriving, so the usual request costs nothing here and no timer runs on an idle server.
 */

export interface Watched {
  /** `now` in milliseconds of `performance.now()`. */
  readonly tick: (now: number) => void
}

export class Watch {
  private readonly watched = new Set<Watched>()
  private readonly tickMillis: number
  private timer: NodeJS.Timeout | undefined

  constructor(tickMillis: number) {
    this.tickMillis = tickMillis
  }

  add(item: Watched): void {
    this.watched.add(item)
    this.timer ??= setInterval(this.sweep, this.tickMillis).unref()
  }

  delete(item: Watched): void {
    this.watched.delete(item)
  }

  get size(): number {
    return this.watched.size
  }

  private readonly sweep = (): void => {
    const now = performance.now()
    for (const item of this.watched) item.tick(now)
    if (this.watched.size === 0) this.stop()
  }

  stop(): void {
    clearInterval(this.timer)
    this.timer = undefined
  }
}
