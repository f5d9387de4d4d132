/** Names, models and answers that would be markup, a page of another origin, and what a browser keeps. */
import * as http from "node:http"
import type { AddressInfo } from "node:net"
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest"
import { canBrowse } from "#test/support/chromium.ts"
import { type Stage, stage, visit } from "#test/support/dashboard.ts"
import { eventually } from "#test/support/operator.ts"
import * as Http from "#test/support/http.ts"
import { seed } from "./seed.ts"

const canary = "\"'><img src=x onerror=document.title='owned'><script>document.title='owned'</script>"

describe.skipIf(!canBrowse())("the dashboard among strangers", () => {
  let on: Stage
  let request = ""
  beforeAll(async () => {
    on = await stage()
    request = await seed(on.gateway, canary)
    const { operator } = on.gateway
    const { combos } = await operator.call<{ combos: ReadonlyArray<{ id: string }> }>("GET", "/api/combos")
    await operator.call("POST", "/api/model-combo-mappings", { pattern: `pattern${canary}`, comboId: combos[0]?.id, description: canary })
    await operator.call("POST", "/api/settings/model-aliases", { from: `alias${canary}`, to: "sim/echo" })
    await operator.call("POST", "/api/cli/tokens", { name: `token${canary}`, scope: "read" })
    await operator.call("POST", "/api/mcp/servers", { name: "hostile", description: `server${canary}`, transport: "http", url: "https://93.184.216.34/mcp" })
    const key = await operator.createKey(`bounded${canary}`, { modelAccessMode: "restricted", allowedModels: ["sim/*", `rule${canary}`] })
    await Http.send(on.gateway.url, { path: "/v1/chat/completions", headers: { authorization: `Bearer ${key.key}`, "user-agent": `agent${canary}` }, body: { model: "sim/echo", messages: [{ role: "user", content: "Hello" }] } })
  }, 300_000)
  afterAll(() => on?.close())

  it("shows markup in every name as text: nothing runs, nothing breaks the policy, no request leaves the origin", async () => {
    const { close, go, page, troubles } = await visit(on.browser, on.gateway.url)
    onTestFinished(close)
    for (const screen of ["/", "/providers", "/models", "/combos", "/keys", "/requests", `/requests/${request}`, `/requests?open=${request}`, "/usage?by=key", "/resilience", "/settings", "/nodes", "/webhooks", "/audit", "/limits", "/cache", "/leases", "/work", "/search", "/agents", "/evals", "/now", "/guardrails", "/proxies", "/backups", "/compression", "/prompts", "/addresses", "/memory", "/skills", "/plugins", "/tasks", "/rules", "/sync", "/tunnels", `/limits?search=${encodeURIComponent(canary)}`, `/work?search=${encodeURIComponent(canary)}`, `/requests?search=${encodeURIComponent(canary)}`, `/requests/${encodeURIComponent(canary)}`]) {
      await go(screen)
      await eventually(() => page.locator("[aria-busy=true]").count(), (busy) => busy === 0, "the end of loading")
      expect([screen, await page.title()]).not.toEqual([screen, "owned"])
      expect([screen, await page.locator("img[src=x], main script").count()]).toEqual([screen, 0])
    }
    await go("/keys")
    await page.getByText(`app${canary}`).first().waitFor()
    for (const [screen, text] of [["/limits", `app${canary}`], ["/leases", `holder${canary}`], ["/work", `batch${canary}`], ["/work", `file${canary}.jsonl`], ["/evals", `suite${canary}`], ["/agents", `Hello${canary}`], ["/agents", `server${canary}`], ["/combos", `pattern${canary}`], ["/models", `alias${canary}`], ["/keys", `token${canary}`], ["/keys", `rule${canary}`], ["/proxies", `office${canary}`], ["/proxies", `list${canary}`], ["/providers", `Lab${canary}`], ["/addresses", `reason${canary}`], ["/memory", `note${canary}`], ["/skills", `skill${canary}`], ["/sync", `site${canary}`], ["/combos", `chain${canary}`]] as const) {
      await go(screen)
      await page.getByText(text).first().waitFor()
    }
    await go("/play")
    await page.getByLabel("Prompt", { exact: true }).fill(canary)
    await page.getByRole("button", { name: "Send" }).click()
    await page.getByRole("log", { name: "Answer" }).getByText(canary).waitFor()
    expect(await page.title()).toBe("Playground · Gateway")
    for (const [screen, label, text] of [["/prompts", "Before all other instructions", `before${canary}`], ["/settings", "Who may sign in", `subject${canary}`]] as const) {
      await go(screen)
      await expect.poll(() => page.getByLabel(label).inputValue()).toBe(text)
    }
    await go("/prompts")
    await page.getByLabel("Behind the instructions").fill(`later${canary}`)
    await page.getByRole("table", { name: "Changes" }).getByText(`later${canary}`).waitFor()
    await go("/compression")
    await page.getByLabel("Prompt", { exact: true }).fill(`Could you please explain this to me? ${canary} Could you please explain this to me?`)
    await page.getByRole("button", { name: "Show what would be sent" }).click()
    await page.getByRole("status").filter({ hasText: "saved" }).waitFor()
    expect([await page.title(), await page.locator("img[src=x], main script").count()]).toEqual(["Compression · Gateway", 0])
    await go("/backups")
    await page.getByLabel("Archive to bring in").setInputFiles({ name: `archive${canary.replaceAll("/", "")}.gwb`, mimeType: "application/octet-stream", buffer: Buffer.from(canary) })
    await page.getByRole("dialog").getByLabel("Type “import” to go on").fill("import")
    await page.getByRole("dialog").getByRole("button", { name: "Bring it in" }).click()
    await page.getByRole("dialog").getByRole("alert").getByText("The archive was not brought in").waitFor()
    expect([await page.title(), await page.locator("img[src=x], main script").count()]).toEqual(["Backups · Gateway", 0])
    await go("/guardrails")
    await page.getByLabel("What a client might send").fill(canary)
    await page.getByRole("button", { name: "Try it" }).click()
    await page.getByLabel("As it would go upstream", { exact: true }).getByText(canary).waitFor()
    expect([await page.title(), await page.locator("img[src=x], main script").count()]).toEqual(["Guardrails · Gateway", 0])
    expect(troubles()).toEqual([])
  }, 180_000)

  it("shows markup in windows, in what a client says of itself, and in streams side by side as text", async () => {
    const { close, go, page, troubles } = await visit(on.browser, on.gateway.url)
    onTestFinished(close)
    const dialog = page.getByRole("dialog")
    for (const [screen, button] of [["/providers", `Edit practice${canary}`], ["/providers", `Delete practice${canary}`], ["/combos", "Edit reliable"], ["/combos", "Dry run of reliable"], ["/webhooks", `Edit receiver${canary}`], ["/webhooks", `Deliveries to receiver${canary}`], ["/evals", `Edit suite${canary}`], ["/evals", `Run suite${canary}`], ["/keys", `Budget of app${canary}`], ["/agents", "Change hostile"], ["/proxies", `Edit office${canary}`], ["/proxies", `Delete office${canary}`], ["/proxies", "Assign a proxy"]] as const) {
      await go(screen)
      await page.getByRole("button", { name: button, exact: true }).first().click()
      await dialog.waitFor()
      await eventually(() => page.locator("[aria-busy=true]").count(), (busy) => busy === 0, "the end of loading")
      expect([button, await page.title(), await page.locator("img[src=x], main script").count()]).toEqual([button, expect.not.stringContaining("owned"), 0])
    }
    await go("/keys")
    await page.getByRole("button", { name: `Edit bounded${canary}`, exact: true }).click()
    await dialog.getByText("Clients that were seen with it").click()
    await dialog.getByText(`agent${canary}`).waitFor()
    await go("/play")
    await page.getByLabel("Prompt", { exact: true }).fill(canary)
    await page.getByLabel("Ask for").selectOption({ label: "Six formats side by side" })
    await page.getByRole("button", { name: "Send" }).click()
    await expect.poll(() => page.getByRole("log").getByText(canary).count()).toBe(6)
    expect([await page.title(), await page.locator("img[src=x], main script").count()]).toEqual(["Playground · Gateway", 0])
    expect(troubles()).toEqual([])
  }, 180_000)

  it("runs no script as text even if one of its own files tried to", async () => {
    const { close, go, page } = await visit(on.browser, on.gateway.url)
    onTestFinished(close)
    await go("/")
    const blocked = await page.evaluate<string>(`(() => { try { document.body.innerHTML = "<b>x</b>"; return "written" } catch (error) { return error.name } })()`)
    expect(blocked).toBe("TypeError")
  })

  it("is framed by no other page", async () => {
    const server = http.createServer((_, response) => response.writeHead(200, { "content-type": "text/html" }).end(`<!doctype html><iframe src="${on.gateway.url}/dashboard"></iframe>`))
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
    const context = await on.browser.newContext()
    onTestFinished(async () => {
      await context.close()
      server.close()
      server.closeAllConnections()
    })
    const page = await context.newPage()
    const refused = page.waitForEvent("console", (message) => message.text().includes("frame-ancestors"))
    await page.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`)
    await refused
  })

  it("keeps nothing in the browser but the theme: no key, no password, no token", async () => {
    const { close, go, page } = await visit(on.browser, on.gateway.url)
    onTestFinished(close)
    await go("/keys")
    expect(await page.evaluate("JSON.stringify([localStorage.length, Object.keys(sessionStorage), document.cookie])")).toBe("[0,[],\"\"]")
  })
})
