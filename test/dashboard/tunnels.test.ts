/** Tunnels and pages for coding agents, as an operator keeps them. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { canBrowse } from "#test/support/chromium.ts"
import { comerOf, type Stage, stage } from "#test/support/dashboard.ts"
import * as TunnelPrograms from "#test/support/tunnelPrograms.ts"

describe.skipIf(!canBrowse())("the dashboard's tunnels and pages for agents", () => {
  let on: Stage
  const programs = TunnelPrograms.make("cloudflared", "tailscale")
  beforeAll(async () => {
    on = await stage({ GATEWAY_TUNNELS: "on", REQUIRE_API_KEY: "true", PATH: programs.directory })
  }, 300_000)
  afterAll(async () => {
    await on?.close()
    programs.remove()
  })

  const come = comerOf(() => on)
  const api = <A>(method: string, path: string, body?: unknown) => on.gateway.operator.call<A>(method, path, body)

  it("a tunnel is opened after a question, tells its address, fails in the program's words, and is closed", async () => {
    const page = await come("/tunnels")
    const panel = page.getByRole("region", { name: "Cloudflare" })
    await panel.getByText("Closed").waitFor()
    await panel.getByRole("switch", { name: "Cloudflare is open" }).click()
    const dialog = page.getByRole("dialog")
    await dialog.getByText(/Everybody who knows the address/).waitFor()
    expect((await api<{ enabled: boolean }>("GET", "/api/tunnels/cloudflared")).enabled).toBe(false)
    await dialog.getByRole("button", { name: "Open it" }).click()
    await panel.getByText("Open", { exact: true }).waitFor()
    await panel.getByText(/https:\/\/words-for-tests-\d+\.trycloudflare\.com\/v1/).waitFor()
    await panel.getByRole("switch", { name: "Cloudflare is open" }).click()
    await panel.getByText("Closed").waitFor()
    programs.set({ cloudflared: "offline" })
    await panel.getByRole("switch", { name: "Cloudflare is open" }).click()
    await dialog.getByRole("button", { name: "Open it" }).click()
    await panel.getByText(/no such host/).waitFor()
    await panel.getByText(/tried again in/).waitFor()
    await panel.getByRole("switch", { name: "Cloudflare is open" }).click()
    await panel.getByText("Closed").waitFor()
    await page.getByRole("region", { name: "ngrok" }).getByText("Not installed").waitFor()
  })

  it("a gateway without a guard opens none, and says why; a machine that is not signed in is led to its sign-in", async () => {
    await on.gateway.operator.setFlag("REQUIRE_API_KEY", "false")
    programs.set({ cloudflared: "quick", daemon: true, backend: "NeedsLogin" })
    const page = await come("/tunnels")
    await page.getByRole("switch", { name: "Cloudflare is open" }).click()
    const dialog = page.getByRole("dialog")
    await dialog.getByRole("button", { name: "Open it" }).click()
    await dialog.getByText("Cloudflare was not changed").waitFor()
    await dialog.getByText("tunnel_unguarded").waitFor()
    await page.keyboard.press("Escape")
    const tailscale = page.getByRole("region", { name: "Tailscale" })
    await tailscale.getByText("Not signed in").waitFor()
    await tailscale.getByRole("button", { name: "Sign the machine in" }).click()
    await tailscale.getByRole("link", { name: /^https:/ }).waitFor()
    await on.gateway.operator.setFlag("REQUIRE_API_KEY", "true")
  })

  it("pages for agents: the gateway's own are read and stored, one of the operator's is written, changed, read and removed", async () => {
    const page = await come("/skills")
    const panel = page.getByRole("region", { name: "Pages for coding agents" })
    await panel.getByText(/ 0 of \d+ are stored/).waitFor()
    await panel.getByRole("button", { name: "Store those of this release" }).click()
    await panel.getByText(/ [1-9]\d* of \d+ are stored/).waitFor()
    await panel.getByRole("button", { name: "Write a page" }).click()
    const dialog = page.getByRole("dialog")
    await dialog.getByLabel("Name").fill("Not A Name")
    await dialog.getByLabel("Description").fill("when releases are made")
    await dialog.getByLabel("Text").fill("# Releases")
    await dialog.getByRole("button", { name: "Save" }).click()
    await dialog.getByText(/Expected lower-case letters/).first().waitFor()
    await dialog.getByLabel("Name").fill("releases")
    await dialog.getByRole("button", { name: "Save" }).click()
    const row = panel.getByRole("table", { name: "Pages of yours" }).getByRole("row", { name: /releases/ })
    await row.getByText("yours").waitFor()
    await row.getByRole("button", { name: "Edit the page releases" }).click()
    await dialog.getByLabel("Text").fill("# Releases of ours")
    await dialog.getByRole("button", { name: "Save" }).click()
    await dialog.waitFor({ state: "detached" })
    const address = await row.getByRole("link", { name: "releases" }).getAttribute("href") ?? ""
    expect(await (await page.request.get(address)).text()).toContain("# Releases of ours")
    await row.getByRole("button", { name: "Remove the page releases" }).click()
    await dialog.getByRole("button", { name: "Remove the page" }).click()
    await row.waitFor({ state: "detached" })
    expect((await page.request.get(address)).status()).toBe(404)
  })
})
