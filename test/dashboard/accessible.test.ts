/** axe on every screen in both themes, with data and without, on a desk and on a phone; and text at 320 pixels. */
import * as fs from "node:fs"
import { createRequire } from "node:module"
import * as os from "node:os"
import * as path from "node:path"
import type { Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest"
import { canBrowse } from "#test/support/chromium.ts"
import { type Stage, stage, visit } from "#test/support/dashboard.ts"
import { eventually } from "#test/support/operator.ts"
import { seed } from "./seed.ts"

const axe = fs.readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8")
const tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]

const screens = ["/", "/welcome", "/requests", "/usage", "/resilience", "/providers", "/models", "/combos", "/keys", "/play", "/settings", "/nodes", "/webhooks", "/audit", "/limits", "/cache", "/leases", "/work", "/search", "/agents", "/evals", "/now", "/guardrails", "/proxies", "/backups", "/compression", "/prompts", "/addresses", "/memory", "/skills", "/plugins", "/tasks", "/rules", "/sync", "/tunnels"]

/** Records that are locked, and one that was refused. */
const file = `nodes: { declared: { type: openai-compatible, apiType: chat, baseUrl: "https://93.184.216.34/v1" } }
providers: { declared: { provider: declared, apiKey: sk-declared } }
combos: { declared: { models: [sim/echo] }, refused: { models: [{ kind: combo-ref, comboName: nowhere }] } }
keys: { declared: { key: sk-a-key-that-is-declared } }
flags: { ALLOW_API_KEY_REVEAL: true }
webhooks: { declared: { url: "https://93.184.216.34/hook", description: declared, enabled: false } }
`
const declared = path.join(fs.mkdtempSync(path.join(os.tmpdir(), "gateway-config-file-")), "gateway.yaml")

/** What axe finds, as one line each. The page's policy refuses scripts as text, so the debugger brings it in. */
const violations = async (page: Page): Promise<ReadonlyArray<string>> => {
  await page.evaluate(axe)
  const found = await page.evaluate<ReadonlyArray<{ readonly id: string; readonly help: string; readonly nodes: ReadonlyArray<{ readonly html: string; readonly failureSummary: string }> }>>(
    `axe.run(document, { runOnly: ${JSON.stringify(tags)} }).then(({ violations }) => violations)`
  )
  return found.flatMap(({ help, id, nodes }) => nodes.map(({ failureSummary, html }) => `${id}: ${help}: ${html.slice(0, 200)}: ${failureSummary.slice(0, 200)}`))
}

/** Nothing on the page loads any more. */
const settled = (page: Page) => eventually(() => page.locator("[aria-busy=true]").count(), (busy) => busy === 0, "the end of loading")

describe.skipIf(!canBrowse())("the dashboard for everybody", () => {
  let empty: Stage
  let full: Stage
  let request = ""
  beforeAll(async () => {
    empty = await stage()
    fs.writeFileSync(declared, file)
    full = await stage({ GATEWAY_CONFIG: declared })
    request = await seed(full.gateway)
  }, 300_000)
  afterAll(async () => {
    await empty?.close()
    await full?.close()
    fs.rmSync(path.dirname(declared), { recursive: true, force: true })
  })

  const faults = async (on: Stage, colorScheme: "light" | "dark", width: number, list: ReadonlyArray<string>) => {
    const { close, go, page } = await visit(on.browser, on.gateway.url, { colorScheme, viewport: { width, height: 900 } })
    onTestFinished(close)
    const all: Array<string> = []
    for (const screen of list) {
      await go(screen)
      await settled(page)
      all.push(...(await violations(page)).map((line) => `${screen} ${line}`))
    }
    return all
  }

  it.each(["light", "dark"] as const)("has no violation with data, %s", async (theme) => {
    expect(await faults(full, theme, 1280, [...screens, `/requests/${request}`, `/requests?open=${request}`, "/nowhere"])).toEqual([])
  }, 300_000)

  it("has no violation without data", async () => {
    expect(await faults(empty, "light", 1280, screens)).toEqual([])
  }, 300_000)

  it.each(["light", "dark"] as const)("has no violation while a fire drill runs, %s", async (colorScheme) => {
    const { drill } = await empty.gateway.operator.call<{ drill: { id: string } }>("POST", "/api/drills", { fault: "stall", seconds: 120 })
    onTestFinished(async () => void await empty.gateway.operator.raw("DELETE", `/api/drills/${drill.id}`))
    const { close, go, page } = await visit(empty.browser, empty.gateway.url, { colorScheme })
    onTestFinished(close)
    await go("/resilience")
    await page.getByRole("button", { name: "Stop the drill" }).waitFor()
    await settled(page)
    expect(await violations(page)).toEqual([])
  }, 300_000)

  it("has no violation on a phone, and nothing sticks out at 320 pixels", async () => {
    expect(await faults(full, "dark", 390, screens)).toEqual([])
    const { close, go, page } = await visit(full.browser, full.gateway.url, { viewport: { width: 320, height: 700 } })
    onTestFinished(close)
    for (const screen of screens) {
      await go(screen)
      await settled(page)
      expect([screen, await page.evaluate("document.documentElement.scrollWidth")]).toEqual([screen, 320])
    }
  }, 300_000)

  it("has no violation at its door and in its windows, and gives the focus back when one closes", async () => {
    const { close, go, page } = await visit(full.browser, full.gateway.url, { signedIn: false })
    onTestFinished(close)
    await go("/")
    await page.getByLabel("Password").waitFor()
    expect(await violations(page)).toEqual([])
    const inside = await visit(full.browser, full.gateway.url, { colorScheme: "dark" })
    onTestFinished(inside.close)
    for (const [screen, button] of [
      ["/providers", "Add a connection"], ["/providers", "Edit practice"], ["/providers", "Delete practice"], ["/providers", "Edit the server Lab"], ["/models?search=sim/echo", "Price of sim/echo"], ["/models?search=sim/echo", "How sim/echo is called"], ["/models", "Add a model"], ["/skills", "Write a page"], ["/combos", "New combo"], ["/combos", "Dry run of reliable"], ["/combos", "Edit reliable"], ["/combos", "Edit declared"], ["/keys", "Edit declared"], ["/providers", "Edit declared"], ["/webhooks", "New webhook"], ["/webhooks", "Deliveries to receiver"], ["/keys", "Make a key"], ["/keys", "Edit app"], ["/keys", "Budget of app"], ["/limits", "Limit of tokens"], ["/limits", "Change Tokens a day, at lab/model of app"], ["/cache", "Forget …"], ["/work", "New batch"], ["/work", "Look into file.jsonl"],
      ["/agents", "Give it a task"], ["/agents", "Call gateway_get_health"], ["/agents", "New MCP server"], ["/evals", "New suite"], ["/evals", "Run suite"], ["/proxies", "New proxy"], ["/proxies", "New list"], ["/proxies", "Edit office"], ["/proxies", "Delete office"], ["/proxies", "Assign a proxy"], ["/backups", "Remove old ones …"], ["/backups", "Remove: Calls and their kept bodies"], ["/addresses", "Ban an address"], ["/addresses", "Switch it on"],
      ["/memory", "Remember something"], ["/memory", "Edit note"], ["/skills", "Install a skill"], ["/skills", "Run skill@1.0.0"], ["/plugins", "Install a plugin"], ["/rules", "Add a rule: Values in any case"], ["/rules", "Edit rule 1 of Values in any case"], ["/sync", "Make a sync token"], ["/sync", "Revoke site"], ["/combos", "New fallback chain"],
      ["/", "Keys"], ["/", "Go to a screen or find a request"]
    ] as const) {
      await inside.go(screen)
      await inside.page.getByRole("button", { name: button, exact: true }).click()
      await inside.page.getByRole("dialog").waitFor()
      await settled(inside.page)
      expect([button, await violations(inside.page)]).toEqual([button, []])
      await inside.page.keyboard.press("Escape")
      await inside.page.getByRole("dialog").waitFor({ state: "detached" })
      expect([button, await inside.page.evaluate("document.activeElement.getAttribute('aria-label') ?? document.activeElement.querySelector('.word')?.textContent ?? document.activeElement.textContent")]).toEqual([button, button])
    }
  }, 300_000)

  it.each(["light", "dark"] as const)("has no violation when the session ended, the gateway is lost or a record does not exist, %s", async (colorScheme) => {
    const { close, go, page } = await visit(full.browser, full.gateway.url, { colorScheme })
    onTestFinished(close)
    const clean = async (state: string) => {
      await settled(page)
      expect([state, await violations(page)]).toEqual([state, []])
    }
    await go("/nowhere")
    await page.getByRole("heading", { name: "No such screen" }).waitFor()
    await clean("no such screen")
    await go("/requests/nobody")
    await page.getByRole("alert").first().waitFor()
    await clean("no such request")
    await go("/providers")
    await page.route("**/api/**", (route) => route.abort())
    await page.getByText("The gateway does not answer.").first().waitFor()
    await clean("the gateway is lost while a screen is open")
    await page.goto(`${full.gateway.url}/dashboard/keys`)
    await page.getByText("The gateway cannot be reached").waitFor()
    await clean("the gateway is lost at the start")
    await page.unroute("**/api/**")
    await go("/webhooks")
    await page.context().clearCookies()
    // The screen asks again every few seconds: a press could come after its dialog has opened.
    await page.getByRole("heading", { name: "Your session has ended" }).waitFor()
    await clean("the session has ended")
    await page.getByLabel("Password").fill("none of the kind")
    await page.getByRole("button", { name: "Sign in" }).click()
    await page.getByRole("alert").first().waitFor()
    await clean("the session has ended, and the password is wrong")
  }, 300_000)

  it.each([["light", 1280], ["dark", 390]] as const)("has no violation on the page of key holders, %s, %i wide", async (colorScheme, width) => {
    const { id, key } = await full.gateway.operator.createKey("holder", { allowUsageCommand: true })
    await full.gateway.operator.call("POST", "/api/usage/budget", { apiKeyId: id, dailyLimitUsd: 5 })
    const { key: quiet } = await full.gateway.operator.createKey("quiet")
    const { close, go, page } = await visit(full.browser, full.gateway.url, { signedIn: false, colorScheme, viewport: { width, height: 900 } })
    onTestFinished(close)
    await go("/me")
    await page.getByRole("heading", { level: 1, name: "Own use" }).waitFor()
    expect(await violations(page)).toEqual([])
    for (const [given, shown] of [["sk-nobody", page.getByRole("alert")], [key, page.getByRole("table", { name: "Limits" })], [quiet, page.getByText(/Ask the operator/)]] as const) {
      await page.getByLabel("API key").fill(given)
      await page.getByRole("button", { name: /^Show/ }).click()
      await shown.waitFor()
      expect(await violations(page)).toEqual([])
    }
  }, 300_000)

  it("is reached by keys: the first stop skips to the content, and the rail's links follow", async () => {
    const { close, go, page } = await visit(full.browser, full.gateway.url)
    onTestFinished(close)
    await go("/")
    await page.keyboard.press("Tab")
    expect(await page.evaluate("document.activeElement.textContent")).toBe("To the content")
    await page.keyboard.press("Enter")
    expect(await page.evaluate("document.activeElement.id")).toBe("main")
  })
})
