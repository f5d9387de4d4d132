/**
 * What of a text is prose, and what must stay as it is: code, inline code, URLs, paths, quoted text, names, numbers, tables, JSON, blocks
 * between tags, lines of logs. Kept pieces are replaced by placeholders, so that rules see prose only. Pure, in linear time.
 */
const opens = "\uE000"
const closes = "\uE001"
/** Stands where a rule took something away, until the blanks around it are put right. */
export const GAP = "\uE002"
const reserved = /[\uE000-\uE002]/
const placeholder = /\uE000(\d+)\uE001/g

export interface Masked {
  /** Prose, with placeholders. */
  readonly text: string
  /** What the placeholders stand for, in order. */
  readonly kept: ReadonlyArray<string>
  /** Fenced code among it. */
  readonly fences: ReadonlyArray<string>
}

const fence = /^ {0,3}(`{3,}|~{3,})/
const openingTag = /^\s*<([A-Za-z][\w.-]{0,60})(?:\s[^<>]{0,300})?>/
const closingTag = /<\/([A-Za-z][\w.-]{0,60})>\s*$/
/** Indented code, quotes, headings, tables, shells' prompts. */
const structure = /^(?: {4}|\t|\s*(?:[>#|$%]|\/\/|--|\/\*|\*\/))/
/** Characters that prose rarely has. */
const codeLike = /[{};=<>|\\\t]|[([,]\s*$/
/** As programs write them. */
const errorLine = /^\s*(?:E\s|at\s.{1,200}:\d|Caused by|Traceback|[\w.]{0,60}(?:Error|Exception|Warning)\b\s?[:(]|(?:error|fatal|panic|warning|warn|fail|failed|npm ERR!)\b\s?[:[(!])/i
const loudError = /\b(?:ERROR|FATAL|PANIC|FAIL|FAILED)\b/
const blank = /^\s*$/

export const isErrorLine = (line: string): boolean => errorLine.test(line) || loudError.test(line)

/** URLs as programs follow them. */
const url = /\b(?:https?|wss?|ftp|file|git|ssh):\/\/[^\s<>"'`]+/g
export const urlsIn = (text: string): ReadonlyArray<string> => text.match(url) ?? []

/** Pieces of a line of prose that stay. Each begins where a word begins, so that no piece is read twice. */
const inline = new RegExp([
  "(?<!\\S)data:[\\w.+-]{1,60}\\/[\\w.+-]{1,80}(?:;[\\w=.-]{1,60}){0,4};base64,[A-Za-z0-9+/=]+(?!\\S)",
  "(?<!`)`{1,4}[^`\\n]{1,500}`{1,4}",
  "(?<!\\w)(?:https?|wss?|ftp|file|git|ssh):\\/\\/[^\\s<>\"'`]+",
  "\"[^\"\\n]{1,500}\"", "“[^”\\n]{1,500}”", "(?<!\\w)'[^'\\n]{1,200}'(?!\\w)",
  // Paths, file names, hosts.
  "(?<![\\w./~@-])(?:[~.@]{0,2}\\/)?[\\w@-]+(?:[./:]+[\\w@-]+)+\\/?", "(?<![\\w./~@-])[~.]{0,2}\\/[\\w./@-]*",
  // Names of code and numbers: with a digit, an underscore or a capital inside.
  "(?<![\\w-])(?=[a-zA-Z]{0,40}(?:[_\\d]|[a-z][A-Z]))\\w+", "(?<![\\w.])[-+]?\\d[\\d.,:%]*",
  // Flags, variables, mentions.
  "(?<!\\S)--?[A-Za-z][\\w-]*", "\\$\\w+", "[@#][\\w-]+"
].join("|"), "g")

/** Beside the pieces that stay anyway: a URL may have such characters, too. */
const looksLikeCode = (line: string): boolean => codeLike.test(line) && codeLike.test(line.replace(inline, " "))

/** The last line that closes each tag. */
const closingLines = (lines: ReadonlyArray<string>): ReadonlyMap<string, number> => {
  const last = new Map<string, number>()
  lines.forEach((line, i) => {
    const tag = closingTag.exec(line)?.[1]
    if (tag !== undefined) last.set(tag, i)
  })
  return last
}

/** Null for a text that holds characters of placeholders. `isKept`: further lines that stay. */
export const mask = (text: string, isKept: (line: string) => boolean): Masked | null => {
  if (reserved.test(text)) return null
  const lines = text.split("\n")
  const closing = closingLines(lines)
  const kept: Array<string> = []
  const fences: Array<string> = []
  const out: Array<string> = []
  const keep = (piece: string): string => `${opens}${kept.push(piece) - 1}${closes}`
  let block: Array<string> = []
  const flush = (): void => {
    if (block.length > 0) out.push(keep(block.join("\n")))
    block = []
  }
  for (let i = 0; i < lines.length; i++) {
    const line = lines[i] as string
    const end = endOfBlock(lines, i, closing)
    if (end !== null) {
      flush()
      const piece = lines.slice(i, end + 1).join("\n")
      if (fence.test(line)) fences.push(piece)
      out.push(keep(piece))
      i = end
    } else if (!blank.test(line) && (structure.test(line) || looksLikeCode(line) || isErrorLine(line) || isKept(line))) block.push(line)
    else {
      flush()
      out.push(line.replace(inline, keep))
    }
  }
  flush()
  return { text: out.join("\n"), kept, fences }
}

/** The last line of the fenced code or of the block between tags that begins here; null where none does. */
const endOfBlock = (lines: ReadonlyArray<string>, start: number, closing: ReadonlyMap<string, number>): number | null => {
  const line = lines[start] as string
  const marks = fence.exec(line)?.[1]
  if (marks !== undefined) {
    for (let i = start + 1; i < lines.length; i++) {
      const other = fence.exec(lines[i] as string)?.[1]
      if (other !== undefined && other[0] === marks[0] && other.length >= marks.length && (lines[i] as string).trim() === other) return i
    }
    return lines.length - 1
  }
  const tag = openingTag.exec(line)?.[1]
  return tag === undefined || (closing.get(tag) ?? -1) < start ? null : closing.get(tag) ?? null
}

export const unmask = (text: string, kept: ReadonlyArray<string>): string => text.replace(placeholder, (_, i: string) => kept[Number(i)] as string)
