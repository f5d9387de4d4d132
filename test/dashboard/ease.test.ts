/** What makes work easy and safe on every screen: undo, receipts, keys, privacy, two operators at once, sign-ins, long tables. */
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest"
import { canBrowse } from "#test/support/chromium.ts"
import { comerOf, type Stage, stage, visit } from "#test/support/dashboard.ts"
import { eventually } from "#test/support/operator.ts"

const LONG = 10_000
/** Bytes that 10,000 rows may add to the page. */
const HEAP_BYTES = 20_000_000

describe.skipIf(!canBrowse())("the dashboard's ease", () => {
  let on: Stage
  beforeAll(async () => {
    on = await stage({ GITHUB_OAUTH_CLIENT_ID: "client-of-the-operator" })
  }, 300_000)
  afterAll(() => on?.close())

  const come = comerOf(() => on)
  const api = <A>(method: string, path: string, body?: unknown) => on.gateway.operator.call<A>(method, path, body)
  const settings = () => api<Readonly<Record<string, unknown>>>("GET", "/api/settings")

  it("a change says on how many nodes it acts, and a press takes it back", async () => {
    const page = await come("/settings")
    const before = (await settings())["wsAuth"]
    await page.getByRole("switch", { name: "WebSockets need a key" }).click()
    const note = page.getByRole("status", { name: "Notes" }).getByRole("listitem").filter({ hasText: "The setting is changed." })
    await note.getByText(/Applied on 1 of 1 node in \d+ ms\./).waitFor()
    expect((await settings())["wsAuth"]).toBe(!before)
    await note.getByRole("button", { name: "Undo" }).click()
    await page.getByText("Taken back: The setting is changed.").waitFor()
    expect((await settings())["wsAuth"]).toBe(before)
    const rows = page.getByRole("listitem").filter({ has: page.getByText("REQUIRE_API_KEY", { exact: true }) })
    await page.getByRole("searchbox", { name: "Find" }).fill("REQUIRE_API_KEY")
    await rows.getByRole("switch").click()
    await page.getByText("REQUIRE_API_KEY is true.").waitFor()
    await page.getByRole("status", { name: "Notes" }).getByRole("listitem").filter({ hasText: "REQUIRE_API_KEY is true." }).getByRole("button", { name: "Undo" }).click()
    await rows.getByText("default", { exact: false }).waitFor()
  })

  it("the audit takes back flags and settings whose value before is known, and nothing else", async () => {
    await api("PATCH", "/api/settings", { maxBodySizeMb: 77 })
    await api("PUT", "/api/settings/cache-config", { semanticCacheMaxSize: 321 })
    await api("POST", "/api/keys", { name: "audited" })
    const page = await come("/audit")
    const rows = page.getByRole("table", { name: "Audit" }).getByRole("row")
    expect(await rows.filter({ hasText: "key.created" }).first().getByRole("button", { name: /Take back/ }).count()).toBe(0)
    expect(await rows.filter({ hasText: "key.created" }).first().getByRole("link").getAttribute("href")).toBe("/dashboard/keys")
    await rows.filter({ hasText: "settings.updated" }).first().getByRole("button", { name: /^Take back/ }).click()
    const dialog = page.getByRole("dialog")
    await dialog.getByText(/semanticCacheMaxSize back to \d+/).waitFor()
    await dialog.getByRole("button", { name: "Take it back" }).click()
    await page.getByText(/^Taken back: semanticCacheMaxSize/).waitFor()
    expect((await api<{ semanticCacheMaxSize: number }>("GET", "/api/settings/cache-config")).semanticCacheMaxSize).not.toBe(321)
    await page.getByLabel("Action").fill("settings.updated")
    await rows.filter({ hasText: "maxBodySizeMb" }).first().getByRole("button", { name: /^Take back/ }).click()
    await dialog.getByText(/maxBodySizeMb back to/).waitFor()
    await dialog.getByRole("button", { name: "Take it back" }).click()
    await eventually(settings, ({ maxBodySizeMb }) => maxBodySizeMb !== 77, "the setting of before")
  })

  it("keys: ? lists them, y copies the screen as curl, Shift P blurs, and single keys can be switched off for good", async () => {
    const page = await come("/providers")
    await page.keyboard.press("?")
    const dialog = page.getByRole("dialog")
    await dialog.getByText("copy what the screen reads as curl").waitFor()
    await page.keyboard.press("Escape")
    await page.keyboard.press("y")
    expect(await dialog.getByLabel("curl lines", { exact: true }).innerText()).toContain(`curl -b cookies.txt '${on.gateway.url}/api/providers'`)
    await page.keyboard.press("Escape")
    await page.keyboard.press("Shift+P")
    await page.getByText("Names, prompts and money are blurred.", { exact: false }).waitFor()
    expect(await page.evaluate("getComputedStyle(document.querySelector('main strong, main input')).filter")).toContain("blur")
    await page.keyboard.press("Shift+P")
    await page.getByText("Everything is shown again.").waitFor()
    await page.keyboard.press("g")
    await page.keyboard.press("l")
    await page.getByRole("heading", { level: 1, name: "Limits" }).waitFor()
    await page.getByRole("button", { name: "Keys", exact: true }).click()
    await dialog.getByLabel(/^Single keys act/).uncheck()
    await page.keyboard.press("Escape")
    await page.reload()
    await page.getByRole("heading", { level: 1, name: "Limits" }).waitFor()
    await page.keyboard.press("g")
    await page.keyboard.press("p")
    await page.keyboard.press("?")
    expect([await dialog.count(), await page.getByRole("heading", { level: 1 }).innerText()]).toEqual([0, "Limits"])
    await page.keyboard.press("Control+k")
    await dialog.getByRole("combobox").fill("cach")
    await page.keyboard.press("Enter")
    await page.getByRole("heading", { level: 1, name: "Cache" }).waitFor()
  })

  it("two operators at once: theirs and yours stand side by side before one of them is lost", async () => {
    const id = await on.gateway.operator.createConnection({ provider: "sim", apiKey: "any", name: "shared" })
    const page = await come("/providers")
    await page.getByRole("button", { name: "Edit shared" }).click()
    const dialog = page.getByRole("dialog")
    await dialog.getByLabel("Priority").fill("5")
    await dialog.getByLabel("Default model").fill("sim/echo")
    await on.gateway.operator.changeConnection(id, { priority: 9 })
    await dialog.getByRole("button", { name: "Save" }).click()
    await dialog.getByRole("table", { name: "Theirs and yours" }).getByRole("row", { name: "priority 9 5" }).waitFor()
    const stored = async () => (await api<{ connection: { priority: number; defaultModel: string | null } }>("GET", `/api/providers/${id}`)).connection
    expect(await stored()).toMatchObject({ priority: 9, defaultModel: null })
    await dialog.getByRole("button", { name: "Save mine" }).click()
    await dialog.waitFor({ state: "detached" })
    expect(await stored()).toMatchObject({ priority: 5 })
    // The own list had not heard of it, and what only one of them touched never asks.
    await page.getByRole("button", { name: "Edit shared" }).click()
    await dialog.getByLabel("Name").fill("renamed")
    await on.gateway.operator.changeConnection(id, { priority: 4 })
    await dialog.getByRole("button", { name: "Save" }).click()
    await dialog.waitFor({ state: "detached" })
    expect(await stored()).toMatchObject({ name: "renamed", priority: 4 })
    await on.gateway.operator.removeConnection(id)
  })

  it("a credential that is stored is tested at once, and the answer stands in a note", async () => {
    const page = await come("/providers")
    await page.getByRole("button", { name: "Add a connection" }).click()
    const dialog = page.getByRole("dialog")
    await dialog.getByLabel("Provider").fill("sim")
    await dialog.getByLabel("Name").fill("tested")
    await dialog.getByRole("button", { name: "Add the connection" }).click()
    await page.getByText("tested is stored, and works.").waitFor()
    await page.getByRole("row", { name: /tested/ }).getByText("Works").waitFor()
    await page.getByRole("switch", { name: "tested is used" }).click()
    await page.getByText("tested is left out.").waitFor()
    await page.getByRole("status", { name: "Notes" }).getByRole("listitem").filter({ hasText: "tested is left out." }).getByRole("button", { name: "Undo" }).click()
    await page.getByRole("row", { name: /tested/ }).getByText("Works").waitFor()
  })

  it("signing in: what is missing is named; a client opens the provider's page, waits for its answer, and takes tokens made elsewhere", async () => {
    const page = await come("/providers")
    await page.getByRole("button", { name: "Add a connection" }).click()
    const dialog = page.getByRole("dialog")
    await dialog.getByLabel("What", { exact: true }).selectOption({ label: "An account: sign in" })
    await dialog.getByLabel("Provider").selectOption("huggingface")
    await dialog.getByText("HUGGINGFACE_OAUTH_CLIENT_ID").waitFor()
    await dialog.getByLabel("redirect address", { exact: true }).getByText("/api/oauth/huggingface/callback").waitFor()
    await dialog.getByLabel("Provider").selectOption("github-models")
    await dialog.getByRole("button", { name: "Begin" }).click()
    const link = dialog.getByRole("link", { name: "Open the provider's page" })
    const address = new URL(await link.getAttribute("href") ?? "")
    expect([address.host, address.searchParams.get("client_id"), address.searchParams.get("code_challenge_method")]).toEqual(["github.com", "client-of-the-operator", "S256"])
    // The provider sends the browser back to the gateway, which stores a connection: the window sees it and closes.
    await api("POST", "/api/oauth/github-models/import", { accessToken: "gho_canary_of_the_callback", name: "came back" })
    await dialog.waitFor({ state: "detached" })
    await page.getByRole("row", { name: /came back/ }).getByRole("button", { name: "Sign in again for came back" }).click()
    await dialog.getByLabel("How").selectOption({ label: "With tokens made elsewhere" })
    await dialog.getByLabel("Access token").fill("not a token")
    await dialog.getByRole("button", { name: "Store the tokens" }).click()
    await dialog.getByRole("alert").getByText("The tokens were not stored").waitFor()
    await dialog.getByLabel("Name of the connection").fill("by hand")
    await dialog.getByLabel("Access token").fill("gho_canary_by_hand")
    await dialog.getByRole("button", { name: "Store the tokens" }).click()
    await page.getByRole("row", { name: /by hand/ }).waitFor()
    // The list hears of the connection by an event, maybe before the window has its answer and closes.
    await dialog.waitFor({ state: "detached" })
    expect(await page.content()).not.toContain("gho_canary")
  })

  it("signing in on another device: the code is shown until the provider says yes", async () => {
    const page = await come("/providers")
    let asked = 0
    const until = new Date(Date.now() + 600_000).toISOString()
    // The vendor's server is not on this machine: the gateway's two answers are the only ones that are not its own.
    await page.route("**/api/oauth/github-models/start", (route) => route.fulfill({
      json: { configured: true, flow: "device-code", state: "state-of-the-device", userCode: "ABCD-1234", verificationUri: "https://github.com/login/device", verificationUriComplete: null, intervalMs: 200, expiresAt: until }
    }))
    await page.route("**/api/oauth/github-models/poll", (route) => route.fulfill({
      json: ++asked < 3 ? { status: "pending", intervalMs: 200, expiresAt: until } : { status: "complete", success: true, provider: "github-models", connectionId: "x" }
    }))
    await page.getByRole("button", { name: "Add a connection" }).click()
    const dialog = page.getByRole("dialog")
    await dialog.getByLabel("What", { exact: true }).selectOption({ label: "An account: sign in" })
    await dialog.getByLabel("Provider").selectOption("github-models")
    await dialog.getByLabel("How").selectOption({ label: "With a code on another device" })
    await dialog.getByRole("button", { name: "Begin" }).click()
    await dialog.getByText("ABCD-1234").waitFor()
    await dialog.waitFor({ state: "detached" })
    expect(asked).toBe(3)
  })

  it("a token is renewed by a press: what the gateway met is told beside the connection, and when it is done, too", async () => {
    const expiresAt = new Date(Date.now() + 3_600_000).toISOString()
    const { connectionId } = await api<{ connectionId: string }>("POST", "/api/oauth/github-models/import", { accessToken: "gho_canary_to_renew", refreshToken: "ghr_canary_to_renew", expiresAt, name: "to renew" })
    const page = await come("/providers")
    const row = page.getByRole("row", { name: /to renew/ })
    await row.getByText("its token ends in").waitFor()
    // The vendor's server cannot be reached from here: that is what the gateway itself answers.
    await row.getByRole("button", { name: "Renew the token of to renew" }).click()
    await row.getByRole("status").getByText(/\S/).waitFor()
    let asked = 0
    await page.route(`**/api/providers/${connectionId}/refresh`, async (route) => {
      asked++
      // The vendor's answer, stored as the gateway stores it.
      await api("POST", "/api/oauth/github-models/import", { accessToken: "gho_canary_renewed", refreshToken: "ghr_canary_renewed", expiresAt: "2099-01-01T00:00:00.000Z", connectionId })
      await route.fulfill({ json: { success: true, expiresAt: "2099-01-01T00:00:00.000Z" } })
    })
    await row.getByRole("button", { name: "Renew the token of to renew" }).click()
    await page.getByText("The token of to renew is renewed.").waitFor()
    await row.getByText("its token ends in").waitFor({ state: "detached" })
    expect(asked).toBe(1)
    expect(await page.content()).not.toContain("canary")
  })

  it("ten thousand rows are a table of as many, of which a screenful is drawn, within the heap's budget", async () => {
    const seen = await visit(on.browser, on.gateway.url)
    onTestFinished(seen.close)
    const { page } = seen
    const data = Array.from({ length: LONG }, (_, index) => ({
      id: `file-${String(index).padStart(24, "0")}`, object: "file", bytes: index, created_at: 1_790_000_000 - index, expires_at: null, filename: `file number ${index}.jsonl`, purpose: "user_data", status: "processed", status_details: null
    }))
    const session = await page.context().newCDPSession(page)
    const heap = async (): Promise<number> => {
      await session.send("HeapProfiler.collectGarbage")
      return (await session.send("Runtime.getHeapUsage")).usedSize
    }
    await seen.go("/work")
    await page.getByText("No file yet").waitFor()
    const before = await heap()
    await page.route("**/api/files?*", (route) => route.fulfill({ json: { object: "list", data, first_id: data[0]?.id, last_id: data.at(-1)?.id, has_more: false } }))
    const table = page.getByRole("table", { name: "Files" })
    await table.getByText("file number 0.jsonl").waitFor()
    expect(await table.getAttribute("aria-rowcount")).toBe(String(LONG + 1))
    expect(await table.getByRole("row").count()).toBeLessThan(120)
    await page.getByRole("group", { name: "Files, scrolls" }).evaluate((box) => {
      box.scrollTop = box.scrollHeight
    })
    await table.getByText(`file number ${LONG - 1}.jsonl`).waitFor()
    expect(await table.getByRole("row").count()).toBeLessThan(120)
    expect(await heap() - before).toBeLessThan(HEAP_BYTES)
    await page.getByRole("searchbox", { name: "Find" }).fill("number 7777")
    await table.getByText("file number 7777.jsonl").waitFor()
  })
})
