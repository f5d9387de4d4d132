/** Turns of one text take a short way through every format: it says what the long way says, for each pair of formats. */
import { describe, expect, it } from "vitest"
import type { FormatName } from "#schemas/wire/conversation.ts"
import { PublicError } from "#schemas/errors.ts"
import * as Formats from "#src/wire/formats.ts"
import type { TargetFamily } from "#schemas/wire/formats.ts"
import type { TargetTraits } from "#src/wire/WireFormat.ts"

const traits: TargetTraits = { model: "m", stream: false, maxOutputTokens: 4_096, reasoning: false, streamOptions: false, previousResponseId: "auto" }
const texts = ["Read \"a\".\n", "It says é.", "", " ", "And b?", "\u2028", "Nothing.", "x".repeat(300), "On.", "Done.", "Thanks.", "Welcome."]
const said = texts.map((text, i) => ({ role: i % 2 === 0 ? "user" : "assistant", text }))
type Said = (typeof said)[number]

/** Each format's plain message, and one that says the same and is not plain. */
const ways: ReadonlyArray<readonly [FormatName, list: string, more: object, plain: (one: Said) => object, long: (one: Said) => object]> = [
  ["chat-completions", "messages", {}, ({ role, text }) => ({ role, content: text }), ({ role, text }) => ({ role, content: text, name: null })],
  ["messages", "messages", { max_tokens: 9 }, ({ role, text }) => ({ role, content: text }), ({ role, text }) => ({ role, content: [{ type: "text", text }] })],
  ["responses", "input", {}, ({ role, text }) => ({ type: "message", role, content: text }), ({ role, text }) => ({ type: "message", role, content: text, phase: null })],
  ["generateContent", "contents", {}, ({ role, text }) => ({ role: role === "user" ? "user" : "model", parts: [{ text }] }), ({ role, text }) => ({ role: role === "user" ? "user" : "model", parts: [{ text, thought: false }] })],
  ["local-model-server", "messages", {}, ({ role, text }) => ({ role, content: text }), ({ role, text }) => ({ role, content: text, images: [] })]
]
/** A body without empty texts beside others, and a list of one text as the text. */
const read = (body: string): unknown => JSON.parse(body, (_key, value: unknown) => {
  if (!Array.isArray(value)) return value
  const kept = value.length < 2 ? value : value.filter((item: unknown) => typeof item !== "object" || item === null || !("text" in item) || item.text !== "")
  const [only] = kept as ReadonlyArray<unknown>
  return kept.length === 1 && typeof only === "object" && only !== null && "type" in only && only.type === "text" && "text" in only ? only.text : kept
})

const families: ReadonlyArray<TargetFamily> = ["chat-completions", "messages", "responses", "generateContent", "local-model-server"]

const decoded = (face: FormatName, body: Readonly<Record<string, unknown>>) => {
  const conversation = Formats.client(face).decodeRequest(body)
  if (conversation instanceof PublicError) throw conversation
  return conversation
}

describe.each(ways)("plain turns of the format %s", (face, list, more, plain, long) => {
  const bodyOf = (write: (one: Said) => object) => ({ model: "m", ...more, [list]: said.map(write) })
  const mixed = (one: Said): object => said.indexOf(one) % 3 === 0 ? long(one) : plain(one)

  it("are read as others are, alone and between others", () => {
    const expected = decoded(face, bodyOf(long)).turns
    expect(expected.length).toBe(said.length)
    expect(decoded(face, bodyOf(plain)).turns).toEqual(expected)
    expect(decoded(face, bodyOf(mixed)).turns).toEqual(expected)
  })

  it.each(families)("are said to %s as a turn is whose texts stand in two parts of which one is empty", (name) => {
    const family = Formats.family(name)
    const conversation = decoded(face, bodyOf(plain))
    // An empty text beside another is left out everywhere, so that the turn takes the long way.
    const split = conversation.turns.map((turn) => ({ ...turn, parts: turn.parts.flatMap((part) => part.kind === "text" && part.text !== "" ? [part, { ...part, text: "" }] : [part]) }))
    const short = family.encodeRequest(conversation, traits)
    const whole = family.encodeRequest({ ...conversation, turns: split }, traits)
    const both = family.encodeRequest({ ...conversation, turns: conversation.turns.map((turn, i) => (i % 3 === 0 ? split[i] : null) ?? turn) }, traits)
    if ("_tag" in short || "_tag" in whole || "_tag" in both) throw new Error("cannot be said")
    expect(read(short.body)).toEqual(read(whole.body))
    expect(read(both.body)).toEqual(read(whole.body))
    expect(short.omitted).toEqual(whole.omitted)
  })
})

describe("a turn without a text", () => {
  it("of the assistant is left out for local-model-server, one of the user is said", () => {
    const conversation = decoded("chat-completions", { model: "m", messages: [{ role: "user", content: "" }, { role: "assistant", content: "" }, { role: "user", content: "on" }] })
    const encoded = Formats.family("local-model-server").encodeRequest(conversation, traits)
    if ("_tag" in encoded) throw encoded
    expect(JSON.parse(encoded.body)).toMatchObject({ messages: [{ role: "user", content: "" }, { role: "user", content: "on" }] })
  })
})
