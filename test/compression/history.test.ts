/** Engines over whole conversations and long results: what stays, that nothing grows, what stays the same from turn to turn, and their time. */
import { describe, expect, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Schema from "effect/Schema"
import { compressionDefaults, type CompressionSettings, type EngineId } from "#schemas/words/Compression.ts"
import * as Compress from "#src/compression/compress.ts"
import { stepTurns } from "#src/compression/history/age.ts"
import * as Summary from "#src/compression/history/summary.ts"
import * as Ultra from "#src/compression/history/ultra.ts"
import * as Masking from "#src/compression/masking.ts"
import type { Piece } from "#src/compression/Piece.ts"
import * as Pieces from "#src/compression/pieces.ts"
import * as Plan from "#src/compression/plan.ts"
import * as Accessibility from "#src/compression/results/accessibility.ts"
import * as Ionizer from "#src/compression/results/ionizer.ts"
import { isQuery } from "#src/compression/results/queries.ts"
import { steadyGrowthOf } from "#test/support/late.ts"

const settings: CompressionSettings = {
  ...compressionDefaults, ultra: { enabled: true, compressionRate: 0.3, minScoreThreshold: 0.5, maxTokensPerMessage: 0 },
  aggressive: { ...compressionDefaults.aggressive, thresholds: { fullSummary: 3, moderate: 2, light: 1, verbatim: 1 }, minSavingsThreshold: 0, maxTokensPerMessage: 10 },
  mcpAccessibility: { ...compressionDefaults.mcpAccessibility, minLengthToProcess: 0, collapseThreshold: 4, collapseKeepHead: 1, collapseKeepTail: 1 },
  rtkConfig: { ...compressionDefaults.rtkConfig, maxLinesPerResult: 10 }
}
const planOf = (engine: EngineId): Plan.Plan => Plan.ofEngine(engine, settings) as Plan.Plan
const engines: ReadonlyArray<EngineId> = ["session-dedup", "ionizer", "mcpAccessibility", "aggressive", "ultra"]
const never = (): boolean => false

const passage = "The house of the people has rules that are not easy to keep, and each of them was agreed on by all of those who live in it. They are written down in the hall, where everyone can read them at any time of the day."
const bits = [
  passage, `${passage}\n\n`, "It is what it is.", "We will look at the tests of the file now, and then at the others. They are many. They are long.", "We must not do that.", "Why?", "never", "42", "`the code`",
  "https://x.org/the/a?b=1", "/usr/the/bin", "\"a quote of the\"", "fooBar", "\n```ts\nconst the = 1\n\n\nthe a\n```\n", "\n<doc>\nthe a of the\n</doc>\n", "\nError: the a\n", "\n\n", "\n- the item of it is long. It is.", "é",
  "- link \"Home\" [ref=e1]:\n  - text: the\n", "\n- listitem\n- listitem\n- listitem \"the\"\n- listitem\n- listitem\n", "[1, 2]", "{\"a\": [1, 2, \"x\"]}", "\uE000"
] as const
const text = Schema.Array(Schema.Union([Schema.Literals(bits as unknown as [string, ...Array<string>]), Schema.String.check(Schema.isMaxLength(6))])).check(Schema.isMaxLength(20))
const Conversation = Schema.Array(Schema.Struct({
  role: Schema.Literals(["system", "user", "assistant", "tool"]), text, frozen: Schema.Boolean,
  command: Schema.NullOr(Schema.Literals(["git status", "cat a", "gh api items", "docker logs x"])), tool: Schema.NullOr(Schema.Literals(["browser_snapshot", "read_file", "list_issues"]))
})).check(Schema.isMaxLength(8))
const piecesOf = (conversation: typeof Conversation.Type, from = 0): ReadonlyArray<Piece> => conversation.map((piece, i) => ({ ...piece, text: piece.text.join(" "), turn: from + i }))
const asked = { arbitrary: { runs: 200 } }

describe.each(engines)("engine %s, over any conversation", (engine) => {
  it.prop("never grows a text, never touches what is frozen, instructions, files, code, paths and lines of errors", [Arbitrary.schema(Conversation)], ([conversation]) => {
    const pieces = piecesOf(conversation)
    const { savings, texts } = Compress.ofPieces(planOf(engine), pieces)
    expect(savings.compressedTokens).toBeLessThanOrEqual(savings.originalTokens)
    for (const [i, after] of texts.entries()) {
      const { command, frozen, role, text: before, tool } = pieces[i] as Piece
      expect(after.length).toBeLessThanOrEqual(before.length)
      if (frozen || role === "system") expect(after).toBe(before)
      if (role === "tool" && (command === "cat a" || (command === null && (tool === null || tool === "read_file")))) expect(after).toBe(before)
      const [old, now] = [Masking.mask(before, never), Masking.mask(after, never)]
      expect(now?.fences).toEqual(old?.fences)
      for (const line of before.split("\n")) if (Masking.isErrorLine(line)) expect(after.split("\n")).toContain(line)
      if (engine === "ultra" || engine === "aggressive") expect(role === "tool" ? old?.kept : now?.kept).toEqual(old?.kept)
    }
  }, asked)

  it.prop("says the beginning the same whatever follows it, within a step of turns", [Arbitrary.schema(Conversation), Arbitrary.schema(Conversation)], ([first, second]) => {
    const isAgeing = engine === "aggressive" || engine === "ultra"
    // Of an engine that ages turns: the conversation begins at a step, and what follows stays inside it.
    const start = isAgeing ? piecesOf(first).map((piece, i, all) => ({ ...piece, turn: i === all.length - 1 ? 8 : piece.turn })) : piecesOf(first)
    const rest = isAgeing ? piecesOf(second).map((piece) => ({ ...piece, turn: 8 + stepTurns - 1 })) : piecesOf(second, first.length)
    if (start.length === 0) return
    const alone = Compress.ofPieces(planOf(engine), start).texts
    expect(Compress.ofPieces(planOf(engine), [...start, ...rest]).texts.slice(0, start.length)).toEqual(alone)
  }, asked)

  it.prop("steps down where the client marked a prefix for a vendor's cache, when it ages turns", [Arbitrary.schema(Conversation)], ([conversation]) => {
    const pieces = piecesOf(conversation)
    const isAgeing = engine === "aggressive" || engine === "ultra"
    const standard = Compress.ofPieces(planOf(isAgeing ? "caveman" : engine), pieces).texts
    expect(Compress.ofPieces(planOf(engine), pieces, true).texts).toEqual(standard)
  }, asked)
})

describe.each(["session-dedup", "ionizer", "mcpAccessibility"] as const)("engine %s", (engine) => {
  it.prop("leaves its own text as it is", [Arbitrary.schema(Conversation)], ([conversation]) => {
    const pieces = piecesOf(conversation)
    const once = Compress.ofPieces(planOf(engine), pieces).texts
    expect(Compress.ofPieces(planOf(engine), pieces.map((piece, i) => ({ ...piece, text: once[i] as string }))).texts).toEqual(once)
  }, asked)
})

const piece = (role: Piece["role"], content: string, turn = 0, more: Partial<Piece> = {}): Piece => ({ role, text: content, frozen: false, command: null, tool: null, turn, ...more })
const said = (engine: EngineId, ...pieces: ReadonlyArray<Piece>): ReadonlyArray<string> => Compress.ofPieces(planOf(engine), pieces).texts

describe("session-dedup", () => {
  const marker = `[Same as a passage of an earlier message, ${passage.length} characters, that begins: "The house of the people has rules that a"]`

  it("names a passage that another message said before, and says the rest", () => {
    expect(said("session-dedup", piece("user", `${passage}\n\nWhy?`), piece("assistant", "Yes."), piece("user", `And now?\n\n${passage}`))).toEqual([`${passage}\n\nWhy?`, "Yes.", `And now?\n\n${marker}`])
    expect(said("session-dedup", piece("user", `${passage}\n\n${passage}`))).toEqual([`${passage}\n\n${passage}`])
  })

  it("says instructions, files, code and lines of errors again", () => {
    const code = `\`\`\`\n${passage}\n\`\`\``
    const failed = `Error: it broke\n${passage}`
    for (const [role, one] of [["user", code], ["user", failed], ["tool", passage], ["system", passage]] as const) expect(said("session-dedup", piece(role, one), piece(role, one))).toEqual([one, one])
    expect(said("session-dedup", piece("system", passage), piece("user", passage))).toEqual([passage, marker])
  })
})

describe("ionizer", () => {
  const rows = Array.from({ length: 100 }, (_, i) => `  {"id": ${i}, "amount": ${i}.0, "name": "the row ${i}"}`)
  const list = (all: ReadonlyArray<string>): string => `{"total": 100, "rows": [\n${all.join(",\n")}\n]}`

  it("keeps the beginning and the end of a long list, byte for byte, and says how many are missing", () => {
    expect(Ionizer.compress(list(rows))).toBe(list([...rows.slice(0, 8), `  "[... 90 more elements left out]"`, ...rows.slice(98)]))
    expect(Ionizer.compress(list(rows.slice(0, 30)))).toBe(list(rows.slice(0, 30)))
    expect(Ionizer.compress(`${list(rows)} and more`)).toBe(`${list(rows)} and more`)
  })

  it("keeps the first element of each shape, and those that tell of a failure", () => {
    const [odd, failed] = [`  {"id": 50, "other": "\\"]"}`, `  {"id": 70, "amount": 1, "name": "FAILED"}`]
    const all = rows.map((row, i) => i === 50 ? odd : i === 70 ? failed : row)
    const short = Ionizer.compress(list(all))
    expect(JSON.parse(short)).toMatchObject({ rows: { length: 15, 8: "[... 42 more elements left out]", 9: { other: "\"]" }, 10: "[... 19 more elements left out]", 11: { name: "FAILED" } } })
    expect([short.includes(odd), short.includes(failed), Ionizer.compress(short) === short]).toEqual([true, true, true])
  })

  it("reads lists in lists, and leaves what is nested too deeply", () => {
    const nested = `[${Array.from({ length: 40 }, () => `[${Array.from({ length: 40 }, (_, i) => i + 1_000).join(",")}]`).join(",")}]`
    const value = JSON.parse(Ionizer.compress(nested)) as ReadonlyArray<ReadonlyArray<unknown>>
    expect([value.length, value[0]?.length, value[10]?.length, value[8]]).toEqual([11, 11, 11, "[... 30 more elements left out]"])
    const deep = `${"[".repeat(300)}${list(rows)}${"]".repeat(300)}`
    expect(Ionizer.compress(deep)).toBe(deep)
  })

  it.each([
    ["gh api repos/a/issues", null, true], ["aws ec2 describe-instances", null, true], ["cat a.json", null, false], ["curl https://x.org/a.json", null, false], ["gh api a > b; cat b", null, false],
    [null, "mcp__tracker__list_issues", true], [null, "searchUsers", true], [null, "list_files", false], [null, "read_file", false], [null, "find_symbol", false], [null, "get_issue", false], [null, null, false]
  ] as const)("asks of command %s and tool %s whether it lists what is elsewhere: %s", (command, tool, expected) => {
    expect(isQuery(piece("tool", "[]", 0, { command, tool }))).toBe(expected)
  })
})

describe("mcpAccessibility", () => {
  const items = (count: number): string => Array.from({ length: count }, (_, i) => `    - listitem [ref=e${i}]:\n      - link "Item ${i}" [ref=l${i}]`).join("\n")
  const page = (inner: string): string => `### Page state\n- main [ref=m]:\n  - list [ref=l]:\n${inner}\n  - button "Next" [ref=n]`
  const config = { ...compressionDefaults.mcpAccessibility, collapseThreshold: 30, minLengthToProcess: 0 }

  it("keeps the first and last nodes of a long run, with what stands below them", () => {
    const short = Accessibility.compress(page(items(60)), config)
    const kept = items(60).split("\n")
    expect(short).toBe(page([...kept.slice(0, 20), "    - [... 45 more listitem nodes left out]", ...kept.slice(110)].join("\n")))
    expect(Accessibility.compress(short, config)).toBe(short)
    expect(Accessibility.compress(page(items(29)), config)).toBe(page(items(29)))
    expect(Accessibility.compress(page(items(60)), { ...config, minLengthToProcess: 100_000 })).toBe(page(items(60)))
  })

  it("cuts what is still too long at a line, and says how much", () => {
    const short = Accessibility.compress(page(items(29)), { ...config, maxTextChars: 1_000 })
    expect(short.split("\n").at(-1)).toMatch(/^\[\.{3} \d+ characters of this tree left out\]$/)
    expect([short.length < 1_060, page(items(29)).startsWith(short.slice(0, short.lastIndexOf("\n"))), Accessibility.compress(short, { ...config, maxTextChars: 1_000 }) === short]).toEqual([true, true, true])
    const failed = page(`${items(20)}\n    - Error: it broke`)
    expect(Accessibility.compress(failed, { ...config, maxTextChars: 1_000 })).toBe(failed)
  })

  it("is asked of trees of browser tools alone", () => {
    const tree = page(items(3))
    expect(Accessibility.isTree(piece("tool", tree, 0, { tool: "browser_snapshot" }))).toBe(true)
    for (const one of [piece("tool", tree, 0, { tool: "read_file" }), piece("tool", tree, 0, { command: "cat a", tool: "bash" }), piece("user", tree), piece("tool", "No tree. It is text.", 0, { tool: "browser_snapshot" })]) {
      expect(Accessibility.isTree(one)).toBe(false)
    }
  })
})

describe("aggressive", () => {
  const answer = "We looked at the tests of the file. They are in a good state. The rest of the house is fine, too. We must not change `the rules`. There is a lot of it."
  const log = ["On branch main", ...Array.from({ length: 5 }, () => "  (use \"git add\" to)"), "\tmodified:   a"].join("\n")
  const ages = (last: number): ReadonlyArray<string> => said("aggressive", ...Array.from({ length: last + 1 }, (_, turn) => piece("assistant", answer, turn)))

  it("says older turns shorter, the older the more, in steps of four turns", () => {
    const summary = "We looked at tests of file. We must not change `the rules`.\n[Sentences of this older message are left out.]"
    const moderate = "We looked at tests of file. They are in good state. rest of house is fine, too. We must not change `the rules`. There is lot of it."
    expect(ages(3)).toEqual(Array.from({ length: 4 }, () => answer))
    expect(ages(4)).toEqual([summary, summary, moderate, answer, answer])
    expect(ages(7)).toEqual([...ages(4), answer, answer, answer])
    expect(ages(8).slice(0, 7)).toEqual([summary, summary, summary, summary, summary, summary, moderate])
  })

  it("takes noise of older output away, and leaves files, failures and instructions", () => {
    const at = (one: Piece) => said("aggressive", one, piece("user", "Why?", 8))[0]
    expect(at(piece("tool", log, 0, { command: "git status" }))).toBe("On branch main\n\tmodified:   a")
    for (const one of [piece("tool", log, 0, { command: "cat a" }), piece("system", answer), piece("user", answer, 0, { frozen: true })]) expect(at(one)).toBe(one.text)
  })

  it("changes nothing where that saves less than a share of the whole", () => {
    const plan = Plan.ofEngine("aggressive", { ...settings, aggressive: { ...settings.aggressive, minSavingsThreshold: 0.5 } }) as Plan.Plan
    const pieces = [piece("user", answer, 0), piece("user", "x".repeat(1_000), 8)]
    expect(Compress.ofPieces(plan, pieces).texts).toEqual(pieces.map((one) => one.text))
  })

  it("runs before engines that name what was said before", () => {
    const pipeline = { ...settings, stackedPipeline: [{ engine: "session-dedup" as const }, { engine: "lite" as const }, { engine: "aggressive" as const }] }
    expect(Plan.ofMode("stacked", pipeline)?.stages.map(({ engine }) => engine)).toEqual(["aggressive", "session-dedup", "lite"])
  })
})

describe("a summary", () => {
  it("is its own summary, and leaves other languages", () => {
    const once = Summary.of(`${passage} It is old. It is so old.\n\nIt is new. The hall is big.`, 10_000)
    expect(once).toBe(`${passage.split(". ")[0]}.\n\nIt is new.\n[Sentences of this older message are left out.]`)
    expect(Summary.of(once, 10_000)).toBe(once)
    const german = "Das ist die Regel des Hauses und sie ist nicht neu. Sie ist alt. Sie gilt für die Leute. Das ist gut."
    expect(Summary.of(german, 10_000)).toBe(german)
  })
})

describe("ultra", () => {
  const config = { enabled: true, compressionRate: 0.5, minScoreThreshold: 0.3, maxTokensPerMessage: 0 }
  const sentence = "We have looked at the tests of the file `the a`, and it is not the case that they would fail because of the 3 rules that were changed."

  it("takes the words away that say least, and never a negation, a condition, a number or code", () => {
    expect(Ultra.prune(sentence, config)).toBe("looked tests of file `the a`, and not case would fail because of 3 rules changed.")
    expect(Ultra.prune(sentence, { ...config, compressionRate: 1 })).toBe(sentence)
    expect(Ultra.prune(sentence, { ...config, minScoreThreshold: 0 })).toBe(sentence)
  })

  it("leaves new turns, and those of all others", () => {
    const texts = [piece("user", sentence, 0), piece("assistant", sentence, 2), piece("user", sentence, 3), piece("tool", sentence, 0), piece("user", "Why?", 4)]
    const plan = Plan.ofEngine("ultra", { ...settings, ultra: config }) as Plan.Plan
    expect(Compress.ofPieces(plan, texts).texts.map((one) => one === sentence)).toEqual([false, false, true, true, false])
    expect(Plan.ofMode("ultra", compressionDefaults)).toBeNull()
  })
})

describe("turns and tools of a body", () => {
  const of = (format: Parameters<typeof Pieces.of>[0], body: Readonly<Record<string, unknown>>) => Pieces.of(format, body).pieces.map(({ tool, turn }) => [tool, turn])
  it("are counted by answers of the model, in every format", () => {
    const call = { id: "c", type: "function", function: { name: "list_issues", arguments: "{}" } }
    expect(of("chat-completions", { messages: [
      { role: "user", content: "a" }, { role: "assistant", content: "b", tool_calls: [call] }, { role: "tool", tool_call_id: "c", content: "d" }, { role: "assistant", content: "e" }, { role: "user", content: "f" }
    ] })).toEqual([[null, 0], [null, 1], ["list_issues", 1], [null, 2], [null, 2]])
    expect(of("messages", { messages: [
      { role: "user", content: "a" }, { role: "assistant", content: [{ type: "text", text: "b" }, { type: "tool_use", id: "c", name: "list_issues", input: {} }] },
      { role: "user", content: [{ type: "tool_result", tool_use_id: "c", content: "d" }] }, { role: "assistant", content: "e" }
    ] })).toEqual([[null, 0], [null, 1], ["list_issues", 1], [null, 2]])
    expect(of("responses", { input: [
      { role: "user", content: "a" }, { role: "assistant", content: "b" }, { type: "function_call", call_id: "c", name: "list_issues", arguments: "{}" }, { type: "function_call_output", call_id: "c", output: "d" },
      { role: "assistant", content: "e" }
    ] })).toEqual([[null, 0], [null, 1], ["list_issues", 1], [null, 2]])
    expect(of("generateContent", { contents: [
      { role: "user", parts: [{ text: "a" }] }, { role: "model", parts: [{ text: "b" }, { functionCall: { name: "list_issues", args: {} } }] },
      { role: "user", parts: [{ functionResponse: { name: "list_issues", response: { output: "d" } } }] }, { role: "model", parts: [{ text: "e" }] }
    ] })).toEqual([[null, 0], [null, 1], ["list_issues", 1], [null, 2]])
  })

  it("a call without an id that is no command leaves no command behind", () => {
    const call = (name: string, args: object) => ({ role: "assistant", content: "", tool_calls: [{ function: { name, arguments: args } }] })
    const { pieces } = Pieces.of("local-model-server", { messages: [call("bash", { command: "git status" }), { role: "tool", content: "a" }, call("read_file", { path: "a" }), { role: "tool", content: "b" }] })
    expect(pieces.map(({ command, tool }) => [command, tool])).toEqual([["git status", "bash"], [null, "read_file"]])
  })
})

describe("a request that is too long", () => {
  it("is compressed from its beginning on, up to a number of characters, and said whole", () => {
    const long = `${passage}\n\nWhy?`
    const pieces = [piece("user", long), piece("user", long), piece("user", long)]
    const { report, savings, texts } = Compress.ofPieces(planOf("session-dedup"), pieces, false, long.length * 2)
    expect([texts[0] === long, texts[1] === long, texts[2] === long, report.skipped.has("too_long")]).toEqual([true, false, true, true])
    expect([savings.originalTokens, savings.engines]).toEqual([3 * Math.ceil(long.length / 4), [{ engine: "session-dedup", before: savings.originalTokens, after: savings.compressedTokens }]])
    expect(savings.compressedTokens).toBe(texts.reduce((sum, one) => sum + Math.ceil(one.length / 4), 0))
  })
})

describe("time", () => {
  const hostile = ["- a\n", " ", "\n\n", "[", "{\"a\":", "1,", "\"", "\\", "the ", "The a. ", "is not. ", "a\n\n", "```\n", "<a>", "- [... ", "\uE001", "x"]
  it.each(engines.flatMap((engine) => hostile.map((one) => [engine, one] as const)))("%s takes time that grows with the length of a text of %j alone", (engine, one) => {
    const work = (length: number): void => {
      const filled = one === "[" ? `${"[".repeat(length / 2)}${"]".repeat(length / 2)}` : one === "1," ? `[${one.repeat(length / 2)}1]` : `${one.repeat(Math.ceil(length / one.length)).slice(0, length)}x`
      const of = (role: Piece["role"], tool: string | null) => piece(role, filled, 0, { tool })
      Compress.ofPieces(planOf(engine), [of("user", null), of("user", null), of("tool", "browser_snapshot"), of("tool", "list_issues"), piece("user", "Why?", 8)])
    }
    work(4_000)
    // Quadratic time would be 16 times as much.
    expect(steadyGrowthOf(work, 15_000, 4, 9)).toBeLessThan(9)
  })
})
