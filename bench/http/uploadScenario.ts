/** What an upload costs: a form with a large file, which nginx buffers in a file, too (proxy_request_buffering). */
import { deadline, type Scenario } from "./Scenario.ts"

const CONCURRENCY = 16
const MEGABYTES = 20
const WARM_UPLOADS = 16
const UPLOADS = 64
const EXPECTED_MS = 20_000

export const uploads: Scenario = {
  id: "upload",
  title: () => `${UPLOADS} transcription uploads of ${MEGABYTES} MB, ${CONCURRENCY} at once, the digest of every file compared`,
  direct: false,
  fresh: true,
  smokeRounds: 1,
  excludes: (target) => target.name === "direct" ? "no process of its own" : target.name === "bare" ? "it takes small bodies only" : null,
  run: async (harness, { endpoint }) => {
    const job = { kind: "upload", endpoint, megabytes: MEGABYTES, concurrency: CONCURRENCY, deadlineMs: deadline(EXPECTED_MS) } as const
    await harness.submit<"upload">({ ...job, uploads: WARM_UPLOADS })
    const result = await harness.submit<"upload">({ ...job, uploads: UPLOADS })
    return {
      values: {
        ...(endpoint.pid === null ? {} : {
          "upload.cpuUs": result.cpuNs / 1_000 / result.megabytes,
          "upload.mainUs": result.mainCpuNs / 1_000 / result.megabytes,
          "upload.memoryMb": (result.rssPeakKb - result.rssBeforeKb) / 1_024
        }),
        "upload.mbPerSecond": result.megabytes / (result.windowMs / 1_000)
      },
      notes: []
    }
  }
}
