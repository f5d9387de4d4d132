/** A gateway with a Redis beside the same gateway without: what shared state costs a request that needs none of it. */
import type { Harness } from "./Harness.ts"
import type { ClosedJob } from "./load/Job.ts"
import type { Running } from "./targets/Target.ts"

/** `job` is a saturated run without its endpoint. The other instance is started for this and stopped after it. */
export const clusterRatio = async (
  harness: Harness,
  alone: Running,
  job: Omit<ClosedJob, "endpoint">,
  warm: (running: Running) => Promise<void>
): Promise<{ readonly aloneUs: number; readonly clusterUs: number } | null> => {
  const node = await alone.asNode?.()
  if (node === undefined) return null
  try {
    // Only now the first, too: while the second started it would have grown cold again.
    for (const one of [node, alone]) {
      await warm(one)
      await one.rest?.()
    }
    const load = (running: Running) => harness.submit<"closed">({ ...job, endpoint: running.endpoint })
    // There and back again: what drifts meanwhile is charged to both.
    const first = await load(alone)
    const nodes = [await load(node), await load(node)]
    const alones = [first, await load(alone)]
    const meanUs = (results: typeof nodes): number =>
      results.reduce((sum, { cpuNs }) => sum + cpuNs, 0) / 1_000 / results.reduce((sum, { requests }) => sum + requests, 0)
    return { aloneUs: meanUs(alones), clusterUs: meanUs(nodes) }
  } finally {
    await node.rest?.()
    await node.stop()
  }
}
