/** A provider node whose prefix changes: whatever names it by the old one names it by the new one, in the same commit. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type Lab, messages, startLab } from "#test/support/lab.ts"
import * as Http from "#test/support/http.ts"

let lab: Lab
let node = ""
let key = { id: "", key: "" }
let limit = ""

const read = async (at: string): Promise<string> => (await lab.gateway.operator.raw("GET", at)).text
const ask = (model: string, credential = key.key) => Http.send(lab.gateway.url, {
  path: "/v1/chat/completions", headers: { authorization: `Bearer ${credential}` }, body: { model, messages }
})
/** Where names of a node may stand. */
const pages = [
  "/api/combos", "/api/model-combo-mappings", "/api/models/alias", "/api/settings", "/api/keys?limit=100", "/api/pricing", "/api/settings/task-routing",
  "/api/settings/background-degradation", "/api/settings/payload-rules", "/api/evals/suites", "/api/usage/token-limits", "/api/v1/registered-keys",
  "/api/agent-skills", "/api/settings/combo-defaults"
]

beforeAll(async () => {
  lab = await startLab()
  const { operator } = lab.gateway
  node = await operator.createNode({ prefix: "cellar", baseUrl: `${lab.sim.url}/v1` })
  await operator.createConnection({ provider: node, apiKey: "sk-cellar" })
  await operator.price(node, "echo", { input: 1, output: 2 })
  const { id } = await operator.call<{ id: string }>("POST", "/api/combos", {
    name: "house", allowedProviders: ["cellar"],
    models: ["cellar/echo", { kind: "model", provider: "cellar", model: "other" }, "no-think/cellar/echo"],
    config: { judgeModel: "cellar/judge", candidatePool: ["cellar", "cellar/echo"], shadowRouting: { enabled: false, targets: ["cellar/echo"] } }
  })
  await operator.call("POST", "/api/model-combo-mappings", { pattern: "cellar/house-*", comboId: id })
  await operator.call("PUT", "/api/models/alias", { alias: "handy", model: "cellar/echo" })
  await operator.call("PATCH", "/api/settings", { wildcardAliases: [{ pattern: "cellar/old-*", target: "cellar/echo" }], blockedProviders: [] })
  await operator.call("PUT", "/api/settings/task-routing", { taskModelMap: { coding: "cellar/echo" } })
  await operator.call("PUT", "/api/settings/background-degradation", { degradationMap: { "cellar/big": "cellar/small" } })
  await operator.call("PUT", "/api/settings/payload-rules", { override: [{ models: [{ name: "Cellar/ruled" }], params: { temperature: 0.25 } }] })
  await operator.call("PATCH", "/api/settings/combo-defaults", { comboDefaults: { handoffModel: "cellar/brief" } })
  await operator.call("POST", "/api/agent-skills", { name: "sums", description: "Adds", prompt: "Add. See cellar/notes.", model: "cellar/echo" })
  await operator.call("POST", "/api/evals/suites", {
    name: "sums", cases: [{ name: "one", model: "cellar/echo", input: { messages: [{ role: "user", content: "cellar/words" }] }, expected: { strategy: "contains", value: "2" } }]
  })
  key = await operator.createKey("kept", { allowedModels: ["cellar/*", "house"], blockedModels: ["CELLAR/secret"] })
  limit = (await operator.call<{ limit: { id: string } }>("POST", "/api/usage/token-limits", {
    apiKeyId: key.id, scopeType: "provider", scopeValue: "cellar", tokenLimit: 1_000_000
  })).limit.id
  await operator.call("POST", "/api/v1/registered-keys", { name: "issued", provider: "cellar" })
})
afterAll(() => lab.close())

describe("a prefix that changes", () => {
  it("is renamed in combos, aliases, policies, limits and settings, and nothing else changes", async () => {
    const { operator } = lab.gateway
    const before = await Promise.all(pages.map(read))
    expect(pages.filter((_, index) => before[index]?.toLowerCase().includes("cellar") !== true)).toEqual([])
    expect(await ask("cellar/echo")).toMatchObject({ status: 200 })
    await operator.call("PUT", `/api/provider-nodes/${node}`, { prefix: "attic" })
    const after = await Promise.all(pages.map(read))

    for (const [index, page] of pages.entries()) {
      const left = (after[index] ?? "").match(/.{0,40}cellar.{0,20}/gi) ?? []
      expect([page, left.filter((text) => !/cellar\/(notes|words)|house-|: ?"cellar\/old/.test(text))]).toEqual([page, []])
      expect([page, after[index]?.includes("attic")]).toEqual([page, true])
    }
    // Free text is no name.
    expect(after.join("")).toContain("cellar/words")
    for (const model of ["attic/echo", "handy", "combo/house", "attic/old-1"]) expect([model, (await ask(model)).status]).toEqual([model, 200])
    expect((await ask("attic/secret")).status).toBe(403)
    expect((await ask("cellar/echo")).status).not.toBe(200)
    await ask("attic/ruled")
    expect((await lab.sim.ended({ model: "ruled" }))[0]?.body).toMatchObject({ temperature: 0.25 })
    const { limits } = await operator.call<{ limits: ReadonlyArray<{ id: string; tokensUsed: number }> }>("GET", "/api/usage/token-limits")
    expect(limits.find(({ id }) => id === limit)?.tokensUsed).toBeGreaterThan(0)
  })

  it("is told in the audit log with what was renamed", async () => {
    const entries = await lab.gateway.operator.call<ReadonlyArray<{ target: string; details: Record<string, unknown> }>>("GET", "/api/compliance/audit-log?action=provider.node.updated")
    expect(entries[0]).toMatchObject({ target: node, details: { prefix: "attic", previousPrefix: "cellar" } })
    expect(entries[0]?.details["renamed"]).toEqual(expect.arrayContaining(["combo house", "key kept", "alias handy", "setting taskRouting"]))
  })
})
