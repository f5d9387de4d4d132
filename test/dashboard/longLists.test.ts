/** Lists that are longer than a page: nothing that the gateway holds is out of reach. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { KeyStore } from "#actors/ports/Stores.ts"
import * as A2aTask from "#src/features/a2a/ports/A2aTask.ts"
import { A2aTaskStore } from "#src/features/a2a/ports/A2aTaskStore.ts"
import { BatchStore } from "#src/features/batches/ports/BatchStore.ts"
import { McpAuditStore } from "#src/features/mcp/ports/McpAuditStore.ts"
import * as Records from "#test/suites/records.ts"
import { canBrowse } from "#test/support/chromium.ts"
import { comerOf, type Stage, stage } from "#test/support/dashboard.ts"

const KEYS = 1_020
const CALLS = 510
const BATCHES = 110
const TASKS = 110

const many = <A, E>(count: number, one: (index: number) => Effect.Effect<A, E>) =>
  Effect.forEach(Array.from({ length: count }, (_, index) => index), one, { discard: true, concurrency: 8 })

describe.skipIf(!canBrowse())("the dashboard's long lists", () => {
  let on: Stage
  let oldest: { readonly id: string; readonly key: string }
  beforeAll(async () => {
    on = await stage()
    oldest = await on.gateway.operator.createKey("the oldest")
    await on.gateway.operator.changeKey(oldest.id, { maxRequestsPerMinute: 7 })
    const services = on.gateway.services()
    const keys = Context.get(services, KeyStore)
    await Effect.runPromise(many(KEYS, (index) => keys.insert(Records.apiKey({ id: `many-${index}`, name: `many ${index}`, keyHash: `many-${index}`, createdAt: "2099-01-01T00:00:00.000Z" }))))
    const audit = Context.get(services, McpAuditStore)
    // The last one that came is the newest.
    for (let index = CALLS; index-- > 0;) {
      // oxlint-disable-next-line no-await-in-loop -- their order is what the list shows
      await Effect.runPromise(audit.append({
        id: `call-${index}`, toolName: `tool-${index}`, inputHash: "a", outputSummary: null, durationMs: 1, apiKeyId: oldest.id, success: true, errorCode: null, createdAt: new Date(Date.now() - index * 1_000).toISOString()
      }))
    }
    const batches = Context.get(services, BatchStore)
    const now = Date.now()
    await Effect.runPromise(many(BATCHES, (index) => batches.insert(Records.batchRecord(`batch_${index}`, {}, { createdAt: now - index * 1_000, status: index === BATCHES - 1 ? "completed" : "failed" }))))
    const tasks = Context.get(services, A2aTaskStore)
    await Effect.runPromise(many(TASKS, (index) => tasks.insert(A2aTask.cancelled(A2aTask.submitted({
      id: `task-${index}`, owner: "operator", contextId: "c", skill: "health-report", request: {}, isPrivate: false, messages: [{ id: "m", role: "user", content: `asked ${index}` }]
    }, now - index * 1_000), now))))
  }, 300_000)
  afterAll(() => on?.close())

  const come = comerOf(() => on)

  it("limits are made for every key, and say the name of each", async () => {
    const page = await come("/limits")
    await page.getByRole("table", { name: "Limits" }).getByRole("row", { name: /the oldest.*Requests a minute/ }).waitFor()
    await page.getByRole("button", { name: "Limit of tokens" }).click()
    const dialog = page.getByRole("dialog")
    await dialog.getByLabel("Key", { exact: true }).selectOption({ label: "the oldest" })
    await dialog.getByLabel("Tokens").fill("1000")
    await dialog.getByRole("button", { name: "Save" }).click()
    await page.getByRole("table", { name: "Limits" }).getByRole("row", { name: /the oldest.*Tokens a day, anywhere/ }).waitFor()
    await page.getByLabel("Key of the request").selectOption({ label: "the oldest" })
    await page.getByRole("list", { name: "Limits that are asked" }).getByText("Requests a minute").waitFor()
  })

  it("evals run in the name of every key, against every model", async () => {
    const { apiKeys, targets } = await on.gateway.operator.call<{ apiKeys: ReadonlyArray<{ id: string }>; targets: ReadonlyArray<{ type: string }> }>("GET", "/api/evals")
    expect(apiKeys.length).toBe(KEYS + 1)
    const { catalog } = await on.gateway.operator.call<{ catalog: Record<string, { active: boolean; models: ReadonlyArray<{ type: string }> }> }>("GET", "/api/models/catalog")
    const callable = Object.values(catalog).flatMap(({ active, models }) => active ? models.filter(({ type }) => type === "chat") : [])
    expect(targets.filter(({ type }) => type === "model").length).toBe(callable.length)
    const page = await come("/evals")
    await page.getByRole("button", { name: /^Run / }).first().click()
    await page.getByRole("dialog").getByLabel("In the name of").selectOption({ label: "the oldest" })
  })

  it("calls of tools and tasks have pages, which stand in the address", async () => {
    const page = await come("/agents")
    const calls = page.getByRole("table", { name: "Calls of tools" })
    await calls.getByText("tool-0", { exact: true }).waitFor()
    await calls.getByText("the oldest").first().waitFor()
    await page.getByRole("group", { name: "Pages of calls of tools" }).getByRole("button", { name: "Older" }).click()
    await calls.getByText(`tool-${CALLS - 1}`, { exact: true }).waitFor()
    const tasks = page.getByRole("table", { name: "Tasks" })
    await tasks.getByText("asked 0", { exact: true }).waitFor()
    await page.getByRole("group", { name: "Pages of tasks" }).getByRole("button", { name: "Older" }).click()
    await tasks.getByText(`asked ${TASKS - 1}`, { exact: true }).waitFor()
    expect(new URL(page.url()).search).toBe("?page=1&tasks=1")
    await page.getByRole("group", { name: "Pages of tasks" }).getByRole("button", { name: "Newer" }).click()
    await tasks.getByText("asked 0", { exact: true }).waitFor()
    expect(new URL(page.url()).search).toBe("?page=1")
  })

  it("batches have pages, and a completed one of an older page is deleted with the others", async () => {
    const page = await come("/work")
    const table = page.getByRole("table", { name: "Batches" })
    const pages = page.getByRole("group", { name: "Pages of batches" })
    await table.getByText("batch_0", { exact: true }).waitFor()
    await pages.getByRole("button", { name: "Older" }).click()
    await table.getByRole("row", { name: `batch_${BATCHES - 1}` }).getByText("Completed").waitFor()
    expect(await pages.getByRole("button", { name: "Older" }).isDisabled()).toBe(true)
    await pages.getByRole("button", { name: "Newer" }).click()
    await table.getByText("batch_0", { exact: true }).waitFor()
    await page.getByRole("button", { name: "Delete the completed ones" }).click()
    await page.getByRole("dialog").getByRole("button", { name: "Delete them" }).click()
    await page.getByText(/^1 batch and/).waitFor()
  })
})
