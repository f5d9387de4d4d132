/** Writes whole responses, each in one cork. A cork calls back at once, so one function serves all: a closure for each costs 0.1 kB. */
import type { NativeResponse } from "#src/platform/server/uws/native.ts"

/** A response that is known whole. */
export interface Whole {
  /** To be called in a cork. */
  writeWhole(body: Uint8Array | string): void
}

let corked: Whole | null = null
let corkedBody: Uint8Array | string = ""

const write = (): void => corked?.writeWhole(corkedBody)

export const writeInCork = (whole: Whole, res: NativeResponse, body: Uint8Array | string): void => {
  corked = whole
  corkedBody = body
  try {
    res.cork(write)
  } finally {
    corked = null
    corkedBody = ""
  }
}
