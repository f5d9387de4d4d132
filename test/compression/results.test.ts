/** Results of tools: matches by file, stack traces and files that were read again. */
import { describe, expect, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Schema from "effect/Schema"
import { compressionDefaults, type CompressionSettings } from "#schemas/words/Compression.ts"
import * as Compress from "#src/compression/compress.ts"
import * as Masking from "#src/compression/masking.ts"
import type { Piece } from "#src/compression/Piece.ts"
import * as Pieces from "#src/compression/pieces.ts"
import * as Plan from "#src/compression/plan.ts"
import * as Grouping from "#src/compression/results/grouping.ts"
import * as Traces from "#src/compression/results/traces.ts"
import { steadyGrowthOf } from "#test/support/late.ts"

const asked = { arbitrary: { runs: 800 } }
const textOf = (bits: ReadonlyArray<string>) => Schema.Array(Schema.Union([Schema.Literals(bits as [string, ...Array<string>]), Schema.String.check(Schema.isMaxLength(6))])).check(Schema.isMaxLength(25))

/** What a reader makes of groups. */
const ungrouped = (text: string): string => {
  let file: string | null = null
  const lines = text.split("\n")
  return lines.flatMap((line, i) => {
    if (/^(?!\d+[-:]).*:$/.test(line) && /^\d+[-:]/.test(lines[i + 1] ?? "")) {
      file = line.slice(0, -1)
      return []
    }
    if (file !== null && /^\d+[-:]/.test(line)) return [`${file}:${line}`]
    file = null
    return [line]
  }).join("\n")
}

const Matches = textOf(["src/a.ts:12:text", "src/a.ts:13:", "src/a.ts:14:b:15:c", "b c.ts:1:x", "b c.ts:2:x", "12:34:x", "12:35:x", "12-34:x", "13-a:5:x", "13-a:6:x", "--", "", "src/a.ts-11-text", "src/a.ts:", "x", "{\"a\":1:", "[1]", "https://x.org:80:a", "a:1:```"])

describe("matches by file", () => {
  it.prop("are all there, never longer, and stay as they are when they are grouped again", [Arbitrary.schema(Matches), Arbitrary.schema(Schema.Literals([2, 3]))], ([parts, threshold]) => {
    const before = parts.join("\n")
    const after = Grouping.group(before, threshold)
    expect(after.length).toBeLessThanOrEqual(before.length)
    expect(Grouping.group(after, threshold)).toBe(after)
    if (after !== before) expect(ungrouped(after)).toBe(before)
  }, asked)

  it("name their file once, from a number of matches on", () => {
    const found = "src/a.ts:1:a\nsrc/a.ts:22:b\nsrc/b.ts:3:c\n--\nsrc/b.ts:4:d"
    expect(Grouping.group(found, 2)).toBe("src/a.ts:\n1:a\n22:b\nsrc/b.ts:3:c\n--\nsrc/b.ts:4:d")
    expect(Grouping.group(found, 3)).toBe(found)
    // Numbers below it would be read as matches.
    expect(Grouping.group("a.ts:1:x\na.ts:2:x\n12:y", 2)).toBe("a.ts:1:x\na.ts:2:x\n12:y")
    // Times are no files.
    expect(Grouping.group("Mon Nov 30 02:45:12 x\nMon Nov 30 02:45:13 x", 2)).toBe("Mon Nov 30 02:45:12 x\nMon Nov 30 02:45:13 x")
    const json = "[\n\"a.ts:1:x\",\n\"a.ts:2:x\"\n]"
    expect(Grouping.group(json, 2)).toBe(json)
  })

  const piece = (command: string | null, tool: string | null, role: Piece["role"] = "tool"): Piece => ({ role, text: "a.ts:1:some\na.ts:2:some\na.ts:3:some", frozen: false, command, tool, turn: 0 })
  it.each([
    [piece("grep -rn some src", "bash"), true], [piece("rg some | head -5", "bash"), true], [piece("git grep -n some", "bash"), true], [piece(null, "Grep"), true], [piece(null, "search_files"), true],
    [piece("cat a", "bash"), false], [piece("grep `x` a; cat a", "bash"), false], [piece(null, "read_file"), false], [piece(null, null), false], [piece(null, "research"), false], [piece(null, "Grep", "user"), false]
  ] as const)("of %j are grouped in mode rtk: %s", (one, isGrouped) => {
    const of = (enableGrouping: boolean) => Compress.ofPieces(Plan.ofEngine("rtk", { ...compressionDefaults, rtkConfig: { ...compressionDefaults.rtkConfig, enableGrouping } }) as Plan.Plan, [one]).texts[0]
    expect(of(true)).toBe(isGrouped ? "a.ts:\n1:some\n2:some\n3:some" : one.text)
    expect(of(false)).toBe(one.text)
  })
})

const calls = (count: number, from = 0) => Array.from({ length: count }, (_, i) => `    at f${from + i} (/src/a.js:${i}:1)`)
const frames = (count: number) => Array.from({ length: count }, (_, i) => `  File "/src/a${i}.py", line ${i}, in f\n    f(${i})`)
const Trace = textOf(["Error: broken", ...calls(3), calls(9).join("\n"), "Caused by: x", "    at https://x.org/a.js:1:2", "    at file:///a.js:1:2", "    ... 12 more", frames(9).join("\n"), "  File \"a\", line 1", "      code", "Traceback (most recent call last):", "", "text", "[... 5 calls left out]", "```"])

describe("stack traces", () => {
  it.prop("lose calls alone, and stay as they are when they are shortened again", [Arbitrary.schema(Trace)], ([parts]) => {
    const before = parts.join("\n")
    const after = Traces.shorten(before)
    expect(after.length).toBeLessThanOrEqual(before.length)
    expect(Traces.shorten(after)).toBe(after)
    expect(Masking.urlsIn(after)).toEqual(Masking.urlsIn(before))
    const isCall = (line: string): boolean => /^\s*at\s\S|^\s*File "|^\s+\S/.test(line)
    const others = (text: string) => text.split("\n").filter((line) => !isCall(line) && !/^\[\.\.\. \d+ calls/.test(line))
    expect(others(after)).toEqual(others(before))
  }, asked)

  it("keep the first and last calls, and say how many are missing", () => {
    expect(Traces.shorten(["Error: a", ...calls(20), "Caused by: b", ...calls(8)].join("\n"))).toBe(["Error: a", ...calls(4), "[... 13 calls left out]", ...calls(20).slice(17), "Caused by: b", ...calls(8)].join("\n"))
    expect(Traces.shorten(["Traceback (most recent call last):", ...frames(10), "ValueError: a"].join("\n")))
      .toBe(["Traceback (most recent call last):", ...frames(4), "[... 3 calls left out]", ...frames(10).slice(7), "ValueError: a"].join("\n"))
  })

  it("may be as long as a request can be", () => {
    const long = ["  File \"a\", line 1", ...Array.from({ length: 600_000 }, () => "   a")].join("\n")
    expect(Traces.shorten(long) === long).toBe(true)
  })
})

type Strategies = Partial<CompressionSettings["aggressive"]["toolStrategies"]>
const aged = (toolStrategies: Strategies): Plan.Plan => Plan.ofEngine("aggressive", {
  ...compressionDefaults, rtkConfig: { ...compressionDefaults.rtkConfig, groupingThreshold: 2 },
  aggressive: { ...compressionDefaults.aggressive, minSavingsThreshold: 0, toolStrategies: { ...compressionDefaults.aggressive.toolStrategies, ...toolStrategies } }
}) as Plan.Plan

const file = "export const the = 1\n".repeat(20)
const read = (id: string, path: string, content: unknown, more: Record<string, unknown> = {}, name = "read_file") => [
  { role: "assistant", content: [{ type: "tool_use", id, name, input: { path } }] }, { role: "user", content: [{ type: "tool_result", tool_use_id: id, content, ...more }] }
]
const talk = (turns: number) => Array.from({ length: turns }, () => [{ role: "assistant", content: "Yes." }, { role: "user", content: "Go on." }]).flat()
const said = (toolStrategies: Strategies, ...messages: ReadonlyArray<object>): ReadonlyArray<string> => {
  const { pieces } = Pieces.of("messages", { messages })
  const { texts } = Compress.ofPieces(aged(toolStrategies), pieces)
  return texts.filter((_, i) => pieces[i]?.role === "tool")
}
const marker = `[An earlier content of this file, ${file.length} characters: a later result of the same call holds it.]`

describe("older results of tools", () => {
  it("of a file that was read again later are named, and the last one stays", () => {
    const changed = `${file}// changed`
    const all = [...read("1", "a", file), ...read("2", "b", file), ...read("3", "a", changed), ...talk(6)]
    expect(said({ fileContent: true }, ...all)).toEqual([marker, file, changed])
    expect(said({}, ...all)).toEqual([file, file, changed])
  })

  const Reads = Schema.Array(Schema.Struct({ path: Schema.Literals(["a", "b"]), turn: Schema.Literals([1, 3, 5, 8, 9, 11]), content: Schema.Literals([file, `${file}b`, "gone"]) })).check(Schema.isMaxLength(8))
  it.prop("of files are said the same whatever follows within a step of turns, and the last one of each stays", [Arbitrary.schema(Reads), Arbitrary.schema(Reads)], ([first, second]) => {
    const pieceOf = ({ content, path, turn }: (typeof Reads.Type)[number]): Piece => ({ role: "tool", text: content, frozen: false, command: null, tool: "read_file", turn, called: { input: { path } } })
    const byTurn = (all: typeof Reads.Type) => all.toSorted((a, b) => a.turn - b.turn).map(pieceOf)
    const start = byTurn(first.filter(({ turn }) => turn <= 8)).concat({ role: "user", text: "Why?", frozen: false, command: null, tool: null, turn: 8 })
    const rest = byTurn(second.filter(({ turn }) => turn > 8))
    const of = (pieces: ReadonlyArray<Piece>) => Compress.ofPieces(aged({ fileContent: true }), pieces).texts
    const alone = of(start)
    expect(of([...start, ...rest]).slice(0, start.length)).toEqual(alone)
    for (const path of ["a", "b"]) {
      const last = start.findLastIndex(({ called }) => called != null && (called.input as { readonly path: string }).path === path)
      if (last !== -1) expect(alone[last]).toBe(start[last]?.text)
    }
  }, asked)

  it("of a shell are known by paths from the root", () => {
    const cat = (id: string, command: string) => [
      { role: "assistant", content: [{ type: "tool_use", id, name: "bash", input: { command } }] }, { role: "user", content: [{ type: "tool_result", tool_use_id: id, content: file }] }
    ]
    const of = (command: string) => said({ fileContent: true }, ...cat("1", command), ...cat("2", command), ...talk(6))
    expect(of("sed -n 1,5p /src/a.ts")).toEqual([marker, file])
    expect(of("cat a.ts")).toEqual([file, file])
  })

  it.each([
    ["the later one failed", [...read("1", "a", file), ...read("2", "a", file, { is_error: true }), ...talk(6)]],
    ["the later one is much shorter", [...read("1", "a", file), ...read("2", "a", "unchanged"), ...talk(6)]],
    ["the later one is newer than the last step of ages", [...read("1", "a", file), ...talk(5), ...read("2", "a", file)]],
    ["they are parts of one result", [...read("1", "a", [{ type: "text", text: file }, { type: "text", text: file }]), ...talk(7)]],
    ["the tool reads on where it stopped", [...read("1", "a", file, {}, "read_process_output"), ...read("2", "a", file, {}, "read_process_output"), ...talk(6)]],
    ["the tool does not read", [...read("1", "a", file, {}, "run_tests"), ...read("2", "a", file, {}, "run_tests"), ...talk(6)]],
    ["they are young", [...read("1", "a", file), ...read("2", "a", file)]]
  ])("of a file stay where %s", (_name, all) => {
    for (const one of said({ fileContent: true }, ...all)) expect(one).not.toContain("[An earlier content")
  })

  it("of two calls that share an id are not told apart, so they stay", () => {
    const of = (name: string, args: object) => ({ functionCall: { name, args } })
    const ran = (output: string) => ({ functionResponse: { name: "read_file", response: { output } } })
    const answered = (count: number) => Array.from({ length: count }, () => [{ role: "model", parts: [{ text: "Yes." }] }, { role: "user", parts: [{ text: "Go on." }] }]).flat()
    const { pieces } = Pieces.of("generateContent", { contents: [
      { role: "model", parts: [of("read_file", { path: "a" }), of("read_file", { path: "b" })] }, { role: "user", parts: [ran(`${file}a`), ran(`${file}b`)] },
      { role: "model", parts: [of("read_file", { path: "b" })] }, { role: "user", parts: [ran(`${file}b`)] }, ...answered(6)
    ] })
    expect(Compress.ofPieces(aged({ fileContent: true }), pieces).texts.slice(0, 3)).toEqual([`${file}a`, `${file}b`, `${file}b`])
  })

  it("of searches name their files once, and failures lose calls of long traces", () => {
    const found = "src/a.ts:1:a\nsrc/a.ts:22:b"
    const failed = ["Error: a", ...calls(20)].join("\n")
    const all = [...read("1", "a", found, {}, "Grep"), ...read("2", "a", failed, { is_error: true }, "bash"), ...read("3", "a", failed), ...talk(6)]
    expect(said({ grepSearch: true, errorMessage: true }, ...all)).toEqual(["src/a.ts:\n1:a\n22:b", Traces.shorten(failed), failed])
    expect(said({}, ...all)).toEqual([found, failed, failed])
    const shell = { role: "assistant", content: [{ type: "tool_use", id: "4", name: "bash", input: { command: "npm test" } }] }
    const output = ["> x@1 test", "Error: a", ...calls(20), "", "", "", "end"].join("\n")
    expect(said({ errorMessage: true }, shell, { role: "user", content: [{ type: "tool_result", tool_use_id: "4", content: output }] }, ...talk(7))[0]).not.toContain("at f9 ")
  })
})

describe("a message that is longer than ultra.maxTokensPerMessage", () => {
  const text = "We looked at the tests of the house. They are in a good state. The rest of the house is fine, too. There is a lot of it. We must not change `the rules`."
  const of = (maxTokensPerMessage: number) => Compress.ofPieces(Plan.ofEngine("ultra", { ...compressionDefaults, ultra: { ...compressionDefaults.ultra, enabled: true, maxTokensPerMessage } }) as Plan.Plan,
    [{ role: "user", text: text.repeat(2), frozen: false, command: null, tool: null, turn: 0 }, { role: "user", text: "Why?", frozen: false, command: null, tool: null, turn: 4 }]).texts[0] as string
  it("becomes a summary that keeps what always stays; 0 makes none", () => {
    expect(of(0)).not.toContain("are left out")
    expect(of(1_000)).toBe(of(0))
    expect(of(10)).toContain("[Sentences of this older message are left out.]")
    for (const kept of ["must not", "`the rules`"]) expect(of(10)).toContain(kept)
    expect(of(10).length).toBeLessThan(of(0).length)
  })
})

describe("time", () => {
  it.each(["a:1:x\n", "a:1:", ":", "1:1:1\n", "    at f\n", "at ", "  File \"a\", line 1\n", "  File \"a\", line 1\n    x\n", " ", "\n", "https://x.org ", "x"])("grows with the length of a result of %j alone", (one) => {
    const work = (length: number): void => {
      const text = one.repeat(Math.ceil(length / one.length)).slice(0, length)
      Grouping.group(text, 2)
      Traces.shorten(text)
    }
    work(4_000)
    // Up to 1 MB. Quadratic time would be 16 times as much.
    expect(steadyGrowthOf(work, 250_000, 4, 9)).toBeLessThan(9)
  })

  it("of many reads grows with their number alone", () => {
    const work = (count: number): void => {
      Compress.ofPieces(aged({ fileContent: true }), Pieces.of("messages", { messages: [...Array.from({ length: count }, (_, i) => read(String(i), "a", "x".repeat(200))).flat(), ...talk(9)] }).pieces)
    }
    work(100)
    expect(steadyGrowthOf(work, 400, 4, 9)).toBeLessThan(9)
  })
})
