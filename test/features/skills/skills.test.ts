/** Skills over HTTP: their records, and what becomes of an execution. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { startSkills, type SkillsLab } from "./lab.ts"

let lab: SkillsLab
beforeAll(async () => {
  lab = await startSkills()
})
afterAll(() => lab.close())

const call = <A>(method: string, path: string, body?: unknown) => lab.gateway.operator.call<A>(method, path, body)
const refused = async (method: string, path: string, body?: unknown) => {
  const { status, text } = await lab.gateway.operator.raw(method, path, body)
  const { error } = JSON.parse(text) as { error: { code: string; details?: ReadonlyArray<{ field: string }> } }
  return [status, error.details?.map(({ field }) => field).join() ?? error.code]
}
interface Page {
  readonly skills: ReadonlyArray<{ id: string; name: string; version: string; installCount: number }>
  readonly data: unknown
  readonly total: number
  readonly totalPages: number
  readonly popularDefaults: ReadonlyArray<string>
}

describe("records", () => {
  it("are installed, listed with filters, changed and removed", async () => {
    const id = await lab.install({
      name: "adder", description: "Adds numbers", schema: { input: { type: "object" }, output: { type: "number" } }, handlerCode: "return input.a + input.b", tags: ["maths"]
    })
    const { skill } = await call<{ skill: Record<string, unknown> }>("GET", `/api/skills/${id}`)
    expect(skill).toEqual({
      id, apiKeyId: null, name: "adder", version: "1.0.0", description: "Adds numbers", schema: { input: { type: "object" }, output: { type: "number" } },
      handler: "return input.a + input.b", enabled: true, mode: "on", tags: ["maths"], sourceProvider: "local", installCount: 1,
      createdAt: skill["createdAt"], updatedAt: skill["createdAt"]
    })
    expect(await lab.install({ name: "adder", handlerCode: "return 1" })).toBe(id)
    const second = await lab.install({ name: "adder", version: "2.0.0", handlerCode: "return 2" })
    const page = await call<Page>("GET", "/api/skills?q=ADD&mode=on&source=local&limit=1&page=2")
    expect([page.total, page.totalPages, page.skills.length, page.data]).toEqual([2, 2, 1, page.skills])
    expect((await call<Page>("GET", "/api/skills?q=adder")).skills.map(({ installCount, version }) => [version, installCount]).sort()).toEqual([["1.0.0", 2], ["2.0.0", 1]])
    expect((await call<Page>("GET", "/api/skills?source=skillsmp")).total).toBe(0)
    expect((await call<Page>("GET", "/api/skills")).popularDefaults).toContain("adder")
    await call("PUT", `/api/skills/${second}`, { name: "adder-two", mode: "off", tags: [], handler: "return 3" })
    expect((await call<Page>("GET", "/api/skills?mode=off")).skills.map(({ id, name }) => [id, name])).toEqual([[second, "adder-two"]])
    expect((await call<Page>("GET", "/api/skills?mode=auto")).skills).toEqual([])
    await lab.install({ name: "adder", version: "2.0.0", handlerCode: "return 2" })
    expect(await refused("PUT", `/api/skills/${second}`, { name: "adder" })).toEqual([409, "version"])
    await call("DELETE", `/api/skills/${second}`)
    for (const [method, body] of [["GET"], ["PUT", { enabled: true }], ["DELETE"]] as const) expect(await refused(method, `/api/skills/${second}`, body)).toEqual([404, "not_found"])
  })

  it("refuse what is out of bounds, and name the field", async () => {
    const good = { name: "x", handlerCode: "return 1" }
    const wrong: ReadonlyArray<readonly [Record<string, unknown>, string]> = [
      [{ name: "a@b" }, "name"], [{ name: " a" }, "name"], [{ name: "n".repeat(101) }, "name"], [{ version: "1.0" }, "version"],
      [{ description: "d".repeat(501) }, "description"], [{ handlerCode: "" }, "handlerCode"], [{ handlerCode: "h".repeat(50_001) }, "handlerCode"],
      [{ schema: { input: {} } }, "schema.output"], [{ schema: { input: { $ref: "#/$defs/a" }, output: {} } }, "schema.input"],
      [{ schema: { input: {}, output: { type: "string", pattern: "(a+)+$" } } }, "schema.output"], [{ schema: { input: { type: "object", properties: { a: { type: "array", uniqueItems: true } } }, output: {} } }, "schema.input"], [{ tags: Array(21).fill("t") }, "tags"]
    ]
    for (const [fields, field] of wrong) expect([fields, await refused("POST", "/api/skills/install", { ...good, ...fields })]).toEqual([fields, [400, field]])
    expect(await refused("POST", "/api/skills/install", { ...good, apiKeyId: "nobody" })).toEqual([404, "not_found"])
    expect(await refused("PUT", `/api/skills/${await lab.install(good)}`, { mode: "auto" })).toEqual([400, "mode"])
  })

  it("come from no marketplace while none has an address", async () => {
    for (const path of ["/api/skills/marketplace", "/api/skills/skillssh?q=a"]) expect(await refused("GET", path)).toEqual([503, "MARKETPLACE_DISABLED"])
    for (const path of ["/api/skills/marketplace/install", "/api/skills/skillssh/install"]) expect(await refused("POST", path, { id: "a" })).toEqual([503, "MARKETPLACE_DISABLED"])
    expect((await call<{ provider: unknown }>("GET", "/api/skills")).provider).toBeNull()
  })
})

describe("an execution", () => {
  it("hands JSON in and out, to a function's body and to a default export, and is kept", async () => {
    const body = await lab.run("return { sum: input.a + input.b, skill: context.skill.name, session: context.sessionId }", { a: 1, b: 2 })
    expect(body).toMatchObject({ status: "success", output: { sum: 3, session: null }, input: { a: 1, b: 2 }, apiKeyId: lab.apiKeyId, errorMessage: null })
    expect(body.durationMs).toBeTypeOf("number")
    for (const [code, output] of [
      ["export default (input) => input.text.toUpperCase()", "Ü"], ["const twice = (n) => n * 2\nexport default async function(input) { return [twice(await input.n)] }", [4]],
      ["await null", null], ["return input", { text: "ü", n: 2 }]
    ] as const) {
      expect(await lab.run(code, { text: "ü", n: 2 })).toMatchObject({ status: "success", output })
    }
    expect((await lab.history()).at(-1)).toEqual(body)
  })

  it("runs the newest version that is on, and the one that is named", async () => {
    for (const version of ["1.9.0", "1.10.0", "1.10.0-beta"]) await lab.install({ name: "versions", version, handlerCode: `return ${JSON.stringify(version)}` })
    expect((await lab.execute("versions")).output).toBe("1.10.0")
    expect((await lab.execute("versions@1.10.0-beta")).output).toBe("1.10.0-beta")
    const { skills } = await call<Page>("GET", "/api/skills?q=versions")
    await call("PUT", `/api/skills/${skills.find(({ version }) => version === "1.10.0")?.id}`, { enabled: false })
    expect((await lab.execute("versions")).output).toBe("1.10.0-beta")
    expect((await lab.ask({ skillName: "versions@1.10.0" })).status).toBe(409)
    expect((await lab.ask({ skillName: "versions@3.0.0" })).status).toBe(404)
  })

  it("belongs to a key that exists, and a skill of one key is not there for another", async () => {
    const other = await lab.gateway.operator.createKey("other")
    await lab.install({ name: "owned", handlerCode: "return 1", apiKeyId: other.id })
    expect((await lab.ask({ skillName: "owned" })).status).toBe(404)
    expect((await lab.ask({ skillName: "owned", apiKeyId: other.id })).status).toBe(200)
    expect((await lab.ask({ skillName: "owned", apiKeyId: "nobody" })).status).toBe(404)
    const { executions, total } = await call<{ executions: ReadonlyArray<{ apiKeyId: string }>; total: number }>("GET", `/api/skills/executions?apiKeyId=${other.id}`)
    expect([executions.map(({ apiKeyId }) => apiKeyId), total]).toEqual([[other.id], 1])
  })

  it("checks what goes in before, and what comes out after", async () => {
    await lab.install({
      name: "shaped", handlerCode: "return input.n", schema: { input: { type: "object", properties: { n: {} }, required: ["n"] }, output: { type: "integer", maximum: 9 } }
    })
    expect(await refused("POST", "/api/skills/executions", { apiKeyId: lab.apiKeyId, skillName: "shaped", input: {} })).toEqual([400, "input"])
    expect(await lab.execute("shaped", { n: 9 })).toMatchObject({ status: "success", output: 9 })
    for (const n of [10, "9"]) {
      const { errorMessage, output, status } = await lab.execute("shaped", { n })
      expect([status, output, errorMessage?.startsWith("The output does not fit the skill's schema")]).toEqual(["error", null, true])
    }
    expect(await refused("POST", "/api/skills/executions", { apiKeyId: lab.apiKeyId, skillName: "shaped", input: { n: "x".repeat(262_144) } })).toEqual([400, "input"])
  })

  it("ends as an error that says what the handler did", async () => {
    for (const [code, message] of [
      ["throw new Error('boom')", "boom"], ["throw { toString() { throw 1 } }", "The handler failed."], ["return ({", "Unexpected end"], ["return 1n", "BigInt"],
      ["return () => 1", "The output has no JSON."], ["await new Promise(() => {})", "never answers"], ["export default 5", "not a function"],
      ["import fs from 'node:fs'\nexport default () => fs", "imports nothing"], ["Promise.reject(new Error('unheard')); throw 7", "7"], ["const f = () => f(); f()", "call stack"]
    ] as const) {
      const { errorMessage, status } = await lab.run(code)
      expect([code, status, errorMessage]).toEqual([code, "error", expect.stringContaining(message)])
    }
  })
})
