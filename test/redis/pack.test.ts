/** Values in Redis come back as they went in. */
import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Schema from "effect/Schema"
import { pack, unpackUnsafe } from "#src/platform/redis/pack.ts"

/** msgpack's text is UTF-8: half a character does not survive it. */
const text = Schema.String.check(Schema.makeFilter((value: string) => value.isWellFormed() && value !== "__proto__"))
/** A negative zero comes back as zero. */
const whole = Schema.Finite.check(Schema.makeFilter((value: number) => !Object.is(value, -0)))

const Value = Schema.Struct({
  text, number: whole, flag: Schema.Boolean, nothing: Schema.Null,
  list: Schema.Array(Schema.NullOr(whole)), by: Schema.Record(text, Schema.Array(text))
})

describe("packing", () => {
  it.prop("gives back what was packed", [Arbitrary.schema(Value)], ([value]) => {
    assert.deepStrictEqual(unpackUnsafe(pack(value)), structuredClone(value))
  })

  it("keeps bytes, and bytes written without knowledge of a former structure", () => {
    const bytes = Uint8Array.from({ length: 256 }, (_, i) => i)
    const back = unpackUnsafe(pack({ bytes })) as { bytes: Uint8Array }
    assert.deepStrictEqual([...back.bytes], [...bytes])
    for (let i = 0; i < 3; i++) assert.strictEqual(pack({ a: 1, b: 2 }).toString("hex"), "de0002a16101a16202")
  })
})
