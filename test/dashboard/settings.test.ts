/** The long page of settings: an index leads to each part, by keys and by address; a search finds all of them. */
import { describe, expect, it } from "vitest"
import { canBrowse } from "#test/support/chromium.ts"
import { comerOf, staged } from "#test/support/dashboard.ts"

describe.skipIf(!canBrowse())("the dashboard's settings", () => {
  const on = staged()

  const come = comerOf(() => on)

  it("an entry of the index brings its part under eyes and keys, and its address does so anew", async () => {
    const page = await come("/settings?show=all")
    const index = page.getByRole("navigation", { name: "On this page" })
    const focused = () => page.evaluate<string>("document.activeElement?.id ?? ''")
    await index.getByRole("link", { name: "Kept prompts and answers" }).press("Enter")
    await expect.poll(focused).toBe("kept")
    await expect.poll(() => new URL(page.url()).hash).toBe("#kept")
    // What the search says stays.
    expect(new URL(page.url()).search).toBe("?show=all")
    await page.getByRole("region", { name: "Kept prompts and answers" }).getByRole("switch", { name: "Keep prompts and answers of calls" }).waitFor()
    await page.reload()
    await expect.poll(focused).toBe("kept")
    const box = await page.getByRole("region", { name: "Kept prompts and answers" }).boundingBox()
    expect(box !== null && box.y > -900 && box.y < 900).toBe(true)
    // Each entry leads somewhere.
    const ids = (await Promise.all((await index.getByRole("link").all()).map((link) => link.getAttribute("href")))).map((href) => href?.split("#")[1] ?? "")
    expect(ids.length).toBeGreaterThan(10)
    expect(new Set(ids).size).toBe(ids.length)
    for (const id of ids) expect([id, await page.locator(`[id="${id}"]`).count()]).toEqual([id, 1])
  })

  it("a search shows the parts that fit, and no others", async () => {
    const page = await come("/settings?search=oidc")
    await page.getByRole("region", { name: "Single sign-on" }).getByLabel("Issuer").waitFor()
    expect(await page.getByRole("region", { name: "Configuration file" }).count()).toBe(0)
    expect(await page.getByRole("navigation", { name: "On this page" }).count()).toBe(0)
    await page.getByRole("searchbox", { name: "Find" }).fill("sessions of people nobody knows")
    await page.getByText("No flag fits").waitFor()
    await page.getByText("No setting fits").waitFor()
    await page.getByRole("button", { name: "Show all that act" }).click()
    await page.getByRole("navigation", { name: "On this page" }).waitFor()
  })
})
