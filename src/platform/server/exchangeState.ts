/** How far the response of an exchange is. */

/** Nothing was sent. */
export const OPEN = 0
/** The head was given away; the body goes on. */
export const STARTED = 1
/** The end was given away, and is not sent yet. */
export const ENDING = 2
/** It was sent, or the exchange was cut: the native response may not be touched. */
export const DONE = 3
