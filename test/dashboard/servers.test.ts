/** Servers of one's own as an operator keeps them: added, asked, changed with all that a call needs, and deleted by the typed prefix. */
import { createServer, type Server } from "node:http"
import type { AddressInfo } from "node:net"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { canBrowse } from "#test/support/chromium.ts"
import { comerOf, type Stage, stage } from "#test/support/dashboard.ts"
import { eventually } from "#test/support/operator.ts"

type Nodes = { readonly nodes: ReadonlyArray<Readonly<Record<string, unknown>>> }

describe.skipIf(!canBrowse())("the dashboard's servers of one's own", () => {
  let on: Stage
  let own: Server
  let baseUrl = ""
  const asked: Array<string> = []
  beforeAll(async () => {
    own = createServer(({ url = "" }, reply) => {
      asked.push(url)
      reply.writeHead(url.startsWith("/v1/catalogue") ? 200 : 404, { "content-type": "application/json" }).end(JSON.stringify({ data: [{ id: "small" }] }))
    })
    await new Promise<void>((resolve) => own.listen(0, "127.0.0.1", resolve))
    baseUrl = `http://127.0.0.1:${(own.address() as AddressInfo).port}/v1`
    on = await stage()
  }, 300_000)
  afterAll(async () => {
    await on?.close()
    own?.close()
  })

  const come = comerOf(() => on)
  const nodes = async () => (await on.gateway.operator.call<Nodes>("GET", "/api/provider-nodes")).nodes

  it("one is added without a key, asked, changed, taken back, and deleted with its connections", async () => {
    const page = await come("/providers")
    const dialog = page.getByRole("dialog")
    await page.getByRole("button", { name: "Add a connection" }).click()
    await dialog.getByLabel("What", { exact: true }).selectOption({ label: "A server of your own" })
    await dialog.getByLabel("Base URL").fill(baseUrl)
    await dialog.getByLabel("Name", { exact: true }).fill("Cellar")
    await dialog.getByLabel("Prefix", { exact: true }).fill("cellar")
    await dialog.getByRole("button", { name: "Ask it" }).click()
    await dialog.getByText(/404/).waitFor()
    await dialog.getByRole("button", { name: "Add the server" }).click()
    const row = page.getByRole("table", { name: "Servers of your own" }).getByRole("row", { name: /Cellar/ })
    await row.getByRole("cell", { name: "OpenAI, chat" }).waitFor()

    await row.getByRole("button", { name: "Edit the server Cellar" }).click()
    expect(await dialog.getByLabel("It speaks").isDisabled()).toBe(true)
    expect(await dialog.getByRole("button", { name: "Save" }).isDisabled()).toBe(true)
    await dialog.getByLabel("Path of the list of models").fill("catalogue")
    await dialog.getByRole("button", { name: "Save" }).click()
    // What is wrong stands at its field, and what was typed stays.
    await dialog.getByText("Must start with /", { exact: true }).waitFor()
    await dialog.getByLabel("Path of the list of models").fill("/catalogue")
    await dialog.getByRole("button", { name: "Ask it" }).click()
    await dialog.getByText("It answers").waitFor()
    expect(asked.at(-1)).toBe("/v1/catalogue")
    await dialog.getByLabel("Prefix", { exact: true }).fill("attic")
    await dialog.getByText("Clients that ask for cellar/… are refused from then on.").waitFor()
    await dialog.getByLabel("Headers of each call").fill("x-team: night")
    await dialog.getByLabel("Its quotas begin anew at, hour").fill("7")
    await dialog.getByRole("button", { name: "Save" }).click()
    await row.getByRole("cell", { name: "attic" }).waitFor()
    expect(await nodes()).toMatchObject([{ name: "Cellar", prefix: "attic", baseUrl, modelsPath: "/catalogue", customHeaders: { "x-team": "night" }, dailyQuotaResetHour: 7 }])
    await page.getByRole("status", { name: "Notes" }).getByRole("listitem").filter({ hasText: "The server Cellar is changed." }).getByRole("button", { name: "Undo" }).click()
    await eventually(nodes, ([node]) => node?.["prefix"] === "cellar" && node["modelsPath"] === null && Object.keys(node["customHeaders"] as object).length === 0, "the server of before")

    await row.getByRole("cell", { name: "cellar", exact: true }).waitFor()
    await on.gateway.operator.createConnection({ provider: "cellar", apiKey: "any", name: "bottle" })
    await page.getByRole("row", { name: /bottle/ }).waitFor()
    await row.getByRole("button", { name: "Delete the server Cellar" }).click()
    const really = dialog.getByRole("button", { name: "Delete the server" })
    expect(await really.isDisabled()).toBe(true)
    await dialog.getByText("connection", { exact: false }).first().waitFor()
    await dialog.getByLabel("Type “cellar” to go on").fill("cellar")
    await really.press("Enter")
    await page.getByRole("table", { name: "Servers of your own" }).waitFor({ state: "detached" })
    expect(await nodes()).toEqual([])
    expect((await on.gateway.operator.call<{ connections: ReadonlyArray<unknown> }>("GET", "/api/providers")).connections).toEqual([])
  })

  it("two operators see each other's change before one of them is lost", async () => {
    await on.gateway.operator.createNode({ prefix: "lab", name: "Lab", baseUrl })
    const page = await come("/providers")
    const dialog = page.getByRole("dialog")
    await page.getByRole("button", { name: "Edit the server Lab" }).click()
    await dialog.getByLabel("Name", { exact: true }).fill("Mine")
    const lab = (await nodes()).find(({ prefix }) => prefix === "lab")
    await on.gateway.operator.call("PUT", `/api/provider-nodes/${String(lab?.["id"])}`, { name: "Theirs" })
    await dialog.getByRole("button", { name: "Save" }).click()
    await dialog.getByRole("table", { name: "Theirs and yours" }).getByRole("row", { name: /^name Theirs Mine$/ }).waitFor()
    await dialog.getByRole("button", { name: "Save mine" }).click()
    await eventually(nodes, (all) => all.some(({ name }) => name === "Mine"), "the overwritten name")
  })
})
