/** How soon a page can be used and how still it stands, as the browser itself measures it. */
import type { Browser, Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest"
import { canBrowse } from "#test/support/chromium.ts"
import { type Stage, stage, visit } from "#test/support/dashboard.ts"
import { sum, tasksOf } from "#test/support/trace.ts"
import { seed } from "./seed.ts"

const VISITS = 5
/** Twice what is promised: the machine of a test may be busy. */
const GUARD = 2
const promised = {
  loopback: { usableMs: 500, paintMs: 1_200, shift: 0.02 },
  slow: { usableMs: 1_500, paintMs: 2_400, shift: 0.02 }
} as const

interface Measured {
  readonly usableMs: number
  readonly paintMs: number
  readonly shift: number
}

/** A screen can be used once its heading and its rail are drawn and the browser's thread is free again. */
const watch = `{
  globalThis.measured = { usableMs: 0, paintMs: 0, shift: 0 }
  new PerformanceObserver((list) => { for (const { startTime } of list.getEntries()) measured.paintMs = startTime }).observe({ type: "largest-contentful-paint", buffered: true })
  new PerformanceObserver((list) => { for (const { hadRecentInput, value } of list.getEntries()) if (!hadRecentInput) measured.shift += value }).observe({ type: "layout-shift", buffered: true })
  const look = () => {
    if (document.querySelector("main h1") !== null && document.querySelector("nav a") !== null) setTimeout(() => { measured.usableMs = performance.now() })
    else requestAnimationFrame(look)
  }
  requestAnimationFrame(look)
}`

const usable = (page: Page) => expect.poll(() => page.evaluate<number>("measured.usableMs")).toBeGreaterThan(0)

/** The slow device: times slower, ms for a round trip, bytes a ms. */
const slow = { processor: 4, roundTripMs: 40, bytesPerMs: 1_250 } as const
/** Connection, page, files, the chunk of the screen, its first answers: each waits for the one before. */
const ROUND_TRIPS = 5

/** ms until the page can be used on the slow device: by what its own thread takes here and what it loads, whatever else the machine does. */
const onSlowDevice = async (browser: Browser, page: Page, url: string): Promise<number> => {
  await browser.startTracing(page, { categories: ["toplevel"] })
  await page.goto(url)
  await usable(page)
  const tasks = tasksOf(await browser.stopTracing())
  const bytes = await page.evaluate<number>(`[...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")]
    .reduce((all, { responseEnd, transferSize }) => responseEnd <= measured.usableMs ? all + transferSize : all, 0)`)
  expect(bytes).toBeGreaterThan(50_000)
  return slow.processor * sum(tasks) + bytes / slow.bytesPerMs + ROUND_TRIPS * slow.roundTripMs
}

const measure = async (page: Page, url: string): Promise<Measured> => {
  await page.goto(url)
  await usable(page)
  await expect.poll(() => page.locator("[aria-busy=true]").count()).toBe(0)
  return page.evaluate<Measured>("measured")
}

/** The best of several visits: other work on the machine only makes a visit slower. */
const best = (all: ReadonlyArray<Measured>, what: keyof Measured): number => Math.min(...all.map((one) => one[what]))

describe.skipIf(!canBrowse())("the dashboard's first moment", () => {
  let on: Stage
  beforeAll(async () => {
    on = await stage()
    await seed(on.gateway)
  }, 300_000)
  afterAll(() => on?.close())

  const come = async () => {
    const seen = await visit(on.browser, on.gateway.url)
    onTestFinished(seen.close)
    await seen.page.addInitScript(watch)
    return seen.page
  }

  it("is there within half a second on this machine, and nothing jumps", async () => {
    const page = await come()
    for (const screen of ["", "/requests", "/providers", "/keys", "/play", "/guardrails", "/proxies", "/backups", "/compression", "/prompts", "/addresses", "/memory", "/skills", "/tasks"]) {
      const all: Array<Measured> = []
      for (let visits = 0; visits < VISITS; visits++) all.push(await measure(page, `${on.gateway.url}/dashboard${screen}`))
      const { paintMs, shift, usableMs } = promised.loopback
      expect(best(all, "usableMs")).toBeLessThan(usableMs * GUARD)
      expect(best(all, "paintMs")).toBeLessThan(paintMs * GUARD)
      // How still a page stands does not depend on the machine.
      expect([screen, best(all, "shift") <= shift]).toEqual([screen, true])
    }
  }, 300_000)

  it("can be used within a second and a half on a slow device, by what it takes of the processor and of the line", async () => {
    const page = await come()
    const session = await page.context().newCDPSession(page)
    const all: Array<number> = []
    for (let visits = 0; visits < VISITS; visits++) {
      await session.send("Network.clearBrowserCache")
      all.push(await onSlowDevice(on.browser, page, `${on.gateway.url}/dashboard`))
    }
    expect(Math.min(...all)).toBeLessThan(promised.slow.usableMs)
  }, 300_000)

  it("is there on a slow device over a bad line", async () => {
    const page = await come()
    const session = await page.context().newCDPSession(page)
    await session.send("Network.enable")
    await session.send("Network.emulateNetworkConditions", { offline: false, latency: slow.roundTripMs, downloadThroughput: 1_000 * slow.bytesPerMs, uploadThroughput: 1_000 * slow.bytesPerMs })
    await session.send("Emulation.setCPUThrottlingRate", { rate: slow.processor })
    const all: Array<Measured> = []
    for (let visits = 0; visits < VISITS; visits++) {
      await session.send("Network.clearBrowserCache")
      all.push(await measure(page, `${on.gateway.url}/dashboard`))
    }
    expect(best(all, "usableMs")).toBeLessThan(promised.slow.usableMs * GUARD)
    expect(best(all, "paintMs")).toBeLessThan(promised.slow.paintMs * GUARD)
  }, 300_000)
})
