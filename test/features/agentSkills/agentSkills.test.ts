/** Skills for coding agents over HTTP: the catalogue, its pages, and an operator's own. */
import * as fs from "node:fs"
import * as path from "node:path"
import { parse } from "yaml"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import * as Catalogue from "#src/features/agentSkills/catalogue.ts"
import { type InProcess, inProcess } from "#test/support/gateway.ts"

let gateway: InProcess
beforeAll(async () => {
  gateway = await inProcess()
})
afterAll(() => gateway.close())

const call = <A>(method: string, path: string, body?: unknown) => gateway.operator.call<A>(method, `/api/agent-skills${path}`, body)
const raw = (method: string, path: string, body?: unknown) => gateway.operator.raw(method, `/api/agent-skills${path}`, body)
const refused = async (method: string, path: string, body?: unknown) => {
  const { status, text } = await raw(method, path, body)
  const { error } = JSON.parse(text) as { error: { code: string; details?: ReadonlyArray<{ field: string }> } }
  return [status, error.details?.map(({ field }) => field).join() ?? error.code]
}
interface View {
  readonly id: string
  readonly name: string
  readonly description: string
  readonly category: string
  readonly area: string | null
  readonly generated: boolean
}
interface Generated {
  readonly generated: ReadonlyArray<string>
  readonly unchanged: ReadonlyArray<string>
  readonly pruned: ReadonlyArray<string>
  readonly orphansDetected: ReadonlyArray<string>
  readonly errors: ReadonlyArray<{ readonly id: string; readonly message: string }>
}
const list = async (query = "") => (await call<{ skills: ReadonlyArray<View> }>("GET", query)).skills
const coverage = () => call<{ api: { have: number; total: number }; cli: { have: number; total: number }; totalSkills: number; generatedAt: string | null }>("GET", "/coverage")
const front = (page: string): Record<string, unknown> => parse(page.split("---\n")[1] ?? "") as Record<string, unknown>

describe("the catalogue", () => {
  it("has an entry for each group of the description and for each command", async () => {
    const { tags } = JSON.parse(fs.readFileSync(path.resolve(import.meta.dirname, "../../../openapi.json"), "utf8")) as { tags: ReadonlyArray<{ name: string }> }
    const [api, cli] = [await list("?category=api"), await list("?category=CLI")]
    expect(api.map(({ name }) => name)).toEqual(tags.map(({ name }) => name))
    expect(cli.map(({ area }) => area)).toEqual(expect.arrayContaining(["serve", "keys", "providers", "doctor", "migrate"]))
    expect(await list("?area=api-keys")).toEqual([{
      id: "api-api-keys", name: "API keys", description: "API keys over the gateway's HTTP interface. Keys that clients call the inference surface with.", category: "api",
      area: "api-keys", generated: false, prompt: null, model: null, temperature: null, createdAt: null, updatedAt: null
    }])
    expect(await coverage()).toEqual({ api: { have: 0, total: api.length }, cli: { have: 0, total: cli.length }, totalSkills: api.length + cli.length, generatedAt: null })
    expect(await list("?category=cli&area=api-keys")).toEqual([])
    expect(await refused("GET", "?category=other")).toEqual([400, "category"])
  })

  it("is served as SKILL.md files that name the calls, and what the command line prints", async () => {
    for (const { description, id } of await list()) {
      const { headers, status, text } = await raw("GET", `/${id}/raw`)
      expect([status, headers["content-type"]]).toEqual([200, "text/markdown; charset=utf-8"])
      expect(front(text)).toEqual({ name: id, description })
      expect(id).toMatch(/^[a-z0-9-]{1,64}$/)
    }
    expect((await raw("GET", "/api-skills/raw")).text).toContain("- `POST /api/skills/install`: Install a skill")
    const keys = (await raw("GET", "/cli-keys/raw")).text
    for (const words of ["gateway keys create", "--scope", "What the key is for"]) expect(keys).toContain(words)
    expect(await refused("GET", "/api-none")).toEqual([404, "not_found"])
    expect(await refused("GET", "/api-none/raw")).toEqual([404, "not_found"])
  })

  it("is generated, seen as unchanged, and pruned of pages whose entry is gone", async () => {
    const total = (await list()).length
    const nothing = { generated: [], unchanged: [], pruned: [], orphansDetected: [], errors: [] }
    const dry = await call<Generated>("POST", "/generate", { dryRun: true, onlyIds: ["api-skills", "none"] })
    expect(dry).toEqual({ ...nothing, generated: ["api-skills"], errors: [{ id: "none", message: "The catalogue has no such entry" }] })
    expect((await coverage()).api.have).toBe(0)
    expect(await call<Generated>("POST", "/generate", { onlyIds: ["api-skills"] })).toEqual({ ...nothing, generated: ["api-skills"] })
    expect((await call<{ skill: View }>("GET", "/api-skills")).skill.generated).toBe(true)
    const all = await call<Generated>("POST", "/generate", {})
    expect([all.generated.length, all.unchanged]).toEqual([total - 1, ["api-skills"]])
    expect((await call<Generated>("POST", "/generate", {})).unchanged.length).toBe(total)
    const { api, cli, generatedAt } = await coverage()
    expect([api.have, cli.have, typeof generatedAt]).toEqual([api.total, cli.total, "string"])
    await gateway.restart()
    await gateway.operator.login()
    expect((await coverage()).api.have).toBe(api.total)
  })

  it("plans by what is stored: what differs is made, what has no entry is an orphan", () => {
    const entries = Catalogue.entriesOf({
      groups: [{ name: "A \"quoted\": group", description: "Does it", operations: [{ method: "GET", path: "/a", summary: "" }] }],
      commands: [{ name: "run", description: "", help: ["USAGE"] }]
    })
    expect(entries.map(({ id, markdown }) => [id, front(markdown)["description"]])).toEqual([
      ["api-a-quoted-group", "A \"quoted\": group over the gateway's HTTP interface. Does it."], ["cli-run", "The command `gateway run`."]
    ])
    const stored = new Map([["cli-run", entries[1]?.markdown ?? ""], ["api-a-quoted-group", "old"], ["z", ""], ["b", ""]])
    const { errors, generated, orphans, unchanged } = Catalogue.planOf(entries, stored, null)
    expect([generated.map(({ id }) => id), unchanged, orphans, errors]).toEqual([["api-a-quoted-group"], ["cli-run"], ["b", "z"], []])
  })
})

describe("an operator's own skill", () => {
  const given = { name: "release-notes", description: "Writes: notes", prompt: "Read the log.\n\nWrite notes.\n" }

  it("is stored, read as a page, changed and removed", async () => {
    const { skill } = await call<{ skill: View & { createdAt: string } }>("POST", "", { ...given, model: "a/b", temperature: 0.2 })
    expect(skill).toMatchObject({ ...given, model: "a/b", temperature: 0.2, category: "own", area: null, generated: false })
    const page = (await raw("GET", `/${skill.id}/raw`)).text
    expect([front(page), page.split("---\n")[2]]).toEqual([{ name: "release-notes", description: "Writes: notes", metadata: { model: "a/b", temperature: "0.2" } }, "\nRead the log.\n\nWrite notes.\n"])
    await call("PUT", `/${skill.id}`, { model: null, temperature: null, description: "Writes notes" })
    expect(front((await raw("GET", `/${skill.id}/raw`)).text)).toEqual({ name: "release-notes", description: "Writes notes" })
    expect((await list("?category=own")).map(({ id }) => id)).toEqual([skill.id])
    expect(await refused("POST", "", given)).toEqual([409, "name"])
    expect(await refused("POST", "", { ...given, name: "api-skills" })).toEqual([409, "name"])
    await call("DELETE", `/${skill.id}`)
    for (const [method, body] of [["GET"], ["PUT", { prompt: "x" }], ["DELETE"]] as const) expect(await refused(method, `/${skill.id}`, body)).toEqual([404, "not_found"])
  })

  it("is refused by the field that is out of bounds; the catalogue's entries are read-only", async () => {
    for (const [fields, field] of [
      [{ name: "Upper" }, "name"], [{ name: "a--b" }, "name"], [{ name: "n".repeat(65) }, "name"], [{ description: "" }, "description"], [{ description: "d".repeat(1_025) }, "description"],
      [{ prompt: "p".repeat(50_001) }, "prompt"], [{ temperature: 2.1 }, "temperature"], [{ model: "" }, "model"]
    ] as const) expect(await refused("POST", "", { ...given, ...fields })).toEqual([400, field])
    for (const [method, body] of [["PUT", { prompt: "x" }], ["DELETE"]] as const) expect(await refused(method, "/api-skills", body)).toEqual([400, "bad_request"])
  })
})
