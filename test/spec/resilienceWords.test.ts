/** What calls about breakers and lockouts name: an unknown provider or connection is refused, and a deleted one is no longer shown. */
import { afterAll, beforeAll, expect, it } from "vitest"
import { type Lab, startLab } from "#test/support/lab.ts"

let lab: Lab
beforeAll(async () => {
  lab = await startLab({ resilience: "awake" })
})
afterAll(() => lab.close())

const issuesOf = async (method: string, path: string, body: unknown) => {
  const { status, text } = await lab.gateway.operator.raw(method, path, body)
  return [status, (JSON.parse(text) as { readonly error?: { readonly details?: unknown } }).error?.details]
}
const told = (field: string, message: string) => [{ field, message: expect.stringContaining(message) as string }]
const lockouts = "/api/resilience/model-cooldowns"

it("a provider or connection that does not exist is refused, where a typing error looked like success", async () => {
  expect(await issuesOf("POST", "/api/resilience/reset", { provider: "opneai" })).toEqual([400, told("provider", "No provider has the id or prefix 'opneai'")])
  expect(await issuesOf("DELETE", lockouts, { provider: "opneai", model: "m" })).toEqual([400, told("provider", "'opneai'")])
  expect(await issuesOf("DELETE", lockouts, { provider: "lab", model: "m", connection: "c-1" })).toEqual([400, told("connection", "GET /api/providers")])
  expect(await issuesOf("DELETE", lockouts, { provider: "lab", model: "m", connection: lab.connection })).toEqual([200, undefined])
})

it("all stands alone, and one lockout has a provider and a model", async () => {
  expect(await issuesOf("DELETE", lockouts, { all: true, provider: "lab", model: "m" })).toEqual([400, told("all", "alone")])
  expect(await issuesOf("DELETE", lockouts, { provider: "lab" })).toEqual([400, told("model", "Required, unless all is true")])
  expect(await issuesOf("DELETE", lockouts, {})).toEqual([400, [...told("provider", "Required"), ...told("model", "Required")]])
})

it("a deleted provider node has no breaker in the replies", async () => {
  const { operator } = lab.gateway
  const node = await operator.createNode({ prefix: "rwgone", baseUrl: `${lab.sim.url}/v1` })
  await operator.createConnection({ provider: node, apiKey: "sk-1" })
  expect((await lab.chat({ model: "rwgone/any" })).status).toBe(200)
  const providersOf = async (path: string) =>
    (await operator.call<{ readonly breakers: ReadonlyArray<{ readonly provider: string }> }>("GET", path)).breakers.map(({ provider }) => provider)
  for (const path of ["/api/resilience", "/api/monitoring/health"]) expect(await providersOf(path)).toContain("rwgone")
  await operator.call("DELETE", `/api/provider-nodes/${node}`)
  for (const path of ["/api/resilience", "/api/monitoring/health"]) {
    expect((await providersOf(path)).filter((provider) => provider === "rwgone" || provider === node)).toEqual([])
  }
})

it("the first lockout of a model is no longer than the longest", async () => {
  const refused = [400, told("modelLockout.baseCooldownMs", "maxCooldownMs (5000)")]
  expect(await issuesOf("PATCH", "/api/settings", { modelLockout: { baseCooldownMs: 600_000, maxCooldownMs: 5_000 } })).toEqual(refused)
  expect(await issuesOf("PATCH", "/api/settings", { modelLockout: { maxCooldownMs: 5_000 } })).toEqual(refused)
  expect(await issuesOf("PATCH", "/api/settings", { modelLockout: { baseCooldownMs: 5_000, maxCooldownMs: 5_000 } })).toEqual([200, undefined])
})
