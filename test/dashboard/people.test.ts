/** Who may come in, as an operator sets it: addresses, bans and locks, and single sign-on. */
import { describe, expect, it } from "vitest"
import { canBrowse } from "#test/support/chromium.ts"
import { comerOf, staged } from "#test/support/dashboard.ts"
import { eventually } from "#test/support/operator.ts"

const SECRET = "canary-of-a-client-4711"

interface Filter {
  readonly enabled: boolean
  readonly mode: string
  readonly blacklist: ReadonlyArray<string>
  readonly tempBans: ReadonlyArray<{ readonly ip: string }>
}

describe.skipIf(!canBrowse())("the dashboard's doors", () => {
  const on = staged()

  const come = comerOf(() => on)
  const api = <A>(method: string, path: string, body?: unknown) => on.gateway.operator.call<A>(method, path, body)
  const filter = () => api<Filter>("GET", "/api/settings/ip-filter")

  it("addresses: one is refused, wrong ones stand at their field, the filter is switched on after a question, and a press takes back", async () => {
    const page = await come("/addresses")
    await page.getByText("No address is refused by name").waitFor()
    const entry = page.getByLabel("Address to refuse")
    await entry.fill("300.1.2.3")
    await page.getByRole("button", { name: "Refuse it" }).click()
    await page.getByRole("alert").getByText("The list was not changed").waitFor()
    expect(await entry.getAttribute("aria-invalid")).toBe("true")
    await entry.fill("203.0.113.0/24")
    await entry.press("Enter")
    const list = page.getByRole("table", { name: "Refused addresses" })
    await list.getByText("203.0.113.0/24").waitFor()
    expect(await entry.inputValue()).toBe("")
    await page.getByRole("button", { name: "Switch it on" }).click()
    const dialog = page.getByRole("dialog")
    await dialog.getByText("1 in the list, 0 banned for a time.", { exact: false }).waitFor()
    await dialog.getByRole("button", { name: "Change it" }).click()
    await page.getByRole("button", { name: "Switch it off" }).waitFor()
    expect(await filter()).toMatchObject({ enabled: true, mode: "blacklist", blacklist: ["203.0.113.0/24"] })
    await page.getByRole("status", { name: "Notes" }).getByRole("listitem").filter({ hasText: "The address filter is changed." }).getByRole("button", { name: "Undo" }).click()
    await page.getByRole("button", { name: "Switch it on" }).waitFor()
    await page.getByRole("button", { name: "Remove 203.0.113.0/24" }).click()
    await page.getByText("No address is refused by name").waitFor()
  })

  it("addresses: a ban counts down and is ended; a thousand entries are a table, found by a part that stands in the address", async () => {
    await api("PUT", "/api/settings/ip-filter", { blacklist: Array.from({ length: 1_000 }, (_, index) => `198.51.${Math.floor(index / 250)}.${index % 250}`) })
    const page = await come("/addresses")
    const list = page.getByRole("table", { name: "Refused addresses" })
    await expect.poll(() => list.getAttribute("aria-rowcount")).toBe("1001")
    expect(await list.getByRole("row").count()).toBeLessThan(120)
    await page.getByRole("button", { name: "Ban an address" }).click()
    const dialog = page.getByRole("dialog")
    await dialog.getByLabel("Address", { exact: true }).fill("203.0.113.9")
    await dialog.getByLabel("For").selectOption({ label: "10 minutes" })
    await dialog.getByLabel("Reason").fill("too many guesses")
    await dialog.getByRole("button", { name: "Ban it" }).click()
    const ban = page.getByRole("table", { name: "Bans" }).getByRole("row", { name: /203\.0\.113\.9/ })
    await ban.getByText(/^(?:9 m \d\d s|10 m 00 s)$/).waitFor()
    await page.getByText("The filter is off: they are served.").waitFor()
    await page.getByRole("searchbox", { name: "Find" }).fill("198.51.3.7")
    await page.getByText("11 of 1,000").waitFor()
    await page.getByText("No ban fits").waitFor()
    expect(new URL(page.url()).search).toBe("?search=198.51.3.7")
    await page.getByRole("searchbox", { name: "Find" }).fill("")
    await ban.getByRole("button", { name: "End the ban of 203.0.113.9" }).click()
    await page.getByText("Nobody is banned").waitFor()
    await api("PUT", "/api/settings/ip-filter", { blacklist: [] })
  })

  it("locks: a banned key is listed by its name, and let in again after a question", async () => {
    const { id } = await on.gateway.operator.createKey("naughty")
    await api("PATCH", `/api/keys/${id}`, { isBanned: true })
    const page = await come("/addresses")
    await page.getByRole("table", { name: "Locked out" }).getByRole("row", { name: /naughty The key is banned/ }).waitFor()
    await page.getByRole("button", { name: "Let naughty in" }).click()
    await page.getByRole("dialog").getByRole("button", { name: "Let in" }).click()
    await page.getByText("Nobody is locked out").waitFor()
    expect(await api("GET", `/api/keys/${id}`)).toMatchObject({ isBanned: false })
  })

  it("single sign-on: an issuer and its people are set with the change in view; the secret is written, kept, removed and never shown", async () => {
    const page = await come("/settings")
    const said: Array<string> = []
    page.on("response", (reply) => void reply.text().then((text) => said.push(text), () => undefined))
    const part = page.getByRole("region", { name: "Single sign-on" })
    await part.getByText(`${on.gateway.url}/api/auth/oidc/callback`).waitFor()
    await part.getByLabel("Offer single sign-on").check()
    await part.getByLabel("Issuer").fill("http://login.example.com")
    await part.getByLabel("Client id").fill("gateway")
    await part.getByLabel("Client secret").fill(SECRET)
    await part.getByLabel("Who may sign in").fill("ann\nbob\nann")
    const changes = part.getByRole("table", { name: "Changes" }).getByRole("row")
    expect(await changes.allInnerTexts()).toEqual([
      "Field\tStored\tNow", "oidcEnabled\toff\ton", "oidcIssuer\tnone\thttp://login.example.com", "oidcClientId\tnone\tgateway", "oidcAllowedSubjects\tnobody\tann, bob", "oidcClientSecret\tnone\ta new one"
    ])
    // An issuer needs TLS: it is refused at its field, and what was typed stays.
    await part.getByRole("button", { name: "Save single sign-on" }).click()
    await part.getByRole("alert").getByText("Single sign-on was not changed").waitFor()
    expect([await part.getByLabel("Issuer").getAttribute("aria-invalid"), await part.getByLabel("Client secret").inputValue()]).toEqual(["true", SECRET])
    await part.getByLabel("Issuer").fill("https://login.example.com")
    await part.getByRole("button", { name: "Save single sign-on" }).click()
    await page.getByText("Single sign-on is changed.").waitFor()
    await part.getByText("Empty keeps the stored one").waitFor()
    expect([await part.getByLabel("Client secret").inputValue(), await part.getByRole("link", { name: "Try to sign in by it" }).getAttribute("href")]).toEqual(["", `${on.gateway.url}/api/auth/oidc/login?returnTo=%2Fdashboard%2Fsettings`])
    expect(await api("GET", "/api/settings")).toMatchObject({ oidcEnabled: true, oidcIssuer: "https://login.example.com", oidcClientId: "gateway", oidcClientSecretSet: true, oidcAllowedSubjects: ["ann", "bob"] })
    expect(await api("GET", "/api/auth/status")).toMatchObject({ singleSignOn: true })
    await part.getByLabel("Who may sign in").fill("ann")
    await part.getByText("Sessions of people who are concerned end at once, on every node.").waitFor()
    await part.getByRole("button", { name: "Save single sign-on" }).click()
    const note = page.getByRole("status", { name: "Notes" }).getByRole("listitem").filter({ hasText: "Single sign-on is changed." })
    await note.getByRole("button", { name: "Undo" }).click()
    await eventually(() => api<{ oidcAllowedSubjects: ReadonlyArray<string> }>("GET", "/api/settings"), ({ oidcAllowedSubjects }) => oidcAllowedSubjects.length === 2, "the people of before")
    await page.reload()
    await part.getByLabel("Remove the stored secret").check()
    await part.getByLabel("Offer single sign-on").uncheck()
    await part.getByRole("button", { name: "Save single sign-on" }).click()
    await eventually(() => api<{ oidcClientSecretSet: boolean }>("GET", "/api/settings"), ({ oidcClientSecretSet }) => !oidcClientSecretSet, "the removed secret")
    expect([await page.content(), ...said].join("\n")).not.toContain(SECRET)
  })
})
