/** Signing in and out, a session that ends, a gateway that is gone, and moving about. */
import { describe, expect, it, onTestFinished } from "vitest"
import { canBrowse } from "#test/support/chromium.ts"
import { staged, visit } from "#test/support/dashboard.ts"
import { PASSWORD } from "#test/support/operator.ts"

describe.skipIf(!canBrowse())("the dashboard's door", () => {
  const on = staged()

  const come = async (signedIn = true) => {
    const seen = await visit(on.browser, on.gateway.url, { signedIn })
    onTestFinished(seen.close)
    return seen
  }

  it("refuses a wrong password with a reason, lets the right one in, opens the first steps while nothing was done yet, and forgets it on sign-out", async () => {
    const { go, page, troubles } = await come(false)
    await go("/")
    await page.getByRole("heading", { name: "Sign in", level: 1 }).waitFor()
    await page.getByLabel("Password").fill("a wrong password")
    await page.getByRole("button", { name: "Sign in" }).click()
    await page.getByRole("alert").waitFor()
    await page.getByLabel("Password").fill(PASSWORD)
    await page.getByRole("button", { name: "Sign in" }).click()
    await page.getByRole("navigation", { name: "Screens" }).waitFor({ state: "attached" })
    await page.getByRole("heading", { level: 1, name: "First steps" }).waitFor()
    expect(new URL(page.url()).pathname).toBe("/dashboard/welcome")
    await page.getByRole("link", { name: "To the overview" }).click()
    await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor()
    await page.getByRole("button", { name: "Sign out" }).click()
    await page.getByRole("heading", { name: "Sign in", level: 1 }).waitFor()
    expect(await page.evaluate("JSON.stringify([localStorage.length, document.cookie])")).toBe("[0,\"\"]")
    expect(troubles()).toEqual([])
  })

  it("asks for a first password where there is none, and shows what the gateway says to it", async () => {
    const { go, page } = await come(false)
    // A gateway has one from its first start on; only a restored database may lack it.
    await page.route("**/api/auth/status", (route) => route.fulfill({ json: { authenticated: false, method: "anonymous", singleSignOn: false, passwordLogin: true, requireLogin: true, hasPassword: false, setupComplete: false } }))
    await go("/")
    await page.getByRole("heading", { level: 1, name: "Set a password" }).waitFor()
    const set = page.getByRole("button", { name: "Set the password" })
    await page.getByLabel("New password").fill("short")
    expect(await set.isDisabled()).toBe(true)
    await page.getByLabel("New password").fill("a long new password")
    await set.click()
    await page.getByRole("alert").getByText("The password was not set").waitFor()
  })

  it("offers single sign-on where the gateway does, back to the place that was asked for, and no password where that is off", async () => {
    const { go, page, troubles } = await come(false)
    let passwordLogin = true
    await page.route("**/api/auth/status", (route) => route.fulfill({ json: { authenticated: false, method: "anonymous", singleSignOn: true, passwordLogin, requireLogin: true, hasPassword: true, setupComplete: true } }))
    await go("/requests?status=500")
    const link = page.getByRole("link", { name: "Sign in with single sign-on" })
    await link.waitFor()
    const url = new URL(await link.getAttribute("href") ?? "")
    expect([url.pathname, url.searchParams.get("returnTo")]).toEqual(["/api/auth/oidc/login", "/dashboard/requests?status=500"])
    expect(await page.getByLabel("Password").count()).toBe(1)
    passwordLogin = false
    await page.reload()
    await link.waitFor()
    expect(await page.getByLabel("Password").count()).toBe(0)
    expect(troubles()).toEqual([])
  })

  it("keeps what was typed while a session is renewed", async () => {
    const { go, page } = await come()
    await go("/providers")
    await page.getByRole("button", { name: "Add a connection" }).click()
    await page.getByLabel("Name").fill("typed before the end")
    await page.getByLabel("Provider").fill("openai")
    await page.getByLabel("API key").fill("sk-nothing")
    await page.context().clearCookies()
    // The screen asks by itself every few seconds, too: its dialog may stand in front of the button by then.
    await page.getByRole("button", { name: "Test the key" }).dispatchEvent("click")
    await page.getByRole("heading", { name: "Your session has ended" }).waitFor()
    await page.getByLabel("Password").fill("a long test password")
    await page.getByRole("button", { name: "Sign in" }).click()
    await page.getByRole("heading", { name: "Your session has ended" }).waitFor({ state: "detached" })
    expect(await page.getByLabel("Name").inputValue()).toBe("typed before the end")
  })

  it("says that the gateway does not answer, keeps what is on the page, and says nothing once it answers again", async () => {
    const { go, page } = await come()
    await go("/providers")
    await page.route("**/api/**", (route) => route.abort())
    await page.getByText("The gateway does not answer.").first().waitFor()
    await page.getByRole("heading", { level: 1, name: "Providers" }).waitFor()
    await page.unroute("**/api/**")
    await page.getByText("The gateway does not answer.").first().waitFor({ state: "detached" })
  })

  it("is used by keys alone: letters and the palette go to screens, and each screen has a title", async () => {
    const { go, page } = await come()
    await go("/")
    await page.keyboard.press("g")
    await page.keyboard.press("p")
    await page.getByRole("heading", { level: 1, name: "Providers" }).waitFor()
    expect(await page.title()).toBe("Providers · Gateway")
    await page.keyboard.press("Control+k")
    await page.getByRole("combobox", { name: "Screen or id" }).fill("playg")
    await page.keyboard.press("Enter")
    await page.getByRole("heading", { level: 1, name: "Playground" }).waitFor()
    await page.goBack()
    await page.getByRole("heading", { level: 1, name: "Providers" }).waitFor()
  })

  it("keeps the chosen theme over a reload, without a flash: the server's page already has it", async () => {
    const { go, page } = await come()
    await go("/")
    await page.getByRole("button", { name: "Theme: system" }).click()
    await page.getByRole("button", { name: "Theme: light" }).click()
    await page.getByRole("button", { name: "Theme: dark" }).waitFor()
    const reply = await page.reload()
    expect(await reply?.text()).toContain("data-theme=\"dark\"")
    await page.getByRole("button", { name: "Theme: dark" }).waitFor()
  })

  it("shows a screen for an address that names none", async () => {
    const { go, page } = await come()
    await go("/nowhere")
    await page.getByRole("heading", { level: 1, name: "No such screen" }).waitFor()
  })
})
