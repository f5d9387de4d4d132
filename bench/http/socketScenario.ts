/** What WebSockets cost beside event streams, on one instance. */
import type { Harness } from "./Harness.ts"
import type { Endpoint, PacedResult } from "./load/Job.ts"
import { cpuUs, deadline, needsStart, pacedJob, type Scenario, warm } from "./Scenario.ts"

const STREAMS = 200
const IDLE_SOCKETS = 1_000
const INTERVAL_MS = 20
const IDLE_WARM_MS = 1_000

const load = (harness: Harness, endpoint: Endpoint, format: "chat" | "socket", warmupMs: number, measureMs: number) =>
  harness.submit<"paced">(pacedJob(endpoint, { streams: STREAMS, intervalMs: INTERVAL_MS, warmupMs, measureMs }, format))

const meanUs = (results: ReadonlyArray<PacedResult>): number =>
  results.reduce((sum, { cpuNs }) => sum + cpuNs, 0) / 1_000 / results.reduce((sum, { events }) => sum + events, 0)

export const sockets: Scenario = {
  id: "sockets",
  title: () => `${STREAMS} streams over WebSockets, in turns with the same as event streams; ${IDLE_SOCKETS} idle sockets`,
  direct: false,
  fresh: true,
  smokeRounds: 1,
  excludes: (target) => target.name === "gateway" ? needsStart(target) : "no WebSockets",
  run: async (harness, running, { measureMs, warmupMs }) => {
    const { endpoint } = running
    await warm(harness, running)
    // First: memory that streams left behind would hide what sockets take.
    const idle = await harness.submit<"idle">({
      kind: "idle", endpoint, sockets: IDLE_SOCKETS, warmupMs: IDLE_WARM_MS, measureMs, deadlineMs: deadline(measureMs)
    })
    await load(harness, endpoint, "socket", warmupMs, measureMs / 2)
    await running.rest?.()
    // There and back again: what drifts meanwhile is charged to both.
    const streamed = [await load(harness, endpoint, "chat", warmupMs, measureMs / 2)]
    const framed = [await load(harness, endpoint, "socket", warmupMs, measureMs / 2), await load(harness, endpoint, "socket", warmupMs, measureMs / 2)]
    streamed.push(await load(harness, endpoint, "chat", warmupMs, measureMs / 2))
    const [streamUs, frameUs] = [meanUs(streamed), meanUs(framed)]
    return {
      values: {
        "sockets.eventUs": frameUs,
        "sockets.ratio": frameUs / streamUs,
        "sockets.idleKb": (idle.rssDuringKb - idle.rssBeforeKb) / IDLE_SOCKETS,
        "sockets.idleUs": cpuUs(idle, IDLE_SOCKETS * (idle.windowMs / 1_000))
      },
      notes: [`an event of a stream ${streamUs.toFixed(2)} us`]
    }
  }
}
