/** Each screen's main task, done as a person does it, over a real gateway whose simulator answers. */
import type { Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest"
import { canBrowse } from "#test/support/chromium.ts"
import { type Stage, stage, visit } from "#test/support/dashboard.ts"
import * as Http from "#test/support/http.ts"
import { eventually } from "#test/support/operator.ts"

describe.skipIf(!canBrowse())("the dashboard's screens", () => {
  let on: Stage
  beforeAll(async () => {
    on = await stage()
  }, 120_000)
  afterAll(() => on?.close())

  const come = async (screen: string) => {
    const seen = await visit(on.browser, on.gateway.url)
    onTestFinished(async () => {
      await seen.close()
      expect(seen.troubles()).toEqual([])
    })
    await seen.go(screen)
    return seen.page
  }
  const heading = (page: Page, name: string) => page.getByRole("heading", { level: 1, name }).waitFor()
  const api = <A>(method: string, path: string, body?: unknown) => on.gateway.operator.call<A>(method, path, body)
  const ask = (model: string, key = "") => Http.send(on.gateway.url, {
    path: "/v1/chat/completions", body: { model, messages: [{ role: "user", content: "Hello" }] }, ...(key === "" ? {} : { headers: { authorization: `Bearer ${key}` } })
  })

  it("first steps: a stream before any key exists, then a key for programs that is shown once and works", async () => {
    const page = await come("/")
    await page.getByRole("link", { name: "First steps" }).click()
    await heading(page, "First steps")
    await page.getByRole("button", { name: "Ask it" }).click()
    await page.getByRole("log", { name: "Answer of the simulator" }).getByText("What does this gateway do for me?").waitFor()
    await page.getByText(/^first token after/).waitFor()
    await page.getByLabel("Name of the key").fill("first program")
    await page.getByRole("button", { name: "Make the key" }).click()
    const key = await page.getByLabel("key", { exact: true }).innerText()
    expect((await ask("sim/echo", key)).status).toBe(200)
    await page.getByLabel("Use it with").selectOption({ label: "Claude Code" })
    expect(await page.getByLabel("Claude Code", { exact: true }).innerText()).toContain(`ANTHROPIC_AUTH_TOKEN=${key}`)
    await page.getByRole("link", { name: "Open the requests" }).click()
    await heading(page, "Requests")
    await page.getByRole("table", { name: "Requests" }).getByText("sim/echo").first().waitFor()
    // Once the screen is left the key is nowhere.
    expect(await page.content()).not.toContain(key)
    expect(page.url()).not.toContain(key)
  })

  it("providers: a key's vendor is recognised; a connection is added, tested, edited, switched off, found and deleted", async () => {
    const page = await come("/providers")
    await page.getByRole("button", { name: "Add a connection" }).click()
    await page.getByLabel("API key").fill("sk-ant-something")
    expect(await page.getByLabel("Provider").inputValue()).toBe("anthropic")
    await page.getByLabel("API key").fill("any")
    await page.getByLabel("Provider").fill("sim")
    await page.getByLabel("Name").fill("practice")
    await page.getByRole("button", { name: "Test the key" }).click()
    await page.getByText("Valid").waitFor()
    await page.getByRole("dialog").getByRole("button", { name: "Add the connection" }).click()
    const row = page.getByRole("row", { name: /practice/ })
    await row.getByRole("button", { name: "Test practice" }).click()
    await row.getByText("Works").waitFor()
    await row.getByRole("button", { name: "Edit practice" }).click()
    await page.getByLabel("Priority").fill("7")
    await page.getByRole("button", { name: "Save" }).click()
    await row.getByRole("cell", { name: "7", exact: true }).waitFor()
    const [stored] = (await api<{ connections: ReadonlyArray<{ name: string; priority: number; isActive: boolean }> }>("GET", "/api/providers")).connections
    expect(stored).toMatchObject({ name: "practice", priority: 7, isActive: true })
    await row.getByRole("switch", { name: "practice is used" }).click()
    await row.getByText("Off").waitFor()
    await page.getByRole("searchbox", { name: "Find" }).fill("nothing like it")
    await page.getByText("No connection has that name").waitFor()
    expect(new URL(page.url()).searchParams.get("search")).toBe("nothing like it")
    await page.getByRole("button", { name: "Show all" }).click()
    await row.getByRole("button", { name: "Delete practice" }).click()
    await page.getByRole("dialog").getByRole("button", { name: "Delete the connection" }).click()
    await page.getByText("No connection yet").waitFor()
  })

  it("providers: a refusal stands at its field, and the form stays", async () => {
    const page = await come("/providers")
    await page.getByRole("button", { name: "Add a connection" }).click()
    await page.getByLabel("What", { exact: true }).selectOption({ label: "A server of your own" })
    await page.getByLabel("Base URL").fill("http://127.0.0.1:9/v1")
    await page.getByLabel("Name").fill("Lab")
    await page.getByLabel("Prefix").fill("not a prefix!")
    await page.getByRole("button", { name: "Add the server" }).click()
    await page.getByRole("alert").waitFor()
    expect(await page.getByLabel("Prefix").getAttribute("aria-invalid")).toBe("true")
    await page.getByLabel("Prefix").fill("lab")
    await page.getByRole("button", { name: "Add the server" }).click()
    await page.getByRole("row", { name: /Lab/ }).waitFor()
  })

  it("playground: the answer streams in each of six formats, with frames, cost and decision", async () => {
    const page = await come("/play")
    for (const word of ["Chat completions", "Messages", "Responses", "Completions", "Generate content", "Local model server"]) {
      await page.getByLabel("Wire format").selectOption({ label: word })
      await page.getByLabel("Prompt", { exact: true }).fill(`Say ${word}`)
      await page.getByRole("button", { name: "Send" }).click()
      await page.getByRole("log", { name: "Answer" }).getByText(`Say ${word}`).waitFor()
      await page.getByText("Done", { exact: true }).waitFor()
      await page.getByRole("region", { name: "Cost and decision" }).getByText("1. sim/echo").waitFor()
      await page.getByText("Frames as they came").click()
      expect(await page.getByLabel("Frames", { exact: true }).innerText()).toContain("Say")
    }
    await page.getByRole("link", { name: "Open the request" }).click()
    await page.getByText("Answered by sim/echo at the first attempt.").waitFor()
  })

  it("playground: stopping cancels the request at the gateway; a refusal is shown as the gateway words it", async () => {
    const page = await come("/play")
    await page.getByLabel("Model or combo").fill("nobody/nothing")
    await page.getByRole("button", { name: "Send" }).click()
    await page.getByRole("alert").getByText(/nobody/).first().waitFor()
    await page.getByLabel("Model or combo").fill("sim/stall-3")
    await page.getByRole("button", { name: "Send" }).click()
    await page.getByText("Streaming", { exact: true }).waitFor()
    await eventually(() => on.gateway.operator.reconciliation(), ({ live }) => live === 1, "the running request")
    await page.getByRole("button", { name: "Stop" }).click()
    await page.getByText("Stopped", { exact: true }).waitFor()
    await eventually(() => on.gateway.operator.reconciliation(), ({ live }) => live === 0, "the end of the stopped request")
  })

  it("requests: filters stand in the address, a request that fell back tells so, and new ones arrive by themselves", async () => {
    await api("POST", "/api/combos", { name: "fallback", strategy: "priority", models: ["lab/small", "sim/echo"] })
    await ask("fallback")
    await on.gateway.operator.settled()
    const page = await come("/requests")
    await page.getByText("Live", { exact: true }).waitFor()
    await page.getByLabel("Status").selectOption({ label: "Error" })
    const table = page.getByRole("table", { name: "Requests" })
    await table.getByText("502").first().waitFor()
    expect(new URL(page.url()).searchParams.get("status")).toBe("error")
    await page.reload()
    await table.getByText("502").first().waitFor()
    expect(await table.getByText("200", { exact: true }).count()).toBe(0)
    await table.getByRole("row", { name: /fallback/ }).first().getByRole("link").click()
    await page.getByText(/^Answered by sim\/echo after lab\/small: /).waitFor()
    expect(await page.getByRole("list", { name: "Attempts" }).getByRole("listitem").count()).toBe(2)
    await page.getByRole("button", { name: "Find out" }).click()
    await page.getByRole("list", { name: "Targets" }).getByText("sim/echo").waitFor()
    await page.goBack()
    await page.getByRole("button", { name: "Clear filters" }).first().click()
    const before = await table.getByRole("row").count()
    await ask("sim/echo")
    await eventually(() => table.getByRole("row").count(), (rows) => rows > before, "a new row")
    const running = new AbortController()
    const stalled = fetch(`${on.gateway.url}/v1/chat/completions`, {
      method: "POST", headers: { "content-type": "application/json" }, signal: running.signal, body: JSON.stringify({ model: "sim/stall-3", stream: true, messages: [{ role: "user", content: "Wait" }] })
    })
    await page.getByRole("region", { name: "In flight (1)" }).getByText("sim/stall-3").waitFor()
    await stalled
    running.abort()
    await page.getByRole("region", { name: /^In flight/ }).waitFor({ state: "detached" })
  })

  it("combos: steps are ordered by keys alone, saved in that order, and tried without sending anything", async () => {
    const page = await come("/combos")
    await page.getByRole("button", { name: "New combo" }).click()
    const dialog = page.getByRole("dialog")
    await dialog.getByLabel("Name").fill("by keys")
    await dialog.getByRole("textbox", { name: "Step 1" }).or(dialog.getByRole("combobox", { name: "Step 1" })).fill("sim/echo")
    await dialog.getByRole("button", { name: "Add a step" }).press("Enter")
    const second = dialog.getByRole("combobox", { name: "Step 2" })
    await second.fill("lab/small")
    await second.press("Alt+ArrowUp")
    await dialog.getByText("lab/small is now step 1").waitFor({ state: "attached" })
    await dialog.getByRole("button", { name: "Save" }).press("Enter")
    await page.getByRole("region", { name: "by keys" }).waitFor()
    const stored = (await api<{ combos: ReadonlyArray<{ name: string; models: ReadonlyArray<{ model: string }> }> }>("GET", "/api/combos")).combos.find(({ name }) => name === "by keys")
    expect(stored?.models.map(({ model }) => model)).toEqual(["lab/small", "sim/echo"])
    const calls = (await on.gateway.operator.reconciliation()).started
    await page.getByRole("button", { name: "Dry run of by keys" }).click()
    await dialog.getByRole("list", { name: "Targets" }).getByText("sim/echo").waitFor()
    expect((await on.gateway.operator.reconciliation()).started).toBe(calls)
    await page.keyboard.press("Escape")
    await dialog.waitFor({ state: "detached" })
  })

  it("combos: a change of the name keeps the fields that the form does not show", async () => {
    const { id } = await api<{ id: string }>("POST", "/api/combos", { name: "rich", strategy: "priority", models: [{ kind: "model", model: "sim/echo", label: "kept", tags: ["a"], prompt: "be kind" }], config: { maxRetries: 3 } })
    const page = await come("/combos")
    await page.getByRole("button", { name: "Edit rich" }).click()
    await page.getByRole("dialog").getByLabel("Name").fill("richer")
    await page.getByRole("button", { name: "Save" }).click()
    await page.getByRole("region", { name: "richer" }).waitFor()
    expect(await api("GET", `/api/combos/${id}`)).toMatchObject({ name: "richer", config: { maxRetries: 3 }, models: [{ label: "kept", tags: ["a"], prompt: "be kind" }] })
  })

  it("keys: made, shown once, bounded, given a budget that its spending fills, renewed and deleted", async () => {
    const page = await come("/keys")
    await page.getByRole("button", { name: "Make a key" }).first().click()
    await page.getByRole("dialog").getByLabel("Name").fill("robot")
    await page.getByRole("dialog").getByRole("button", { name: "Make the key" }).click()
    const value = await page.getByLabel("key", { exact: true }).innerText()
    await page.getByRole("button", { name: "I have copied it" }).click()
    const row = page.getByRole("row", { name: /robot/ })
    await row.waitFor()
    expect(await page.content()).not.toContain(value)
    await row.getByRole("button", { name: "Edit robot" }).click()
    await page.getByLabel("Only the models below").check()
    await page.getByLabel("Allowed models").fill("sim/*")
    await page.getByRole("button", { name: "Save" }).click()
    await row.getByText("May ask sim/*").waitFor()
    expect((await ask("sim/echo", value)).status).toBe(200)
    expect((await ask("lab/small", value)).status).toBe(403)
    await row.getByRole("button", { name: "Budget of robot" }).click()
    await page.getByLabel("Dollars a day").fill("0.001")
    await page.getByRole("button", { name: "Save" }).click()
    await row.getByRole("meter", { name: "Budget of robot" }).waitFor()
    await row.getByRole("button", { name: "New value for robot" }).click()
    await page.getByRole("button", { name: "Make a new value" }).click()
    const renewed = await page.getByLabel("key", { exact: true }).innerText()
    expect([(await ask("sim/echo", value)).status, (await ask("sim/echo", renewed)).status]).toEqual([401, 200])
    await page.getByRole("button", { name: "I have copied it" }).click()
    await row.getByRole("button", { name: "Delete robot" }).click()
    await page.getByRole("button", { name: "Delete the key" }).click()
    await row.waitFor({ state: "detached" })
    expect((await ask("sim/echo", renewed)).status).toBe(401)
  })

  it("usage: numbers open their rows, and the sum says whether it is complete", async () => {
    await on.gateway.operator.settled()
    const page = await come("/usage")
    await page.getByText("Complete: gap 0").waitFor()
    await page.getByLabel("Group by").selectOption({ label: "Provider" })
    await page.getByRole("table", { name: "Usage by group" }).getByRole("link", { name: "sim" }).click()
    await heading(page, "Requests")
    expect(new URL(page.url()).searchParams.get("provider")).toBe("sim")
  })

  it("overview and resilience: a provider that breaks is told of, and its breaker is closed by hand", async () => {
    for (let i = 0; i < 6; i++) await ask("lab/small")
    const page = await come("/resilience")
    const breakers = page.getByRole("table", { name: "Breakers" })
    await breakers.getByRole("row", { name: /lab/ }).waitFor()
    await page.getByRole("navigation", { name: "Screens" }).getByRole("link", { name: "Overview" }).click()
    await page.getByRole("region", { name: "Attention" }).getByRole("link", { name: /lab/ }).first().waitFor()
    await page.goBack()
    await breakers.getByRole("button", { name: "Close the breaker of lab" }).click()
    await eventually(
      () => api<{ breakers: ReadonlyArray<{ provider: string; failures: number }> }>("GET", "/api/resilience"),
      ({ breakers: rows }) => rows.every(({ failures, provider }) => provider !== "lab" || failures === 0), "the closed breaker"
    )
  })

  it("flags: found by what they do, switched, and taken back to their default", async () => {
    const page = await come("/settings")
    await page.getByRole("searchbox", { name: "Find" }).fill("REQUIRE_API_KEY")
    const flag = page.getByRole("listitem").filter({ has: page.getByText("REQUIRE_API_KEY", { exact: true }) })
    await flag.getByRole("switch").click()
    await flag.getByText("set here").waitFor()
    expect((await ask("sim/echo")).status).toBe(401)
    await flag.getByRole("button", { name: /^Take back/ }).click()
    await flag.getByText("default", { exact: false }).waitFor()
    await eventually(async () => (await ask("sim/echo")).status, (status) => status === 200, "the flag's default")
  })

  it("nodes: this process, and whether all act on the same version", async () => {
    const page = await come("/nodes")
    await page.getByRole("table", { name: "Nodes" }).getByText("this one").waitFor()
    await page.getByText(/^All act on version/).waitFor()
  })
})
