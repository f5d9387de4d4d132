/** Words that a stranger must decode are refused in names and comments; the table says what to write instead. */
import { execFileSync } from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"
import { describe, expect, it } from "vitest"

const root = path.join(import.meta.dirname, "..", "..")

/** The coined word, and the word of the trade. */
const coined: Readonly<Record<string, string>> = {
  airport: "table of flights",
  bell: "change notifier",
  blame: "own failures",
  breath: "event loop turn",
  companion: "interceptor",
  companions: "interceptors",
  estate: "dead owner",
  estates: "dead owners",
  gibberish: "unreadable answer",
  hasty: "short wait",
  lent: "borrowed",
  letting: "admitting",
  outlet: "client stream",
  passenger: "waiter"
}

/** Two words in a row, as `lastWords` or in a sentence. */
const pairs: Readonly<Record<string, string>> = {
  "forget body": "release body",
  "gone on": "continued",
  "last words": "final write",
  "let go": "release, or admit",
  "no weight": "release nothing"
}

/** Persons, for code and requests: a comment names the client, the node, the caller, the request. */
const persons: Readonly<Record<string, string>> = {
  anybody: "any client, any node ...",
  everybody: "all clients, all nodes ...",
  nobody: "no client, no node ...",
  somebody: "another client, another node ...",
  whoever: "the client that, the node that ..."
}

const wordsOf = (text: string): ReadonlyArray<string> =>
  text.replaceAll(/([a-z0-9])([A-Z])/g, "$1 $2").toLowerCase().match(/[a-z]+/g) ?? []

const refusedIn = (text: string, singles: Readonly<Record<string, string>>): ReadonlyArray<string> => {
  const words = wordsOf(text)
  return words.flatMap((word, index) => {
    const pair = `${word} ${words[index + 1]}`
    return [
      ...(Object.hasOwn(singles, word) ? [`${word} (write: ${singles[word]})`] : []),
      ...(Object.hasOwn(pairs, pair) ? [`${pair} (write: ${pairs[pair]})`] : [])
    ]
  })
}

/** A line that is nothing but comment, or what stands behind ` // ` in a line of code. */
const commentIn = (line: string): string =>
  /^\s*(?:\/\/|\/\*|\*)/.test(line) ? line : / \/\/ .*$/.exec(line)?.[0] ?? ""

/** The names that a line of code declares: what strings say is not looked at. */
const namesIn = (line: string): string =>
  [...line.replaceAll(/"[^"]*"|`[^`]*`/g, "\"\"").matchAll(/\b(?:const|let|class|interface|type|as|readonly|get|static|function)\s+#?(\w+)|[({,]\s*(\w+)\??:(?!:)/g)]
    .map(([, declared, member]) => declared ?? member).join(" ")

const found = (file: string, text: string): ReadonlyArray<string> => {
  const words = file.startsWith("test/") ? coined : { ...coined, ...persons }
  return text.split("\n").flatMap((line, index) => {
    const comment = commentIn(line)
    const looked = comment === "" ? namesIn(line) : `${comment.replaceAll(/`[^`]*`/g, "")} | ${comment.trim() === line.trim() ? "" : namesIn(line)}`
    return refusedIn(looked, words).map((word) => `${file}:${index + 1}: ${word}`)
  })
}

const tracked = (): ReadonlyArray<string> =>
  execFileSync("git", ["ls-files", "-z", "--", "actors/*.ts", "bench/*.ts", "schemas/*.ts", "src/*.ts", "test/*.ts"], { cwd: root, encoding: "utf8" })
    .split("\0")
    .filter((file) => file !== "" && !file.startsWith("test/clients/packages/") && file !== "test/spec/words.test.ts" && fs.existsSync(path.join(root, file)))

describe("coined words", () => {
  it.each([
    ["src/a.ts", "/** Bytes are lent. */", ["src/a.ts:1: lent (write: borrowed)"]],
    ["src/a.ts", "const lastWords = 1", ["src/a.ts:1: last words (write: final write)"]],
    ["src/a.ts", "export class LimitCompanion {", ["src/a.ts:1: companion (write: interceptor)"]],
    ["src/a.ts", "run(1) // Nobody waits.", ["src/a.ts:1: nobody (write: no client, no node ...)"]],
    ["src/a.ts", "make({ outlet: 1 })", ["src/a.ts:1: outlet (write: client stream)"]],
    ["test/a.ts", "// Nobody waits.", []],
    ["src/a.ts", "const text = \"a companion\"", []],
    ["src/a.ts", "/** A silent talent. */", []]
  ])("in %s: %s", (file, line, words) => expect(found(file, line)).toEqual(words))

  it("are on no page", () => {
    const pages = execFileSync("git", ["ls-files", "-z", "--", "README.md", "AGENTS.md", "CONTRIBUTING.md", "SECURITY.md", "docs/*.md", "deploy/*.md"], { cwd: root, encoding: "utf8" })
      .split("\0").filter((file) => file !== "" && fs.existsSync(path.join(root, file)))
    expect(pages.length).toBeGreaterThan(20)
    const words = { ...coined, ...persons }
    expect(pages.flatMap((file) => fs.readFileSync(path.join(root, file), "utf8").split("\n")
      .flatMap((line, index) => refusedIn(line.replaceAll(/`[^`]*`/g, ""), words).map((word) => `${file}:${index + 1}: ${word}`)))).toEqual([])
  })

  it("are in no name and no comment", () => {
    const files = tracked()
    expect(files.length).toBeGreaterThan(1_000)
    expect(files.flatMap((file) => found(file, fs.readFileSync(path.join(root, file), "utf8")))).toEqual([])
  })
})
