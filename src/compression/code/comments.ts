/**
 * Comments that stand on lines of their own, in code of a known language. Code of which it is not sure what is a comment stays whole: with
 * texts or comments over several lines, lines that are continued, and markup. Orders to tools, notes, URLs and lines of errors stay. What
 * remains has no further comments to strip. Pure, in linear time.
 */
import * as Masking from "#src/compression/masking.ts"

/** Names of languages as fences give them. */
const slashed: ReadonlySet<string> = new Set([
  "js", "javascript", "mjs", "cjs", "ts", "typescript", "mts", "cts", "java", "c", "h", "cpp", "c++", "cc", "cs", "csharp", "go", "golang", "rust", "rs", "kotlin", "kt", "swift", "scala", "dart"
])
const hashed: ReadonlySet<string> = new Set(["py", "python", "python3"])

/** Orders to tools, and what people must not miss, behind the signs that begin a comment. */
const stays = new RegExp([
  "^[#%]", "^export ", "\\+build", "@(?:ts-|jsx|license|preserve|__|vite|flow|generated|format|dart)", "<(?:reference|auto-generated|amd)", "copyright|licen[sc]e|spdx|pragma|noqa|nolint|sourceMappingURL",
  "\\b(?:TODO|FIXME|XXX|HACK|SAFETY|NOTE|WARNING|BUG)\\b", "\\b(?:es|ox|ts|js|py|ktl|swift)(?:lint|hint)\\b", "\\b(?:prettier|biome|istanbul|c8|v8|webpack|mypy|pyright|flake8|ruff|isort|clang|rustfmt)\\b",
  "\\b(?:fmt|yapf|type|go|cgo|coding|cython|coverage|region|endregion|ignore|disable|enable)\\b *[:=-]"
].join("|"), "i")

const mayGo = (line: string): boolean => {
  const trimmed = line.trim()
  if (trimmed.startsWith("/*!") || trimmed.startsWith("#!")) return false
  return !stays.test(trimmed.replace(/^(?:\/\/[/!]?|#|\/\*\*?|\*)\s*/, "")) && Masking.urlsIn(line).length === 0 && !Masking.isErrorLine(line)
}

const countOf = (line: string, piece: string): number => line.split(piece).length - 1

/** What follows `${` begins a template before it ends. */
const mayNest = (part: string): boolean => {
  const tick = part.indexOf("`")
  const end = part.indexOf("}")
  return tick >= 0 && (end < 0 || tick < end)
}

/** A text over several lines may begin on it, or it goes on below. */
const isUnsure = (line: string): boolean => {
  const plain = line.replace(/\\./g, "")
  const opened = plain.lastIndexOf("/*")
  const begins = /^\s*\/\*/.test(plain)
  return line.endsWith("\\") || countOf(plain, "`") % 2 === 1 || countOf(plain, "\"") % 2 === 1 || plain.includes("\"\"\"") || plain.includes("R\"") || plain.includes("@\"")
    || plain.split("${").some((part, i) => i > 0 && mayNest(part)) || /^\s*import "C"/.test(plain)
    // Markup may hold such lines as texts.
    || /^\s*<[/\w>]/.test(plain) || (opened > 0 && !begins && !plain.includes("*/", opened))
}

/** Lines that go, of code whose comments begin with slashes; null = not sure. */
const inSlashed = (lines: ReadonlyArray<string>, docs: boolean): ReadonlySet<number> | null => {
  if (lines.some(isUnsure)) return null
  const gone = new Set<number>()
  let i = 0
  while (i < lines.length) {
    const line = (lines[i] as string).trim()
    if (line.startsWith("//")) {
      const isDoc = /^\/\/[/!]/.test(line)
      if ((!isDoc || !docs) && mayGo(line)) gone.add(i)
      i++
    } else if (line.startsWith("/*")) {
      const isDoc = /^\/\*[*!](?!\/)/.test(line)
      let end = i
      while (end < lines.length && !(lines[end] as string).includes("*/", end === i ? (lines[i] as string).indexOf("/*") + 2 : 0)) end++
      if (end === lines.length) return null
      const all = lines.slice(i, end + 1)
      // Some languages have comments in comments.
      if (all.reduce((count, one) => count + countOf(one, "/*"), 0) > 1) return null
      const isAlone = (lines[end] as string).trimEnd().endsWith("*/") && all.reduce((count, one) => count + countOf(one, "*/"), 0) === 1
      if (isAlone && (!isDoc || !docs) && all.every(mayGo)) for (let at = i; at <= end; at++) gone.add(at)
      i = end + 1
    } else i++
  }
  return gone
}

const triple = /"""|'''/g
const opensBody = /^\s*(?:(?:async\s+)?def\s|class\s|\)).{0,1000}:\s*(?:#.*)?$/
const indentOf = (line: string): number => line.length - line.trimStart().length

/** The first line of code from each line on. */
const codeBehind = (lines: ReadonlyArray<string>): ReadonlyArray<string | null> => {
  const found: Array<string | null> = []
  let code: string | null = null
  for (let i = lines.length - 1; i >= 0; i--) {
    const line = lines[i] as string
    if (!/^\s*(?:#|$)/.test(line)) code = line
    found[i] = code
  }
  return found
}

/** The same of code whose comments begin with hashes, and whose docstrings are texts between three quotes. */
const inHashed = (lines: ReadonlyArray<string>, docs: boolean): ReadonlySet<number> | null => {
  const gone = new Set<number>()
  /** The last line of code that stays. */
  let before: string | null = null
  let i = 0
  const next = codeBehind(lines)
  while (i < lines.length) {
    const line = lines[i] as string
    const trimmed = line.trim()
    const quotes = line.match(triple) ?? []
    if (line.endsWith("\\") || (quotes.length > 0 && (line.includes("#") || /\\["']|"'''|'"""/.test(line) || new Set(quotes).size > 1))) return null
    if (trimmed.startsWith("#")) {
      if (mayGo(line)) gone.add(i)
      i++
      continue
    }
    if (quotes.length === 0) {
      if (trimmed !== "") before = line
      i++
      continue
    }
    let end = i
    if (quotes.length % 2 === 1) {
      const mark = quotes[0] as string
      do end++
      while (end < lines.length && !(lines[end] as string).includes(mark))
      if (end === lines.length || countOf(lines[end] as string, mark) !== 1 || (lines[end] as string).includes("\\")) return null
    }
    const isText = /^\s*[rRuU]?(?:"""|''')/.test(line) && (lines[end] as string).trimEnd().endsWith(quotes[0] as string) && quotes.length <= 2
    const following = next[end + 1] ?? null
    const isDoc = isText && before !== null && opensBody.test(before) && indentOf(line) > indentOf(before)
      // Without it, its body would be empty.
      && following !== null && indentOf(following) === indentOf(line)
    if (isDoc && !docs && lines.slice(i, end + 1).every(mayGo)) for (let at = i; at <= end; at++) gone.add(at)
    else before = lines[end] as string
    i = end + 1
  }
  return gone
}

/** `language`: as the fence names it. `docs`: texts for readers of an API stay. */
export const strip = (code: string, language: string, docs: boolean): string => {
  const name = language.toLowerCase()
  const isSlashed = slashed.has(name)
  if (!isSlashed && !hashed.has(name)) return code
  const lines = code.split("\n")
  const gone = isSlashed ? inSlashed(lines, docs) : inHashed(lines, docs)
  return gone === null || gone.size === 0 ? code : lines.filter((_, i) => !gone.has(i)).join("\n")
}
