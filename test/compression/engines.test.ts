/** The engines over any texts: what stays, that nothing grows, that a compressed text stays as it is, and that time grows with the text alone. */
import { describe, expect, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Schema from "effect/Schema"
import { compressionDefaults, type CompressionSettings, type Mode } from "#schemas/words/Compression.ts"
import * as Caveman from "#src/compression/caveman.ts"
import * as Compress from "#src/compression/compress.ts"
import * as Lite from "#src/compression/lite.ts"
import * as Masking from "#src/compression/masking.ts"
import { packs } from "#src/compression/packs/index.ts"
import type { Piece } from "#src/compression/Piece.ts"
import * as Plan from "#src/compression/plan.ts"
import * as Validation from "#src/compression/validation.ts"
import { steadyGrowthOf } from "#test/support/late.ts"

const phrases = packs.flatMap(({ rules }) => rules.flatMap(({ replacementMap }) => Object.keys(replacementMap ?? {})))
const bits = [
  "please", "Please", "could you explain", "I would like you to", "the", "a", "an", "very", "not very good", "never", "no", "only if", "unless", "must", "don't",
  "thank you so much!", "Hello,", "in order to", "of course", "variables a and b", ".", ",", " ", "  ", "\n", "\n\n", "\n\n\n", "- item", "42", "3.5%", "`the code`",
  "https://x.org/the/a?b=1", "/usr/the/bin", "src/a.ts", "\"a quote of the\"", "fooBar", "FOO_BAR", "--flag", "```\nthe a an\n```", "\n```ts\nconst the = 1\n```\n", "\n<doc>\nthe a\n</doc>\n",
  "\nError: the a\n", "\n    the indented\n", "\n| the | a |\n", "{\"the\": \"a\"}", "é", "日本", "\u001b[31mred\u001b[0m", "10%\r20%\rdone", "On branch main", "  (use \"git add\" to)",
  "npm warn deprecated x", "x".repeat(50), "   ", ...phrases
]
const bit = Schema.Literals(bits as [string, ...Array<string>])
const text = Schema.Array(Schema.Union([bit, Schema.String.check(Schema.isMaxLength(8))])).check(Schema.isMaxLength(40))
const said = (parts: ReadonlyArray<string>): string => parts.join(" ")
const Conversation = Schema.Array(Schema.Struct({
  role: Schema.Literals(["system", "user", "assistant", "tool"]), text, frozen: Schema.Boolean, command: Schema.NullOr(Schema.Literals(["git status", "npm ci", "cat a", "git diff", "docker logs x"]))
})).check(Schema.isMaxLength(6))
const piecesOf = (conversation: typeof Conversation.Type): ReadonlyArray<Piece> => conversation.map((piece, turn) => ({ ...piece, text: said(piece.text), tool: null, turn }))

const everything: CompressionSettings = {
  ...compressionDefaults, preserveSystemPrompt: false,
  stackedPipeline: [{ engine: "lite" }, { engine: "rtk", intensity: "aggressive" }, { engine: "caveman", intensity: "ultra" }],
  cavemanConfig: { ...compressionDefaults.cavemanConfig, compressRoles: ["user", "assistant", "system"], minMessageLength: 0 },
  rtkConfig: { ...compressionDefaults.rtkConfig, maxLinesPerResult: 10 },
  languageConfig: { enabled: true, autoDetect: false, defaultLanguage: "en", enabledPacks: ["en"] }
}
const modes: ReadonlyArray<Mode> = ["lite", "standard", "rtk", "stacked"]
const planOf = (mode: Mode): Plan.Plan => Plan.ofMode(mode, everything) as Plan.Plan
const asked = { arbitrary: { runs: 400 } }

describe.each(modes)("mode %s, over any conversation", (mode) => {
  it.prop("never grows a text, never touches what is frozen, and an engine leaves its own text as it is", [Arbitrary.schema(Conversation)], ([conversation]) => {
    const pieces = piecesOf(conversation)
    const once = Compress.ofPieces(planOf(mode), pieces).texts
    for (const [i, { frozen, text: before }] of pieces.entries()) {
      expect(Buffer.byteLength(once[i] as string)).toBeLessThanOrEqual(Buffer.byteLength(before))
      if (frozen) expect(once[i]).toBe(before)
    }
    // What a later engine made may be shorter still for an earlier one.
    if (mode !== "stacked") expect(Compress.ofPieces(planOf(mode), pieces.map((piece, i) => ({ ...piece, text: once[i] as string }))).texts).toEqual(once)
  }, asked)

  it.prop("says the beginning of a conversation the same, whatever follows it", [Arbitrary.schema(Conversation), Arbitrary.schema(Conversation)], ([first, second]) => {
    const [start, rest] = [piecesOf(first), piecesOf(second)]
    const alone = Compress.ofPieces(planOf(mode), start).texts
    expect(Compress.ofPieces(planOf(mode), [...start, ...rest]).texts.slice(0, start.length)).toEqual(alone)
  }, asked)

  it.prop("keeps code, URLs, and what a client may edit from", [Arbitrary.schema(Conversation)], ([conversation]) => {
    const pieces = piecesOf(conversation)
    for (const [i, after] of Compress.ofPieces(planOf(mode), pieces).texts.entries()) {
      const { command, role, text: before } = pieces[i] as Piece
      if (role === "tool" && (command === null || command === "cat a" || command === "git diff")) expect(after).toBe(before)
      if (after.startsWith("[Same as an earlier")) continue
      expect(Masking.mask(after, () => false)?.fences).toEqual(Masking.mask(before, () => false)?.fences)
      expect(Masking.urlsIn(after)).toEqual(Masking.urlsIn(before))
    }
  }, asked)
})

describe("caveman", () => {
  const options: Caveman.Options = { config: everything.cavemanConfig, intensity: "ultra", languages: everything.languageConfig }
  const words = /(?<![\w'])(?:not|never|no|only|unless|must|don't|\d[\d.%]*)(?!\w)/gi
  const count = (of: string): Readonly<Record<string, number>> => {
    const counts: Record<string, number> = {}
    for (const word of of.match(words) ?? []) counts[word.toLowerCase()] = (counts[word.toLowerCase()] ?? 0) + 1
    return counts
  }

  it.prop("never takes a negation, a condition or a number away", [Arbitrary.schema(text)], ([parts]) => {
    const before = said(parts)
    const after = count(Caveman.compress(before, "user", options).text)
    for (const [word, times] of Object.entries(count(before))) expect([word, (after[word] ?? 0) >= times]).toEqual([word, true])
  }, asked)

  const prose = "Hello there, I would like you to please explain why the tests fail in the file `a the b`. It is not very good, due to the fact that the configuration is basically wrong. Thanks a lot!"
  it.each([
    ["lite", "explain why the tests fail in the file `a the b`. It is not very good, due to the fact that the configuration is basically wrong."],
    ["full", "explain why tests fail in file `a the b`. It is not very good, because configuration is wrong."],
    ["ultra", "explain why tests fail in file `a the b`. Is not very good, because config is wrong."]
  ] as const)("says a question shorter at intensity %s", (intensity, expected) => {
    expect(Caveman.compress(prose, "user", { ...options, intensity }).text).toBe(expected)
  })

  it("goes on until no rule matches any more", () => {
    const nested = "I would I want you to like you to explain the answer of the question in the file that is here."
    const once = Caveman.compress(nested, "user", { ...options, intensity: "lite" }).text
    expect(once).toBe("explain the answer of the question in the file that is here.")
  })

  it("uses the pack of the language that a text is in, and none for another one", () => {
    const german = "Hallo, bitte erkläre mir, wie das Programm funktioniert und was die Datei macht. Vielen Dank im Voraus!"
    const of = (enabledPacks: CompressionSettings["languageConfig"]["enabledPacks"]) =>
      Caveman.compress(german, "user", { ...options, languages: { enabled: true, autoDetect: true, defaultLanguage: "en", enabledPacks } })
    expect(of(["en", "de"]).text).toBe("erkläre mir, wie das Programm funktioniert und was die Datei macht.")
    expect(of(["en"])).toMatchObject({ text: german, skipped: "unknown_language" })
    expect(Caveman.compress(german, "user", { ...options, languages: compressionDefaults.languageConfig }).text).toBe(german)
  })

  it("leaves short texts, skipped rules and lines that the operator keeps", () => {
    const of = (change: Partial<CompressionSettings["cavemanConfig"]>) => Caveman.compress(prose, "user", { ...options, intensity: "lite", config: { ...options.config, ...change } })
    expect(of({ minMessageLength: 1_000 })).toMatchObject({ text: prose, skipped: "too_short" })
    expect(of({ skipRules: ["please", "thanks"] }).text).toContain("please explain")
    expect(of({ preservePatterns: ["tests? fail"] }).text).toBe(prose)
  })
})

describe("lite", () => {
  const piece = (role: Piece["role"], content: string, more: Partial<Piece> = {}): Piece => ({ role, text: content, frozen: false, command: null, tool: null, turn: 0, ...more })
  const of = (...pieces: ReadonlyArray<Piece>): ReadonlyArray<string> => Lite.compress(pieces, true).map((one) => one.text)
  const long = `The rules of the house. ${"They are many. ".repeat(40)}`.trim()
  const marker = '[Same as an earlier message of the user, 623 characters, that begins: "The rules of the house. They are many. T"]'

  it("names a text that was said before in the same role, and never one that comes later or is cached", () => {
    expect(of(piece("user", long), piece("assistant", "Yes."), piece("user", long))).toEqual([long, "Yes.", marker])
    expect(of(piece("user", long), piece("assistant", long))).toEqual([long, long])
    expect(of(piece("user", long, { frozen: true }), piece("user", long, { frozen: true }), piece("user", long))).toEqual([long, long, marker])
    expect(of(piece("user", "short"), piece("user", "short"))).toEqual(["short", "short"])
  })

  it("names repeated instructions, which else stay, and repeated output of commands, but no file that is read again", () => {
    const [, again] = of(piece("system", `${long}  `), piece("system", `${long}  `))
    expect(again?.startsWith("[Same as an earlier instructions, 625 characters")).toBe(true)
    const [, output] = of(piece("tool", long, { command: "git log" }), piece("tool", long, { command: "git log" }))
    expect(output?.startsWith("[Same as an earlier output of a tool, 623 characters")).toBe(true)
    expect(of(piece("tool", long, { command: "cat a" }), piece("tool", long, { command: "cat a" }), piece("tool", long), piece("tool", long))).toEqual([long, long, long, long])
  })

  it("takes blanks away that say nothing, outside of code, and names the bytes of a picture in prose", () => {
    expect(of(piece("user", "One.   Two.  \n\n\n\nThree a  b\n```\nx  \n\n\n\ny\n```"))).toEqual(["One. Two.\n\nThree a  b\n```\nx  \n\n\n\ny\n```"])
    const picture = `data:image/png;base64,${"A".repeat(2_000)}`
    expect(of(piece("user", `See ${picture} here`))).toEqual(["See [image/png data, 1500 bytes, left out] here"])
    expect(of(piece("user", `\`\`\`\n${picture}\n\`\`\``), piece("tool", picture, { command: "cat a" }))).toEqual([`\`\`\`\n${picture}\n\`\`\``, picture])
  })

  it("shows output of a command as a terminal does", () => {
    expect(of(piece("tool", "\u001b[31mred\u001b[0m  \r\n10%\r20%\rdone\n\n\n\nend", { command: "docker logs a" }))).toEqual(["red\ndone\n\nend"])
    // A line that was overwritten held a URL: the validator refuses the shorter text.
    const overwritten = "get https://x.org/a\rdone"
    expect(of(piece("tool", overwritten, { command: "docker logs a" }))).toEqual([overwritten])
  })
})

describe("the validator", () => {
  const code = "```\nthe a\n```"
  it.each([
    ["fenced code", `a\n${code}`, "a\n```\nthe\n```", false, "Fenced code differs."], ["URLs", "see https://x.org/a", "see https://x.org", false, "URLs differ."],
    ["preserved blocks", "the `a b` and 42", "`a b` and 4", true, "Preserved blocks differ."], ["their number", "the `a b` and 42", "the `a b` and", true, "2 preserved blocks became 1."],
    ["growth", "a", "a b", false, "The text grew."], ["reserved characters", "a b", "\uE000", false, "The text holds reserved characters."]
  ])("finds a difference of %s", (_name, before, after, pieces, error) => {
    expect(Validation.compare(before, after, pieces).errors).toContain(error)
  })

  it("finds nothing where prose alone is shorter", () => {
    expect(Validation.compare(`the text of \`x\`\n${code}`, `text of \`x\`\n${code}`, true)).toEqual({ valid: true, errors: [] })
  })
})

describe("time", () => {
  const hostile = ["`", "\"", "'", "-a", "a.", "/", "[", "<a>", "<a", "```\n", "the ", "please ", "\u001b]", "\u001b[", "data:a/b;", " ", "\n", "\r", "a ", "1,", "_", "aB", "not very ", "{", "@", "É", "http://", "Hello, ", "https", "I would like you to "]
  it.each(hostile.map((one) => [JSON.stringify(one), one] as const))("grows with the length of a text of %s alone", (_name, one) => {
    const work = (length: number): void => {
      const filled = `${one.repeat(Math.ceil(length / one.length)).slice(0, length)}x`
      Compress.ofPieces(planOf("stacked"), [{ role: "user", text: filled, frozen: false, command: null, tool: null, turn: 0 }, { role: "tool", text: filled, frozen: false, command: "docker logs x", tool: null, turn: 0 }])
    }
    work(4_000)
    // Quadratic time would be 16 times as much.
    expect(steadyGrowthOf(work, 15_000, 4, 9)).toBeLessThan(9)
  })
})
