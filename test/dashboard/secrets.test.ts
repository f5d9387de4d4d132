/** Secrets that are stored: none of them comes back to a page, whatever screen or window is open. And faults: nothing typed is lost. */
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest"
import { canBrowse } from "#test/support/chromium.ts"
import { comerOf, type Stage, stage, visit } from "#test/support/dashboard.ts"
import { seed } from "./seed.ts"

const screens = [
  "/", "/now", "/requests", "/usage", "/resilience", "/providers", "/models", "/combos", "/cache", "/keys", "/limits", "/leases", "/webhooks", "/agents", "/evals", "/work", "/search", "/play", "/settings", "/nodes", "/audit", "/welcome", "/guardrails", "/proxies", "/backups", "/compression", "/prompts", "/addresses", "/memory", "/skills", "/plugins", "/tasks", "/rules", "/sync", "/tunnels"
]

describe.skipIf(!canBrowse())("the dashboard and what must stay", () => {
  let on: Stage
  let request = ""
  beforeAll(async () => {
    on = await stage()
    request = await seed(on.gateway)
  }, 300_000)
  afterAll(() => on?.close())

  const come = comerOf(() => on)
  const api = <A>(method: string, path: string, body?: unknown) => on.gateway.operator.call<A>(method, path, body)

  it("no stored secret is in a page, an answer, an address, a line of the console or the storage, on any screen and in any window", async () => {
    const connection = await on.gateway.operator.createConnection({ provider: "sim", apiKey: "canary-of-a-credential-4711", name: "sealed" })
    await api("POST", "/api/oauth/github-models/import", { accessToken: "gho_canary_of_a_token_4711", name: "signed in" })
    const key = await on.gateway.operator.createKey("sealed key")
    const hook = await api<{ webhook: { secret: string } }>("POST", "/api/webhooks", { url: "https://93.184.216.34/hook", description: "sealed hook", secret: "canary-of-a-webhook-4711", events: ["request.failed"] })
    await api("POST", "/api/mcp/servers", { name: "sealed", description: "sealed server", transport: "http", url: "https://93.184.216.34/mcp?key=canary-of-an-address-4711", headers: { authorization: "Bearer canary-of-a-header-4711" } })
    const { token } = await api<{ token: string }>("POST", "/api/cli/tokens", { name: "sealed token", scope: "read" })
    await api("POST", "/api/v1/management/proxies", { name: "sealed proxy", host: "proxy.example", port: 3128, username: "canary-of-a-user-4711", password: "canary-of-a-password-4711" })
    await api("PATCH", "/api/settings", { oidcClientSecret: "canary-of-a-client-4711" })
    const sync = await api<{ token: string }>("POST", "/api/sync/tokens", { name: "sealed site" })
    const secrets = [sync.token, "canary-of-a-user-4711", "canary-of-a-password-4711", "canary-of-a-client-4711", "canary-of-a-credential-4711", "gho_canary_of_a_token_4711", key.key, hook.webhook.secret, "canary-of-an-address-4711", "canary-of-a-header-4711", token]
    const { close, go, page, troubles } = await visit(on.browser, on.gateway.url)
    onTestFinished(close)
    const said: Array<string> = []
    page.on("console", (message) => said.push(message.text()))
    page.on("response", (reply) => {
      if (reply.url().includes("/api/")) void reply.text().then((text) => said.push(`${reply.url()} ${text}`), () => undefined)
    })
    const look = async (place: string): Promise<void> => {
      await expect.poll(() => page.locator("[aria-busy=true]").count()).toBe(0)
      const stored = await page.evaluate<string>("JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie])")
      const fields = await page.locator("input, textarea").evaluateAll((all) => all.map((each) => (each as unknown as { value: string }).value).join("\n"))
      const everything = [await page.content(), fields, page.url(), stored, ...said].join("\n")
      expect([place, secrets.filter((secret) => everything.includes(secret))]).toEqual([place, []])
    }
    for (const screen of [...screens, `/requests/${request}`, `/requests?open=${request}`]) {
      await go(screen)
      await look(screen)
    }
    for (const [screen, button] of [["/providers", "Edit sealed"], ["/providers", "Edit signed in"], ["/keys", "Edit sealed key"], ["/webhooks", "Edit sealed hook"], ["/webhooks", "Deliveries to sealed hook"], ["/agents", "Change sealed"], ["/proxies", "Edit sealed proxy"]] as const) {
      await go(screen)
      await page.getByRole("button", { name: button, exact: true }).click()
      await page.getByRole("dialog").waitFor()
      await look(button)
    }
    expect(troubles()).toEqual([])
    await on.gateway.operator.removeConnection(connection)
  }, 300_000)

  it("a save that meets a lost gateway says so, keeps the form, and goes through once the gateway is back", async () => {
    const page = await come("/keys")
    await page.getByRole("button", { name: "Make a key" }).first().click()
    const dialog = page.getByRole("dialog")
    await dialog.getByLabel("Name").fill("made after the fault")
    await page.route("**/api/**", (route) => route.abort())
    await dialog.getByRole("button", { name: "Make the key" }).click()
    await dialog.getByRole("alert").getByText("No key was made").waitFor()
    expect(await dialog.getByLabel("Name").inputValue()).toBe("made after the fault")
    await page.unroute("**/api/**")
    await dialog.getByRole("button", { name: "Make the key" }).click()
    await page.getByLabel("key", { exact: true }).waitFor()
    await page.getByRole("button", { name: "I have copied it" }).click()
    await page.getByRole("row", { name: /made after the fault/ }).waitFor()
  })

  it("a file that is too large is refused with the gateway's words, and the list stays", async () => {
    const page = await come("/work")
    await page.route("**/v1/files", (route) => route.fulfill({ status: 413, json: { error: { message: "The file is larger than 512 MB.", code: "too_large" }, requestId: "req_413" } }))
    await page.getByLabel("Files to upload").setInputFiles({ name: "large.jsonl", mimeType: "application/jsonl", buffer: Buffer.from("{}") })
    await page.getByRole("alert").getByText("The file is larger than 512 MB.").waitFor()
    await page.getByRole("table", { name: "Files" }).getByText("file.jsonl").first().waitFor()
  })
})
