/** What requests without a conversation cost: a small one beside a small chat request, and sound that is downloaded. */
import type { Harness } from "./Harness.ts"
import type { ClosedResult, Endpoint } from "./load/Job.ts"
import { cpuUs, deadline, needsStart, type Scenario, warm, WARM_MS } from "./Scenario.ts"

const DOWNLOADS = 16
const MEGABYTES = 4
const MEGABYTE = 1_048_576

const meanUs = (results: ReadonlyArray<ClosedResult>): number =>
  results.reduce((sum, { cpuNs }) => sum + cpuNs, 0) / 1_000 / results.reduce((sum, { requests }) => sum + requests, 0)

export const embeddings: Scenario = {
  id: "embeddings",
  title: ({ concurrency }) => `small requests for embeddings, in turns with the small chat requests of \`request\`, ${concurrency} connections`,
  direct: false,
  fresh: true,
  smokeRounds: 1,
  excludes: (target) => target.name === "gateway" ? needsStart(target) : "its requests are all alike",
  run: async (harness, running, { concurrency, measureMs, warmupMs }) => {
    const load = (kind: "json" | "embedding", forMs: number) => harness.submit<"closed">({
      kind: "closed", endpoint: running.endpoint, script: { kind }, concurrency, warmupMs, measureMs: forMs, deadlineMs: deadline(forMs)
    })
    await warm(harness, running)
    await load("embedding", WARM_MS)
    await running.rest?.()
    // There and back again: what drifts meanwhile is charged to both.
    const talks = [await load("json", measureMs / 2)]
    const vectors = [await load("embedding", measureMs / 2), await load("embedding", measureMs / 2)]
    talks.push(await load("json", measureMs / 2))
    const [talkUs, vectorUs] = [meanUs(talks), meanUs(vectors)]
    return { values: { "embeddings.cpuUs": vectorUs, "embeddings.ratio": vectorUs / talkUs }, notes: [`a chat request ${talkUs.toFixed(1)} us`] }
  }
}

const download = (harness: Harness, endpoint: Endpoint, measureMs: number, warmupMs: number) => harness.submit<"closed">({
  kind: "closed", endpoint, script: { kind: "sound", megabytes: MEGABYTES }, concurrency: DOWNLOADS, warmupMs, measureMs, deadlineMs: deadline(measureMs)
})

export const speech: Scenario = {
  id: "speech",
  title: () => `speech of ${MEGABYTES} MB, ${DOWNLOADS} downloads at once, every byte compared`,
  direct: false,
  fresh: true,
  smokeRounds: 1,
  excludes: (target) => target.name === "direct" ? "no process of its own" : null,
  run: async (harness, { endpoint }, { measureMs, warmupMs }) => {
    await download(harness, endpoint, WARM_MS, warmupMs)
    const result = await download(harness, endpoint, measureMs, warmupMs)
    const megabytes = result.bytes / MEGABYTE
    return {
      values: {
        ...(endpoint.pid === null ? {} : { "speech.cpuUs": cpuUs(result, megabytes), "speech.mainUs": result.mainCpuNs / 1_000 / megabytes }),
        "speech.mbPerSecond": megabytes / (result.windowMs / 1_000)
      },
      notes: []
    }
  }
}
