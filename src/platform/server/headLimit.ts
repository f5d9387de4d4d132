/**
 * Bounds the request head. uWebSockets reads this environment variable once, while its binary is loaded, so this module
 * must be evaluated before the first import of `uWebSockets.js`: only `native.ts` imports either.
 */

/** Bytes of request line and headers; more is answered with 431 by the native parser, which then closes. */
export const MAX_HEAD_BYTES = 16 * 1024

const VARIABLE = "UWS_HTTP_MAX_HEADERS_SIZE"

// An operator's own value wins; the native default of 4 KiB is too small for cookies and long keys.
if (process.env[VARIABLE] === undefined) {
  process.env[VARIABLE] = String(MAX_HEAD_BYTES)
}
