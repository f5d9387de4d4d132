/** The bundle of a gateway: one text and one version for the same declarations. */
import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Schema from "effect/Schema"
import * as Bundle from "#src/features/sync/bundle.ts"
import { ordered } from "#src/wire/json/ordered.ts"

type Json = Schema.Json
const json = Arbitrary.schema(Schema.Record(Schema.String, Schema.Json))
const reversed = (value: Json): Json => Array.isArray(value)
  ? value.map(reversed)
  : typeof value === "object" && value !== null
  ? Object.fromEntries(Object.entries(value).toReversed().map(([name, member]) => [name, reversed(member)]))
  : value
const make = (config: Readonly<Record<string, Json>>) => Bundle.make({ config, leftOut: [], variables: [] })

describe("a bundle", () => {
  it.prop("is the same text however its members are ordered, and is read as it was made", { config: json }, ({ config }) => {
    const made = make(config)
    assert.deepStrictEqual(make(reversed(config) as Record<string, Json>), made)
    assert.strictEqual(Bundle.read(made.text)?.version, made.version)
    assert.deepStrictEqual(Bundle.read(made.text)?.config, JSON.parse(JSON.stringify(ordered(config))))
  }, { arbitrary: { runs: 100 } })

  it("has another version with any other content, lists in their order included", () => {
    const versions = [make({}), make({ combos: { a: { models: ["x/1", "x/2"] } } }), make({ combos: { a: { models: ["x/2", "x/1"] } } }), Bundle.make({ config: {}, leftOut: [], variables: [{ name: "A", path: "a" }] })]
    assert.strictEqual(new Set(versions.map(({ version }) => version)).size, 4)
    assert.match(versions[0]?.version ?? "", /^[0-9a-f]{64}$/)
  })

  it("of another form, or no bundle, is not read", () => {
    const { text } = make({})
    assert.isNotNull(Bundle.read(text))
    for (const other of [text.replace("\"form\":1", "\"form\":2"), "", "[]", "null", "{}", text.slice(1)]) assert.isNull(Bundle.read(other), other)
  })
})
