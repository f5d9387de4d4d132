/** Skills of marketplaces: found in a list, fetched with the hash that the list says, and checked as any skill. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import * as Market from "#test/support/market.ts"
import { startSkills, type SkillsLab } from "./lab.ts"

interface Found {
  readonly provider: string
  readonly skills: ReadonlyArray<Record<string, unknown>>
  readonly total: number
}

let lab: SkillsLab
let main: Market.Market
let other: Market.Market
const call = <A>(method: string, path: string, body?: unknown) => lab.gateway.operator.call<A>(method, path, body)
const search = (path: string) => call<Found>("GET", `/api/skills/${path}`)
const install = (body: Record<string, unknown>, path = "marketplace") => call<{ readonly id: string }>("POST", `/api/skills/${path}/install`, body)
const refused = async (method: string, path: string, body?: unknown) => {
  const { status, text } = await lab.gateway.operator.raw(method, `/api/skills/${path}`, body)
  const { error } = JSON.parse(text) as { error: { code: string; message: string } }
  return [status, error.code, error.message] as const
}
const notInstalled = async (id: string) => (await refused("POST", "marketplace/install", { id })).slice(0, 2)
const skill = (name: string, more: Record<string, unknown> = {}) => ({ name, version: "1.0.0", description: `What ${name} does`, schema: { input: {}, output: {} }, handlerCode: "return input.n + 1", ...more })

beforeAll(async () => {
  main = await Market.start("skills")
  other = await Market.start("skills")
  main.offer({ id: "adder", content: skill("adder"), entry: { version: "1.0.0", description: "Adds", author: "A", tags: ["maths", 7], installs: 12 } })
  main.offer({ id: "unhashed", content: skill("unhashed"), entry: { sha256: undefined } })
  main.offer({ id: "forged", content: skill("forged"), entry: { sha256: Market.sha256("something else") } })
  main.offer({ id: "elsewhere", content: skill("elsewhere"), entry: { url: "http://192.0.2.1/elsewhere.json" } })
  main.offer({ id: "nameless", content: { handlerCode: "return 1" } })
  main.offer({ id: "unsafe", content: skill("unsafe", { schema: { input: { $ref: "#/$defs/a" }, output: {} } }) })
  main.offer({ id: "keyed", content: skill("keyed", { apiKeyId: "of-the-market" }) })
  main.offer({ id: "local", content: skill("mine") })
  other.offer({ id: "adder", content: skill("adder", { version: "2.0.0" }) })
  other.offer({ id: "adder-again", content: skill("adder") })
  lab = await startSkills({ GATEWAY_SKILLSMP_URL: main.address, GATEWAY_SKILLSSH_URL: other.address })
})
afterAll(async () => {
  await lab.close()
  await main.close()
  await other.close()
})

describe("a marketplace of skills", () => {
  it("is searched by words, within a bound, and asked once in a while", async () => {
    const { provider, skills, total } = await search("marketplace?q=MATHS")
    expect([provider, total]).toEqual(["skillsmp", 1])
    expect(skills[0]).toMatchObject({ id: "adder", name: "adder", version: "1.0.0", description: "Adds", author: "A", tags: ["maths"], installs: 12 })
    expect(skills[0]).not.toHaveProperty("url")
    expect(main.asked).toEqual(["/list?key=x&q=MATHS&limit=500"])
    await search("marketplace?q=MATHS")
    expect(main.asked).toHaveLength(1)
    expect((await search("marketplace?limit=2")).skills).toHaveLength(2)
    expect((await search("skillssh?q=add&limit=1")).skills.map(({ id }) => id)).toEqual(["adder"])
    expect((await call<{ provider: string }>("GET", "/api/skills")).provider).toBe("skillsmp")
  })

  it("gives a skill that is checked and runs as any other", async () => {
    const { id } = await install({ id: "adder" })
    expect((await call<{ skill: Record<string, unknown> }>("GET", `/api/skills/${id}`)).skill).toMatchObject({ name: "adder", version: "1.0.0", sourceProvider: "skillsmp", apiKeyId: null, enabled: true, installCount: 1 })
    expect(await lab.execute("adder", { n: 1 })).toMatchObject({ status: "success", output: 2 })
    expect((await call<{ total: number }>("GET", "/api/skills?source=skillsmp")).total).toBe(1)
    const { text } = await lab.gateway.operator.raw("GET", "/api/compliance/audit-log?limit=20")
    expect(text).toContain(Market.sha256(JSON.stringify(skill("adder"))))
  })

  it("gives nothing without the hash of the list, with another, or from another host", async () => {
    expect(await notInstalled("unhashed")).toEqual([422, "unprocessable"])
    expect(await notInstalled("forged")).toEqual([422, "INTEGRITY_MISMATCH"])
    expect(await notInstalled("elsewhere")).toEqual([422, "unprocessable"])
    expect(await notInstalled("nothing")).toEqual([404, "not_found"])
    expect((await refused("POST", "marketplace/install", { id: "adder", sha256: "0".repeat(64) })).slice(0, 2)).toEqual([409, "INTEGRITY_MISMATCH"])
    expect((await call<{ total: number }>("GET", "/api/skills?source=skillsmp")).total).toBe(1)
  })

  it("gives nothing that a call would be refused, and binds it to no key of its own", async () => {
    const [status, code, message] = await refused("POST", "marketplace/install", { id: "nameless" })
    expect([status, code, message.includes("name")]).toEqual([422, "unprocessable", true])
    expect(await notInstalled("unsafe")).toEqual([400, "bad_request"])
    const { id } = await install({ id: "keyed", apiKeyId: lab.apiKeyId })
    expect((await call<{ skill: Record<string, unknown> }>("GET", `/api/skills/${id}`)).skill).toMatchObject({ apiKeyId: lab.apiKeyId })
    expect((await refused("POST", "marketplace/install", { id: "keyed", apiKeyId: "nobody" }))[0]).toBe(404)
  })

  it("never takes the place of the operator's skill, or of another market's", async () => {
    const own = await lab.install({ name: "mine", handlerCode: "return 0" })
    expect(await notInstalled("local")).toEqual([409, "conflict"])
    expect((await refused("POST", "skillssh/install", { id: "adder-again" }))[0]).toBe(409)
    expect((await call<{ skill: Record<string, unknown> }>("GET", `/api/skills/${own}`)).skill).toMatchObject({ handler: "return 0", sourceProvider: "local" })
  })

  it("is the one that the setting names", async () => {
    await call("PATCH", "/api/settings", { skillsProvider: "skillssh" })
    expect((await search("marketplace?q=adder")).provider).toBe("skillssh")
    await install({ id: "adder" })
    expect((await call<{ skills: ReadonlyArray<{ version: string }> }>("GET", "/api/skills?source=skillssh")).skills.map(({ version }) => version)).toEqual(["2.0.0"])
    expect((await call<{ provider: string }>("GET", "/api/skills")).provider).toBe("skillssh")
    await call("PATCH", "/api/settings", { skillsProvider: "skillsmp" })
  })

  it("that answers badly is named, and nothing of it is kept", async () => {
    for (const answer of [{ status: 500, body: "[]" }, { status: 200, body: "<html>" }, { status: 200, body: "{\"skills\":{}}" }, { status: 200, body: `[${" ".repeat(2 * 1_048_576)}]` }]) {
      main.answer = answer
      const [status, code, message] = await refused("GET", "marketplace?q=bad")
      expect([status, code, message.includes("skillsmp")]).toEqual([502, "upstream_error", true])
    }
    main.answer = null
    expect((await search("marketplace?q=bad")).total).toBe(0)
  })
})
