/** What may be parsed: the one pass over the bytes against a parser that counts. */
import { describe, expect, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Schema from "effect/Schema"
import { describe as inWords, excessOf, HARMLESS_BYTES, MAX_CONTAINERS, MAX_DEPTH, MAX_MEMBERS, MAX_VALUES, measure, scan } from "#src/platform/structures/jsonBounds.ts"

const nested = (levels: number, open: string, close: string, core = "1"): string => open.repeat(levels) + core + close.repeat(levels)
const wide = (members: number): string => `{${Array.from({ length: members }, (_, i) => `"${i % 7}k${i}":${i}`).join(",")}}`

/** Levels of brackets, and of the members of one object the most, as a parser finds them. */
const measured = (value: unknown): { readonly depth: number; readonly members: number } => {
  if (typeof value !== "object" || value === null) return { depth: 0, members: 0 }
  const inner = Object.values(value).map(measured)
  return {
    depth: 1 + Math.max(0, ...inner.map(({ depth }) => depth)),
    members: Math.max(Array.isArray(value) ? 0 : Object.keys(value).length, ...inner.map(({ members }) => members))
  }
}

/** Byte by byte, without any jump. */
const naive = (json: Buffer) => {
  const members: Array<number> = [0]
  let inString = false
  for (let i = 0; i < json.length; i++) {
    const sign = String.fromCharCode(json[i] as number)
    if (inString) {
      if (sign === "\\") i++
      else if (sign === "\"") inString = false
      continue
    }
    if (sign === "\"") inString = true
    else if (sign === ":" && ++members[members.length - 1]! > MAX_MEMBERS) return { what: "members", at: i }
    else if (sign === "{" || sign === "[") {
      members.push(0)
      if (members.length - 1 > MAX_DEPTH) return { what: "depth", at: i }
    } else if (sign === "}" || sign === "]") {
      members.pop()
      if (members.length === 0) return null
    }
  }
  return null
}

describe("the bounds of JSON", () => {
  it("takes the deepest level that is allowed and refuses the next, naming its byte", () => {
    for (const [open, close, levels] of [["[", "]", 1], ["{\"a\":", "}", 1], ["[ {\"[\":", "} ]", 2]] as const) {
      expect(scan(Buffer.from(nested(MAX_DEPTH / levels, open, close)))).toBeNull()
      const deeper = Buffer.from(nested(MAX_DEPTH / levels + 1, open, close))
      expect(scan(deeper)).toMatchObject({ what: "depth" })
      expect(scan(deeper)).toEqual(naive(deeper))
    }
    expect(scan(Buffer.from(nested(MAX_DEPTH + 1, "[", "]")))).toEqual({ what: "depth", at: MAX_DEPTH })
  })

  it("takes the most members that are allowed in one object and refuses the next, wherever the object stands", () => {
    expect(scan(Buffer.from(wide(MAX_MEMBERS)))).toBeNull()
    expect(scan(Buffer.from(`[${wide(MAX_MEMBERS)},{"a":${wide(MAX_MEMBERS)}}]`))).toBeNull()
    for (const text of [wide(MAX_MEMBERS + 1), `{"a":[${wide(3)},${wide(MAX_MEMBERS + 1)}]}`]) {
      const json = Buffer.from(text)
      expect(scan(json)).toMatchObject({ what: "members" })
      expect(scan(json)).toEqual(naive(json))
    }
  })

  it("counts objects and lists, and values, in all, and refuses the first that is one too many", () => {
    for (const item of ["{}", "[]", "{\"a\":1}", "[1]"]) {
      const most = Buffer.from(`[${Array.from({ length: MAX_CONTAINERS - 1 }, () => item).join(",")}]`)
      expect(measure(most)).toMatchObject({ containers: MAX_CONTAINERS })
      const more = Buffer.from(`[${most.toString().slice(1, -1)},${item}]`)
      expect(scan(more)).toEqual({ what: "containers", at: more.length - 1 - item.length })
    }
    const most = Buffer.from(`[${"1,".repeat(MAX_VALUES - 1)}1]`)
    expect(measure(most)).toEqual({ containers: 1, values: MAX_VALUES })
    const more = Buffer.from(`[${"1,".repeat(MAX_VALUES)}1]`)
    expect(scan(more)).toEqual({ what: "values", at: 2 * MAX_VALUES })
    expect(inWords({ what: "values", at: 7 })).toBe("it holds more than 2000000 values (byte 7)")
  })

  it("takes what agents and batches send: 50,000 messages with parts, 2,048 lists of 900 token numbers", () => {
    const history = { messages: Array.from({ length: 50_000 }, () => ({ role: "user", content: [{ type: "text", text: "x" }] })) }
    const batch = { input: Array.from({ length: 2_048 }, () => Array.from({ length: 900 }, (_, i) => i)) }
    for (const value of [history, batch]) expect(scan(Buffer.from(JSON.stringify(value)))).toBeNull()
  })

  it("looks into no string, however it is escaped", () => {
    for (const text of ["[".repeat(9_000), "\\".repeat(9_000), "\"".repeat(9_000), "\\\"".repeat(4_000) + "{", `${"x".repeat(300)}"${"[".repeat(300)}\\`, "a\"" + ":".repeat(30_000)]) {
      const json = Buffer.from(JSON.stringify({ [text]: [text, { text }] }))
      expect(scan(json)).toBeNull()
      expect(scan(Buffer.from(`{"a":${JSON.stringify(text)},"b":${nested(MAX_DEPTH, "[", "]")}}`))).toMatchObject({ what: "depth" })
    }
  })

  it("passes over small texts, and leaves what is no JSON to the parser", () => {
    expect(excessOf(Buffer.from(nested(HARMLESS_BYTES / 2 - 1, "[", "]")))).toBeNull()
    expect(excessOf(Buffer.from("[".repeat(HARMLESS_BYTES)))).toEqual({ what: "depth", at: MAX_DEPTH })
    for (const text of ["", "\"", "\"\\", "]".repeat(5_000), `"${"x".repeat(5_000)}`, `]${"[".repeat(5_000)}`]) expect(scan(Buffer.from(text))).toBeNull()
  })

  it("one call leaves nothing behind for the next", () => {
    const half = Buffer.from(`[${wide(MAX_MEMBERS - 1)},{"a":1`)
    expect(scan(half)).toBeNull()
    expect(scan(half)).toBeNull()
    const loose = Buffer.from("\"a\":1,".repeat(MAX_MEMBERS))
    expect([scan(loose), scan(loose)]).toEqual([null, null])
  })

  it.prop("any JSON, in any spelling, is judged as a parser would", {
    value: Arbitrary.schema(Schema.Json), indent: Arbitrary.schema(Schema.Literals([0, 1, 2]))
  }, ({ indent, value }) => {
    const json = Buffer.from(JSON.stringify(value, null, indent))
    const { depth, members } = measured(JSON.parse(json.toString()))
    expect(scan(json) === null).toBe(depth <= MAX_DEPTH && members <= MAX_MEMBERS)
    // The same, pushed to the edge and over it.
    const edge = Buffer.from(nested(MAX_DEPTH - depth, "[", "]", json.toString()))
    expect(scan(edge)).toBeNull()
    expect(scan(Buffer.from(`[${edge.toString()}]`))?.what).toBe("depth")
  })

  const signs = Schema.Array(Schema.Literals(["{", "[", "}", "]", "\"", "\\", ":", ",", "x", "é", " ", "[".repeat(200), "x".repeat(60), "\\\"".repeat(30)]))
  it.prop("any heap of brackets, quotes and escapes is read as byte by byte", { parts: Arbitrary.schema(signs) }, ({ parts }) => {
    for (const json of [Buffer.from(parts.join("")), Buffer.from(parts.join("").repeat(40))]) expect(scan(json)).toEqual(naive(json))
  })
})
