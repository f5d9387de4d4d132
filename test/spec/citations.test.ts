/** Comments, test names and pages state each rule in a sentence of their own: they cite no text that is not in the repository. */
import { execFileSync } from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"
import { describe, expect, it } from "vitest"

const root = path.join(import.meta.dirname, "..", "..")

/** Between two words: blanks, or a line end and the sign of a comment. */
const gap = String.raw`[\s*/]+`
const phrases = [
  String.raw`\b[Ss]upplement${gap}\d`,
  String.raw`\b[Tt]he${gap}supplement\b`,
  String.raw`\bPROMISES\b`,
  String.raw`\b[Dd]ecisions?${gap}\d`,
  String.raw`\b(?:[Ii]nference|[Mm]anagement)${gap}documents?\b`,
  String.raw`\b(?:[Ii]nference|[Mm]anagement)${gap}'[A-Z]`,
  String.raw`\b(?:defaults?|order|rules?|words?)${gap}of${gap}the${gap}documents?\b`,
  String.raw`\bdocuments?(?:'s|')${gap}(?:defaults?|order|rules?|spelling|words?)\b`,
  String.raw`\b[Tt]he${gap}documents${gap}(?:allow|ask|describe|name|promise|require|say|want)\b`
]
const citation = new RegExp(phrases.join("|"), "g")

const citationsIn = (text: string): ReadonlyArray<string> =>
  [...text.matchAll(citation)].map(({ 0: found, index }) => `${text.slice(0, index).split("\n").length}: ${found.replaceAll(/\s+/g, " ")}`)

/** Golden data is what vendors and clients say; lock files name packages; this file has the citations to be found. */
const exempt = /^test\/golden\/.*\.json$|(?:^|\/)package-lock\.json$|^test\/spec\/citations\.test\.ts$/
const tracked = (): ReadonlyArray<string> =>
  execFileSync("git", ["ls-files", "-z", "--", "*.ts", "*.md", "*.mjs", "*.json"], { cwd: root, encoding: "utf8" })
    .split("\0")
    .filter((file) => file !== "" && !exempt.test(file) && fs.existsSync(path.join(root, file)))

describe("citations of texts that are not in the repository", () => {
  it.each([
    ["the rule of supplement 6.3.", ["1: supplement 6"]],
    ["in its order, as the supplement prints it", ["1: the supplement"]],
    ["first\n/** PROMISES 4: one row. */", ["2: PROMISES"]],
    ["kept (decisions 12), see decision 45", ["1: decisions 1", "1: decision 4"]],
    [" * as the inference\n * document has it", ["1: inference * document"]],
    [`describe("inference 'Errors'")`, ["1: inference 'E"]],
    ["The order of the documents: first", ["1: order of the documents"]],
    ["with the document's defaults", ["1: document's defaults"]],
    ["what the documents describe", ["1: the documents describe"]]
  ])("are found: %j", (text, found) => expect(citationsIn(text)).toEqual(found))

  it.each([
    ["// The documents to rank, the JSON document, a documented rule."],
    ["import { setTimeout } from \"node:timers/promises\"; // promises of 3 tries"],
    ["/** Decisions read local memory. It takes a decision for the 3 targets. */"],
    ["/** RFC 9110, section 5.6, and a supplementary plane; one may supplement the other. The project that only the document names. */"],
    ["/** Whether the service-account document ends the line; the management of documents. */"]
  ])("are not seen in: %j", (text) => expect(citationsIn(text)).toEqual([]))

  it("are in no file", () => {
    const files = tracked()
    expect(files.length).toBeGreaterThan(1_000)
    expect(files.flatMap((file) => citationsIn(fs.readFileSync(path.join(root, file), "utf8")).map((found) => `${file}:${found}`))).toEqual([])
  })
})
