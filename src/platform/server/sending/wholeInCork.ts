/** Writes whole responses, each in one cork. A cork calls back at once, so one function serves all: a closure for each costs 0.1 kB. */
import type { NativeResponse } from "#src/platform/server/uws/native.ts"

/** A response that is known whole. */
export interface Whole {
  /** To be called in a cork. */
  writeWhole(): void
}

let corked: Whole | null = null

const write = (): void => corked?.writeWhole()

export const writeInCork = (whole: Whole, res: NativeResponse): void => {
  corked = whole
  try {
    res.cork(write)
  } finally {
    corked = null
  }
}
