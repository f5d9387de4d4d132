/** The rest of a body that no one wants: read and dropped, so that its client sees the answer, but not without end. */
export class Dropping {
  private left: number
  private isOver = false
  private readonly done: () => void
  private readonly timer: NodeJS.Timeout

  /** `done` is called once, at the end of the body or when one of the bounds is reached, but not after `cancel`. */
  constructor(bytes: number, millis: number, done: () => void) {
    this.left = bytes
    this.done = done
    this.timer = setTimeout(() => this.end(), millis)
  }

  came(bytes: number, isLast: boolean): void {
    this.left -= bytes
    if (isLast || this.left < 0) this.end()
  }

  cancel(): void {
    this.isOver = true
    clearTimeout(this.timer)
  }

  private end(): void {
    if (this.isOver) return
    this.cancel()
    this.done()
  }
}
