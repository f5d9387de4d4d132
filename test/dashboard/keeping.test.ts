/** What an operator falls back on, and removes: backups, archives under a passphrase, and what is recorded of requests. */
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { canBrowse } from "#test/support/chromium.ts"
import { comerOf, type Stage, stage } from "#test/support/dashboard.ts"
import * as Http from "#test/support/http.ts"
import { eventually } from "#test/support/operator.ts"

const PASSPHRASE = "canary of a passphrase 4711"

interface Held {
  readonly backups: ReadonlyArray<{ readonly id: string; readonly reason: string }>
}

describe.skipIf(!canBrowse())("the dashboard's backups", () => {
  let on: Stage
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "gateway-archives-"))
  beforeAll(async () => {
    on = await stage()
  }, 300_000)
  afterAll(async () => {
    await on?.close()
    fs.rmSync(folder, { recursive: true, force: true })
  })

  const come = comerOf(() => on)
  const api = <A>(method: string, path: string, body?: unknown) => on.gateway.operator.call<A>(method, path, body)
  const combos = async () => (await api<{ combos: ReadonlyArray<{ name: string }> }>("GET", "/api/combos")).combos.map(({ name }) => name)
  const combo = (name: string) => api("POST", "/api/combos", { name, models: ["sim/echo"] })

  it("one is made, restored by a typed word, and the restore is taken back by a press", async () => {
    await combo("before")
    const page = await come("/backups")
    await page.getByText("No backup yet").waitFor()
    await page.getByRole("button", { name: "Back up now" }).first().click()
    await page.getByText(/^Backup .*-manual-[0-9a-f]{8} is made, /).waitFor()
    await page.getByRole("button", { name: "Back up now" }).first().click()
    await page.getByText(/was made less than 10 seconds ago/).waitFor()
    await combo("after")
    const rows = page.getByRole("table", { name: "Backups" }).getByRole("row")
    await rows.nth(1).getByText("asked for").waitFor()
    await page.getByRole("button", { name: /^Restore .*-manual-/ }).click()
    const dialog = page.getByRole("dialog")
    expect(await dialog.getByRole("button", { name: "Restore it" }).isDisabled()).toBe(true)
    await dialog.getByLabel("Type “restore” to go on").fill("restore")
    await dialog.getByLabel("Type “restore” to go on").press("Enter")
    await dialog.getByRole("region", { name: "What was brought back" }).or(dialog.getByRole("status", { name: "What was brought back" })).waitFor()
    await dialog.getByText("Rows by table").click()
    await dialog.getByRole("row", { name: "combos 1" }).waitFor()
    await dialog.getByRole("button", { name: "Close", exact: true }).last().click()
    expect(await combos()).toEqual(["before"])
    await rows.filter({ hasText: "before a restore" }).waitFor()
    await page.getByRole("status", { name: "Notes" }).getByRole("listitem").filter({ hasText: "The backup is restored." }).getByRole("button", { name: "Undo" }).click()
    await eventually(combos, (names) => names.length === 2, "what was there before the restore")
  })

  it("an archive under a passphrase is downloaded, also straight to the disk, and brought in again; a wrong passphrase is refused and the form stays", async () => {
    const page = await come("/backups")
    const said: Array<string> = []
    page.on("response", (reply) => void (reply.headers()["content-type"]?.includes("json") === true ? reply.text().then((text) => said.push(text), () => undefined) : undefined))
    expect(await page.getByRole("link", { name: "Download" }).getAttribute("href")).toBe(`${on.gateway.url}/api/db-backups/export`)
    await page.evaluate("delete window.showSaveFilePicker")
    await page.getByLabel("Passphrase", { exact: true }).fill("too short")
    await page.getByText("12 to 1024 characters").waitFor()
    await page.getByLabel("Passphrase", { exact: true }).fill(PASSPHRASE)
    const take = page.getByRole("button", { name: "Download" })
    expect(await take.isDisabled()).toBe(true)
    await page.getByLabel("Passphrase once more").fill(PASSPHRASE)
    const [download] = await Promise.all([page.waitForEvent("download"), take.click()])
    expect(download.suggestedFilename()).toMatch(/^gateway-records-\w+\.gwb$/)
    const archive = path.join(folder, "gateway.gwb")
    await download.saveAs(archive)
    expect(JSON.parse(fs.readFileSync(archive).subarray(0, fs.readFileSync(archive).indexOf("\n")).toString("utf8"))).toMatchObject({ format: "gateway-backup", contents: "records", key: { by: "passphrase" } })
    await page.getByText(/^gateway-records-\w+\.gwb is downloaded\.$/).waitFor()
    expect(await page.getByLabel("Passphrase", { exact: true }).inputValue()).toBe("")

    // Where the browser can, the archive goes straight to the disk: here into a file of the test's own.
    await page.evaluate(`{
      globalThis.written = 0
      window.showSaveFilePicker = () => Promise.resolve({ createWritable: () => Promise.resolve(new WritableStream({ write: (chunk) => { globalThis.written += chunk.byteLength }, close: () => { globalThis.isClosed = true } })) })
    }`)
    await page.getByLabel("What is in it").selectOption({ label: "All of it, with the ledger and the audit log" })
    await page.getByLabel("Passphrase", { exact: true }).fill(PASSPHRASE)
    await page.getByLabel("Passphrase once more").fill(PASSPHRASE)
    await take.click()
    await page.getByText(/^gateway-full-\w+\.gwb is downloaded\.$/).waitFor()
    expect(await page.evaluate<boolean>("globalThis.isClosed && globalThis.written > 1000")).toBe(true)

    await combo("later")
    await page.getByLabel("Archive to bring in").setInputFiles(archive)
    const dialog = page.getByRole("dialog")
    await dialog.getByLabel("Passphrase of the archive").fill("another passphrase")
    await dialog.getByLabel("Type “import” to go on").fill("import")
    await dialog.getByRole("button", { name: "Bring it in" }).click()
    await dialog.getByRole("alert").getByText("The archive was not brought in").waitFor()
    expect([await dialog.getByLabel("Passphrase of the archive").inputValue(), await combos()]).toEqual(["another passphrase", expect.arrayContaining(["later"])])
    await dialog.getByLabel("Passphrase of the archive").fill(PASSPHRASE)
    await dialog.getByRole("button", { name: "Bring it in" }).click()
    await page.getByText("The archive is brought in.").waitFor()
    expect(await combos()).not.toContain("later")
    expect((await api<Held>("GET", "/api/db-backups")).backups.map(({ reason }) => reason)).toContain("pre-import")
    const stored = await page.evaluate<string>("JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, location.href])")
    const fields = await page.locator("input").evaluateAll((all) => all.map((each) => (each as unknown as { value: string }).value).join("\n"))
    expect([await page.content(), fields, stored, ...said].join("\n")).not.toContain(PASSPHRASE)
  })

  it("old ones are removed but for the newest; a gateway that cannot make one says why", async () => {
    const page = await come("/backups")
    await page.getByRole("button", { name: "Remove old ones …" }).click()
    const dialog = page.getByRole("dialog")
    await dialog.getByLabel("The newest").fill("0")
    await dialog.getByLabel("Those younger than, days").fill("0")
    await dialog.getByLabel("Type “remove” to go on").fill("remove")
    await dialog.getByRole("button", { name: "Remove them" }).click()
    await dialog.getByRole("alert").getByText("No backup was removed").waitFor()
    await dialog.getByLabel("The newest").fill("1")
    await dialog.getByRole("button", { name: "Remove them" }).click()
    await page.getByText(/^\d+ backups? (?:is|are) removed\.$/).waitFor()
    expect((await api<Held>("GET", "/api/db-backups")).backups).toHaveLength(1)
    await page.route("**/api/db-backups", (route) => route.request().method() === "PUT"
      ? route.fulfill({ status: 503, json: { error: { message: "The gateway's disk does not take or give backups; nothing was changed.", code: "backup_disk" }, requestId: "req_1" } }) : route.continue())
    await page.getByRole("button", { name: "Back up now" }).click()
    await page.getByRole("alert").getByText("The gateway's disk does not take or give backups").waitFor()
  })

  it("what is recorded of requests goes by a typed word", async () => {
    await Http.send(on.gateway.url, { path: "/v1/chat/completions", body: { model: "sim/echo", messages: [{ role: "user", content: "Hello" }] } })
    await on.gateway.operator.settled()
    const page = await come("/backups")
    await page.getByRole("button", { name: "Remove: Calls and their kept bodies" }).click()
    const dialog = page.getByRole("dialog")
    await dialog.getByLabel("Type “remove” to go on").fill("Remove")
    expect(await dialog.getByRole("button", { name: "Remove them" }).isDisabled()).toBe(true)
    await dialog.getByLabel("Type “remove” to go on").fill("remove")
    await dialog.getByRole("button", { name: "Remove them" }).click()
    await page.getByText("1 call is removed.").waitFor()
    expect(await api("GET", "/api/usage/call-logs")).toEqual([])
  })
})
