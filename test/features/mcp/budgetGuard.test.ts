/** A bound on what the calls of one MCP session cost, set by its client: refused, asked of cheaper models, or only told. */
import { afterAll, beforeAll, expect, it } from "vitest"
import { agentOf, type McpLab, startMcp } from "#test/features/mcp/lab.ts"
import * as Http from "#test/support/http.ts"

let lab: McpLab
beforeAll(async () => {
  lab = await startMcp("streamable-http")
  const { operator } = lab.gateway
  await operator.letFailuresPass()
  await operator.price("lab", "dear", { input: 1_000, output: 1_000 })
  await operator.createConnection({ provider: "serper-search", apiKey: "serper-search-credential-000001", providerSpecificData: { baseUrl: `${lab.sim.url}/serper` } })
})
afterAll(() => lab.close())

const agent = () => agentOf(lab, "execute:completions", "execute:search", "read:combos", "write:budget", "read:usage")
type Agent = Awaited<ReturnType<typeof agent>>
const ask = ({ call }: Agent) => call("route_request", { model: "lab/dear", messages: [{ role: "user", content: "Say hello" }] })
/** A connection whose model automatic routing asks. */
const connect = async (provider: string): Promise<string> => (await lab.gateway.operator.call<{ readonly connection: { readonly id: string } }>(
  "POST", "/api/providers", { provider, apiKey: "a-credential-of-a-test-1", name: provider, defaultModel: "default" }
)).connection.id
const costIn = (answer: Record<string, unknown>) => (answer["routing"] as { readonly cost: number }).cost

it("counts what the session's calls cost from its beginning, and says how it stands from four fifths on", async () => {
  const one = await agent()
  const first = await ask(one)
  const cost = costIn(first)
  expect([cost > 0, first["budgetGuard"]]).toEqual([true, undefined])
  const set = await one.call("set_budget_guard", { maxCost: cost * 2.4, action: "alert" })
  expect(set).toMatchObject({ sessionId: expect.any(String) as string, budgetTotal: cost * 2.4, budgetSpent: expect.closeTo(cost, 9) as number, budgetRemaining: expect.closeTo(cost * 1.4, 9) as number, action: "alert", status: "active" })
  expect((await ask(one))["budgetGuard"]).toMatchObject({ sessionId: set["sessionId"], status: "warning", budgetSpent: expect.closeTo(cost * 2, 9) as number })
  // Alert only tells: calls go on.
  expect(await ask(one)).toMatchObject({ response: { model: "lab/dear" }, budgetGuard: { status: "exceeded", budgetRemaining: 0 } })
  expect(await one.call("get_session_snapshot")).toMatchObject({ budgetGuard: { status: "exceeded", action: "alert" } })
  await one.close()
})

it("counts what a failed call cost, too: its provider worked", async () => {
  const { operator } = lab.gateway
  const node = await operator.createNode({ prefix: "breaks", baseUrl: `${lab.sim.url}/v1` })
  await operator.createConnection({ provider: node, apiKey: "sk-breaks" })
  await operator.price("breaks", "half", { input: 1_000, output: 1_000 })
  // The combo refuses the answer, which was made and is paid.
  const { id } = await operator.call<{ id: string }>("POST", "/api/combos", { name: "picky", models: ["breaks/half"], config: { maxRetries: 0, responseValidation: { minContentLength: 100_000 } } })
  const one = await agent()
  await one.call("set_budget_guard", { maxCost: 1e-9, action: "block" })
  const failed = await one.call("route_request", { model: "combo/picky", messages: [{ role: "user", content: "Say hello" }] })
  expect(failed["error"]).toMatchObject({ code: expect.not.stringMatching("budget_exceeded") as string })
  const rows = (await lab.gateway.rows()).filter(({ model }) => model === "half")
  const cost = rows.reduce((sum, { costUsd }) => sum + costUsd, 0)
  expect(cost).toBeGreaterThan(0)
  expect((await one.call("get_session_snapshot"))["budgetGuard"]).toMatchObject({ budgetSpent: expect.closeTo(cost, 9) as number, status: "exceeded" })
  expect(await ask(one)).toMatchObject({ error: { code: "budget_exceeded" } })
  await operator.call("DELETE", `/api/combos/${id}`)
  await one.close()
})

it("block refuses every call that costs once the budget is spent, and a larger one goes on; other sessions do not notice", async () => {
  const [one, other] = [await agent(), await agent()]
  await one.call("set_budget_guard", { maxCost: 1e-9, action: "block" })
  const cost = costIn(await ask(one))
  const before = (await lab.sim.entries({})).length
  expect(await ask(one)).toMatchObject({ error: { code: "budget_exceeded", message: expect.stringContaining("maxCost") as string } })
  expect(await one.call("web_search", { query: "beyond the budget" })).toMatchObject({ error: { code: "budget_exceeded" } })
  expect(await one.call("test_combo", { comboId: "best", testPrompt: "Hello" })).toMatchObject({ summary: { ok: 0, failed: 2 } })
  expect((await lab.sim.entries({})).length).toBe(before)
  expect((await one.call("list_combos"))["combos"]).toMatchObject([{ name: "best" }])
  expect(await ask(other)).toMatchObject({ response: { model: "lab/dear" } })
  expect(await one.call("set_budget_guard", { maxCost: cost * 10, action: "block" })).toMatchObject({ status: "active", budgetSpent: expect.closeTo(cost, 9) as number })
  expect(await ask(one)).toMatchObject({ response: { model: "lab/dear" } })
  await one.close()
  await other.close()
})

it("degrade asks cheap models, or free ones and no others; what cannot be asked of another model is refused", async () => {
  const { operator } = lab.gateway
  const one = await agent()
  await one.call("set_budget_guard", { maxCost: 1e-9, action: "degrade", degradeToTier: "free" })
  await ask(one)
  const provider = await operator.createNode({ prefix: "paid", baseUrl: `${lab.sim.url}/v1` })
  await operator.price("paid", "default", { input: 5, output: 5 })
  const paid = await connect(provider)
  const free = await operator.createNode({ prefix: "gratis", baseUrl: `${lab.sim.url}/v1` })
  await operator.price("gratis", "default", { input: 0, output: 0 })
  const gratis = await connect(free)
  expect(await ask(one)).toMatchObject({ response: { model: "gratis/default" }, routing: { cost: 0 }, budgetGuard: { status: "exceeded" } })
  expect(await one.call("web_search", { query: "beyond" })).toMatchObject({ error: { code: "budget_exceeded" } })
  // Without a free model none is asked.
  await operator.removeConnection(gratis)
  expect((await ask(one))["error"]).toMatchObject({ code: expect.any(String) as string })
  expect(await one.call("set_budget_guard", { maxCost: 1e-9, action: "degrade" })).toMatchObject({ status: "exceeded" })
  expect(await ask(one)).toMatchObject({ response: { model: "paid/default" } })
  await operator.removeConnection(paid)
  await one.close()
})

it("needs its scope, a positive amount and a session", async () => {
  const poor = await agentOf(lab, "execute:completions")
  expect(await poor.call("set_budget_guard", { maxCost: 1, action: "block" })).toMatchObject({ error: { code: "scope_denied:write:budget" } })
  await poor.close()
  const one = await agent()
  for (const wrong of [{ maxCost: 0, action: "block" }, { maxCost: -1, action: "block" }, { maxCost: 1, action: "stop" }, { maxCost: 1, action: "degrade", degradeToTier: "fast" }, { action: "block" }]) {
    expect([wrong, await one.call("set_budget_guard", wrong)]).toMatchObject([wrong, { error: { code: "invalid_arguments" } }])
  }
  const reply = await Http.send(lab.gateway.url, {
    path: "/api/mcp/stream",
    headers: { authorization: `Bearer ${one.key}`, accept: "application/json, text/event-stream", "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": "gateway_set_budget_guard" },
    body: { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "gateway_set_budget_guard", arguments: { maxCost: 1, action: "block" }, _meta: { "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientInfo": { name: "t", version: "1" }, "io.modelcontextprotocol/clientCapabilities": {} } } }
  })
  expect([reply.status, reply.text]).toEqual([200, expect.stringContaining("no_session")])
  await one.close()
})
