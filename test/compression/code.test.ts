/** Fenced code in messages: output of commands and comments go where the operator says so; everything else stays. */
import { describe, expect, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Schema from "effect/Schema"
import { compressionDefaults, type RtkConfig } from "#schemas/words/Compression.ts"
import * as Blocks from "#src/compression/code/blocks.ts"
import * as Comments from "#src/compression/code/comments.ts"
import * as Compress from "#src/compression/compress.ts"
import * as Masking from "#src/compression/masking.ts"
import * as Plan from "#src/compression/plan.ts"
import { steadyGrowthOf } from "#test/support/late.ts"

const asked = { arbitrary: { runs: 600 } }
const textOf = (bits: ReadonlyArray<string>) => Schema.Array(Schema.Union([Schema.Literals(bits as [string, ...Array<string>]), Schema.String.check(Schema.isMaxLength(6))])).check(Schema.isMaxLength(25))

const lines = [
  "// a comment", "  // an inner one", "/* one line */", "/* a", " * b", " */", "/** doc", "/// doc", "//! doc", "/*! kept */", "// eslint-disable-next-line x", "// TODO: later", "// see https://x.org/a",
  "//go:build linux", "# a comment", "    # inner", "#!/bin/sh", "# type: ignore", "const a = 1 // behind", "const s = `", "`", "x = \"a // b\"", "x = '// no'", "x = \"\"\"", "\"\"\"", "'''", "def f():", "class A:",
  "    \"\"\"doc\"\"\"", "    return 1", "    '''doc", "    '''", "foo() /* begins", "ends */ bar()", "/* a */ b()", "/* a /* b */", "a \\", "<p>", "\"src/**/*.ts\"", "", "// error: x", "Error: broken", "x = 1"
]
const languages = ["ts", "java", "c", "go", "rust", "python", "py"] as const
const Code = textOf(lines)

describe("comments of code", () => {
  it.prop("go line by line: what is left is in its order, and has no further ones", [Arbitrary.schema(Code), Arbitrary.schema(Schema.Literals(languages)), Arbitrary.schema(Schema.Boolean)], ([parts, language, docs]) => {
    const before = parts.join("\n")
    const after = Comments.strip(before, language, docs)
    expect(Comments.strip(after, language, docs)).toBe(after)
    const [old, now] = [before.split("\n"), after === "" ? [] : after.split("\n")]
    let at = 0
    for (const line of old) if (line === now[at]) at++
    expect(at).toBe(now.length)
    // Lines with code of their own never go.
    for (const kept of ["const a = 1 // behind", "x = 1", "def f():", "    return 1", "x = \"a // b\"", "/* a */ b()", "// TODO: later", "// see https://x.org/a", "#!/bin/sh", "Error: broken"]) {
      expect([kept, now.filter((line) => line === kept).length]).toEqual([kept, docs || !/\.?py/.test(language) ? old.filter((line) => line === kept).length : now.filter((line) => line === kept).length])
    }
  }, asked)

  it.each([
    ["ts", "// a\nconst x = 1 // b\n/* c */\n/* d\n * e\n */\nf()", true, "const x = 1 // b\nf()"],
    ["ts", "/** of f */\nf()", true, "/** of f */\nf()"], ["ts", "/** of f */\nf()", false, "f()"], ["rust", "/// of f\n// a\nf()", true, "/// of f\nf()"], ["rust", "/// of f\nf()", false, "f()"],
    // Orders and notes stay.
    ["ts", "// @ts-expect-error\nf()\n// eslint-disable-next-line\ng()\n// TODO: h", true, "// @ts-expect-error\nf()\n// eslint-disable-next-line\ng()\n// TODO: h"],
    ["go", "//go:build linux\n// a\nf()", true, "//go:build linux\nf()"], ["c", "// a\n#include <a.h>", true, "#include <a.h>"],
    // It is not sure what is a comment.
    ["ts", "const a = `\n// text\n`", true, "const a = `\n// text\n`"], ["ts", "f() /* a\n// b\n*/ g()", true, "f() /* a\n// b\n*/ g()"], ["java", "s = \"\"\"\n// text\n\"\"\"", true, "s = \"\"\"\n// text\n\"\"\""],
    ["ts", "<p>\n// text\n</p>", true, "<p>\n// text\n</p>"], ["c", "#define A \\\n// a\nb", true, "#define A \\\n// a\nb"], ["rust", "/* a\n/* b */\n// c */\nd", true, "/* a\n/* b */\n// c */\nd"],
    ["sh", "# a\nb", true, "# a\nb"], ["", "// a", true, "// a"],
    ["py", "# a\ndef f():\n    \"\"\"Doc.\"\"\"\n    # b\n    return 1 # c", true, "def f():\n    \"\"\"Doc.\"\"\"\n    return 1 # c"],
    ["py", "def f():\n    \"\"\"Doc\n    of f.\n    \"\"\"\n    return 1", false, "def f():\n    return 1"],
    // A body would be empty; a text that is no docstring.
    ["py", "def f():\n    \"\"\"Doc.\"\"\"\ng()", false, "def f():\n    \"\"\"Doc.\"\"\"\ng()"], ["py", "x = \"\"\"\n# text\n\"\"\"", true, "x = \"\"\"\n# text\n\"\"\""],
    ["py", "x = {\n  1:\n  \"\"\"a\"\"\"\n}", false, "x = {\n  1:\n  \"\"\"a\"\"\"\n}"]
  ] as const)("of %s: %j (docs stay: %s) becomes %j", (language, before, docs, after) => {
    expect(Comments.strip(before, language, docs)).toBe(after)
  })
})

const config: RtkConfig = { ...compressionDefaults.rtkConfig, applyToCodeBlocks: true, applyToAssistantMessages: true, stripCodeComments: true, preserveDocstrings: false, maxLinesPerResult: 10 }
const options = { config, intensity: "standard" } as const
const status = "$ git status\nOn branch main\n  (use \"git add <file>...\" to update)\n\tmodified:   a.ts"
const shortStatus = "$ git status\nOn branch main\n\tmodified:   a.ts"
const Message = textOf([
  "```console\n", "```", "```ts\n", "~~~\n", "~~~~py\n", "$ git status\n", "$ docker logs x\n", "$ cat a\n", "On branch main\n", "  (use \"git add\" to)\n", "line of a log\n", "line of a log\nline of a log\nline of a log\nline of a log\n",
  "// a comment\n", "# a comment\n", "const a = 1\n", "The prose. ", "`code` ", "https://x.org/a ", "<doc>\n", "</doc>\n", "\n", "\uE000", "ERROR: x\n"
])

describe("fenced code in messages", () => {
  it.prop("never grows, never touches text outside, URLs and lines of errors, and stays as it is when it is shortened again", [Arbitrary.schema(Message)], ([parts]) => {
    const before = parts.join("")
    const { text: after } = Blocks.shorten(before, options)
    expect(after.length).toBeLessThanOrEqual(before.length)
    expect(Blocks.shorten(after, options).text).toBe(after)
    const [old, now] = [Masking.mask(before, () => false), Masking.mask(after, () => false)]
    expect(now?.text).toBe(old?.text)
    expect(now?.kept.filter((piece) => !now.fences.includes(piece))).toEqual(old?.kept.filter((piece) => !old.fences.includes(piece)))
    expect(Masking.urlsIn(after)).toEqual(Masking.urlsIn(before))
    for (const line of before.split("\n")) if (Masking.isErrorLine(line)) expect(after.split("\n")).toContain(line)
  }, asked)

  it("says the output of each command as that of a tool, in the role that the operator names", () => {
    const text = `Look:\n\`\`\`console\n${status}\n$ cat a\n  (use "git add" as it is)\n\`\`\`\nWhy?`
    const short = `Look:\n\`\`\`console\n${shortStatus}\n$ cat a\n  (use "git add" as it is)\n\`\`\`\nWhy?`
    const of = (change: Partial<RtkConfig>) => {
      const plan = Plan.ofEngine("rtk", { ...compressionDefaults, rtkConfig: { ...compressionDefaults.rtkConfig, ...change } }) as Plan.Plan
      const piece = { text, frozen: false, command: null, tool: null, turn: 0 } as const
      return Compress.ofPieces(plan, (["system", "user", "assistant", "tool"] as const).map((role) => ({ ...piece, role })).concat({ ...piece, role: "user", frozen: true } as never)).texts.map((said) => said === short ? "short" : said === text ? "same" : said)
    }
    expect(of({})).toEqual(["same", "same", "same", "same", "same"])
    expect(of({ applyToCodeBlocks: true })).toEqual(["same", "short", "same", "same", "same"])
    expect(of({ applyToAssistantMessages: true })).toEqual(["same", "same", "short", "same", "same"])
    expect(of({ applyToCodeBlocks: true, disabledFilters: ["git-status"] })).toEqual(["same", "same", "same", "same", "same"])
  })

  it("strips comments of code whose language the fence names, and leaves a fence that is open", () => {
    const block = "```ts\n// a\nconst x = 1\n```"
    expect(Blocks.shorten(block, options).text).toBe("```ts\nconst x = 1\n```")
    expect(Blocks.shorten("```ts\n// a\n```", options).text).toBe("```ts\n```")
    expect(Blocks.shorten(block, { ...options, config: { ...config, stripCodeComments: false } }).text).toBe(block)
    for (const same of ["```ts\n// a\nconst x = 1", "```\n// a\nx\n```", `<doc>\n${block}\n</doc>`]) expect(Blocks.shorten(same, options).text).toBe(same)
  })
})

describe("time", () => {
  it.each(["// a\n", "/* a\n", "/*\n*/\n", "# a\n", "'''\n", "\"\"\"\na\n", "def f():\n", "def f(): : : ", "  ", "`", "\"", "$ git status\n", "```\n", "~~~\na\n", "x\n"])("grows with the length of code of %j alone", (one) => {
    const codeOf = (length: number): string => one.repeat(Math.ceil(length / one.length)).slice(0, length)
    const strip = (length: number): void => ["ts", "py"].forEach((language) => Comments.strip(codeOf(length), language, false))
    const work = (length: number): void => {
      const code = codeOf(length)
      for (const language of ["ts", "py", "console"]) Blocks.shorten(`\`\`\`\`\`${language}\n${code}\n\`\`\`\`\``, options)
    }
    const templates = (length: number): void => void Comments.strip(`\`\`${"${".repeat(length / 2)}\n// gone`, "ts", true)
    strip(4_000)
    templates(4_000)
    work(2_000)
    // Up to 1 MB. Quadratic time would be 16 times as much.
    expect(steadyGrowthOf(strip, 250_000, 4, 9)).toBeLessThan(9)
    expect(steadyGrowthOf(templates, 250_000, 4, 9)).toBeLessThan(9)
    expect(steadyGrowthOf(work, 5_000, 4, 9)).toBeLessThan(9)
  })
})
