/**
 * The bytes of request bodies that this process holds, over all requests: counted while they arrive and for as long as they may still be
 * sent, and refused beyond a cap, so that many large requests end in refusals and not in the end of the process.
 */
export class HeldBytes {
  /** Bytes that may be held at once. */
  readonly most: number
  bytes = 0
  /** Requests that were refused for want of room. */
  refused = 0

  constructor(most: number) {
    this.most = most
  }

  /** False when there is no room for them; then nothing was taken. */
  take(bytes: number): boolean {
    if (this.bytes + bytes > this.most) {
      this.refused++
      return false
    }
    this.bytes += bytes
    return true
  }

  give(bytes: number): void {
    this.bytes -= bytes
  }

  /** As `take`, with the way to give back, which counts once. Null when there is no room. */
  hold(bytes: number): (() => void) | null {
    if (bytes === 0) return releaseNothing
    if (!this.take(bytes)) return null
    let held = bytes
    return () => {
      this.give(held)
      held = 0
    }
  }
}

/** Gives back nothing. */
export const releaseNothing = (): void => undefined
