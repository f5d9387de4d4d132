/**
 * How an exchange gets on that waits for its client: a body that arrives in parts, or a reader that is behind. Most wait for nothing and
 * have none. Times in ms of `performance.now()`.
 */
export class Pace {
  bodyStartedAt = 0
  /** Bytes of body when it was looked at last. */
  bodySeen = 0
  /** When the native side took the last bytes. */
  progressAt = 0
  /** When the native timeout began anew. */
  rearmedAt = 0
  /** The native timeout runs although nothing is awaited from the client. */
  rearms = false
}
