/** Files of variables, as the package `dotenv` reads them: `NAME=value` lines, quoted values over several lines, comments. */
import { breakOf, type Change, type Contents, type Format, type Leaf, nameOf, type Range, spliced, Unkept } from "./Document.ts"

/** The package's own rule for a line. */
const line = /^[^\S\r\n]*(?:export\s+)?([\w.-]+)(?:\s*=[^\S\r\n]*?|:\s+?)(\s*'(?:\\'|[^'])*'|\s*"(?:\\"|[^"])*"|\s*`(?:\\`|[^`])*`|[^#\r\n]+)?[^\S\r\n]*(#.*)?$/dgm
/** A value that needs no quotes. */
const plain = /^[\w./:@+~=-]+$/

const unquoted = (value: string): string => value.trim().replace(/^(['"`])([\s\S]*)\1$/, "$2")

const read = (text: string): Contents => {
  const leaves: Array<Leaf> = []
  const comments: Array<Range> = []
  let at = 0
  const skipped = (from: number, to: number): void => {
    for (const found of text.slice(from, to).matchAll(/[^\r\n]*\S[^\r\n]*/g)) comments.push({ from: from + found.index, to: from + found.index + found[0].length })
  }
  for (const found of text.matchAll(line)) {
    skipped(at, found.index)
    at = found.index + found[0].length
    const [, name = "", value = ""] = found
    const comment = found.indices?.[3]
    const end = comment?.[0] ?? at
    const [from, to] = found.indices?.[2] ?? [end, end]
    const lead = value.length - value.trimStart().length
    leaves.push({ path: [name], from: from + lead, to: Math.max(from + lead, to - (value.length - value.trimEnd().length)), isText: true, value: unquoted(value) })
    if (comment !== undefined) comments.push({ from: comment[0], to: comment[1] })
  }
  skipped(at, text.length)
  return { leaves, comments }
}

const change = (text: string, asked: Change): string => {
  const [name = "", ...rest] = asked.path
  if (rest.length > 0 || "item" in asked) throw new Unkept({ message: `${nameOf(asked.path)} is no variable` })
  const value = String(asked.value)
  if (!plain.test(value)) throw new Unkept({ message: `the value of ${name} would need quotes` })
  // Of two lines of one name, readers take the last.
  const found = read(text).leaves.findLast(({ path }) => path[0] === name)
  if (found === undefined) {
    const newline = breakOf(text)
    return asked.onlyIfPresent === true ? text : `${text}${text === "" || text.endsWith("\n") ? "" : newline}${name}=${value}${newline}`
  }
  return found.value === value ? text : spliced(text, { from: found.from, to: found.to, put: value })
}

export const dotenv: Format = { read, change, hidden: "[redacted]" }
