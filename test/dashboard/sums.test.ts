/** What it cost: buckets of the viewer's zone, the period before, exports of exact numbers, figures of the overview that open their rows. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type { Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { UsageStore } from "#actors/ports/UsageStore.ts"
import type { LedgerRow } from "#schemas/records/LedgerRow.ts"
import { canBrowse } from "#test/support/chromium.ts"
import { comerOf, type Stage, stage } from "#test/support/dashboard.ts"
import * as Http from "#test/support/http.ts"
import { ledgerRow } from "#test/suites/records.ts"

const HOUR_MS = 3_600_000

describe.skipIf(!canBrowse())("the dashboard's sums", () => {
  let on: Stage
  let rows = 0
  const insert = (startedAt: string, fields: Partial<LedgerRow> = {}) => ledgerRow({
    attemptId: `sums-${rows}`, requestId: `sums-r-${rows++}`, provider: "openai", model: "gpt-x", connectionId: null, apiKeyId: null, apiKeyName: null, startedAt: Date.parse(startedAt), costUsd: 0.1, tokensIn: 10, tokensOut: 5,
    outcome: "completed", status: 200, ttftMs: 40, latencyMs: 100, ...fields
  })
  beforeAll(async () => {
    on = await stage()
    await Effect.runPromise(Context.get(on.gateway.services(), UsageStore).insert([
      // Before; then the first of March in UTC, the second in Berlin; then the third in both.
      insert("2026-02-27T12:00:00Z", { costUsd: 0.25 }), insert("2026-03-01T23:30:00Z", { costUsd: 0.1000000001 }), insert("2026-03-03T12:00:00Z", { costUsd: 0.4, model: "=cmd", estimated: true })
    ]))
  }, 300_000)
  afterAll(() => on?.close())

  const come = comerOf(() => on)
  const range = "from=2026-03-01T00:00:00Z&to=2026-03-04T00:00:00Z&bucket=day"
  const berlin = { timezoneId: "Europe/Berlin" }
  const figures = (page: Page) => page.getByRole("table", { name: "Cost per day, all figures" })
  const download = async (page: Page, button: string): Promise<string> => {
    const [file] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: button }).click()])
    const parts: Array<Buffer> = []
    for await (const part of await file.createReadStream()) parts.push(part as Buffer)
    return Buffer.concat(parts).toString("utf8")
  }

  it("days begin in the viewer's zone, which is named; a switch takes UTC, and is kept", async () => {
    const page = await come(`/usage?${range}`, berlin)
    await page.getByText("days begin in Europe/Berlin").waitFor()
    await page.getByText("As a table").click()
    await figures(page).getByRole("row", { name: /^Mar 2 1 / }).waitFor()
    await page.getByRole("button", { name: "Europe/Berlin" }).click()
    await page.getByText("days begin in UTC").waitFor()
    await page.reload()
    await page.getByText("days begin in UTC").waitFor()
    await page.getByText("As a table").click()
    await figures(page).getByRole("row", { name: /^Mar 1 1 / }).waitFor()
    expect(await figures(page).getByRole("row", { name: /^Mar 2 0 / }).count()).toBe(1)
  })

  it("a sum stands beside the period before, says how much is estimated, and each number opens its rows of the same time", async () => {
    const page = await come(`/usage?${range}`, berlin)
    const sums = page.getByLabel("Sums")
    await sums.getByText("+100% against before").first().waitFor()
    await page.getByText("50% estimated").waitFor()
    await page.getByText("Complete: gap 0").waitFor()
    await page.getByLabel("Beside the period before").click()
    const groups = page.getByRole("table", { name: "Usage by group" })
    await groups.getByRole("row", { name: /^openai\/gpt-x .* \$0\.250 −60%$/ }).waitFor()
    await groups.getByRole("row", { name: /^openai\/=cmd .* new$/ }).waitFor()
    await page.reload()
    await groups.getByRole("row", { name: /−60%$/ }).getByRole("link").click()
    await page.getByRole("heading", { level: 1, name: "Requests" }).waitFor()
    expect(Object.fromEntries(new URL(page.url()).searchParams)).toEqual({ model: "gpt-x", provider: "openai", exact: "true", from: "2026-03-01T00:00:00Z", to: "2026-03-04T00:00:00Z" })
    await expect.poll(() => page.getByRole("table", { name: "Requests", exact: true }).getByRole("row").count()).toBe(2)
    // The screens of calls share the range.
    await page.getByRole("navigation", { name: "Screens" }).getByRole("link", { name: "Usage & cost" }).click()
    await sums.getByText("+100% against before").first().waitFor()
    await page.goBack()
    const calls = await download(page, "CSV of the rows")
    expect(calls.split("\r\n")[1]).toMatch(/^2026-03-01T23:30:00\.000Z,sums-r-1,.*,0\.1000000001,false$/)
  })

  it("exports have exact numbers of the same query, and no formula for a spreadsheet", async () => {
    const page = await come(`/usage?${range}`, berlin)
    await page.getByRole("table", { name: "Usage by group" }).getByText("openai/gpt-x").waitFor()
    const buckets = (await download(page, "CSV of the buckets")).trimEnd().split("\r\n")
    expect(buckets.map((line) => line.split(",").slice(0, 1)).flat()).toEqual(["start (Europe/Berlin)", "2026-02-28T23:00:00.000Z", "2026-03-01T23:00:00.000Z", "2026-03-02T23:00:00.000Z", "2026-03-03T23:00:00.000Z"])
    expect(buckets[2]).toContain(",0.1000000001,")
    const groups = await download(page, "CSV of this table")
    expect(groups).toContain("openai/gpt-x,openai/gpt-x,1,10,5,0.1000000001")
    await page.getByLabel("Group by").selectOption({ label: "Provider" })
    expect(await download(page, "CSV of this table")).toContain("openai,openai,2,20,10,0.5000000001")
    const all = JSON.parse(await download(page, "JSON of all")) as { trend: { total: { cost: number } }; groups: { summary: { cost: number } } }
    expect([all.trend.total.cost, all.groups.summary.cost]).toEqual([0.5000000001, 0.5000000001])
  })

  it("a time without use says so and offers a longer one; a chosen time stands in the address", async () => {
    const page = await come("/usage?range=15m")
    await page.getByText("Nothing was used in this time").waitFor()
    await page.getByRole("link", { name: "the last 90 days" }).waitFor()
    await page.getByLabel("Range").selectOption({ label: "From … to …" })
    await page.getByLabel("From, local time").fill("2026-03-01T00:00")
    await page.getByLabel("To, local time").fill("2026-03-04T00:00")
    await page.getByLabel("Sums").waitFor()
    expect(new URL(page.url()).searchParams.get("from")).toMatch(/^2026-0[23]-\d\dT/)
  })

  it("the overview's figures are those of the gateway, and open what they are made of", async () => {
    const now = Date.now()
    await Effect.runPromise(Context.get(on.gateway.services(), UsageStore).insert([
      insert(new Date(now - HOUR_MS / 2).toISOString(), { ttftMs: 300, costUsd: 3 }), insert(new Date(now - HOUR_MS / 2).toISOString(), { outcome: "upstream-status", status: 502, ttftMs: null, costUsd: 0 })
    ]))
    await Http.send(on.gateway.url, { path: "/v1/chat/completions", body: { model: "sim/echo", messages: [{ role: "user", content: "Hello" }] } })
    await on.gateway.operator.settled()
    const page = await come("/")
    const tiles = page.getByLabel("What goes through")
    await tiles.getByText("33%").waitFor()
    await tiles.getByText("$3.00").waitFor()
    await tiles.getByText(/^p50; p99 \d/).waitFor()
    await tiles.getByText(/^gateway's p50, of \d/).waitFor()
    await tiles.getByRole("link", { name: "Errors" }).click()
    await page.getByRole("heading", { level: 1, name: "Requests" }).waitFor()
    await page.getByRole("table", { name: "Requests", exact: true }).getByText("502").waitFor()
    expect(Object.fromEntries(new URL(page.url()).searchParams)).toEqual({ range: "1h", status: "error" })
  })
})
