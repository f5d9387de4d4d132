/** Tools of free text behind functions, and names on their way through another format: the pure parts, for any text and any cut. */
import { describe, expect, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Schema from "effect/Schema"
import type { Conversation, Tool } from "#schemas/wire/conversation.ts"
import { unwrapped, wrapped } from "#src/wire/neutral/freeform.ts"
import { none } from "#src/wire/neutral/settings.ts"
import { restoredOf, ToolNames } from "#src/wire/neutral/ToolNames.ts"
import { FreeText } from "#src/wire/stream/FreeText.ts"
import { escape } from "#src/wire/stream/literal.ts"
import { RestoringSink } from "#src/wire/stream/RestoringSink.ts"
import { RecordingSink } from "#test/support/wire/RecordingSink.ts"

/** The text of arguments that come in pieces of `size` characters; each piece of the answer must be a literal of its own. */
const inPieces = (args: string, size: number): string => {
  const text = new FreeText()
  let said = ""
  const take = (literal: string) => {
    said += JSON.parse(`"${literal}"`) as string
  }
  for (let at = 0; at < args.length; at += size) take(text.push(escape(args.slice(at, at + size))))
  take(text.end())
  return said
}

const odd = ["", "plain", "a\"b\\c\nd\te\u0000", "日本 👩‍💻 \u2028", "\\u0041 \\n \\\\", "{\"input\":\"x\"}", "\ud83d alone", "\ude00"]

describe("free text in the arguments of a function", () => {
  it.prop("comes out as it went in, whatever the cut", { input: Arbitrary.schema(Schema.String), size: Arbitrary.schema(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 9 }))) }, ({ input, size }) => {
    for (const text of [input, ...odd]) {
      const args = wrapped(text)
      expect(inPieces(args, size)).toBe(text)
      expect(unwrapped(args)).toBe(text)
    }
  })

  it.each([
    ["escapes of every kind", "{\"input\":\"\\u0041\\/\\b\\f\\ud83d\\ude00\"}", "A/\b\f😀"],
    ["blanks around the member", " {\n \"input\" : \"x\" , \"why\": 1}", "x"],
    ["the member behind others", "{\"why\":\"because\",\"input\":\"x\"}", "x"],
    ["one member of another name", "{\"patch\":\"x\"}", "x"],
    ["the text itself", "*** Begin Patch\n\"x\"", "*** Begin Patch\n\"x\""],
    ["a text that is no text", "{\"input\":[1]}", "{\"input\":[1]}"],
    ["nothing", "", ""], ["no member", "{}", ""],
    ["line ends that are not escaped", "{\"input\":\"a\nb\"}", "a\nb"],
    ["a backslash that escapes nothing", "{\"input\":\"a\\d \\u12\"}", "a\\d \\u12"],
    ["a text that is cut off", "{\"input\":\"abc\\", "abc"]
  ])("reads %s, in one piece or many", (_, args, text) => {
    expect(unwrapped(args)).toBe(text)
    for (const size of [1, 2, 5]) expect(inPieces(args, size)).toBe(text)
  })
})

const fn = (name: string): Tool => ({ kind: "function", name, description: null, parameters: null, strict: null, cache: null })
const custom = (name: string): Tool => ({ kind: "custom", name, description: null, format: null })
const having = (tools: ReadonlyArray<Tool>): Conversation => ({ format: "responses", turns: [], tools, toolChoice: null, settings: none, extras: [] })

describe("names of tools", () => {
  it.prop("are legal everywhere, differ from each other and lead back", { names: Arbitrary.schema(Schema.Array(Schema.NonEmptyString)) }, ({ names }) => {
    const all = [...new Set([...names, "a.b", "a_b", "a/b", "_", "💥", "x".repeat(80), `${"x".repeat(80)}y`, "ok"])]
    const conversation = having(all.map(fn))
    const written = new ToolNames(conversation)
    const restored = restoredOf(conversation)
    expect(new Set(all.map((name) => written.of(name))).size).toBe(all.length)
    for (const name of all) {
      expect(written.of(name)).toMatch(/^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$/)
      expect(restored?.get(written.of(name))?.name ?? written.of(name)).toBe(name)
    }
    expect([written.of("a_b"), written.of("ok")]).toEqual(["a_b", "ok"])
  })

  it("that stand for themselves cost nothing", () => {
    expect(restoredOf(having([fn("a"), fn("b-c_9")]))).toBeNull()
  })
})

describe("calls of a stream", () => {
  const restored = restoredOf(having([custom("apply_patch"), fn("a.b")]))!

  it("that are mixed come one after another: free text has no end of its own", () => {
    const heard = new RecordingSink()
    const sink = new RestoringSink(heard, restored)
    sink.toolCall(0, 0, "c0", "apply_patch", false, null)
    sink.toolArguments(0, 0, escape("{\"input\":\"one"))
    sink.toolCall(0, 1, "c1", "a_b", false, null)
    sink.toolArguments(0, 1, escape("{\"x\""))
    sink.toolArguments(0, 0, escape(" two"))
    sink.toolArguments(0, 1, escape(":1}"))
    sink.toolArguments(0, 0, escape("\"}"))
    sink.finish(0, "tool-calls", null)
    const said = (call: number) => heard.events.filter((event) => event[0] === "toolArguments" && event[2] === call).map((event) => String(event[3])).join("")
    expect(heard.events.filter((event) => event[0] === "toolCall").map((event) => event.slice(2, 6))).toEqual([[0, "c0", "apply_patch", true], [1, "c1", "a.b", false]])
    expect([said(0), said(1)]).toEqual(["one two", "{\"x\":1}"])
    const order = heard.events.map((event) => `${String(event[0])} ${String(event[2])}`)
    expect(order.lastIndexOf("toolArguments 0")).toBeLessThan(order.indexOf("toolCall 1"))
  })
})
