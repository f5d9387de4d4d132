/** Over several nodes: what one of them reads of a connection's quota, all of them know. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type Accounts, startAccounts } from "#test/support/accounts.ts"
import { type Cluster, converged, findServers, type Ground, ground, startCluster } from "#test/support/cluster.ts"
import type { InProcess } from "#test/support/gateway.ts"
import { eventually } from "#test/support/operator.ts"

const servers = await findServers()

describe.skipIf(servers.missing !== null)("quotas that are read on a schedule", { timeout: 180_000 }, () => {
  let common: Ground
  let cluster: Cluster
  let vendor: Accounts
  beforeAll(async () => {
    vendor = await startAccounts()
    common = await ground(servers.postgres)
    cluster = await startCluster(common, [{}, {}])
  }, 180_000)
  afterAll(async () => {
    await cluster.close()
    await common.close()
    await vendor.stop()
  })

  it("a node asks the vendor once, and every node shows the answer", async () => {
    const [first, second] = cluster.nodes as readonly [InProcess, InProcess]
    vendor.answers.set("sk-ds-account-of-a-cluster", { is_available: true, balance_infos: [{ currency: "USD", total_balance: "4.20" }] })
    const id = await first.operator.createConnection({ provider: "deepseek", apiKey: "sk-ds-account-of-a-cluster", providerSpecificData: { baseUrl: vendor.url } })
    await first.operator.call("PATCH", "/api/settings", { autoRefreshProviderQuota: true, autoRefreshProviderQuotaInterval: 3_600 })
    await converged(first)
    for (const node of [first, second]) {
      const seen = await eventually(
        () => node.operator.call<{ quotas: Readonly<Record<string, { remaining: number }>> }>("GET", `/api/usage/${id}`),
        ({ quotas }) => "balance" in quotas, "the balance on every node", 30_000
      )
      expect(seen.quotas["balance"]?.remaining).toBe(4.2)
    }
    // While the second node joins, the work may move there, and is asked once more.
    expect(new Set(vendor.asked.map((question) => question.join(" ")))).toEqual(new Set(["/user/balance sk-ds-account-of-a-cluster"]))
    expect(vendor.asked.length).toBeLessThanOrEqual(cluster.nodes.length)
  })
})
