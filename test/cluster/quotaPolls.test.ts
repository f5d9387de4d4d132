/** Over several nodes: one of them reads a connection's quota, and all of them know it. */
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

  it("one node asks the vendor, and every node shows the answer", async () => {
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
    expect(vendor.asked).toEqual([["/user/balance", "sk-ds-account-of-a-cluster"]])
  })
})
