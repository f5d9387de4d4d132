/** The combo editor as an operator uses it: lanes, the router's word after each change, past requests, and two operators at once. */
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest"
import { canBrowse } from "#test/support/chromium.ts"
import { type Stage, stage, visit } from "#test/support/dashboard.ts"
import * as Http from "#test/support/http.ts"
import { eventually } from "#test/support/operator.ts"

interface Stored {
  readonly id: string
  readonly name: string
  readonly description: string | null
  readonly strategy: string
  readonly models: ReadonlyArray<{ readonly model: string; readonly label: string | null; readonly tags: ReadonlyArray<string>; readonly prompt: string | null }>
}

describe.skipIf(!canBrowse())("the combo editor", () => {
  let on: Stage
  beforeAll(async () => {
    on = await stage()
    const { operator } = on.gateway
    await operator.createNode({ prefix: "lab", name: "Lab", baseUrl: "http://127.0.0.1:9/v1" })
    await operator.createConnection({ provider: "lab", apiKey: "sk-broken", name: "broken" })
  }, 300_000)
  afterAll(() => on?.close())

  const api = <A>(method: string, path: string, body?: unknown) => on.gateway.operator.call<A>(method, path, body)
  const edit = async (name: string) => {
    const seen = await visit(on.browser, on.gateway.url)
    onTestFinished(async () => {
      await seen.close()
      expect(seen.troubles()).toEqual([])
    })
    await seen.go("/combos")
    await seen.page.getByRole("button", { name: `Edit ${name}` }).click()
    return { page: seen.page, dialog: seen.page.getByRole("dialog") }
  }
  const storedOf = (id: string) => api<Stored>("GET", `/api/combos/${id}`)

  it("asks the router after each change, and shows what is changed before it is saved", async () => {
    const { id } = await api<Stored>("POST", "/api/combos", { name: "tried", strategy: "priority", models: ["lab/small", "sim/echo"] })
    const { dialog } = await edit("tried")
    const targets = dialog.getByRole("list", { name: "Targets" }).getByRole("listitem")
    await expect.poll(() => targets.allInnerTexts()).toEqual([expect.stringContaining("lab/small"), expect.stringContaining("sim/echo")])
    const before = (await on.gateway.operator.reconciliation()).started
    await dialog.getByRole("combobox", { name: "Step 2" }).press("Alt+ArrowUp")
    await expect.poll(() => targets.first().innerText()).toContain("sim/echo")
    await dialog.getByRole("table", { name: "Changes" }).getByText("1. sim/echo").waitFor()
    await dialog.getByRole("combobox", { name: "Step 1" }).fill("nowhere/model")
    await dialog.getByText("This draft would be refused").waitFor()
    expect((await storedOf(id)).models.map(({ model }) => model)).toEqual(["lab/small", "sim/echo"])
    expect((await on.gateway.operator.reconciliation()).started).toBe(before)
  })

  it("shows and keeps the stored strategy while the answer with all strategies is under way", async () => {
    await api("POST", "/api/combos", { name: "early", strategy: "round-robin", models: ["lab/small", "sim/echo"] })
    const seen = await visit(on.browser, on.gateway.url)
    onTestFinished(async () => {
      await seen.close()
      expect(seen.troubles()).toEqual([])
    })
    const held = Promise.withResolvers<void>()
    await seen.page.route("**/api/combos/builder/options", async (route) => {
      await held.promise
      await route.continue()
    })
    await seen.go("/combos")
    const dialog = seen.page.getByRole("dialog")
    await seen.page.getByRole("button", { name: "Edit early" }).click()
    expect([await dialog.getByLabel("Strategy").inputValue(), await dialog.getByRole("button", { name: "Save" }).isDisabled()]).toEqual(["round-robin", true])
    await dialog.getByRole("button", { name: "Cancel" }).click()
    await seen.page.getByRole("button", { name: "New combo" }).click()
    expect(await dialog.getByLabel("Begin with").isDisabled()).toBe(true)
    held.resolve()
    await dialog.getByLabel("Begin with").selectOption({ label: "Spread: in turn over all" })
    await expect.poll(() => dialog.getByLabel("Strategy").inputValue()).toBe("round-robin")
  })

  it("a step is dragged to its place, and what the form does not show is kept", async () => {
    const { id } = await api<Stored>("POST", "/api/combos", { name: "dragged", strategy: "priority", models: ["lab/small", { model: "sim/echo", label: "last", tags: ["kept"], prompt: "be kind" }] })
    const { dialog, page } = await edit("dragged")
    await page.locator("[data-handle='2']").dragTo(page.locator(".lane-step").first())
    await expect.poll(() => dialog.getByRole("combobox", { name: "Step 1" }).inputValue()).toBe("sim/echo")
    await dialog.getByText("sim/echo is now step 1").waitFor({ state: "attached" })
    await dialog.getByRole("button", { name: "Save" }).click()
    await dialog.waitFor({ state: "detached" })
    expect((await storedOf(id)).models[0]).toMatchObject({ provider: "sim", label: "last", tags: ["kept"], prompt: "be kind" })
  })

  it("draws shares by weight, and steps of a combo inside as a group", async () => {
    await api("POST", "/api/combos", { name: "inner", strategy: "round-robin", models: ["sim/echo"] })
    await api("POST", "/api/combos", { name: "outer", strategy: "weighted", models: [{ model: "sim/echo", weight: 3 }, { kind: "combo-ref", comboName: "inner", weight: 1 }] })
    const { dialog } = await edit("outer")
    await dialog.getByText("75%").waitFor()
    await dialog.getByRole("spinbutton", { name: "Weight of step 2" }).fill("3")
    await expect.poll(() => dialog.getByText("50%").count()).toBe(2)
    await dialog.getByRole("list", { name: "Steps of inner" }).getByText("sim/echo").waitFor()
  })

  it("tests the draft on past requests", async () => {
    await api("POST", "/api/combos", { name: "past", strategy: "priority", models: ["lab/small", "sim/echo"] })
    await Http.send(on.gateway.url, { path: "/v1/chat/completions", body: { model: "past", messages: [{ role: "user", content: "Hello" }] } })
    await on.gateway.operator.settled()
    await eventually(() => api<ReadonlyArray<unknown>>("GET", "/api/usage/call-logs?combo=past"), (rows) => rows.length === 2, "the rows of the past request")
    const { dialog } = await edit("past")
    await dialog.getByRole("combobox", { name: "Step 1" }).press("Alt+ArrowDown")
    await dialog.getByRole("button", { name: "Test on past requests" }).click()
    const table = dialog.getByRole("table", { name: "Back test" })
    await expect.poll(() => table.getByRole("row", { name: /^Answered/ }).innerText()).toMatch(/1\s+1/)
    await dialog.getByText("1 answers were measured.").waitFor()
  })

  it("of two operators the second one sees theirs and yours, and chooses", async () => {
    const { id } = await api<Stored>("POST", "/api/combos", { name: "both", strategy: "priority", models: ["sim/echo"] })
    const { dialog } = await edit("both")
    await dialog.getByLabel("Description").fill("mine")
    await api("PUT", `/api/combos/${id}`, { description: "theirs" })
    await dialog.getByRole("button", { name: "Save" }).click()
    await dialog.getByText("Somebody else changed this combo while you edited it.").waitFor()
    const row = dialog.getByRole("table", { name: "Theirs and yours" }).getByRole("row", { name: /^description/ })
    expect(await row.innerText()).toMatch(/theirs\s+mine/)
    expect((await storedOf(id)).description).toBe("theirs")
    await dialog.getByRole("button", { name: "Put mine over it" }).click()
    await dialog.waitFor({ state: "detached" })
    expect((await storedOf(id)).description).toBe("mine")
  })
})
