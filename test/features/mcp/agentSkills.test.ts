/** Tools over the pages for coding agents: what an agent reads is what the API has. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { agentOf, type Audited, type McpLab, startMcp } from "./lab.ts"

let lab: McpLab
beforeAll(async () => {
  lab = await startMcp("streamable-http")
})
afterAll(() => lab.close())

const agent = async (...scopes: ReadonlyArray<string>) => {
  const one = await agentOf(lab, ...scopes)
  return { ...one, call: (name: string, args: Record<string, unknown> = {}) => one.call(`agent_skills_${name}`, args) }
}
interface Listed { readonly total: number; readonly skills: ReadonlyArray<{ readonly id: string; readonly name: string; readonly category: string; readonly area: string | null }> }
const listOf = (found: Record<string, unknown>) => found as unknown as Listed

describe("the tools of agent skills", () => {
  it("list the catalogue and the operator's own, read a page, and count what is stored", async () => {
    const { operator } = lab.gateway
    const { skill } = await operator.call<{ readonly skill: Record<string, unknown> }>("POST", "/api/agent-skills", { name: "house-rules", description: "The rules", prompt: "Be brief." })
    const own = await agent("read:catalog")
    const every = listOf(await own.call("list"))
    expect(every.total).toBe((await operator.call<{ readonly skills: ReadonlyArray<unknown> }>("GET", "/api/agent-skills")).skills.length)
    expect(JSON.stringify(every)).not.toContain("Be brief.")
    const commands = listOf(await own.call("list", { category: "cli" }))
    expect([...new Set(commands.skills.map(({ category }) => category))]).toEqual(["cli"])
    expect(listOf(await own.call("list", { category: "api", area: "combos" })).skills.map(({ id }) => id)).toEqual(["api-combos"])
    expect(await own.call("list", { area: "nowhere" })).toEqual({ skills: [], total: 0 })

    const page = await own.call("get", { id: "api-combos" })
    expect(page).toMatchObject({ skill: { id: "api-combos", category: "api", area: "combos", generated: false } })
    expect(page["page"]).toBe((await operator.raw("GET", "/api/agent-skills/api-combos/raw")).text)
    expect(page["page"]).toContain("`GET /api/combos`")
    expect(await own.call("get", { id: String(skill["id"]) })).toMatchObject({ skill: { name: "house-rules" }, page: expect.stringContaining("Be brief.") as string })

    expect(await own.call("coverage")).toMatchObject({ api: { have: 0 }, totalSkills: every.total, generatedAt: null })
    await operator.call("POST", "/api/agent-skills/generate", { onlyIds: ["api-combos"] })
    expect(await own.call("coverage")).toEqual(await operator.call("GET", "/api/agent-skills/coverage"))
    expect(await own.call("coverage")).toMatchObject({ api: { have: 1 } })
    const { entries } = await operator.call<{ readonly entries: ReadonlyArray<Audited> }>("GET", "/api/mcp/audit?tool=gateway_agent_skills_get")
    expect(entries).toMatchObject([{ success: true, outputSummary: null, apiKeyId: own.id }, { success: true }])
    await own.close()
  })

  it("refuse callers without their scope, unknown pages and wrong arguments", async () => {
    const [own, other] = [await agent("read:catalog"), await agent("read:skills")]
    for (const [tool, args] of [["list", {}], ["get", { id: "api-combos" }], ["coverage", {}]] as const) {
      expect(await other.call(tool, args)).toMatchObject({ error: { code: "scope_denied:read:catalog" } })
    }
    expect(await own.call("get", { id: "nothing" })).toMatchObject({ error: { code: "not_found" } })
    for (const [tool, wrong] of [["list", { category: "web" }], ["get", {}], ["get", { id: "" }], ["get", { id: "." }], ["get", { id: "../skills" }], ["get", { id: "__proto__" }]] as const) {
      expect(await own.call(tool, wrong)).toMatchObject({ error: { code: "invalid_arguments" } })
    }
    await Promise.all([own.close(), other.close()])
  })
})
