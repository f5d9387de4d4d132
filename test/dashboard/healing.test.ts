/** What blocks and heals by itself: one list on one clock, who is asked meanwhile, and what the overview tells of webhooks. */
import * as http from "node:http"
import type { AddressInfo } from "node:net"
import { describe, expect, it, onTestFinished } from "vitest"
import { canBrowse } from "#test/support/chromium.ts"
import { comerOf, staged } from "#test/support/dashboard.ts"
import * as Http from "#test/support/http.ts"

describe.skipIf(!canBrowse())("the dashboard's view of healing", () => {
  const on = staged()

  const come = comerOf(() => on)
  const api = <A>(method: string, path: string, body?: unknown) => on.gateway.operator.call<A>(method, path, body)
  const ask = (model: string, key = "") => Http.send(on.gateway.url, {
    path: "/v1/chat/completions", body: { model, messages: [{ role: "user", content: "Hello" }] }, ...(key === "" ? {} : { headers: { authorization: `Bearer ${key}` } })
  })

  it("breakers, budgets and rests stand in one list, first to end first, count down, and tell who is asked meanwhile", async () => {
    const page = await come("/resilience")
    await page.getByText("Nothing blocks").waitFor()
    await on.gateway.operator.createNode({ prefix: "lab", name: "Lab", baseUrl: "http://127.0.0.1:9/v1" })
    await on.gateway.operator.createConnection({ provider: "lab", apiKey: "sk-broken", name: "broken" })
    await api("POST", "/api/combos", { name: "reliable", strategy: "priority", models: ["lab/small", "sim/echo"] })
    const { id, key } = await on.gateway.operator.createKey("spender")
    await api("PATCH", "/api/pricing", { sim: { echo: { input: 100_000, output: 100_000 } } })
    await api("POST", "/api/usage/budget", { apiKeyId: id, dailyLimitUsd: 0.001 })
    await ask("sim/echo", key)
    for (let i = 0; i < 6; i++) await ask("lab/small")
    await on.gateway.operator.settled()
    const rows = page.getByRole("list", { name: "What blocks, and until when" }).getByRole("listitem")
    await rows.filter({ hasText: "Key spender" }).getByText("Budget").waitFor()
    const lab = rows.filter({ hasText: "lab" }).first()
    await lab.waitFor()
    const until = await Promise.all((await rows.locator("time").all()).map(async (time) => await time.getAttribute("datetime") ?? ""))
    expect(until).toEqual([...until].sort())
    expect(until.length).toBeGreaterThan(1)
    const before = await lab.locator("time").innerText()
    await expect.poll(() => lab.locator("time").innerText()).not.toBe(before)
    const meanwhile = page.getByRole("form", { name: "Who is asked meanwhile" })
    await meanwhile.getByLabel("Model or combo").fill("reliable")
    await meanwhile.getByRole("button", { name: "Who is asked now?" }).click()
    await meanwhile.getByRole("list", { name: "Targets" }).getByText("sim/echo").waitFor()
  })

  it("a webhook whose deliveries fail is told of on the overview", async () => {
    await on.gateway.operator.setFlag("OUTBOUND_SSRF_GUARD_ENABLED", "false")
    const receiver = http.createServer((_, response) => response.writeHead(500).end())
    await new Promise<void>((resolve) => receiver.listen(0, "127.0.0.1", resolve))
    onTestFinished(async () => {
      await on.gateway.operator.setFlag("OUTBOUND_SSRF_GUARD_ENABLED", "true")
      receiver.close()
      receiver.closeAllConnections()
    })
    await api("POST", "/api/webhooks", { url: `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hook`, description: "deaf receiver", events: ["request.completed"] })
    await ask("sim/echo")
    const page = await come("/")
    const row = page.getByRole("region", { name: "Attention" }).getByRole("listitem").filter({ hasText: "Webhook deaf receiver" })
    await row.getByText("Fails").waitFor()
    await row.getByRole("link").click()
    await page.getByRole("heading", { level: 1, name: "Webhooks" }).waitFor()
  })
})
