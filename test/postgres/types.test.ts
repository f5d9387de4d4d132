import { assert, describe, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import { formatArray, parseArray } from "#src/platform/postgres/types.ts"

describe("types", () => {
  it.prop("any array of texts survives its literal", [Schema.Array(Schema.NullOr(Schema.String))], ([given]) => {
    assert.deepStrictEqual(parseArray((text) => text)(formatArray(given)), given)
  })

  it("numbers, NULL as a word, empty arrays and quotes are told apart", () => {
    assert.deepStrictEqual(parseArray(Number)("{1,NULL,-2.5}"), [1, null, -2.5])
    assert.deepStrictEqual(parseArray((text) => text)(formatArray(["NULL", null, "", "a,b", "{}", "\\\"\n"])), ["NULL", null, "", "a,b", "{}", "\\\"\n"])
    assert.deepStrictEqual(parseArray((text) => text)("{}"), [])
    assert.strictEqual(formatArray([true, 1, 2n, new Date(0)]), "{true,1,2,\"1970-01-01T00:00:00.000Z\"}")
  })
})
