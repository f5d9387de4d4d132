/** The headers of a native request, which are valid only inside its callback. */
import type { NativeRequest } from "./native.ts"

/** Those of the head that is being read; kept, because a list that grows takes more room than the headers need. */
const collected: Array<string> = []
let count = 0
const collect = (name: string, value: string): void => {
  collected[count++] = name
  collected[count++] = value
}

/** Flat: lower-case name, value. */
export const headersOf = (req: NativeRequest): ReadonlyArray<string> => {
  count = 0
  req.forEach(collect)
  return collected.slice(0, count)
}
