/** Two nodes on one database keep changes that are made on both at the same time. */
import { afterAll, beforeAll, describe } from "vitest"
import { concurrentChanges } from "#test/suites/concurrentChanges.suite.ts"
import { type Cluster, converged, findServers, type Ground, ground, startCluster } from "#test/support/cluster.ts"

const servers = await findServers()
if (servers.missing !== null) console.warn(`skipped: ${servers.missing}`)

describe.skipIf(servers.missing !== null)("two nodes", () => {
  let common: Ground
  let cluster: Cluster
  beforeAll(async () => {
    common = await ground(servers.postgres)
    cluster = await startCluster(common, [{}, {}])
  })
  afterAll(async () => {
    await cluster.close()
    await common.close()
  })

  concurrentChanges(() => ({
    operators: cluster.nodes.map(({ operator }) => operator), sim: cluster.sim, node: cluster.lab,
    settled: () => Promise.all(cluster.nodes.map(converged))
  }))
})
