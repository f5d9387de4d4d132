/**
 * Loaded before a gateway (`node --import`): its wall clock is wrong by GATEWAY_TEST_SKEW_MS; the monotonic clock and timers are right.
 * At SIGUSR2 it is wrong by the ms in the file GATEWAY_TEST_CLOCK from then on.
 */
import * as fs from "node:fs"
import { isMainThread } from "node:worker_threads"

let skewMs = Number(process.env.GATEWAY_TEST_SKEW_MS ?? "0")
const RealDate = Date
const origin = performance.timeOrigin

class SkewedDate extends RealDate {
  constructor(...parts) {
    if (parts.length === 0) super(RealDate.now() + skewMs)
    else super(...parts)
  }

  static now() {
    return RealDate.now() + skewMs
  }
}

globalThis.Date = SkewedDate
Object.defineProperty(performance, "timeOrigin", { get: () => origin + skewMs })
if (isMainThread && process.env.GATEWAY_TEST_CLOCK !== undefined) {
  process.on("SIGUSR2", () => {
    skewMs = Number(fs.readFileSync(process.env.GATEWAY_TEST_CLOCK, "utf8"))
  })
}
