/** What goes wrong, as an operator sees it: refusals with what to do, values with their age, a gateway that is ill, a clock that is wrong. */
import type { Page, Route } from "playwright-core"
import { describe, expect, it } from "vitest"
import { canBrowse } from "#test/support/chromium.ts"
import { comerOf, staged } from "#test/support/dashboard.ts"
import { eventually } from "#test/support/operator.ts"

const BEHIND_MS = 300_000

describe.skipIf(!canBrowse())("the dashboard when something is wrong", () => {
  const on = staged()

  const come = comerOf(() => on)
  const refuse = (status: number, message: string, more: { readonly code?: string; readonly headers?: Readonly<Record<string, string>> } = {}) => (route: Route) =>
    route.fulfill({ status, headers: more.headers ?? {}, json: { error: { message, code: more.code ?? "refused" }, requestId: "req_of_the_refusal" } })
  const alert = (page: Page) => page.getByRole("main").getByRole("alert").first()

  it("a refusal with a time to wait counts it down, has the request's id, and its button tries again", async () => {
    const page = await come("/nodes")
    await page.route("**/api/compliance/**", refuse(429, "Too many calls", { headers: { "retry-after": "4" } }))
    await page.getByRole("navigation", { name: "Screens" }).getByRole("link", { name: "Audit" }).click()
    await alert(page).getByText("The audit log could not be loaded").waitFor()
    await alert(page).getByText(/^Try again in [1-4] s\.$/).waitFor()
    await alert(page).getByRole("button", { name: "req_of_the_refusal" }).waitFor()
    await alert(page).getByText("It may be tried again now.").waitFor()
    await page.unroute("**/api/compliance/**")
    await alert(page).getByRole("button", { name: "Try again" }).click()
    await page.getByRole("table", { name: "Audit" }).waitFor()
  })

  it("a refusal says what to do: of a right, of the wrong machine, of a size; and what was typed stays", async () => {
    const page = await come("/welcome")
    const name = page.getByLabel("Name of the key")
    await name.fill("typed")
    for (const [answer, words] of [
      [refuse(403, "This access token has scope read; the call needs write"), "This caller lacks the right that is named above."],
      [refuse(403, "This route answers on the gateway's own machine only", { code: "LOCAL_ONLY" }), "through an SSH tunnel"],
      [refuse(413, "The request body is larger than 1024 bytes"), "Send less at once."]
    ] as const) {
      await page.route("**/api/keys", answer)
      await page.getByRole("button", { name: "Make the key" }).click()
      await alert(page).getByText(words).waitFor()
      await page.unroute("**/api/keys")
    }
    expect(await name.inputValue()).toBe("typed")
    await page.getByRole("button", { name: "Make the key" }).click()
    await page.getByText("The key is shown this once.").waitFor()
  })

  it("values stay with their age while they cannot be read again, and an answer that is no JSON breaks nothing", async () => {
    const page = await come("/nodes")
    const table = page.getByRole("table", { name: "Nodes" })
    await table.getByText("this one").waitFor()
    await page.route("**/api/nodes", (route) => route.fulfill({ contentType: "text/html", body: "<h1>Sign in to the proxy</h1>" }))
    await alert(page).getByText("The answer is no JSON.").waitFor()
    await page.getByText(/^As of /).waitFor()
    await table.getByText("this one").waitFor()
    await page.unroute("**/api/nodes")
    await alert(page).getByRole("button", { name: "Load the page again" }).click()
    await table.getByText("this one").waitFor()
    await eventually(() => page.getByRole("main").getByRole("alert").count(), (count) => count === 0, "the end of the failure")
  })

  it("tells on every screen that the database is away, and what becomes of requests", async () => {
    const page = await come("/providers")
    const real = await (await page.request.get(`${on.gateway.url}/api/health`)).json() as { readonly checks: object }
    await page.route("**/api/health", (route) => route.fulfill({ json: { ...real, status: "degraded", checks: { ...real.checks, recordStore: { status: "failed", latencyMs: null } } } }))
    await page.reload()
    await page.getByText("The database does not answer.").waitFor()
    await page.getByText("Requests go on by the last known records", { exact: false }).waitFor()
  })

  it("tells that this computer's clock is wrong, and counts by the gateway's", async () => {
    const page = await come("/nodes")
    await page.addInitScript(`{ const real = Date.now; Date.now = () => real() - ${BEHIND_MS} }`)
    await page.reload()
    await page.getByText(/^This computer's clock is (?:5 m 0\d|4 m 5\d) s behind the gateway's\.$/).waitFor()
    const seen = page.getByRole("table", { name: "Nodes" }).getByRole("row").nth(1).getByRole("cell").last()
    await eventually(() => seen.innerText(), (text) => /^(?:just now|\d s ago|in \d s)$/.test(text), "a heartbeat of just now")
  })

  it("a password that was wrong too often waits, and the seconds are counted down", async () => {
    const page = await come("/nodes")
    await page.getByRole("button", { name: "Sign out" }).click()
    const button = page.getByRole("button", { name: "Sign in" })
    const said = page.getByRole("alert")
    for (let tries = 0; tries < 30; tries++) {
      await page.getByLabel("Password").fill(`wrong ${tries}`)
      await button.click()
      await said.waitFor()
      await eventually(async () => await button.isEnabled() || /Too many/.test(await said.innerText()), (settled) => settled, "the answer")
      if (/Too many attempts\. Try again in/.test(await said.innerText())) break
    }
    const first = Number(/in (\d+) s/.exec(await said.innerText())?.[1])
    expect(first).toBeGreaterThan(0)
    expect(await button.isDisabled()).toBe(true)
    await eventually(async () => Number(/in (\d+) s/.exec(await said.innerText())?.[1]), (rest) => rest < first, "a smaller number of seconds")
  })
})
