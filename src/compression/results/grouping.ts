/**
 * Matches of a search with the name of their file once, as `rg --heading` says them: `src/a.ts:` and below it `12:text` in place of
 * `src/a.ts:12:text`. Nothing is lost. A text that has such a heading already stays as it is. Pure, in linear time.
 */
import { isJson, printedBy } from "#src/compression/command.ts"
import type { Piece } from "#src/compression/Piece.ts"

/** Programs that print the lines that they found. */
const programs: ReadonlySet<string> = new Set(["grep", "egrep", "fgrep", "zgrep", "rg", "ag", "ack"])
const searches = /[Gg]rep|(?:^|[_.\-/])search|[a-z]Search|^Search/
/** A file, whose name has a dot or a slash and does not begin like a line of a group, and the number of a line. */
const match = /^(?!\s|\d+[-:])(?=[^:\n]{0,500}[./])([^:\n]{1,500}):(?=\d+:)/
const ofGroup = /^\d+[-:]/
const heading = /:$/

/** Whether a tool looked for lines in files. */
export const isSearch = ({ command, role, tool }: Piece): boolean => {
  if (role !== "tool") return false
  if (command === null) return tool !== null && searches.test(tool)
  const [program = "", second] = printedBy(command) ?? []
  return programs.has(program) || (program === "git" && second === "grep")
}

/** `threshold`: matches of one file, one after the other, from which on they are a group. */
export const group = (text: string, threshold: number): string => {
  const lines = text.split("\n")
  if (lines.some((line, i) => heading.test(line) && ofGroup.test(lines[i + 1] ?? "")) || isJson(text)) return text
  const files = lines.map((line) => match.exec(line)?.[1] ?? null)
  const out: Array<string> = []
  let i = 0
  while (i < lines.length) {
    const file = files[i] ?? null
    let end = i + 1
    if (file !== null) while (end < lines.length && files[end] === file) end++
    // The line behind a group must not look like one of it.
    if (file !== null && end - i >= threshold && !ofGroup.test(lines[end] ?? "")) {
      out.push(`${file}:`)
      for (let at = i; at < end; at++) out.push((lines[at] as string).slice(file.length + 1))
    } else for (let at = i; at < end; at++) out.push(lines[at] as string)
    i = end
  }
  return out.join("\n")
}
