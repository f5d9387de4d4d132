/** What is done to the words of every conversation, as an operator sets it: shorter prompts, prompts of the gateway's own, and thinking. */
import { describe, expect, it } from "vitest"
import { canBrowse } from "#test/support/chromium.ts"
import { comerOf, staged } from "#test/support/dashboard.ts"
import * as Http from "#test/support/http.ts"
import { eventually } from "#test/support/operator.ts"

const POLITE = "Hello! Could you please help me? I would really appreciate it if you could basically just explain what a monad actually is. Thank you very much in advance!"

describe.skipIf(!canBrowse())("the dashboard's words of conversations", () => {
  const on = staged()

  const come = comerOf(() => on)
  const api = <A>(method: string, path: string, body?: unknown) => on.gateway.operator.call<A>(method, path, body)
  const ask = (content: string) => Http.send(on.gateway.url, { path: "/v1/chat/completions", body: { model: "sim/echo", messages: [{ role: "user", content }] } })

  it("compression: a draft is previewed before it is saved, its change is shown, saved and taken back, and what it saved is summed", async () => {
    const { id } = await api<{ id: string }>("POST", "/api/combos", { name: "careful", models: ["sim/echo"] })
    const page = await come("/compression")
    await page.getByText("No request was made shorter").waitFor()
    const changes = page.getByRole("table", { name: "Changes" }).getByRole("row")
    await page.getByLabel(/^Prompts are made shorter/).check()
    await page.getByLabel("Mode", { exact: true }).first().selectOption({ label: "Standard: courtesies and fillers of prose" })
    await page.getByRole("button", { name: "Give it a mode" }).click()
    await page.getByRole("combobox", { name: "Mode of careful" }).selectOption({ label: "Off: nothing is changed" })
    await page.getByText("Rules of prose (caveman)").click()
    await page.getByLabel("Shorter texts stay, characters").fill("10")
    expect(await changes.allInnerTexts()).toEqual([
      "Field\tStored\tNow", "enabled\tfalse\ttrue", "defaultMode\toff\tstandard", `comboOverrides\t–\t${id}: off`, "cavemanConfig.minMessageLength\t50\t10"
    ])
    await page.getByText("with what is not saved yet").waitFor()
    await page.getByLabel("Prompt", { exact: true }).fill(POLITE)
    await page.getByLabel("Prompt", { exact: true }).press("Control+Enter")
    await page.getByText(/^\d+(?:\.\d)?% saved$/).waitFor()
    expect(await page.getByLabel(/, before$/).last().innerText()).toBe(POLITE)
    const after = await page.getByLabel(/, after$/).last().innerText()
    expect([after.includes("monad"), after.length < POLITE.length]).toEqual([true, true])
    // Nothing was stored or sent.
    expect(await api("GET", "/api/settings/compression")).toMatchObject({ enabled: false, comboOverrides: {} })
    expect((await on.gateway.operator.reconciliation()).started).toBe(0)
    await page.getByRole("button", { name: "Save", exact: true }).click()
    await page.getByText("How prompts are made shorter is changed.").waitFor()
    expect(await api("GET", "/api/settings/compression")).toMatchObject({ enabled: true, defaultMode: "standard", comboOverrides: { [id]: "off" }, cavemanConfig: { minMessageLength: 10, intensity: "full" } })
    expect(await page.getByRole("button", { name: "Save", exact: true }).isDisabled()).toBe(true)
    expect((await ask(POLITE)).headers["x-gateway-compression"]).toBe("standard; source=default")
    await page.getByRole("table", { name: "Saved by mode" }).getByRole("row", { name: /^standard 1 / }).waitFor()
    await page.getByRole("table", { name: "Saved by combo" }).getByRole("row", { name: /^without a combo 1 / }).waitFor()
    await page.getByLabel("Over", { exact: true }).selectOption({ label: "Last 7 days" })
    await expect.poll(() => new URL(page.url()).search).toBe("?since=7d")
    await page.getByRole("table", { name: "Saved by engine" }).getByRole("row", { name: /^caveman 1 / }).waitFor()
    // A refusal stands at its field.
    await page.getByLabel("A prompt is long from, tokens").fill("99999999")
    await page.getByRole("button", { name: "Save", exact: true }).click()
    await page.getByRole("alert").getByText("Nothing was changed").waitFor()
    await page.getByRole("button", { name: "Discard", exact: true }).click()
    await page.getByRole("status", { name: "Notes" }).getByRole("listitem").filter({ hasText: "How prompts are made shorter is changed." }).getByRole("button", { name: "Undo" }).click()
    await eventually(() => api<{ enabled: boolean }>("GET", "/api/settings/compression"), ({ enabled }) => !enabled, "the settings of before")
  })

  it("compression: output of a command is shortened by its filter; what are no messages is said at once", async () => {
    const page = await come("/compression")
    await page.getByLabel("Input", { exact: true }).selectOption({ label: "Messages of a chat completion, JSON" })
    await page.getByLabel("Messages", { exact: true }).fill("{}")
    await page.getByText("Expected a list of messages as JSON").waitFor()
    expect(await page.getByRole("button", { name: "Show what would be sent" }).isDisabled()).toBe(true)
    await page.getByLabel("Input", { exact: true }).selectOption({ label: "Output of a command" })
    await page.getByLabel("Command", { exact: true }).fill("npm ci")
    await page.getByLabel("Output", { exact: true }).fill([...Array.from({ length: 40 }, (_, index) => `npm warn deprecated package-${index}@1.0.0: old`), "", "added 120 packages in 3s", "", "14 packages are looking for funding", "  run `npm fund` for details"].join("\n"))
    await page.getByRole("button", { name: "Show what would be sent" }).click()
    await page.getByText(/^Filter .*, known by its command\.$/).waitFor()
    await page.getByText(/% saved$/).waitFor()
    expect(await page.getByLabel("Output, after", { exact: true }).last().innerText()).toContain("added 120 packages in 3s")
  })

  it("compression: grouping, comments, whole outputs, filters of one's own and clearing of old results are set, shown as a change, and taken back", async () => {
    const page = await come("/compression")
    type Stored = { readonly rtkConfig: Readonly<Record<string, unknown>>; readonly contextEditing: unknown; readonly aggressive: { readonly thresholds: Readonly<Record<string, number>> } }
    const stored = () => api<Stored>("GET", "/api/settings/compression")
    const before = await stored()
    await page.getByLabel(/^Anthropic's models are asked to clear/).check()
    await page.getByText("Filters of commands (rtk)").click()
    await page.getByLabel("Comments on lines of their own go from fenced code").check()
    await page.getByLabel("Matches are grouped from").fill("7")
    await page.getByLabel("Whole outputs are kept").selectOption("always")
    await page.getByText("Older turns (aggressive)").click()
    await page.getByLabel("A summary from turn").fill(String((before.aggressive.thresholds["fullSummary"] ?? 0) + 1))
    const filters = page.getByLabel("Filters of your own", { exact: true })
    await filters.fill("[{")
    await page.getByText("This is no JSON").waitFor()
    expect(await page.getByRole("button", { name: "Save", exact: true }).isDisabled()).toBe(true)
    await filters.fill(JSON.stringify([{ id: "own" }]))
    await page.getByRole("button", { name: "Save", exact: true }).click()
    await page.getByRole("alert").getByText("Nothing was changed").waitFor()
    await filters.fill("[]")
    const after = (before.aggressive.thresholds["fullSummary"] ?? 0) + 1
    expect((await page.getByRole("table", { name: "Changes" }).getByRole("row").allInnerTexts()).slice(1).sort()).toEqual([
      `aggressive.thresholds.fullSummary\t${after - 1}\t${after}`, "contextEditing.enabled\tfalse\ttrue", `rtkConfig.groupingThreshold\t${String(before.rtkConfig["groupingThreshold"])}\t7`,
      "rtkConfig.rawOutputRetention\tnever\talways", "rtkConfig.stripCodeComments\tfalse\ttrue"
    ])
    await page.getByRole("button", { name: "Save", exact: true }).click()
    await page.getByText("How prompts are made shorter is changed.").waitFor()
    expect(await stored()).toMatchObject({
      contextEditing: { enabled: true }, rtkConfig: { ...before.rtkConfig, groupingThreshold: 7, rawOutputRetention: "always", stripCodeComments: true }, aggressive: { ...before.aggressive, thresholds: { ...before.aggressive.thresholds, fullSummary: after } }
    })
    await page.getByRole("status", { name: "Notes" }).getByRole("listitem").filter({ hasText: "How prompts are made shorter is changed." }).getByRole("button", { name: "Undo" }).click()
    await eventually(stored, (now) => JSON.stringify(now) === JSON.stringify(before), "the settings of before")
    await page.getByLabel("Id of an output").fill("nothing")
    await page.getByRole("button", { name: "Read it" }).click()
    await page.getByRole("alert").getByText("The output was not read").waitFor()
  })

  it("prompts: the gateway's own text is said in conversations once it is saved, and two operators see each other", async () => {
    const page = await come("/prompts")
    await page.getByLabel("The texts are said").check()
    await page.getByLabel("Before all other instructions").fill("Answer in verse.")
    expect(await page.getByRole("table", { name: "Changes" }).getByRole("row").allInnerTexts()).toEqual(["Field\tStored\tNow", "enabled\toff\ton", "prefixPrompt\t–\tAnswer in verse."])
    await api("PUT", "/api/settings/system-prompt", { prefixPrompt: "Answer in prose." })
    await page.getByRole("button", { name: "Save the prompt" }).click()
    await page.getByRole("table", { name: "Theirs and yours" }).getByRole("row", { name: "prefixPrompt Answer in prose. Answer in verse." }).waitFor()
    await page.getByRole("button", { name: "Save mine" }).click()
    await page.getByText("The gateway's own prompt is changed.").waitFor()
    expect(await api("GET", "/api/settings/system-prompt")).toEqual({ enabled: true, prompt: "", prefixPrompt: "Answer in verse.", suffixPrompt: "" })
    await page.getByLabel("Behind the instructions").fill("x".repeat(50_001))
    await page.getByText("At most 50,000 characters").waitFor()
    expect(await page.getByRole("button", { name: /^Save (?:the prompt|mine)$/ }).isDisabled()).toBe(true)
  })

  it("prompts: transforms of instructions are saved as they are typed, and what they are not is refused", async () => {
    const page = await come("/prompts")
    const area = page.getByLabel("Transforms as JSON")
    await area.fill("{")
    await page.getByText("Expected a JSON object").waitFor()
    await area.fill(JSON.stringify({ providers: { "*": { pipeline: [{ kind: "nothing" }] } } }))
    await page.getByRole("button", { name: "Save the transforms" }).click()
    await page.getByRole("alert").getByText("The transforms were not changed").waitFor()
    const transforms = { providers: { "*": { pipeline: [{ kind: "append_system_block", text: "Last rules." }] } } }
    await area.fill(JSON.stringify(transforms))
    await page.getByRole("button", { name: "Save the transforms" }).click()
    await page.getByText("The transforms are changed.").waitFor()
    expect(await api("GET", "/api/settings")).toMatchObject({ systemTransforms: transforms })
    await page.getByRole("status", { name: "Notes" }).getByRole("button", { name: "Undo" }).click()
    await eventually(() => api("GET", "/api/settings"), (now) => JSON.stringify((now as { systemTransforms?: unknown }).systemTransforms) === "{}", "the settings of before")
  })

  it("thinking: a budget for all is saved, one that is too large is refused at its field, and a press takes it back", async () => {
    const page = await come("/prompts")
    await page.getByLabel("How much models think").selectOption({ label: "A number of tokens, for all" })
    await page.getByLabel("Tokens of thought").fill("200000")
    await page.getByRole("button", { name: "Save the thinking budget" }).click()
    await page.getByRole("alert").getByText("The thinking budget was not changed").waitFor()
    expect(await page.getByLabel("Tokens of thought").getAttribute("aria-invalid")).toBe("true")
    await page.getByLabel("Tokens of thought").fill("2048")
    expect(await page.getByRole("table", { name: "Changes" }).getByRole("row").allInnerTexts()).toEqual(["Field\tStored\tNow", "mode\tpassthrough\tcustom", "customBudget\t10240\t2048"])
    await page.getByRole("button", { name: "Save the thinking budget" }).click()
    await page.getByText("The thinking budget is changed.").waitFor()
    expect(await api("GET", "/api/settings/thinking-budget")).toMatchObject({ mode: "custom", customBudget: 2_048 })
    await page.getByRole("status", { name: "Notes" }).getByRole("button", { name: "Undo" }).click()
    await eventually(() => api<{ mode: string }>("GET", "/api/settings/thinking-budget"), ({ mode }) => mode === "passthrough", "the mode of before")
  })
})
