/** Outbound proxies as an operator keeps them: added, tested, assigned, changed with a look at the change, and deleted; their credentials never come back. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { canBrowse } from "#test/support/chromium.ts"
import { comerOf, type Stage, stage } from "#test/support/dashboard.ts"
import { eventually } from "#test/support/operator.ts"
import * as Proxies from "#test/upstream/support/proxies.ts"
import * as ScriptedServer from "#test/upstream/support/scriptedServer.ts"

const REGISTRY = "/api/v1/management/proxies"
const CANARY = "canary-of-a-proxy-4711"

interface Assigned {
  readonly items: ReadonlyArray<{ readonly scope: string; readonly scopeId: string | null }>
}

describe.skipIf(!canBrowse())("the dashboard's proxies", () => {
  let on: Stage
  let echo: Awaited<ReturnType<typeof ScriptedServer.start>>
  beforeAll(async () => {
    const body = "{\"ip\":\"198.51.100.7\"}"
    echo = await ScriptedServer.start(({ peer }) => peer.write(Buffer.from(`HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`)))
    on = await stage({ GATEWAY_PUBLIC_IP_URL: `${echo.origin}/ip?format=json` })
  }, 300_000)
  afterAll(async () => {
    await on?.close()
    await echo?.[Symbol.asyncDispose]()
  })

  const come = comerOf(() => on)
  const api = <A>(method: string, path: string, body?: unknown) => on.gateway.operator.call<A>(method, path, body)
  const clear = async () => {
    for (const { id } of await proxies()) await api("DELETE", `${REGISTRY}?id=${String(id)}&force=1`)
  }
  const proxies = async () => (await api<{ items: ReadonlyArray<Record<string, unknown>> }>("GET", REGISTRY)).items

  it("one is added with a credential that is never shown again, tested, assigned, looked up, changed and deleted by its typed name", async () => {
    await using proxy = await Proxies.http({ to: { host: "127.0.0.1", port: Number(new URL(echo.origin).port) }, expect: `user:${CANARY}` })
    await on.gateway.operator.createNode({ prefix: "lab", baseUrl: "http://127.0.0.1:9/v1" })
    const connection = await on.gateway.operator.createConnection({ provider: "lab", apiKey: "any", name: "practice" })
    const page = await come("/proxies")
    const said: Array<string> = []
    page.on("response", (reply) => void reply.text().then((text) => said.push(text), () => undefined))
    await page.getByText("No proxy yet").waitFor()
    await page.getByRole("button", { name: "New proxy" }).first().click()
    const dialog = page.getByRole("dialog")
    await dialog.getByLabel("Name", { exact: true }).fill("office")
    await dialog.getByLabel("Type").selectOption("socks5")
    await dialog.getByLabel("Host").fill("127.0.0.1")
    await dialog.getByLabel("Port").fill(String(proxy.port))
    await dialog.getByLabel("User").fill("user")
    await dialog.getByLabel("Password").fill(CANARY)
    await dialog.getByRole("button", { name: "Add the proxy" }).click()
    // SOCKS5 is switched off: the refusal stands at its field, and what was typed stays.
    await dialog.getByRole("alert").getByText("The proxy was not stored").waitFor()
    expect(await dialog.getByLabel("Password").inputValue()).toBe(CANARY)
    await dialog.getByLabel("Type").selectOption("http")
    await dialog.getByRole("button", { name: "Add the proxy" }).click()
    const row = page.getByRole("table", { name: "Proxies" }).getByRole("row", { name: /office/ })
    await row.getByText(`http://127.0.0.1:${proxy.port}`).waitFor()
    await row.getByRole("cell", { name: "stored" }).waitFor()
    await row.getByRole("button", { name: "Test office" }).click()
    await page.getByText(/^office made a tunnel in .*; behind it the address is 198\.51\.100\.7\.$/).waitFor()
    expect(proxy.tunnels).toHaveLength(1)

    await page.getByRole("button", { name: "Assign a proxy" }).click()
    await dialog.getByLabel(/^practice of /).check()
    await dialog.getByRole("button", { name: "Assign", exact: true }).click()
    await page.getByRole("table", { name: "Assignments" }).getByRole("row", { name: /Connection practice of .* office/ }).waitFor()
    expect((await api<Assigned>("GET", `${REGISTRY}/assignments`)).items).toMatchObject([{ scope: "account", scopeId: connection }])
    await page.getByLabel("Which way do the calls of a connection go?").waitFor()
    await page.getByText("By office").waitFor()

    await row.getByRole("button", { name: "Edit office" }).click()
    expect([await dialog.getByLabel("Password").inputValue(), await dialog.getByLabel("User").inputValue()]).toEqual(["", ""])
    expect(await dialog.getByRole("button", { name: "Save" }).isDisabled()).toBe(true)
    await dialog.getByLabel("Region").fill("eu")
    await dialog.getByLabel(/^Active;/).uncheck()
    const changes = dialog.getByRole("table", { name: "Changes" }).getByRole("row")
    expect(await changes.allInnerTexts()).toEqual(["Field\tStored\tNow", "region\tnone\teu", "status\tactive\tinactive"])
    await dialog.getByText("1 assignment leaves by it.", { exact: false }).waitFor()
    await dialog.getByRole("button", { name: "Save" }).click()
    await row.getByText("Inactive").waitFor()
    await page.getByText("; it is inactive, so they fail").waitFor()
    expect(await proxies()).toMatchObject([{ name: "office", region: "eu", status: "inactive", username: "[redacted]", password: "[redacted]" }])
    await page.getByRole("status", { name: "Notes" }).getByRole("listitem").filter({ hasText: "office is changed." }).getByRole("button", { name: "Undo" }).click()
    await row.getByText("Active", { exact: true }).waitFor()
    await row.getByRole("button", { name: "Edit office" }).click()
    await dialog.getByLabel("Remove the stored credentials").check()
    expect(await changes.allInnerTexts()).toEqual(["Field\tStored\tNow", "username\tstored\tnone", "password\tstored\tnone"])
    await dialog.getByRole("button", { name: "Save" }).click()
    await row.getByRole("cell", { name: "none" }).waitFor()

    await row.getByRole("button", { name: "Delete office" }).click()
    const really = dialog.getByRole("button", { name: "Delete the proxy" })
    await dialog.getByLabel("Type “office” to go on").fill("offic")
    expect(await really.isDisabled()).toBe(true)
    await dialog.getByLabel("Type “office” to go on").fill("office")
    await really.click()
    await page.getByText("No proxy yet").waitFor()
    expect((await api<Assigned>("GET", `${REGISTRY}/assignments`)).items).toEqual([])
    expect([await page.content(), ...said].join("\n")).not.toContain(CANARY)
    await on.gateway.operator.removeConnection(connection)
  })

  it("a proxy that makes no tunnel says why; an assignment is removed and taken back; the filter stands in the address; hundreds are a table", async () => {
    await clear()
    const { id } = await api<{ id: string }>("POST", REGISTRY, { name: "gone", host: "127.0.0.1", port: 9 })
    for (let index = 0; index < 150; index++) await api("POST", REGISTRY, { name: `many ${index}`, host: "proxy.example", port: 3_000 + index })
    await api("PUT", `${REGISTRY}/assignments`, { scope: "global", proxyId: id })
    const page = await come("/proxies")
    const table = page.getByRole("table", { name: "Proxies" })
    await expect.poll(() => table.getAttribute("aria-rowcount")).toBe("152")
    expect(await table.getByRole("row").count()).toBeLessThan(120)
    await page.getByRole("searchbox", { name: "Find" }).fill("gone")
    await page.getByText("1 of 151").waitFor()
    expect(new URL(page.url()).search).toBe("?search=gone")
    await page.getByRole("button", { name: "Test gone" }).click()
    await page.getByText(/^gone made no tunnel: /).waitFor()
    const assignments = page.getByRole("table", { name: "Assignments" })
    await page.getByRole("button", { name: "Remove the assignment of All calls" }).click()
    await page.getByText("Nothing is assigned").waitFor()
    await page.getByRole("status", { name: "Notes" }).getByRole("listitem").filter({ hasText: "The assignment is removed." }).getByRole("button", { name: "Undo" }).click()
    await assignments.getByRole("row", { name: /All calls/ }).waitFor()
    await page.getByLabel("Tunnels of").selectOption({ label: "Last 7 days" })
    await expect.poll(() => new URL(page.url()).search).toBe("?search=gone&hours=168")
    await page.getByRole("switch", { name: "Calls leave by proxies" }).click()
    await eventually(() => api<{ proxyEnabled: boolean }>("GET", "/api/settings"), ({ proxyEnabled }) => !proxyEnabled, "the changed setting")
    await api("PATCH", "/api/settings", { proxyEnabled: true })
  })

  it("a list is followed: read now, its failure said, its address kept unseen, and deleted with its proxies and what is assigned to them", async () => {
    await clear()
    let listed = "proxy.example:3128\nsecond.example:1080\nno proxy\n"
    let status = 200
    await using lists = await ScriptedServer.start(({ peer }) => peer.write(Buffer.from(`HTTP/1.1 ${status} Any\r\ncontent-type: text/plain\r\ncontent-length: ${listed.length}\r\n\r\n${listed}`)))
    const subscriptions = async () => (await api<{ items: ReadonlyArray<Record<string, unknown>> }>("GET", "/api/v1/management/proxy-subscriptions")).items
    const page = await come("/proxies")
    const dialog = page.getByRole("dialog")
    await page.getByRole("button", { name: "New list" }).click()
    await dialog.getByLabel("Name", { exact: true }).fill("vendor")
    await dialog.getByLabel("Address of the list").fill(`${lists.origin}/list?token=${CANARY}`)
    await dialog.getByLabel("Read every, minutes").fill("1")
    await dialog.getByRole("button", { name: "Add the list" }).click()
    await dialog.getByRole("alert").getByText("The list was not stored").waitFor()
    await dialog.getByLabel("Read every, minutes").fill("60")
    await dialog.getByRole("button", { name: "Add the list" }).click()
    const row = page.getByRole("table", { name: "Lists of proxies" }).getByRole("row", { name: /vendor/ })
    await row.getByRole("button", { name: "Read now: vendor" }).click()
    await page.getByText(/^vendor was read: \d+ new, 0 gone\.$/).waitFor()
    await page.getByRole("table", { name: "Proxies" }).getByRole("row", { name: /second\.example/ }).waitFor()
    expect(await row.getByRole("cell").allInnerTexts()).toMatchObject([/^vendor/, /redacted/, /Read$/, /^2$/, /^1$/].map((pattern) => expect.stringMatching(pattern)).concat([expect.anything(), expect.anything()]))

    await row.getByRole("button", { name: "Edit vendor" }).click()
    expect(await dialog.getByLabel("Address of the list").inputValue()).not.toContain(CANARY)
    await dialog.getByLabel("Read every, minutes").fill("90")
    await dialog.getByRole("button", { name: "Save" }).click()
    await page.getByText("The list vendor is changed.").waitFor()
    expect(await subscriptions()).toMatchObject([{ name: "vendor", intervalSeconds: 5_400, enabled: true }])
    status = 500
    listed = "oh"
    await row.getByRole("button", { name: "Read now: vendor" }).click()
    await page.getByText(/^vendor was not read: .*500/).waitFor()
    await row.getByText("Not read", { exact: true }).waitFor()

    const [first] = await proxies()
    await api("PUT", `${REGISTRY}/assignments`, { scope: "global", proxyId: first?.["id"] })
    await page.getByRole("table", { name: "Assignments" }).waitFor()
    await row.getByRole("button", { name: "Delete vendor" }).click()
    await dialog.getByText("1 assignment goes, too", { exact: false }).waitFor()
    await dialog.getByLabel("Type “vendor” to go on").fill("vendor")
    await dialog.getByRole("button", { name: "Delete the list" }).click()
    await page.getByText("No list yet").waitFor()
    expect([await proxies(), (await api<Assigned>("GET", `${REGISTRY}/assignments`)).items]).toEqual([[], []])
    expect(await page.content()).not.toContain(CANARY)
  })
})
