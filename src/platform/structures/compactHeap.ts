/**
 * One full collection at the end of the start. Starting leaves a young generation at its full size (twice 16 MB, as `npm start` allows
 * it) and the garbage of decoding every schema; both are given back to the system, some 40 MB of an idle gateway's memory.
 */
import * as v8 from "node:v8"
import * as vm from "node:vm"

type Collect = (options: { readonly type: "major"; readonly flavor: "last-resort" }) => void

/** Stops the loop for some 0.1 s: only before readiness is announced. */
export const compactHeap = (): void => {
  v8.setFlagsFromString("--expose-gc")
  const collect = vm.runInNewContext("gc") as Collect
  v8.setFlagsFromString("--no-expose-gc")
  collect({ type: "major", flavor: "last-resort" })
}
