/** Heads that begin alike share the text of their beginning, and no head loses a pair to another one's. */
import { describe, expect, it } from "vitest"
import { HeadBeginning, noBeginning } from "#src/platform/server/HeadBeginning.ts"
import { headTail } from "#src/platform/server/responseHead.ts"

const common = ["a", "1", "b", "2", "c", "3"]
const headOf = (own: string): ReadonlyArray<string> => [...common, "id", own]

/** The pairs as two native calls write them. */
const written = (beginning: HeadBeginning, headers: ReadonlyArray<string>): string => {
  const { name, pairs, text } = beginning.of(headers)
  const rest = headers[pairs.length]
  return `${name === "" ? "" : `${name}: ${text}\r\n`}${rest === undefined ? "" : `${rest}: ${headTail(headers, pairs.length)}\r\n`}`
}

const plain = (headers: ReadonlyArray<string>): string => `${headers[0]}: ${headTail(headers)}\r\n`

describe("the beginning of heads", () => {
  it("is what the latest heads have in common, and says the same with the rest as one head", () => {
    const beginning = new HeadBeginning()
    for (let i = 0; i < 5; i++) expect(written(beginning, headOf(String(i)))).toBe(plain(headOf(String(i))))
    expect(beginning.of(headOf("x")).pairs).toEqual(common)
    expect(written(beginning, common)).toBe(plain(common))
  })

  it("is not used for a head that begins otherwise, and becomes shorter where a part is the same", () => {
    const beginning = new HeadBeginning()
    for (let i = 0; i < 3; i++) beginning.of([...headOf(String(i))])
    const other = ["x", "1", "b", "2", "c", "3"]
    expect(beginning.of(other)).toBe(noBeginning)
    expect(written(beginning, other)).toBe(plain(other))
    const longer = [...common, "d", "4"]
    const shared = new HeadBeginning()
    for (let i = 0; i < 3; i++) shared.of([...longer, "id", String(i)])
    expect(shared.of([...longer, "id", "x"]).pairs).toEqual(longer)
    expect(shared.of(headOf("y")).pairs).toEqual(common)
  })

  it("is learnt anew when heads begin otherwise for long", () => {
    const beginning = new HeadBeginning()
    for (let i = 0; i < 3; i++) beginning.of(headOf(String(i)))
    const others = ["x", "1", "y", "2", "z", "3"]
    for (let i = 0; i < 100; i++) expect(written(beginning, [...others, "id", String(i)])).toBe(plain([...others, "id", String(i)]))
    expect(beginning.of([...others, "id", "last"]).pairs).toEqual(others)
  })

  it("refuses a pair that would split the head wherever it stands", () => {
    const beginning = new HeadBeginning()
    for (let i = 0; i < 3; i++) beginning.of(headOf(String(i)))
    const bad = [...common, "id", "v\r\nevil: 1"]
    expect(() => headTail(bad, beginning.of(bad).pairs.length)).toThrow(/contains a line break/)
    expect(() => new HeadBeginning().of(["a", "1", "b", "2\r\nevil: 1", "c", "3"])).toThrow(/contains a line break/)
  })
})
