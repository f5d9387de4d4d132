/** Texts of configuration files: a change keeps every other character, and replies show no text of others. */
import { describe, expect, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import type { Change } from "#src/features/cliTools/documents/Document.ts"
import * as Documents from "#src/features/cliTools/documents/documents.ts"

const changed = (format: Documents.FormatName, text: string, ...changes: ReadonlyArray<Change>): string => {
  const result = Documents.changed(format, text, changes)
  if (Result.isFailure(result)) throw new Error(result.failure)
  return result.success
}
const refusal = (format: Documents.FormatName, text: string, ...changes: ReadonlyArray<Change>): string => {
  const result = Documents.changed(format, text, changes)
  return Result.isFailure(result) ? result.failure : "changed"
}
const masked = (format: Documents.FormatName, text: string, ...own: ReadonlyArray<ReadonlyArray<string>>): string =>
  Result.getOrThrow(Documents.masked(format, text, own))
const says = (format: Documents.FormatName, text: string): Readonly<Record<string, string>> =>
  Object.fromEntries(Result.getOrThrow(Documents.read(format, text)).leaves.map(({ path, value }) => [path.join("."), value]))
/** What is left of a text when the characters of another one are taken out in their order; null when it does not hold them so. */
const isKept = (before: string, after: string): boolean => {
  let at = 0
  for (const character of before) {
    at = after.indexOf(character, at) + 1
    if (at === 0) return false
  }
  return true
}

const words = Schema.String.check(Schema.isMaxLength(10))
const JsonCase = Schema.Struct({
  document: Schema.Record(Schema.String.check(Schema.isBetweenLength(1, 6)), Schema.Union([
    words, Schema.Finite, Schema.Boolean, Schema.Null, Schema.Array(Schema.Union([words, Schema.Record(words, words)])), Schema.Record(words, Schema.Array(words))
  ])),
  indent: Schema.Literals(["", " ", "\t", "    "]),
  text: words
})
const TomlLines = Schema.Array(Schema.Struct({
  quoted: Schema.Boolean,
  value: Schema.Union([
    Schema.Literals(["1", "true", "1979-05-27 07:32:00Z", "'C:\\x # ['", "[1, \"]\", # c\n 2,\n]", "{ a = \"}\", b.c = [] }", "\"\"\"\n[x]\ny = \"\"1\n\"\"\"", "'''\n[z]\n'''"]),
    Schema.Struct({ text: words })
  ]),
  tail: Schema.Literals(["", " # note", "\t"])
})).check(Schema.isMaxLength(4))
const TomlCase = Schema.Struct({ root: TomlLines, tables: Schema.Array(TomlLines).check(Schema.isMaxLength(3)), text: words })

describe("JSON with comments", () => {
  it("changes one value and keeps comments, order, spelling and trailing commas", () => {
    const before = "// mine\n{\n  \"b\": 1.50, // keep\n  \"a\": { \"name\": \"old\", },\n  \"list\": [1, /* two */ 2],\n}\n"
    expect(changed("json", before, { path: ["a", "name"], value: "new" })).toBe(before.replace("\"old\"", "\"new\""))
  })

  it("adds members where they belong, in the document's own indentation", () => {
    expect(changed("json", "", { path: ["a", "b"], value: "c" })).toBe("{\n  \"a\": {\n    \"b\": \"c\"\n  }\n}\n")
    expect(changed("json", "{\n\t\"a\": 1 // one\n}\n", { path: ["b"], value: true })).toBe("{\n\t\"a\": 1, // one\n\t\"b\": true\n}\n")
    expect(changed("json", "{\n  \"a\": 1,\n  // last\n}", { path: ["b"], value: "x" })).toBe("{\n  \"a\": 1,\n  // last\n  \"b\": \"x\"\n}")
    expect(changed("json", "{\"a\": {\"x\": 1}}", { path: ["a", "y"], value: "z" })).toBe("{\"a\": {\"x\": 1, \"y\": \"z\"}}")
    expect(changed("json", "{\r\n  \"a\": {}\r\n}\r\n", { path: ["a", "y"], value: "z" })).toBe("{\r\n  \"a\": {\r\n    \"y\": \"z\"\r\n  }\r\n}\r\n")
  })

  it("adds an item to a list once", () => {
    const before = "{\n  \"models\": [\n    { \"id\": \"one\", \"contextWindow\": 5 }\n  ]\n}\n"
    const after = changed("json", before, { path: ["models"], item: { id: "two" } })
    expect(JSON.parse(after)).toEqual({ models: [{ id: "one", contextWindow: 5 }, { id: "two" }] })
    expect(changed("json", after, { path: ["models"], item: { id: "one" } }, { path: ["models"], item: { id: "two" } })).toBe(after)
    expect(JSON.parse(changed("json", "{}", { path: ["p", "models"], item: { id: "a" } }, { path: ["p", "models"], item: { id: "b" } }))).toEqual({ p: { models: [{ id: "a" }, { id: "b" }] } })
  })

  it.each([
    ["{\"a\": }", "line 1 is no JSON: a value is expected"],
    ["{\n\"a\": \"x}", "line 2 is no JSON: a string has no end"],
    ["[1]", "it is no JSON object"],
    ["{\"a\": \"text\"}", "a is not an object"],
    ["{\"a\": {\"b\": {}}}", "a.b is not a single value"],
    ["{\"a\": {}, \"a\": {}}", "a stands there twice"],
    ["{} {}", "line 1 is no JSON: something follows the document"],
    ["{\"a\": {} /*", "line 1 is no JSON: a comment has no end"],
    [`{"x": ${"[".repeat(80)}${"]".repeat(80)}}`, "line 1 is no JSON: more than 64 values stand inside each other"]
  ])("refuses %s", (text, why) => {
    expect(refusal("json", text, { path: ["a", "b"], value: "c" })).toBe(why)
  })

  it.prop("keeps what any document says beside its own path", [Arbitrary.schema(JsonCase)], ([{ document, indent, text }]) => {
    const before = JSON.stringify(document, null, indent)
    const after = changed("json", before, { path: ["gateway", "url"], value: text }, { path: ["gateway", "on"], value: true })
    expect(JSON.parse(after)).toEqual({ ...JSON.parse(before) as object, gateway: { url: text, on: true } })
    expect(isKept(before, after)).toBe(true)
    expect(changed("json", after, { path: ["gateway", "url"], value: text })).toBe(after)
  })
})

describe("TOML", () => {
  const own = ["model_providers", "gateway"]

  it("changes values at their place and keeps everything else", () => {
    const before = "# top\nmodel = 'old' # why\napproval = \"never\"\n\n[model_providers.gateway] # mine\nbase_url = \"\"\"\nold\"\"\"\n\n[projects.\"/home/u/a.b\"]\ntrust = \"yes\"\ndate = 2026-01-02 03:04:05Z\n"
    expect(changed("toml", before, { path: ["model"], value: "new" }, { path: [...own, "base_url"], value: "http://x/v1" }, { path: [...own, "wire_api"], value: "responses" })).toBe(
      before.replace("'old'", "\"new\"").replace("\"\"\"\nold\"\"\"\n", "\"http://x/v1\"\nwire_api = \"responses\"\n"))
  })

  it("puts root keys before the first table, and new tables at the end", () => {
    expect(changed("toml", "[a]\nb = 1", { path: ["model"], value: "m" }, { path: [...own, "name"], value: "g" }))
      .toBe("model = \"m\"\n[a]\nb = 1\n\n[model_providers.gateway]\nname = \"g\"\n")
    expect(changed("toml", "", { path: ["model"], value: "m" }, { path: [...own, "on"], value: true })).toBe("model = \"m\"\n\n[model_providers.gateway]\non = true\n")
    expect(changed("toml", "x = [\n  1, # one\n  \"]\",\n]\n[a]\n", { path: ["model"], value: "m" })).toBe("x = [\n  1, # one\n  \"]\",\n]\nmodel = \"m\"\n[a]\n")
    expect(changed("toml", "[model_providers.gateway.http_headers]\nx = \"y\"\n", { path: [...own, "name"], value: "g" }))
      .toBe("[model_providers.gateway.http_headers]\nx = \"y\"\n\n[model_providers.gateway]\nname = \"g\"\n")
  })

  it("reads strings of all kinds", () => {
    expect(says("toml", "a = \"\\u0041\\t\\\"\"\nb = 'C:\\x'\nc = \"\"\"\none \\\n   two\"\"\"\"\nd.\"e.f\" = { g = [\"h\", 'i'], j = 1_000 }\n[[k]]\nl = true\n")).toEqual({
      a: "A\t\"", b: "C:\\x", c: "one two\"", "d.e.f.g.0": "h", "d.e.f.g.1": "i", "d.e.f.j": "1_000", "k.l": "true"
    })
  })

  it.each([
    ["model_providers = { gateway = { name = \"x\" } }", "model_providers is not written as a table with a header of its own"],
    ["[model_providers]\ngateway = { name = \"x\" }", "model_providers.gateway is not written as a table with a header of its own"],
    ["model_providers.gateway.name = \"x\"", "model_providers.gateway is written with dotted keys, not as a table with a header of its own"],
    ["[[model_providers.gateway]]\nname = \"x\"", "model_providers.gateway is a list of tables"],
    ["[model_providers.gateway]\nbase_url = [1]", "model_providers.gateway.base_url is not a single value"],
    ["[model_providers.gateway.base_url]", "model_providers.gateway.base_url is a table"],
    ["a = 1\nb", "line 2 is no TOML: = is expected"],
    ["a = \"x\nb = 2", "line 1 is no TOML: a string has no end"],
    ["a = 1 b = 2", "line 1 is no TOML: the end of the line is expected"],
    ["a = \"\\q\"", "line 1 is no TOML: an escape is not spelled as TOML asks"]
  ])("refuses %s", (text, why) => {
    expect(refusal("toml", text, { path: [...own, "base_url"], value: "x" })).toBe(why)
  })

  it.prop("keeps what any document says beside its own path", [Arbitrary.schema(TomlCase)], ([{ root, tables, text }]) => {
    const written = (lines: typeof root, prefix: string): string =>
      lines.map(({ quoted, tail, value }, i) => `${quoted ? `"${prefix}.${i}"` : `${prefix}-${i}`} = ${typeof value === "object" ? JSON.stringify(value.text) : value}${tail}\n`).join("")
    const before = `${written(root, "r")}${tables.map((lines, i) => `\n[t${i}."q.${i}"] # ]\n${written(lines, "k")}`).join("")}`
    const after = changed("toml", before, { path: ["model"], value: text }, { path: ["providers", "gateway", "url"], value: text }, { path: ["providers", "gateway", "on"], value: true })
    expect(says("toml", after)).toEqual({ ...says("toml", before), model: text, "providers.gateway.url": text, "providers.gateway.on": "true" })
    expect(isKept(before, after)).toBe(true)
    expect(changed("toml", after, { path: ["providers", "gateway", "url"], value: text })).toBe(after)
  })
})

describe("variables", () => {
  it("changes the line that counts, and appends what is missing", () => {
    const before = "# mine\nexport A=1 # one\nB=\"two\nlines\"\nA='x'"
    expect(changed("env", before, { path: ["A"], value: "y" }, { path: ["C"], value: "http://x:1/v" })).toBe("# mine\nexport A=1 # one\nB=\"two\nlines\"\nA=y\nC=http://x:1/v\n")
    expect(changed("env", "A=\r\n", { path: ["A"], value: "y" })).toBe("A=y\r\n")
    expect(changed("env", "A=1\n", { path: ["B"], value: "y", onlyIfPresent: true })).toBe("A=1\n")
    expect(refusal("env", "", { path: ["A"], value: "a b" })).toBe("the value of A would need quotes")
  })
})

describe("what replies show", () => {
  it("is what was written, and of everything else only that it is there", () => {
    const json = "{\n  // sk-comment\n  \"model\": {\"name\": \"m\"}, \"apiKey\": \"sk-own\", \"theme\": \"sk-theme\", \"args\": [\"sk-arg\", 5], \"pin\": 4, \"token\": 77 /* sk-end */\n}"
    expect(masked("json", json, ["model", "name"], ["apiKey"])).toBe(
      "{\n  // [redacted]\n  \"model\": {\"name\": \"m\"}, \"apiKey\": \"[redacted]\", \"theme\": \"[redacted]\", \"args\": [\"[redacted]\", 5], \"pin\": 4, \"token\": \"[redacted]\" /* [redacted] */\n}")
    expect(masked("toml", "m = \"m\" # sk\n[h]\nx = { y = 'sk' }\nurl = \"http://u:sk@h/v1\"\nurl2 = \"http://h/v1\"\n", ["m"], ["h", "url"], ["h", "url2"])).toBe(
      "m = \"m\" # [redacted]\n[h]\nx = { y = \"[redacted]\" }\nurl = \"[redacted]\"\nurl2 = \"http://h/v1\"\n")
    expect(masked("env", "A=m\nA_TOKEN='sk'\nsk no line\nB=sk # sk\n", ["A"], ["A_TOKEN"])).toBe("A=m\nA_TOKEN=[redacted]\n[redacted]\nB=[redacted] # [redacted]\n")
  })
})
