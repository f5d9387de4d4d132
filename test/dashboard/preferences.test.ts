/** What operators prefer of the dashboard for all browsers: its name, pictures, theme and screens, its combo editor, and what is marked as free. */
import { describe, expect, it } from "vitest"
import { canBrowse } from "#test/support/chromium.ts"
import { comerOf, staged, visit } from "#test/support/dashboard.ts"

const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
const png = `data:image/png;base64,${PIXEL}`
const svg = `data:image/svg+xml;base64,${Buffer.from("<svg xmlns=\"http://www.w3.org/2000/svg\"><script>alert(1)</script></svg>").toString("base64")}`
/** Markup, an end of an attribute, and what a replaced text would be taken for a pattern by. */
const NAME = "<b>\"North\"&'$& $1"

describe.skipIf(!canBrowse())("preferences of the dashboard", () => {
  const on = staged()

  const come = comerOf(() => on)
  const api = <A>(method: string, path: string, body?: unknown) => on.gateway.operator.call<A>(method, path, body)
  const set = (settings: object) => api("PATCH", "/api/settings", settings)
  const page = async (cookie = "") => await (await fetch(`${on.gateway.url}/dashboard`, { headers: { cookie } })).text()

  it("a language that does not exist, a picture of another host, a theme and a screen of no name are refused where they stand", async () => {
    for (const [body, field, words] of [
      [{ language: "de" }, "language", "no other language"], [{ theme: "blue" }, "theme", "dark"], [{ hiddenSidebarItems: ["__proto__"] }, "hiddenSidebarItems", "overview"],
      ...["https://pictures.example/logo.png", "javascript:alert(1)", "data:text/html;base64,PGI+", "data:image/png;base64,", "data:image/png,%41", "//pictures.example/a.png"].map((customLogoUrl) => [{ customLogoUrl }, "customLogoUrl", "data:image/png;base64"] as const),
      [{ customFaviconUrl: "http://127.0.0.1/x" }, "customFaviconUrl", "other hosts"]
    ] as const) {
      const { status, text } = await on.gateway.operator.raw("PATCH", "/api/settings", body)
      expect([body, status]).toEqual([body, 400])
      const [detail] = (JSON.parse(text) as { error: { details: ReadonlyArray<{ field: string; message: string }> } }).error.details
      expect(detail?.field.split(".")[0]).toBe(field)
      expect(detail?.message).toContain(words)
    }
    await set({ language: "en", theme: null })
  })

  it("the page of every browser has them, also before a sign-in; a browser's own theme goes before the setting", async () => {
    expect(await page()).toContain("<title>Gateway</title>")
    await set({ instanceName: NAME, theme: "dark", customLogoUrl: svg, customFaviconUrl: png })
    const html = await page()
    expect(html).toContain("<html lang=\"en\" data-theme=\"dark\">")
    expect(html).not.toContain("<b>")
    expect(await page("gateway_theme=light")).toContain("data-theme=\"light\"")
    expect(await page("gateway_theme=system")).not.toContain("data-theme")
    const seen = await visit(on.browser, on.gateway.url, { signedIn: false })
    await seen.go("/")
    await seen.page.getByText(NAME, { exact: true }).waitFor()
    expect(await seen.page.title()).toBe(`Sign in · ${NAME}`)
    const logo = seen.page.locator(".brand img")
    const address = await logo.evaluate((image) => (image as unknown as { src: string }).src)
    expect(seen.troubles()).toEqual([])
    await seen.close()
    for (const [url, type] of [[address, "image/svg+xml"], [new URL(/rel="icon" href="\.\/(assets\/[^"]+)"/.exec(html)?.[1] ?? "", `${on.gateway.url}/dashboard/`).href, "image/png"]] as const) {
      const reply = await fetch(url)
      expect([reply.status, reply.headers.get("content-type"), reply.headers.get("x-content-type-options")]).toEqual([200, type, "nosniff"])
      expect(reply.headers.get("content-security-policy")).toContain("sandbox")
      expect(`data:${type};base64,${Buffer.from(await reply.arrayBuffer()).toString("base64")}`).toBe(type === "image/png" ? png : svg)
    }
    await set({ instanceName: null, theme: null, customLogoUrl: null, customFaviconUrl: null })
    expect((await fetch(address)).status).toBe(404)
    expect(await page()).not.toContain("data-theme")
  })

  it("a theme that a person takes back to the device's stays so, whatever the setting says", async () => {
    await set({ theme: "dark" })
    const seen = await come("/nodes", { colorScheme: "light" })
    await seen.getByRole("button", { name: "Theme: dark" }).click()
    await seen.getByRole("button", { name: "Theme: system" }).waitFor()
    await seen.reload()
    await seen.getByRole("button", { name: "Theme: system" }).waitFor()
    await set({ theme: null })
  })

  it("are changed in the page: the name and the logo stand in the rail at once, a screen leaves it and is reached by its address", async () => {
    const seen = await come("/settings?search=logo")
    await seen.getByRole("textbox", { name: "Name of this gateway" }).fill("Night shift")
    await seen.getByRole("button", { name: "Save Name of this gateway" }).click()
    const rail = seen.getByRole("navigation", { name: "Screens" })
    await rail.getByText("Night shift").waitFor()
    expect(await seen.title()).toContain("Night shift")
    await seen.getByLabel("Logo", { exact: true }).setInputFiles({ name: "logo.png", mimeType: "image/png", buffer: Buffer.from(PIXEL, "base64") })
    await seen.getByRole("img", { name: "Logo of now" }).waitFor()
    await seen.getByLabel("Icon of the tab", { exact: true }).setInputFiles({ name: "page.html", mimeType: "text/html", buffer: Buffer.from("<b>") })
    await seen.getByRole("alert").getByText("The picture was not stored").waitFor()
    await seen.getByText("Screens in the rail").click()
    await seen.getByRole("checkbox", { name: "Evals" }).click()
    await rail.getByRole("link", { name: "Evals" }).waitFor({ state: "detached" })
    expect(await api("GET", "/api/settings")).toMatchObject({ instanceName: "Night shift", customLogoUrl: png, hiddenSidebarItems: ["evals"] })
    await seen.goto(`${on.gateway.url}/dashboard/evals`)
    await seen.getByRole("heading", { level: 1, name: "Evals" }).waitFor()
    expect(await seen.getByRole("navigation", { name: "Screens" }).getByRole("link", { name: "Evals" }).count()).toBe(0)
    await set({ instanceName: null, customLogoUrl: null, hiddenSidebarItems: [] })
  })

  it("experts edit all fields of a combo's configuration; a guided editor has none of them", async () => {
    const { id } = await api<{ id: string }>("POST", "/api/combos", { name: "tuned", models: ["sim/echo"], config: { maxRetries: 2 } })
    const guided = await come("/combos")
    await guided.getByRole("button", { name: "Edit tuned" }).click()
    await guided.getByRole("dialog").getByLabel("Strategy").waitFor()
    expect(await guided.getByLabel("Configuration").count()).toBe(0)
    await set({ comboConfigMode: "expert" })
    const seen = await come("/combos")
    await seen.getByRole("button", { name: "Edit tuned" }).click()
    const dialog = seen.getByRole("dialog")
    const config = dialog.getByLabel("Configuration")
    expect(JSON.parse(await config.inputValue())).toEqual({ maxRetries: 2 })
    await config.fill("{")
    await dialog.getByText("This is no JSON object").waitFor()
    expect(await dialog.getByRole("button", { name: "Save" }).isEnabled()).toBe(false)
    await config.fill("{\"maxRetries\": 99}")
    await dialog.getByRole("button", { name: "Save" }).click()
    await dialog.getByRole("alert").first().waitFor()
    await config.fill("{\"maxRetries\": 3}")
    await dialog.getByRole("button", { name: "Save" }).click()
    await dialog.waitFor({ state: "detached" })
    expect((await api<{ config: object }>("GET", `/api/combos/${id}`)).config).toEqual({ maxRetries: 3 })
    await set({ comboConfigMode: "guided" })
  })

  it("models: one is added, called in another format, marked as free, and taken back; a strict flag asks its provider for a free tier", async () => {
    const nodeId = (await api<{ node: { id: string } }>("POST", "/api/provider-nodes", { type: "openai-compatible", apiType: "chat", prefix: "own", name: "Own", baseUrl: "http://127.0.0.1:9/v1", iconUrl: png })).node.id
    const connection = await on.gateway.operator.createConnection({ provider: "own", apiKey: "any", name: "at home" })
    const seen = await come("/models")
    await seen.getByRole("button", { name: "Add a model" }).click()
    const dialog = seen.getByRole("dialog")
    await dialog.getByLabel("Provider", { exact: true }).fill("own")
    await dialog.getByLabel("Model", { exact: true }).fill("small")
    await dialog.getByLabel("Format of calls").selectOption({ label: "Messages" })
    await dialog.getByLabel("Free of charge").selectOption({ label: "Yes" })
    await dialog.getByText("Where the client says nothing").click()
    await dialog.getByLabel("Temperature").fill("3")
    await dialog.getByRole("button", { name: "Save" }).click()
    await dialog.getByRole("alert").first().waitFor()
    await dialog.getByLabel("Temperature").fill("0.2")
    await dialog.getByRole("button", { name: "Save" }).click()
    await dialog.waitFor({ state: "detached" })
    const row = seen.getByRole("table", { name: "Models" }).getByRole("row", { name: /own\/small/ })
    await row.getByText("free", { exact: true }).waitFor()
    const stored = async () => (await api<{ models: ReadonlyArray<object> }>("GET", "/api/provider-models?provider=own")).models
    expect(await stored()).toMatchObject([{ modelId: "small", targetFormat: "claude", isFree: true, generationConfig: { preset: { temperature: 0.2 } } }])
    const freeNow = async () => (await api<{ models: ReadonlyArray<{ provider: string; model: string; isFree: boolean }> }>("GET", "/api/pricing/models")).models.filter(({ isFree }) => isFree).map(({ model, provider }) => `${provider}/${model}`)
    expect(await freeNow()).toContain("own/small")
    await on.gateway.operator.setFlag("FREE_BADGE_REQUIRES_PROVIDER_FREE_TIER", "true")
    expect(await freeNow()).not.toContain("own/small")
    await on.gateway.operator.setFlag("FREE_BADGE_REQUIRES_PROVIDER_FREE_TIER", "false")
    await row.getByRole("button", { name: "How own/small is called" }).click()
    expect(await dialog.getByLabel("Format of calls").inputValue()).toBe("claude")
    await dialog.getByRole("button", { name: "Back to its provider's way" }).click()
    await dialog.waitFor({ state: "detached" })
    expect(await stored()).toEqual([])
    await seen.goto(`${on.gateway.url}/dashboard/providers`)
    const picture = seen.getByRole("row", { name: /at home/ }).locator("img")
    await picture.waitFor()
    expect(await picture.getAttribute("src")).toBe(png)
    const refused = await on.gateway.operator.raw("PUT", `/api/provider-nodes/${nodeId}`, { iconUrl: "https://icons.example/a.png" })
    expect([refused.status, refused.text.includes("other hosts")]).toEqual([400, true])
    await on.gateway.operator.removeConnection(connection)
  })
})
