/** Budgets and roles of tool calls over MCP: what a call may cost, which combo a budget pays, and the task of a role. */
import { afterAll, beforeAll, expect, it } from "vitest"
import { answerWithin, dearestOf } from "#src/features/mcp/tools/spending.ts"
import { CREDENTIAL } from "#test/support/lab.ts"
import { type McpLab, overStream, startMcp, textOf } from "./lab.ts"

let lab: McpLab
let call: (name: string, args: Readonly<Record<string, unknown>>) => Promise<Record<string, unknown>>
let close: () => Promise<void>

/** The longest answer that the newest call asked the upstream for. */
const askedTokens = async () => {
  const entry = (await lab.sim.entries()).at(-1)
  return (entry?.body as { readonly max_tokens?: number } | undefined)?.max_tokens
}

beforeAll(async () => {
  lab = await startMcp("streamable-http")
  const { operator } = lab.gateway
  await operator.price("lab", "dear", { input: 10, output: 100 })
  await operator.price("lab", "cheap", { input: 1, output: 2 })
  await operator.price("lab", "free", { input: 0, output: 0 })
  for (const [name, ...models] of [["thrifty", "lab/cheap"], ["mixed", "lab/cheap", "lab/dear"], ["gratis", "lab/free"], ["nested", { kind: "combo-ref", comboName: "mixed" }]] as const) {
    await operator.call("POST", "/api/combos", { name, models, strategy: "priority" })
  }
  const { key } = await operator.createKey("spender", { scopes: ["mcp:connect", "execute:completions", "read:combos", "read:health"] })
  const { client } = await overStream(lab.gateway.url, key)
  close = () => client.close()
  call = async (name, args) => {
    const result = await client.callTool({ name, arguments: args })
    return { isError: result.isError === true, ...JSON.parse(textOf(result)) as Record<string, unknown> }
  }
})

afterAll(async () => {
  await close()
  await lab.close()
})

const messages = [{ role: "user", content: "Say hello" }]

it("a budget shortens the answer to what it pays at the dearest target, and a call that it cannot pay is refused before any upstream is asked", async () => {
  expect(await call("gateway_route_request", { model: "lab/cheap", messages, budget: 1 })).toMatchObject({ isError: false, response: { model: "lab/cheap" } })
  expect(await askedTokens()).toBe(1024)
  // 8 tokens of prompt cost 0.00008 USD, an answer of a token 0.0001 USD.
  expect(await call("gateway_route_request", { model: "combo/mixed", messages, budget: 0.002 })).toMatchObject({ isError: false, response: { model: "lab/cheap" } })
  expect(await askedTokens()).toBeGreaterThan(10)
  expect(await askedTokens()).toBeLessThan(20)
  const before = (await lab.sim.entries()).length
  const refused = await call("gateway_route_request", { model: "combo/mixed", messages, budget: 0.00005 })
  expect(refused).toMatchObject({ isError: true, error: { code: "budget_exceeded" } })
  expect((await lab.sim.entries()).length).toBe(before)
  expect(await call("gateway_route_request", { model: "lab/cheap", messages, budget: 0 })).toMatchObject({ error: { code: "invalid_arguments" } })
})

it("automatic routing drops the models that a budget does not pay", async () => {
  const { operator } = lab.gateway
  const other = await operator.createNode({ prefix: "other", baseUrl: `${lab.sim.url}/v1` })
  const id = await operator.createConnection({ provider: other, apiKey: CREDENTIAL })
  await operator.changeConnection(id, { defaultModel: "costly" })
  await operator.price("other", "costly", { input: 10, output: 100 })
  for (const budget of [1e-13, 0.000001]) {
    expect(await call("gateway_route_request", { model: "auto", messages, budget })).toMatchObject({ isError: true, error: { code: "payment_required" } })
  }
  expect(await call("gateway_route_request", { model: "auto", messages, budget: 1 })).toMatchObject({ isError: false, response: { model: "other/costly" } })
})

it("a role is the task that task routing knows it by", async () => {
  const { operator } = lab.gateway
  await operator.call("PUT", "/api/settings/task-routing", { enabled: true, appliesTo: "all", taskModelMap: { coding: "lab/coder", analysis: "lab/thinker" } })
  for (const [role, model] of [["coding", "lab/coder"], ["review", "lab/coder"], ["planning", "lab/thinker"], ["analysis", "lab/thinker"]]) {
    expect([role, await call("gateway_route_request", { model: "lab/cheap", messages, role })]).toMatchObject([role, { isError: false, response: { model } }])
  }
  await operator.call("PUT", "/api/settings/task-routing", { enabled: false })
})

it("a recommendation keeps to a budget, and names a combo whose models cost nothing", async () => {
  const names = async (args: Readonly<Record<string, unknown>>) => {
    const found = await call("gateway_best_combo_for_task", { taskType: "coding", ...args }) as {
      readonly recommendedCombo: { readonly name: string } | null; readonly alternatives: ReadonlyArray<{ readonly name: string; readonly estimatedCost: number }>; readonly freeAlternative: string | null
    }
    return { all: [found.recommendedCombo, ...found.alternatives].flatMap((one) => one === null ? [] : [one.name]).sort(), free: found.freeAlternative }
  }
  // 1,000 tokens each way: cheap 0.003 USD, dear 0.11 USD. The price of `best` is not known.
  expect(await names({ budgetConstraint: 0.01 })).toEqual({ all: ["gratis", "thrifty"], free: "gratis" })
  expect(await names({ budgetConstraint: 0.11 })).toEqual({ all: ["gratis", "mixed", "nested", "thrifty"], free: "gratis" })
  expect(await names({ budgetConstraint: 0 })).toEqual({ all: ["gratis"], free: "gratis" })
  expect(await call("gateway_best_combo_for_task", { taskType: "coding", budgetConstraint: -1 })).toMatchObject({ error: { code: "invalid_arguments" } })
})

it("the answer of no price is bounded by none, and combos that name each other end", () => {
  expect(answerWithin(0.001, 10, [], 1024)).toBe(1024)
  expect(answerWithin(0.001, 10, [{ input: 1, output: 0 }], 1024)).toBe(1024)
  expect(answerWithin(0.000009, 10, [{ input: 1, output: 0 }], 1024)).toBe(0)
  const combos = [{ name: "a", models: [{ comboName: "b" }, { model: "lab/x" }] }, { name: "b", models: [{ comboName: "a" }, { provider: "lab", model: "y" }] }]
  const prices = { lab: { x: { input: 1, output: 1 }, y: { input: 2, output: 2 } } }
  expect(dearestOf(combos[0] as never, combos, prices, { prompt: 1_000_000, answer: 0 })).toBe(2)
  expect(dearestOf({ name: "c", models: [{ model: "lab/z" }] }, combos, prices, { prompt: 1, answer: 1 })).toBeNull()
  expect(dearestOf({ name: "d", models: [] }, combos, prices, { prompt: 1, answer: 1 })).toBeNull()
})
