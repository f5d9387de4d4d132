/** The text of a configuration file, and the file of records: what cannot be told from outside a gateway. */
import * as fs from "node:fs"
import * as path from "node:path"
import * as Result from "effect/Result"
import { describe, expect, it } from "vitest"
import { parse } from "yaml"
import * as Exporting from "#src/features/configFile/exporting.ts"
import { read } from "#src/features/configFile/read.ts"

const faults = async (text: string, environment: Readonly<Record<string, string>> = {}) => {
  const found = await read(text, environment)
  return Result.isFailure(found) ? found.failure : []
}
const declared = async (text: string, environment: Readonly<Record<string, string>> = {}) => {
  const found = await read(text, environment)
  if (Result.isFailure(found)) throw new Error(JSON.stringify(found.failure))
  return found.success
}

describe("the text of a configuration file", () => {
  it("of the documentation can be read, with the variables that it names", async () => {
    const page = fs.readFileSync(path.resolve(import.meta.dirname, "../../../docs/configuration-file.md"), "utf8")
    const text = /```yaml\n([\s\S]*?)```/.exec(page)?.[1] ?? ""
    const variables = Object.fromEntries([...text.matchAll(/\$\{(\w+)\}/g)].map(([, name]) => [name, "https://example.com/a-long-value"]))
    expect((await declared(text, variables)).map(({ kind, name }) => `${kind} ${name}`)).toEqual([
      "flag REQUIRE_API_KEY", "node lab", "connection openai-main", "connection lab", "combo fast", "combo careful", "key team-a", "webhook operators"
    ])
    expect((await faults(text)).map(({ message }) => message)).toHaveLength(Object.keys(variables).length)
  })

  it("takes variables anywhere in a value, a fallback for one that is missing or empty, and a dollar before a brace as it is", async () => {
    const [combo] = await declared("combos: { c: { description: 'a ${A} b ${B:-${} c $${A} $5 ${A}', models: [x/y] } }", { A: "one", B: "" })
    expect(combo?.fields["description"]).toBe("a one b ${ c ${A} $5 one")
    const [hook] = await declared("webhooks: { h: { url: 'https://${HOST:-example.com}/x' } }")
    expect(hook?.fields["url"]).toBe("https://example.com/x")
    // What a variable holds is a value, never more of the file.
    const [key] = await declared("keys: { k: { key: '${K}' } }", { K: "${A}-sk-twenty-characters:[" })
    expect(key?.fields["key"]).toBe("${A}-sk-twenty-characters:[")
  })

  it("names every fault with its place", async () => {
    expect(await faults("combos: { c: { models: ['${A}', '${not one}'] } }")).toEqual([
      { path: "combos.c.models.0", message: "The variable A is not set" },
      { path: "combos.c.models.1", message: "${not one} names no variable; write $${ for a plain ${" }
    ])
    // Names of an object's own members are no variables.
    expect(await faults("combos: { c: { models: ['${constructor}', '${__proto__}'] } }")).toEqual([
      { path: "combos.c.models.0", message: "The variable constructor is not set" },
      { path: "combos.c.models.1", message: "The variable __proto__ is not set" }
    ])
    // A missing variable hides no other fault, and is told once.
    expect(await faults("keys: { a: { key: '${A}' }, b: { key: short }, c: { kee: x } }\nwebhooks: { h: { url: '${A}' } }")).toEqual([
      { path: "keys.a.key", message: "The variable A is not set" },
      { path: "webhooks.h.url", message: "The variable A is not set" },
      { path: "keys.b.key", message: "Expected 20 to 200 visible ASCII characters" },
      { path: "keys.c.kee", message: "Unknown field" }
    ])
    expect((await faults("combos:\n  c: {}\n  c: {}\n")).map((issue) => issue.path)).toEqual(["3:3"])
    expect((await faults("comboes: {}")).map((issue) => issue.path)).toEqual(["comboes"])
    expect(JSON.stringify(await faults("keys:\n  k: { key: \"sk-canary-of-a-key\" sk-canary-of-another }"))).not.toContain("canary")
    expect((await faults("- a list")).map((issue) => issue.path)).toEqual(["the file"])
    expect((await faults("providers: { p: { apiKey: x } }")).map((issue) => issue.path)).toEqual(["providers.p.provider"])
    expect((await faults("nodes: { 'a b': { type: openai-compatible } }")).map((issue) => issue.path)).toEqual(["nodes.a b"])
  })

  it("is bounded: anchors that multiply are refused, and an empty file declares nothing", async () => {
    const bomb = ["a: &a [x, x, x, x, x, x, x, x, x]", ...Array.from({ length: 8 }, (_, at) => `${String.fromCharCode(98 + at)}: &${String.fromCharCode(98 + at)} [${Array.from({ length: 9 }, () => `*${String.fromCharCode(97 + at)}`).join(", ")}]`)].join("\n")
    expect(await faults(bomb)).toHaveLength(1)
    expect(await declared("")).toEqual([])
  })

  it("puts a combo behind those that it refers to, and keeps the order of a circle", async () => {
    const ref = (name: string) => `{ kind: combo-ref, comboName: ${name} }`
    const names = async (text: string) => (await declared(text)).map(({ name }) => name)
    expect(await names(`combos: { a: { models: [${ref("c")}] }, b: { models: [x/y] }, c: { models: [${ref("b")}] } }`)).toEqual(["b", "c", "a"])
    expect(await names(`combos: { a: { models: [${ref("b")}] }, b: { models: [${ref("a")}] } }`)).toEqual(["b", "a"])
  })
})

describe("records as a file", () => {
  const key = (name: string, more: object = {}) => ({ id: name, name, issuerId: null, revokedAt: null, scopes: ["self:usage"], ...more })

  it("have each name and each variable once, and texts that look like variables stay texts", async () => {
    const { content, leftOut, variables } = Exporting.contentOf(new Map([
      ["key", [key("a b"), key("a-b"), key("twice", { id: "1" }), key("twice", { id: "2" }), key("issued", { issuerId: "a" }), key("gone", { revokedAt: "2026-01-01" })]],
      ["combo", [{ id: "c", name: "c", description: "costs ${A}", models: [] }]]
    ]))
    expect(variables.map(({ name }) => name)).toEqual(["A_B_KEY", "A_B_KEY_2", "TWICE_KEY", "TWICE_2_KEY"])
    expect(Object.keys(content["keys"] as object)).toEqual(["a b", "a-b", "twice", "twice-2"])
    expect(leftOut.map(({ name, why }) => [name, why])).toEqual([["gone", "it is revoked"], ["issued", "another key issued it"]])
    const { yaml } = await Exporting.toFile(new Map([["combo", [{ id: "c", name: "c", description: "costs ${A}", models: [] }]]]))
    expect((parse(yaml) as { combos: { c: { description: string } } }).combos.c.description).toBe("costs $${A}")
    expect((await declared(yaml))[0]?.fields["description"]).toBe("costs ${A}")
  })
})
