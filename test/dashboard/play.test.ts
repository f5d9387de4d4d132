/** The playground's microscope, its code for clients, and what it keeps when the gateway refuses. */
import { spawn } from "node:child_process"
import * as path from "node:path"
import { describe, expect, it, onTestFinished } from "vitest"
import { canBrowse } from "#test/support/chromium.ts"
import { comerOf, staged } from "#test/support/dashboard.ts"
import { startSim } from "#test/support/sim.ts"

const root = path.resolve(import.meta.dirname, "../..")
const words = ["Chat completions", "Messages", "Responses", "Completions", "Generate content", "Local model server"] as const

/** Runs a module with the packages of this project, and answers what it printed. */
const run = (code: string): Promise<string> => new Promise((resolve, reject) => {
  const child = spawn(process.execPath, ["--input-type=module", "-e", code], { cwd: root, stdio: ["ignore", "pipe", "pipe"] })
  let [said, failed] = ["", ""]
  child.stdout.setEncoding("utf8").on("data", (text: string) => said += text)
  child.stderr.setEncoding("utf8").on("data", (text: string) => failed += text)
  child.on("close", (status) => status === 0 ? resolve(said) : reject(new Error(failed)))
})

describe.skipIf(!canBrowse())("the playground", () => {
  const on = staged()

  const come = comerOf(() => on)

  it("shows one prompt over six formats side by side: states, times, bytes, gaps and frames of each", async () => {
    const page = await come("/play")
    await page.getByLabel("Prompt", { exact: true }).fill("Six ways to say it")
    await page.getByLabel("Ask for").selectOption({ label: "Six formats side by side" })
    await page.getByRole("button", { name: "Send" }).click()
    const table = page.getByRole("table", { name: "Side by side" })
    for (const word of words) {
      const row = table.getByRole("row", { name: new RegExp(`^${word} `) })
      await row.getByText("Done", { exact: true }).waitFor()
      const [, first, , frames, size] = await row.getByRole("cell").allInnerTexts()
      expect([word, first !== "–", Number(frames) > 1, size]).toEqual([word, true, true, expect.stringMatching(/^[\d.]+ k?B$/)])
      const column = page.getByRole("region", { name: word, exact: true })
      await column.getByText("Six ways to say it").first().waitFor()
      await column.getByRole("img", { name: new RegExp(`^${word}: ${frames} frames, the longest gap`) }).waitFor()
      await column.getByText("Frames", { exact: true }).click()
      const told = await page.getByLabel(`Frames over ${word}`, { exact: true }).innerText()
      expect([word, told.match(/^\+[\d.]+ ms, .*bytes$|^\+[\d.]+ ms, [\d,]+ bytes$/gm)?.length]).toEqual([word, Number(frames)])
      expect(told).toContain("ways")
    }
  })

  it("tells what translation left out, for models side by side and for one", async () => {
    // A server of another format.
    const sim = await startSim()
    onTestFinished(sim.stop)
    await on.gateway.operator.createNode({ prefix: "msg", type: "anthropic-compatible", baseUrl: `${sim.url}/v1` })
    await on.gateway.operator.createConnection({ provider: "msg", apiKey: "any", name: "another format" })
    const page = await come("/play?model=msg/echo")
    await page.getByText("System prompt, limits, tools and key").click()
    const more = page.getByLabel("Other members of the body, JSON")
    await more.fill("{")
    await page.getByText("Not a JSON object").waitFor()
    expect(await page.getByRole("button", { name: "Send" }).isDisabled()).toBe(true)
    await more.fill(`{"seed": 7}`)
    await page.getByRole("button", { name: "Send" }).click()
    await page.getByText("Done", { exact: true }).waitFor()
    await page.getByText("The target does not know, and was not sent: max_tokens (set to 32000), seed").waitFor()
    await page.getByLabel("Ask for").selectOption({ label: "Up to four models side by side" })
    await page.getByLabel("Other models").fill("sim/unicode, nobody/nothing")
    await page.getByRole("button", { name: "Send" }).click()
    const table = page.getByRole("table", { name: "Side by side" })
    await table.getByRole("row", { name: /^sim\/unicode Done/ }).getByText("nothing").waitFor()
    await table.getByRole("row", { name: /^msg\/echo Done/ }).getByText("seed").waitFor()
    await table.getByRole("row", { name: /^nobody\/nothing Failed/ }).waitFor()
    await page.getByRole("region", { name: "nobody/nothing", exact: true }).getByRole("alert").waitFor()
  })

  it("gives code that the vendors' own clients run, over each format", async () => {
    const { key } = await on.gateway.operator.createKey("of the code")
    const page = await come("/play")
    await page.getByText("The same as code").click()
    await page.getByLabel("Prompt", { exact: true }).fill("It's \"quoted\" \\ text")
    for (const word of words) {
      await page.getByLabel("Wire format").selectOption({ label: word })
      await page.getByLabel("Language").selectOption({ label: "JavaScript" })
      const code = await page.getByLabel("code", { exact: true }).innerText()
      expect([word, await run(code.replace("<key>", key))]).toEqual([word, expect.stringContaining("quoted")])
      await page.getByLabel("Language").selectOption({ label: "Python" })
      expect(await page.getByLabel("code", { exact: true }).innerText()).toMatch(/^from \w+ import [\s\S]+"It's \\"quoted\\" \\\\ text"[\s\S]+for event in stream:/)
    }
  }, 300_000)

  it("says of a limit when it ends, and keeps what was typed", async () => {
    const { key } = await on.gateway.operator.createKey("slow", { maxRequestsPerMinute: 1 })
    const page = await come("/play")
    await page.getByText("System prompt, limits, tools and key").click()
    await page.getByLabel("Key", { exact: true }).fill(key)
    await page.getByLabel("Prompt", { exact: true }).fill("typed before the limit")
    await page.getByRole("button", { name: "Send" }).click()
    await page.getByText("Done", { exact: true }).waitFor()
    await page.getByRole("button", { name: "Send" }).click()
    await page.getByRole("alert").getByText(/^Try again in \d+ s\.$/).waitFor()
    expect(await page.getByLabel("Prompt", { exact: true }).inputValue()).toBe("typed before the limit")
  })

  it("shows a body that is too large as the gateway words it, and keeps it", async () => {
    await on.gateway.operator.call("PATCH", "/api/settings", { maxBodySizeMb: 1 })
    const page = await come("/play")
    const long = "long ".repeat(300_000)
    await page.getByLabel("Prompt", { exact: true }).fill(long)
    await page.getByRole("button", { name: "Send" }).click()
    await page.getByRole("alert").getByText("No answer came").waitFor()
    await page.getByText("413").first().waitFor()
    expect((await page.getByLabel("Prompt", { exact: true }).inputValue()).length).toBe(long.length)
    await on.gateway.operator.call("PATCH", "/api/settings", { maxBodySizeMb: 50 })
  })
})
