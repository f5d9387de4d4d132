/** Of which kind a request's task is, by its words, pictures, tools and length. Pure. */
import type { Task } from "#schemas/words/TaskRouting.ts"
import * as Background from "./background.ts"
import { type Found, Matcher, nothing, plain } from "./Matcher.ts"
import type { Said } from "./reading.ts"
import * as Words from "./words.ts"

/** By what a task was known. */
export type TaskSource = "header" | "model" | "background" | "images" | "words" | "tools" | "length" | "default"

export interface Detection {
  readonly task: Task
  readonly source: TaskSource
}

/** What a request is about, as far as automatic routing makes a difference of it. */
export const intents = ["code", "reasoning", "simple", "general"] as const
export type Intent = typeof intents[number]

/** What detection goes by, made once per configuration. */
export interface Detector {
  readonly task: (said: Said) => Detection
  readonly background: (said: Said, named: boolean) => Background.BackgroundReason | null
  readonly intent: (said: Said) => Intent
}

export interface DetectorOptions {
  /** Words of the operator. */
  readonly codeWords: ReadonlyArray<string>
  readonly reasoningWords: ReadonlyArray<string>
  readonly simpleWords: ReadonlyArray<string>
  /** Words that a simple question has at most. */
  readonly simpleMaxWords: number
  readonly backgroundPhrases: ReadonlyArray<string>
}

/** A text of more characters without a word that tells its task is something to be worked through. */
const LONG = 12_000
/** Tools by which an agent for programs is known. */
const CODING_TOOLS = 2
/** What code in a text counts, in words. */
const CODE = 2

const code = /```|^(?:diff --git|@@ -\d|\+\+\+ |traceback \(most recent call last\))|\b(?:function|class|import|from|def|const|let|public|private|fn|func|select|package)\b[^\n]{0,80}[({;:=]|[\w/-]{1,80}\.(?:ts|tsx|js|jsx|py|rs|go|java|kt|rb|cpp|c|cs|php|sql|sh|ya?ml)\b|\bat [\w.$<>]{1,80} ?\([^)\n]{1,200}:\d+/mu

const codeIn = (text: string): Found => {
  const index = text.search(code)
  return index < 0 ? nothing : { count: CODE, first: index }
}

const both = (a: Found, b: Found): Found => ({ count: a.count + b.count, first: Math.min(a.first, b.first) })

const isAgent = ({ tools }: Said): boolean => {
  let known = 0
  for (const name of tools) if (Words.codingTools.has(name.toLowerCase())) known++
  return known >= CODING_TOOLS
}

/** Words as people count them; a letter that is written without spaces counts as half a word. */
const wordsIn = (text: string): number => {
  let count = 0
  for (const [word] of text.matchAll(/[\p{L}\p{N}'_-]+/gu)) count += /\p{Script=Han}/u.test(word) ? Math.ceil(word.length / 2) : 1
  return count
}

export const make = ({ backgroundPhrases, codeWords, reasoningWords, simpleMaxWords, simpleWords }: DetectorOptions): Detector => {
  const coding = new Matcher(Words.coding, codeWords)
  const analysis = new Matcher(Words.analysis, reasoningWords)
  const matchers: ReadonlyArray<readonly [Task, Matcher]> = [
    ["summarization", new Matcher(Words.summarization)], ["coding", coding], ["analysis", analysis], ["creative", new Matcher(Words.creative)]
  ]
  const simple = new Matcher(null, simpleWords)
  const phrases = backgroundPhrases.map((phrase) => plain(phrase.trim())).filter((phrase) => phrase !== "")

  const background: Detector["background"] = (said, named) => Background.reasonOf(said, phrases, named)

  const byWords = (text: string): Task | null => {
    let best: Task | null = null
    let most: Found = nothing
    for (const [task, matcher] of matchers) {
      const found = task === "coding" ? both(matcher.find(text), codeIn(text)) : matcher.find(text)
      // What is said first is what is asked for; the rest is what it is about.
      if (found.count > most.count || (found.count === most.count && found.first < most.first)) [best, most] = [task, found]
    }
    return best
  }

  return {
    background,
    task: (said) => {
      if (background(said, false) !== null) return { task: "background", source: "background" }
      if (said.images) return { task: "vision", source: "images" }
      const task = byWords(plain(said.text))
      if (task !== null) return { task, source: "words" }
      if (isAgent(said)) return { task: "coding", source: "tools" }
      return said.length > LONG ? { task: "analysis", source: "length" } : { task: "chat", source: "default" }
    },
    intent: (said) => {
      const text = plain(said.text)
      if (simple.has(text)) return "simple"
      const codes = both(coding.find(text), codeIn(text))
      const reasons = analysis.find(text)
      if (codes.count > 0 && codes.count >= reasons.count) return "code"
      if (reasons.count > 0) return "reasoning"
      if (isAgent(said)) return "code"
      const isPlain = text !== "" && !said.images && said.tools.length === 0
      return isPlain && wordsIn(text) <= simpleMaxWords ? "simple" : "general"
    }
  }
}
