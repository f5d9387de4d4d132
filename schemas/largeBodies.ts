/** From which size on a body is read by threads of its own, whichever side sent it. */

/** Bytes. */
export const LARGE_BYTES = 256 * 1024
/** Objects and lists, however short the body is. */
export const LARGE_CONTAINERS = 5_000
/** A shorter body cannot hold so many that it matters, bytes. */
export const QUICK_BYTES = 2 * LARGE_CONTAINERS
