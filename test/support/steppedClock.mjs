/** Loaded before a gateway (`node --import`): its wall clock is wrong by the ms in the file GATEWAY_TEST_CLOCK, read anew at SIGUSR2. */
import * as fs from "node:fs"
import { isMainThread } from "node:worker_threads"

let skewMs = 0
const RealDate = Date
const origin = performance.timeOrigin

class SteppedDate extends RealDate {
  constructor(...parts) {
    if (parts.length === 0) super(RealDate.now() + skewMs)
    else super(...parts)
  }

  static now() {
    return RealDate.now() + skewMs
  }
}

globalThis.Date = SteppedDate
Object.defineProperty(performance, "timeOrigin", { get: () => origin + skewMs })
if (isMainThread) {
  process.on("SIGUSR2", () => {
    skewMs = Number(fs.readFileSync(process.env.GATEWAY_TEST_CLOCK ?? "", "utf8"))
  })
}
