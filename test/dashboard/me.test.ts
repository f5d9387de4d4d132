/** The page of key holders: a pasted key shows its own use, limits and models, without a session, and is kept nowhere. */
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest"
import { canBrowse } from "#test/support/chromium.ts"
import { type Stage, stage, visit } from "#test/support/dashboard.ts"
import * as Http from "#test/support/http.ts"

describe.skipIf(!canBrowse())("the page of key holders", () => {
  let on: Stage
  beforeAll(async () => {
    on = await stage()
    await on.gateway.operator.createConnection({ provider: "sim", apiKey: "any", name: "practice" })
  }, 300_000)
  afterAll(() => on?.close())

  const come = async () => {
    const seen = await visit(on.browser, on.gateway.url, { signedIn: false })
    onTestFinished(async () => {
      await seen.close()
      expect(seen.troubles()).toEqual([])
    })
    await seen.go("/me")
    await seen.page.getByRole("heading", { level: 1, name: "Own use" }).waitFor()
    return seen.page
  }

  it("shows the use, the budget and the models of a pasted key, and forgets it", async () => {
    const { id, key } = await on.gateway.operator.createKey("<b>robot</b>", { allowUsageCommand: true })
    await on.gateway.operator.call("POST", "/api/usage/budget", { apiKeyId: id, dailyLimitUsd: 5 })
    await Http.send(on.gateway.url, { path: "/v1/chat/completions", headers: { authorization: `Bearer ${key}` }, body: { model: "sim/echo", messages: [{ role: "user", content: "Hello" }] } })
    const page = await come()
    await page.getByLabel("API key").fill(key)
    await page.getByRole("button", { name: "Show" }).click()
    await page.getByRole("heading", { level: 1, name: "<b>robot</b>" }).waitFor()
    await page.getByRole("table", { name: "Limits" }).getByText("$5.00").waitFor()
    await page.getByRole("list", { name: "Models" }).getByText("sim/echo", { exact: true }).waitFor()
    expect(page.url()).not.toContain(key)
    expect(await page.evaluate("JSON.stringify([localStorage.length, sessionStorage.length, document.cookie])")).toBe("[0,0,\"\"]")
    await page.getByRole("button", { name: "Forget the key" }).click()
    await page.getByRole("table", { name: "Limits" }).waitFor({ state: "detached" })
    expect(await page.getByLabel("API key").inputValue()).toBe("")
  })

  it("says of a wrong key that it is wrong, and of one that may not read its use who can allow it", async () => {
    const page = await come()
    await page.getByLabel("API key").fill("sk-nobody")
    await page.getByRole("button", { name: "Show" }).click()
    await page.getByText("Nothing can be shown for this key").waitFor()
    const { key } = await on.gateway.operator.createKey("quiet")
    await page.getByLabel("API key").fill(key)
    await page.getByRole("button", { name: "Show" }).click()
    await page.getByText(/allowUsageCommand is off\. Ask the operator/).waitFor()
    await page.getByRole("list", { name: "Models" }).getByText("sim/echo", { exact: true }).waitFor()
  })
})
