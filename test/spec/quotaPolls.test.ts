/** Settings autoRefreshProviderQuota and its interval: quotas are read from the vendors' own endpoints. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type Accounts, startAccounts } from "#test/support/accounts.ts"
import { type Lab, startLab } from "#test/support/lab.ts"
import * as Proxies from "#test/upstream/support/proxies.ts"
import { eventually } from "#test/support/operator.ts"

let lab: Lab
let vendor: Accounts
beforeAll(async () => {
  lab = await startLab()
  vendor = await startAccounts()
})
afterAll(async () => {
  await lab.close()
  await vendor.stop()
})

interface Row {
  readonly connectionId: string
  readonly window: string | null
  readonly quotaTotal: number | null
  readonly percentRemaining: number | null
  readonly resetAt: string | null
  readonly status: string | null
}
const rowOf = async (id: string): Promise<Row | undefined> =>
  (await lab.gateway.operator.call<{ providers: ReadonlyArray<Row> }>("GET", `/api/usage/quota?connectionId=${id}`)).providers[0]
const shown = (id: string) => eventually(() => rowOf(id), (row) => row?.window !== null, "the window of the connection")
const account = (provider: string, apiKey: string, answer: unknown): Promise<string> => {
  vendor.answers.set(apiKey, answer)
  return lab.gateway.operator.createConnection({ provider, apiKey, name: apiKey, providerSpecificData: { baseUrl: vendor.url } })
}
const refresh = (on: boolean) => lab.gateway.operator.call("PATCH", "/api/settings", { autoRefreshProviderQuota: on, autoRefreshProviderQuotaInterval: 10 })

describe("reading quotas on a schedule", () => {
  it("asks the vendors of connections that have such an endpoint, shows the windows, and leaves out a connection whose key is used up", async () => {
    const key = (limit_remaining: number) => ({ data: { limit: 20, limit_remaining, limit_reset: "monthly" } })
    const spent = await account("openrouter", "sk-or-account-that-is-spent", key(0.1))
    const open = await account("openrouter", "sk-or-account-that-is-open", key(15))
    const balance = await account("deepseek", "sk-ds-account-with-balance", { is_available: true, balance_infos: [{ currency: "USD", total_balance: "7.50" }] })
    const silent = await account("groq", "gsk-account-of-another-vendor", {})
    expect(vendor.asked).toEqual([])
    await refresh(true)
    expect(await shown(spent)).toMatchObject({ window: "credits", quotaTotal: 20, percentRemaining: 0.5, status: "exhausted" })
    expect(await shown(open)).toMatchObject({ window: "credits", quotaTotal: 20, percentRemaining: 75, status: "ok" })
    expect(await shown(balance)).toMatchObject({ window: "balance", quotaTotal: null, percentRemaining: 100, resetAt: null, status: "ok" })
    expect(await lab.gateway.operator.call("GET", `/api/usage/${balance}`)).toMatchObject({ quotas: { balance: { remaining: 7.5, total: null, used: null } } })
    expect((await rowOf(silent))?.window).toBe(null)
    expect(vendor.asked.toSorted()).toEqual([
      ["/key", "sk-or-account-that-is-open"], ["/key", "sk-or-account-that-is-spent"], ["/user/balance", "sk-ds-account-with-balance"]
    ])
    const { targets } = await lab.gateway.operator.call<{ targets: ReadonlyArray<{ connectionId: string; skipped: { reason: string; until: string } | null }> }>(
      "POST", "/api/routing/explain", { model: "openrouter/openrouter/auto" }
    )
    expect(targets.map(({ connectionId, skipped }) => [connectionId, skipped?.reason ?? null]).toSorted()).toEqual([[open, null], [spent, "quota-exhausted"]].toSorted())
    const until = new Date(targets.find(({ connectionId }) => connectionId === spent)?.skipped?.until ?? 0)
    expect([until.getUTCDate(), until.getUTCHours(), until.getUTCMinutes()]).toEqual([1, 0, 0])
  })

  it("a vendor that fails, or answers with something else, keeps no connection out, and is asked again", async () => {
    const refused = await account("deepseek", "sk-ds-account-that-is-refused", 503)
    const strange = await account("moonshot", "sk-ms-account-that-is-strange", "<html>not here</html>")
    await eventually(async () => vendor.asked.filter(([, key]) => key.startsWith("sk-ds-account-that") || key.startsWith("sk-ms")).length, (count) => count >= 2, "both were asked", 15_000)
    for (const [id, model] of [[refused, "deepseek/deepseek-chat"], [strange, "moonshot/kimi-k2.6"]] as const) {
      expect((await rowOf(id))?.window).toBe(null)
      const { targets } = await lab.gateway.operator.call<{ targets: ReadonlyArray<{ connectionId: string; skipped: unknown }> }>("POST", "/api/routing/explain", { model })
      expect(targets.find(({ connectionId }) => connectionId === id)?.skipped).toBe(null)
    }
    vendor.answers.set("sk-ds-account-that-is-refused", { is_available: false, balance_infos: [{ currency: "USD", total_balance: "0.00" }] })
    expect(await eventually(() => rowOf(refused), (row) => row?.window === "balance", "a reading of the next round", 30_000)).toMatchObject({ percentRemaining: 0, status: "exhausted" })
  }, 60_000)

  it("leaves by the proxy of its connection", async () => {
    const call = <A>(method: string, path: string, body?: unknown) => lab.gateway.operator.call<A>(method, path, body)
    await using proxy = await Proxies.http({ to: { host: "127.0.0.1", port: Number(new URL(vendor.url).port) } })
    const { id: proxyId } = await call<{ id: string }>("POST", "/api/v1/management/proxies", { name: "office", host: "127.0.0.1", port: proxy.port })
    await refresh(false)
    const id = await account("moonshot", "sk-ms-account-behind-a-proxy", { data: { available_balance: 3 } })
    await call("PUT", "/api/v1/management/proxies/assignments", { scope: "account", scopeId: id, proxyId })
    await refresh(true)
    expect(await shown(id)).toMatchObject({ window: "balance", status: "ok" })
    expect(proxy.tunnels).toEqual([`127.0.0.1:${new URL(vendor.url).port}`])
    await call("DELETE", `/api/v1/management/proxies?id=${proxyId}&force=1`)
  })

  it("a balance outlives a restart, and nothing is asked once the setting is off", async () => {
    await refresh(false)
    const id = await account("moonshot", "sk-ms-account-that-comes-late", { data: { available_balance: 3 } })
    await lab.gateway.restart()
    const { providers } = await lab.gateway.operator.call<{ providers: ReadonlyArray<Row> }>("GET", "/api/usage/quota?provider=deepseek")
    expect(providers.filter(({ window }) => window === "balance").length).toBe(2)
    expect((await rowOf(id))?.window).toBe(null)
    expect(vendor.asked.filter(([, key]) => key === "sk-ms-account-that-comes-late")).toEqual([])
  })
})
