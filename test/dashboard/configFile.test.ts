/** Records that a file declares, in the browser: locked everywhere, changed by what an editor copies for the file, and told of when the file is broken. */
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import type { Page } from "playwright-core"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { ConfigFile, type Report } from "#src/features/configFile/ports/ConfigFile.ts"
import { canBrowse } from "#test/support/chromium.ts"
import { comerOf, type Stage, stage } from "#test/support/dashboard.ts"
import { eventually } from "#test/support/operator.ts"

const directory = fs.mkdtempSync(path.join(os.tmpdir(), "gateway-config-file-"))
const file = path.join(directory, "gateway.yaml")
const others = `nodes:
  lab: { type: openai-compatible, apiType: chat, baseUrl: "https://93.184.216.34/v1" }
providers:
  lab-main: { provider: lab, apiKey: sk-lab-0000000001 }
keys:
  team: { key: sk-a-key-of-the-team-0001 }
flags:
  ALLOW_API_KEY_REVEAL: true
webhooks:
  operators: { url: "https://93.184.216.34/hook", description: Operators, enabled: false }
`
const combo = "combos:\n  fast: { models: [sim/echo] }\n"

describe.skipIf(!canBrowse())("the dashboard beside a configuration file", () => {
  let on: Stage
  beforeAll(async () => {
    fs.writeFileSync(file, others + combo)
    on = await stage({ GATEWAY_CONFIG: file })
    await on.gateway.operator.createKey("of an operator")
  }, 300_000)
  afterAll(async () => {
    await on?.close()
    fs.rmSync(directory, { recursive: true, force: true })
  })
  const come = comerOf(() => on)
  const report = async (): Promise<Report> => (await on.gateway.operator.call<{ last: Report }>("GET", "/api/config-file")).last
  const hangUp = async (text: string): Promise<Report> => {
    fs.writeFileSync(file, text)
    // As at the signal, which would end the browser, too: its driver lives in this process.
    await Effect.runPromise(Effect.ignore(Context.get(on.gateway.services(), ConfigFile).apply))
    return report()
  }
  const locked = async (page: Page, names: ReadonlyArray<string>, switched: string): Promise<void> => {
    await page.getByText("in gateway.yaml").first().waitFor()
    for (const name of names) expect([name, await page.getByRole("button", { name, exact: true }).isDisabled()]).toEqual([name, true])
    expect(await page.getByRole("switch", { name: switched, exact: true }).isDisabled()).toBe(true)
  }

  it("locks its records on every screen, and leaves those of operators alone", async () => {
    const page = await come("/keys")
    await locked(page, ["Delete team", "New value for team"], "team may call")
    expect(await page.getByRole("button", { name: "Delete of an operator", exact: true }).isDisabled()).toBe(false)
    expect(await page.getByText("in gateway.yaml").count()).toBe(1)
    expect(await page.getByText("in gateway.yaml").getAttribute("title")).toBe(`Declared in ${file}`)
    await page.goto(`${on.gateway.url}/dashboard/providers`)
    await locked(page, ["Delete lab-main"], "lab-main is used")
    await page.goto(`${on.gateway.url}/dashboard/webhooks`)
    await locked(page, ["Edit Operators", "Delete Operators"], "Operators is used")
    await page.goto(`${on.gateway.url}/dashboard/combos`)
    await locked(page, ["Delete fast"], "fast is used")
    await page.goto(`${on.gateway.url}/dashboard/settings?show=changed`)
    const { flags } = await on.gateway.operator.call<{ flags: ReadonlyArray<{ key: string; label: string }> }>("GET", "/api/settings/feature-flags")
    await locked(page, [], flags.find(({ key }) => key === "ALLOW_API_KEY_REVEAL")?.label ?? "")
  })

  it("copies a change for the file in place of saving it, and the file takes it", async () => {
    const page = await come("/combos", { permissions: ["clipboard-read", "clipboard-write"] })
    await page.getByRole("button", { name: "Edit fast" }).click()
    const dialog = page.getByRole("dialog")
    await dialog.getByLabel("Description").fill("changed in the browser")
    expect(await dialog.getByRole("button", { name: "Save", exact: true }).count()).toBe(0)
    // Enter saves nothing, either.
    await dialog.getByLabel("Description").press("Enter")
    await dialog.getByRole("button", { name: "Copy as YAML" }).click()
    const copied = await eventually(() => page.evaluate<string>("navigator.clipboard.readText()"), (text) => text.startsWith("combos:"), "the copied text")
    expect(copied).toContain("changed in the browser")
    const { entries } = await hangUp(others + copied)
    expect(entries.filter(({ action }) => action !== "unchanged").map(({ action, message, name }) => [name, action, message])).toEqual([["fast", "changed", null]])
    await dialog.getByRole("button", { name: "Cancel" }).click()
    await page.getByText("changed in the browser").waitFor()
  })

  it("tells of a broken file and of refused entries on the overview and among the settings", async () => {
    await hangUp(`${others}${combo}  broken: { models: [{ model: lab/x, connection: nobody }] }\n`)
    const page = await come("/")
    await page.getByText("combo broken: ").waitFor()
    await hangUp("combos: [\n")
    await page.goto(`${on.gateway.url}/dashboard/settings`)
    const panel = page.getByRole("region", { name: "Configuration file" })
    await panel.getByRole("alert").filter({ hasText: "Nothing of the configuration file" }).waitFor()
    await page.goto(`${on.gateway.url}/dashboard/now`)
    await page.getByRole("link", { name: `Configuration file ${file}` }).waitFor()
    await hangUp(others + combo)
    await page.getByRole("link", { name: `Configuration file ${file}` }).waitFor({ state: "detached" })
  })

  it("downloads a file of all that stands, with the variables that it names", async () => {
    const page = await come("/settings")
    const panel = page.getByRole("region", { name: "Configuration file" })
    const [download] = await Promise.all([page.waitForEvent("download"), panel.getByRole("button", { name: "Download as a file" }).click()])
    expect(download.suggestedFilename()).toBe("gateway.yaml")
    const text = fs.readFileSync(await download.path(), "utf8")
    expect(text).toContain("lab-main:")
    expect(text).not.toContain("sk-lab-0000000001")
    await panel.getByText("LAB_MAIN_API_KEY").waitFor()
  })
})
