/** Tools over skills: an agent runs and switches its own, and none of others. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { agentOf, type Audited, type McpLab, startMcp } from "./lab.ts"

let lab: McpLab
beforeAll(async () => {
  lab = await startMcp("streamable-http", { environment: { GATEWAY_SKILLS: "on" } })
})
afterAll(() => lab.close())

const agent = async (...scopes: ReadonlyArray<string>) => {
  const one = await agentOf(lab, ...scopes)
  return { ...one, call: (name: string, args: Record<string, unknown> = {}) => one.call(`skills_${name}`, args) }
}
const install = async (fields: Record<string, unknown>) => (await lab.gateway.operator.call<{ readonly id: string }>("POST", "/api/skills/install", fields)).id
const skill = async (id: string) => (await lab.gateway.operator.call<{ readonly skill: Record<string, unknown> }>("GET", `/api/skills/${id}`)).skill
const names = (found: Record<string, unknown>) => (found["skills"] as ReadonlyArray<{ readonly name: string }>).map(({ name }) => name)
const audited = async (tool: string) => (await lab.gateway.operator.call<{ readonly entries: ReadonlyArray<Audited> }>("GET", `/api/mcp/audit?tool=gateway_skills_${tool}`)).entries
const codeOf = (result: Record<string, unknown>) => (result["error"] as { readonly code: string } | undefined)?.code

const all = ["read:skills", "write:skills", "execute:skills"]

describe("the tools of skills", () => {
  it("list, switch and run an agent's own skills and those of any key", async () => {
    const [own, other] = [await agent(...all), await agent(...all)]
    const mine = await install({ name: "mine", handlerCode: "return input.n + 1", apiKeyId: own.id, schema: { input: { type: "object", required: ["n"] }, output: {} } })
    await install({ name: "theirs", handlerCode: "return 1", apiKeyId: other.id })
    await install({ name: "everyones", description: "not mine", handlerCode: "return context.apiKeyId" })
    expect(names(await own.call("list"))).toEqual(["everyones", "mine"])
    expect(names(await own.call("list", { name: "MIN" }))).toEqual(["mine"])
    expect(await own.call("list", { apiKeyId: own.id, name: "mine" })).toEqual({ skills: [{ ...await skill(mine), handler: undefined }], total: 1 })
    const run = (skillName: string, input: unknown) => own.call("execute", { apiKeyId: own.id, skillName, input, sessionId: "chat" })
    expect(await run("mine", { n: 41 })).toMatchObject({ success: true, execution: { skillId: mine, apiKeyId: own.id, sessionId: "chat", status: "success", output: 42 } })
    expect(await run("everyones", "private words")).toMatchObject({ success: true, execution: { output: own.id } })
    expect(await run("mine", {})).toMatchObject({ error: { code: "bad_request", message: expect.stringContaining("input") as string } })
    expect(await own.call("enable", { apiKeyId: own.id, skillId: mine, enabled: false })).toMatchObject({ success: true, skill: { id: mine, enabled: false } })
    expect(await skill(mine)).toMatchObject({ enabled: false, handler: "return input.n + 1" })
    expect(names(await own.call("list", { enabled: false }))).toEqual(["mine"])
    expect(names(await own.call("list", { enabled: true }))).toEqual(["everyones"])
    expect(codeOf(await run("mine", { n: 1 }))).toBe("conflict")
    const history = await own.call("executions")
    expect(history).toMatchObject({ total: 2, executions: [{ output: own.id, input: "private words" }, { output: 42 }] })
    expect(await own.call("executions", { apiKeyId: own.id, limit: 1 })).toMatchObject({ total: 2, executions: [{ output: own.id }] })
    const rows = await audited("execute")
    expect(rows.map(({ outputSummary, success }) => [success, outputSummary?.includes("private words")])).toEqual([[false, false], [false, false], [true, false], [true, false]])
    expect((await audited("list"))[0]).toMatchObject({ success: true, outputSummary: null, apiKeyId: own.id })
    await Promise.all([own.close(), other.close()])
  })

  it("refuse what is another key's or everyone's, and callers without their scopes", async () => {
    const [own, other, reader, manager] = [await agent(...all), await agent(...all), await agent("read:skills"), await agent("manage")]
    const theirs = await install({ name: "secret", handlerCode: "return 1", apiKeyId: other.id })
    const shared = await install({ name: "shared", handlerCode: "return 1" })
    await other.call("execute", { apiKeyId: other.id, skillName: "secret", input: {} })
    for (const apiKeyId of [other.id, "unknown"]) {
      expect(codeOf(await own.call("list", { apiKeyId }))).toBe("AUTH_004")
      expect(codeOf(await own.call("executions", { apiKeyId }))).toBe("AUTH_004")
      expect(codeOf(await own.call("execute", { apiKeyId, skillName: "shared", input: {} }))).toBe("AUTH_004")
      expect(codeOf(await own.call("enable", { apiKeyId, skillId: shared, enabled: false }))).toBe("AUTH_004")
    }
    expect(await own.call("executions")).toMatchObject({ total: 0 })
    expect(codeOf(await own.call("execute", { apiKeyId: own.id, skillName: "secret", input: {} }))).toBe("not_found")
    expect(codeOf(await own.call("enable", { apiKeyId: own.id, skillId: theirs, enabled: false }))).toBe("not_found")
    expect(codeOf(await own.call("enable", { apiKeyId: own.id, skillId: shared, enabled: false }))).toBe("AUTH_004")
    expect([(await skill(theirs))["enabled"], (await skill(shared))["enabled"]]).toEqual([true, true])
    expect(codeOf(await reader.call("enable", { apiKeyId: reader.id, skillId: shared, enabled: false }))).toBe("scope_denied:write:skills")
    expect(codeOf(await reader.call("execute", { apiKeyId: reader.id, skillName: "shared", input: {} }))).toBe("scope_denied:execute:skills")
    expect((await audited("execute"))[0]).toMatchObject({ success: false, errorCode: "scope_denied:execute:skills", apiKeyId: reader.id })
    for (const wrong of [{}, { apiKeyId: own.id, skillName: "shared" }, { apiKeyId: own.id, skillName: "", input: 1 }]) expect(codeOf(await own.call("execute", wrong))).toBe("invalid_arguments")
    expect(codeOf(await own.call("executions", { limit: 101 }))).toBe("invalid_arguments")
    expect(await manager.call("enable", { apiKeyId: other.id, skillId: shared, enabled: false })).toMatchObject({ success: true })
    expect(await skill(shared)).toMatchObject({ enabled: false })
    expect(names(await manager.call("list", { name: "secret" }))).toEqual(["secret"])
    expect(await manager.call("executions", { apiKeyId: other.id })).toMatchObject({ total: 1 })
    expect(await manager.call("execute", { apiKeyId: other.id, skillName: "secret", input: {} })).toMatchObject({ success: true })
    await Promise.all([own, other, reader, manager].map((one) => one.close()))
  })
})

describe("a gateway as it is by default", () => {
  it("lists skills to agents and runs none", async () => {
    const off = await startMcp("streamable-http")
    const { call, close, id: apiKeyId } = await agentOf(off, ...all)
    await off.gateway.operator.call("POST", "/api/skills/install", { name: "adder", handlerCode: "return 1" })
    expect(await call("skills_list")).toMatchObject({ total: 1 })
    expect(codeOf(await call("skills_execute", { apiKeyId, skillName: "adder", input: {} }))).toBe("SKILLS_DISABLED")
    expect(await call("skills_executions")).toEqual({ executions: [], total: 0 })
    await close()
    await off.close()
  })
})
