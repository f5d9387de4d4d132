/** Loaded before a gateway (`node --import`): its wall clock is wrong by GATEWAY_TEST_SKEW_MS; the monotonic clock and timers are right. */
const skewMs = Number(process.env.GATEWAY_TEST_SKEW_MS ?? "0")
const RealDate = Date

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
Object.defineProperty(performance, "timeOrigin", { value: performance.timeOrigin + skewMs })
