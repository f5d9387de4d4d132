/** The request explorer as an operator uses it: facets, histogram, rows without end, a drawer by keys, a waterfall that equals the ledger. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type { CDPSession, Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { UsageStore } from "#actors/ports/UsageStore.ts"
import type { CallLog } from "#src/features/usage/api.ts"
import { canBrowse } from "#test/support/chromium.ts"
import { comerOf, stage, type Stage } from "#test/support/dashboard.ts"
import * as Http from "#test/support/http.ts"
import { eventually } from "#test/support/operator.ts"
import { ledgerRow } from "#test/suites/records.ts"

const MANY = 10_500
const MB = 1024 * 1024

describe.skipIf(!canBrowse())("the request explorer", () => {
  let on: Stage
  beforeAll(async () => {
    on = await stage()
    const { operator } = on.gateway
    await operator.createNode({ prefix: "lab", name: "Lab", baseUrl: "http://127.0.0.1:9/v1" })
    await operator.createConnection({ provider: "lab", apiKey: "sk-broken", name: "broken" })
    await operator.call("POST", "/api/combos", { name: "reliable", strategy: "priority", models: ["lab/small", "sim/echo"] })
    await Http.send(on.gateway.url, { path: "/v1/chat/completions", body: { model: "reliable", messages: [{ role: "user", content: "Hello" }] } })
    await operator.settled()
  }, 300_000)
  afterAll(() => on?.close())

  const come = comerOf(() => on)
  const table = (page: Page) => page.getByRole("table", { name: "Requests", exact: true })
  const parameters = (page: Page) => Object.fromEntries(new URL(page.url()).searchParams)

  it("facets filter by whole values with counts, stand in the address, and are taken back", async () => {
    const page = await come("/requests")
    const facet = page.getByRole("region", { name: "Facets" }).getByRole("button", { name: /^lab/ }).first()
    await facet.click()
    await expect.poll(() => parameters(page)).toMatchObject({ provider: "lab", exact: "true" })
    await expect.poll(() => table(page).getByRole("row").count()).toBe(2)
    await expect.poll(() => facet.getAttribute("aria-pressed")).toBe("true")
    await facet.click()
    await expect.poll(() => table(page).getByRole("row").count()).toBe(3)
    expect(parameters(page)["provider"]).toBeUndefined()
  })

  it("a drag over the histogram chooses a time", async () => {
    const page = await come("/requests")
    const box = await page.getByTestId("histogram").boundingBox()
    if (box === null) return expect.fail("no histogram")
    await page.mouse.move(box.x + box.width * 0.9, box.y + 10)
    await page.mouse.down()
    await page.mouse.move(box.x + box.width - 1, box.y + 10, { steps: 4 })
    await page.mouse.up()
    await expect.poll(() => Object.keys(parameters(page)).sort()).toEqual(["from", "to"])
    const { from = "", to = "" } = parameters(page)
    expect(Date.parse(to) - Date.parse(from)).toBeLessThan(6 * 3_600_000)
    await expect.poll(() => table(page).getByRole("row").count()).toBe(3)
  })

  it("by keys: J opens the first, K and J move, D compares, L pauses, F finds the facets, C copies the link, Esc closes and gives the focus back", async () => {
    const page = await come("/requests")
    await table(page).getByRole("row").nth(2).waitFor()
    await page.keyboard.press("j")
    const drawer = page.getByRole("region", { name: "Request", exact: true })
    await drawer.getByText(/^Answered by sim\/echo after lab\/small: /).waitFor()
    const first = parameters(page)["open"]
    await page.keyboard.press("j")
    await expect.poll(() => parameters(page)["open"]).not.toBe(first)
    await page.keyboard.press("k")
    await expect.poll(() => parameters(page)["open"]).toBe(first)
    await page.keyboard.press("d")
    await page.getByRole("region", { name: "Now", exact: true }).getByText("sim/echo").waitFor()
    await page.keyboard.press("l")
    await page.getByText("Paused", { exact: true }).waitFor()
    await page.keyboard.press("c")
    await page.getByText("The link to this view is copied.").waitFor()
    await page.keyboard.press("f")
    expect(await page.evaluate("document.activeElement.tagName")).toBe("SUMMARY")
    await page.keyboard.press("Escape")
    await drawer.waitFor({ state: "detached" })
    await expect.poll(() => page.evaluate("document.activeElement.closest('tr')?.dataset.call")).toBe(first)
    await page.keyboard.press("Enter")
    await drawer.waitFor()
    await drawer.getByRole("link", { name: "Open", exact: true }).click()
    await page.getByRole("heading", { level: 1, name: "Request" }).waitFor()
  })

  it("the waterfall tells of each attempt what the ledger tells, and then stands beside now", async () => {
    const { operator } = on.gateway
    const [row] = await operator.call<ReadonlyArray<CallLog>>("GET", "/api/usage/call-logs?combo=reliable&limit=1")
    const { attempts } = await operator.call<{ attempts: ReadonlyArray<CallLog> }>("GET", `/api/usage/call-logs/${row?.requestId}`)
    const page = await come(`/requests/${row?.requestId}`)
    const lanes = page.getByRole("list", { name: "Attempts" }).getByRole("listitem")
    await expect.poll(() => lanes.count()).toBe(attempts.length)
    for (const [index, { phases, provider }] of attempts.entries()) {
      await lanes.nth(index).getByText(new RegExp(`^${index + 1}\\. ${provider}/`)).waitFor()
      const shown = await lanes.nth(index).getByRole("table").getByRole("row").allInnerTexts()
      // Phases are told in whole ms: two that ended in the same one are one row.
      const after = new Set([phases?.sent, phases?.head].filter((ms) => ms !== null && ms !== undefined && ms > 0))
      expect(shown.length).toBeGreaterThanOrEqual(Math.max(1, after.size))
    }
    await page.getByRole("button", { name: "Find out" }).click()
    await page.getByRole("region", { name: "Now", exact: true }).getByText("sim/echo").waitFor()
    await page.getByRole("region", { name: "Then", exact: true }).getByText("lab/small").waitFor()
  })

  it("an attempt that took less than a millisecond in all is one bar", async () => {
    const store = Context.get(on.gateway.services(), UsageStore)
    const phases = { before: 0, queue: 0, limits: 0, sent: 0, head: 0, end: 0 }
    await Effect.runPromise(store.insert([ledgerRow({ attemptId: "swift-1", requestId: "swift", provider: "openai", connectionId: null, startedAt: Date.now() - 60_000, latencyMs: 0, ttftMs: 0, phases })]))
    const page = await come("/requests/swift")
    await page.getByRole("list", { name: "Attempts" }).getByRole("row", { name: /^whole attempt/ }).waitFor({ state: "attached" })
  })

  it("a call of an older release is one bar and says so; a left-out target is a lane of its own", async () => {
    const store = Context.get(on.gateway.services(), UsageStore)
    await Effect.runPromise(store.insert([ledgerRow({ attemptId: "old-1", requestId: "old", provider: "openai", connectionId: null, startedAt: Date.now() - 60_000, latencyMs: 500, phases: null })]))
    const page = await come("/requests/old")
    await page.getByText(/^An older release wrote this request/).waitFor()
  })

  it("new calls wait behind a button while somebody reads", async () => {
    const page = await come("/requests")
    // The counts come after the rows, and take room above them.
    await page.getByTestId("histogram").waitFor()
    // Requests in flight take some for a moment: the mouse is then over an upper row.
    await table(page).getByRole("row").last().hover()
    await Http.send(on.gateway.url, { path: "/v1/chat/completions", body: { model: "sim/echo", messages: [{ role: "user", content: "Hello" }] } })
    const before = await table(page).getByRole("row").count()
    const pill = page.getByRole("button", { name: "1 new" })
    await pill.waitFor()
    expect(await table(page).getByRole("row").count()).toBe(before)
    await pill.click()
    await expect.poll(() => table(page).getByRole("row").count()).toBe(before + 1)
  })

  it("ten thousand rows are scrolled through, few are drawn, and the heap stays within 45 MB", async () => {
    const now = Date.now()
    for (let start = 0; start < MANY; start += 1_000) {
      await Effect.runPromise(Context.get(on.gateway.services(), UsageStore).insert(Array.from({ length: Math.min(1_000, MANY - start) }, (_, index) => ledgerRow({
        attemptId: `many-${String(start + index).padStart(6, "0")}`, requestId: `many-r-${start + index}`, provider: "openai", connectionId: null, startedAt: now - 3_600_000 - start - index, requestedModel: `model-${index % 20}`
      }))))
    }
    const page = await come("/requests")
    const box = page.getByRole("group", { name: "Requests, scrolls" })
    await box.waitFor()
    await eventually(async () => {
      await box.evaluate((element) => { element.scrollTop = element.scrollHeight })
      return Number(await table(page).getAttribute("aria-rowcount"))
    }, (rows) => rows >= 10_001, "ten thousand rows", 60_000)
    expect(await table(page).getByRole("row").count()).toBeLessThan(120)
    await page.getByText(/^10,000 calls: choose a time/).waitFor()
    const session: CDPSession = await page.context().newCDPSession(page)
    await session.send("HeapProfiler.collectGarbage")
    const { usedSize } = await session.send("Runtime.getHeapUsage")
    expect(usedSize / MB).toBeLessThan(45)
  }, 300_000)

  it("finds a call by any id", async () => {
    const page = await come("/requests")
    await page.getByRole("searchbox", { name: "Find" }).fill("many-004321")
    await expect.poll(() => table(page).getByRole("row").count()).toBe(2)
  })
})
