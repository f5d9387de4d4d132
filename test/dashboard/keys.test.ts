/** Keys as an operator bounds them: rights in words, two operators at once, sums that open their calls, and tokens of command lines. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { canBrowse } from "#test/support/chromium.ts"
import { comerOf, type Stage, stage } from "#test/support/dashboard.ts"
import * as Http from "#test/support/http.ts"
import { eventually } from "#test/support/operator.ts"

describe.skipIf(!canBrowse())("the dashboard's keys", () => {
  let on: Stage
  beforeAll(async () => {
    on = await stage()
  }, 300_000)
  afterAll(() => on?.close())

  const come = comerOf(() => on)
  const api = <A>(method: string, path: string, body?: unknown) => on.gateway.operator.call<A>(method, path, body)
  const ask = (key: string) => Http.send(on.gateway.url, { path: "/v1/chat/completions", headers: { authorization: `Bearer ${key}`, "user-agent": "robot/1.0" }, body: { model: "sim/echo", messages: [{ role: "user", content: "Hello" }] } })

  it("are bounded by models, connections, rates, money, hours and rights; a sentence says all of it, and a press takes it back", async () => {
    await on.gateway.operator.createConnection({ provider: "sim", apiKey: "any", name: "practice" })
    const key = await on.gateway.operator.createKey("robot")
    expect((await ask(key.key)).status).toBe(200)
    const page = await come("/keys")
    const row = page.getByRole("table", { name: "Keys" }).getByRole("row", { name: /robot/ })
    await row.getByText("May call any model, with scope self:usage.").waitFor()
    await row.getByRole("button", { name: "Edit robot" }).click()
    const dialog = page.getByRole("dialog")
    await dialog.getByText("Clients that were seen with it").click()
    await dialog.getByRole("list", { name: "Clients of the key" }).getByText("robot/1.0").waitFor()
    await dialog.getByLabel("Only the connections below").check()
    await dialog.getByLabel("practice").check()
    await dialog.getByLabel("Requests a minute").fill("30")
    await dialog.getByLabel("Sessions at once").fill("2")
    await dialog.getByLabel("Limits of its own, beside its budget").check()
    await dialog.getByLabel("Its dollars a week").fill("5")
    await dialog.getByLabel("Only at some hours").check()
    await dialog.getByLabel("Time zone").fill("Nowhere/Else")
    await dialog.getByLabel("Its holder may read its use").check()
    await dialog.getByLabel("Expires").fill("2099-12-01T12:00")
    await dialog.getByRole("button", { name: "Save" }).click()
    await dialog.getByRole("alert").getByText("The key was not changed").waitFor()
    await dialog.getByLabel("Time zone").fill("Europe/Berlin")
    await dialog.getByRole("button", { name: "Save" }).click()
    await row.getByText("May call any model, over 1 connection, 30 requests a minute, 2 sessions at once, for $5.00 a week, Mon Tue Wed Thu Fri 09:00 to 18:00 Europe/Berlin, with scope self:usage, until 2099-12-01.").waitFor()
    expect(await api("GET", `/api/keys/${key.id}`)).toMatchObject({ allowUsageCommand: true, connectionAccessMode: "restricted", weeklyUsageLimitUsd: 5, maxSessions: 2, accessSchedule: { enabled: true, days: [1, 2, 3, 4, 5], tz: "Europe/Berlin" } })
    const note = page.getByRole("status", { name: "Notes" }).getByRole("listitem").filter({ hasText: "robot is changed." })
    await note.getByText(/Applied on 1 of 1 node/).waitFor()
    await note.getByRole("button", { name: "Undo" }).click()
    await row.getByText("May call any model, with scope self:usage.").waitFor()
    expect((await ask(key.key)).status).toBe(200)
  })

  it("of two operators the second one sees theirs and yours", async () => {
    const key = await on.gateway.operator.createKey("shared")
    const page = await come("/keys")
    await page.getByRole("button", { name: "Edit shared" }).click()
    const dialog = page.getByRole("dialog")
    await dialog.getByLabel("Requests a minute").fill("5")
    await api("PATCH", `/api/keys/${key.id}`, { maxRequestsPerMinute: 9, noLog: true })
    await dialog.getByRole("button", { name: "Save" }).click()
    await dialog.getByRole("table", { name: "Theirs and yours" }).getByRole("row", { name: "maxRequestsPerMinute 9 5" }).waitFor()
    await dialog.getByRole("button", { name: "Save mine" }).click()
    await dialog.waitFor({ state: "detached" })
    expect(await api("GET", `/api/keys/${key.id}`)).toMatchObject({ maxRequestsPerMinute: 5, noLog: true })
  })

  it("prove their sums: what began is what settled and runs, and a sum opens its calls", async () => {
    const key = await on.gateway.operator.createKey("spender")
    await api("PATCH", "/api/pricing", { sim: { echo: { input: 1_000, output: 1_000 } } })
    await api("POST", "/api/usage/budget", { apiKeyId: key.id, dailyLimitUsd: 100 })
    for (let call = 0; call < 2; call++) expect((await ask(key.key)).status).toBe(200)
    await on.gateway.operator.settled()
    const rows = await eventually(() => api<ReadonlyArray<{ cost: number }>>("GET", `/api/usage/call-logs?apiKey=${key.id}`), (found) => found.length === 2, "the rows of both calls")
    for (const screen of ["/keys", "/limits"]) {
      const page = await come(screen)
      const sum = await page.getByText(/^[\d,]+ calls began = [\d,]+ settled \+ 0 running$/).innerText()
      const [began, settled] = [...sum.matchAll(/[\d,]+/g)].map(([digits]) => Number(digits.replaceAll(",", "")))
      expect([screen, began]).toEqual([screen, settled])
      await page.getByText("Complete: gap 0").waitFor()
      const spent = page.getByRole("row", { name: /spender/ }).getByRole("link")
      expect(Number((await spent.innerText()).replace(/[$,]/g, ""))).toBeCloseTo(rows.reduce((total, { cost }) => total + cost, 0), 2)
      await spent.click()
      const table = page.getByRole("table", { name: "Requests", exact: true })
      await expect.poll(() => table.getAttribute("aria-rowcount")).toBe("3")
    }
  })

  it("are found by a part of their name, and paged, however many there are", async () => {
    const made = Array.from({ length: 101 }, (_, index) => `bulk ${index + 1}`)
    for (const name of made) await on.gateway.operator.createKey(name)
    const page = await come("/keys")
    const rows = page.getByRole("table", { name: "Keys" }).getByRole("row")
    await page.getByText(/^1 to 100 of 10\d$/).waitFor()
    expect(await rows.count()).toBe(101)
    expect(await page.getByRole("button", { name: "Newer" }).isDisabled()).toBe(true)
    await page.getByRole("button", { name: "Older" }).click()
    await page.getByText(/^101 to 10\d of 10\d$/).waitFor()
    await page.getByRole("button", { name: "Edit bulk 1", exact: true }).waitFor()
    expect(await page.getByRole("button", { name: "Older" }).isDisabled()).toBe(true)

    await page.getByLabel("Find").fill("BULK 100")
    await page.getByText("1 to 1 of 1").waitFor()
    expect([await rows.count(), new URL(page.url()).search]).toEqual([2, "?search=BULK+100"])
    await page.getByRole("button", { name: "Delete bulk 100" }).click()
    await page.getByRole("dialog").getByRole("button", { name: "Delete the key" }).click()
    await page.getByText("No key fits").waitFor()
    await page.getByRole("button", { name: "Show all" }).click()
    await page.getByText(/^1 to 100 of 10\d$/).waitFor()
  })

  it("have names that can be read on a phone", async () => {
    await on.gateway.operator.createKey("production")
    const page = await come("/keys?search=production", { viewport: { width: 320, height: 640 } })
    const name = page.getByRole("table", { name: "Keys" }).getByText("production", { exact: true })
    expect(await name.evaluate((element) => element.getClientRects().length)).toBe(1)
  })

  it("beside tokens of command lines: made with a scope and an end, shown once, revoked at once", async () => {
    const page = await come("/keys")
    await page.getByRole("button", { name: "Make an access token" }).click()
    const dialog = page.getByRole("dialog")
    await dialog.getByLabel("Name").fill("laptop")
    await dialog.getByRole("button", { name: "Make the token" }).click()
    const token = await dialog.getByLabel("key", { exact: true }).innerText()
    await dialog.getByRole("button", { name: "I have copied it" }).click()
    const read = async (method: string) => (await fetch(`${on.gateway.url}/api/keys`, { method, headers: { authorization: `Bearer ${token}`, "content-type": "application/json" }, ...(method === "POST" ? { body: "{\"name\":\"x\"}" } : {}) })).status
    expect([await read("GET"), await read("POST")]).toEqual([200, 403])
    expect(await page.content()).not.toContain(token)
    const row = page.getByRole("table", { name: "Access tokens" }).getByRole("row", { name: /laptop/ })
    await row.getByText(/^29 d 23 h$/).waitFor()
    await row.getByRole("button", { name: "Revoke laptop" }).click()
    await dialog.getByRole("button", { name: "Revoke the token" }).click()
    await page.getByText("No access token").waitFor()
    expect(await read("GET")).toBe(403)
  })
})
