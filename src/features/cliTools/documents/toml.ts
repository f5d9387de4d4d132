/** TOML 1.0: tables, dotted and quoted keys, strings of all kinds, lists over several lines, inline tables. */
import { breakOf, type Change, type Contents, DEPTH_MAX, type Format, type Leaf, nameOf, type Path, type Range, spliced, TextReader, Unkept } from "./Document.ts"

interface Entry {
  /** From the root of the document. */
  readonly path: Path
  /** The table under whose header it stands, by its place in `Read.tables`. */
  readonly table: number
  readonly value: Range & { readonly kind: "text" | "other" | "list" | "table"; readonly said: string }
  readonly leaves: ReadonlyArray<Leaf>
  /** Behind its line break, or the end of the text. */
  readonly end: number
}

interface Table {
  readonly path: Path
  readonly isList: boolean
  /** Behind the line of its header. */
  readonly end: number
}

interface Read {
  /** The first one is the root, before any header. */
  readonly tables: ReadonlyArray<Table>
  readonly entries: ReadonlyArray<Entry>
  readonly comments: ReadonlyArray<Range>
}

const bareKey = /[A-Za-z0-9_-]+/y
/** Numbers, dates and booleans: what they say is not asked. */
const bareValue = /(?:\d{4}-\d\d-\d\d \d\d:\d\d[^\s,\]}#]*)|[A-Za-z0-9+_.:-]+/y
const escapes: Readonly<Record<string, string>> = { b: "\b", t: "\t", n: "\n", f: "\f", r: "\r", e: "\u001B", "\"": "\"", "\\": "\\" }

class Reader extends TextReader {
  protected readonly language = "TOML"

  get atEnd(): boolean {
    return this.at >= this.text.length
  }

  looksAt(what: string): boolean {
    return this.text.startsWith(what, this.at)
  }

  take(what: string): void {
    if (!this.looksAt(what)) this.refuse(`${what} is expected`)
    this.at += what.length
  }

  spaces(): void {
    while (this.looksAt(" ") || this.looksAt("\t")) this.at++
  }

  /** Spaces, a comment, and the line break. */
  endOfLine(): void {
    this.spaces()
    if (this.looksAt("#")) {
      const from = this.at
      this.at = from + this.text.slice(from).search(/\r?\n|$/)
      this.comments.push({ from, to: this.at })
    }
    if (this.looksAt("\r\n")) this.at += 2
    else if (this.looksAt("\n")) this.at++
    else if (!this.atEnd) this.refuse("the end of the line is expected")
  }

  /** What may stand between the items of a list. */
  private gap(): void {
    this.spaces()
    while (!this.atEnd && (this.looksAt("#") || this.looksAt("\n") || this.looksAt("\r\n"))) {
      this.endOfLine()
      this.spaces()
    }
  }

  key(): Path {
    const path: Array<string> = []
    for (;;) {
      this.spaces()
      if (this.looksAt("\"") || this.looksAt("'")) path.push(this.string())
      else {
        bareKey.lastIndex = this.at
        const found = bareKey.exec(this.text)?.[0]
        if (found === undefined) return this.refuse("a key is expected")
        this.at += found.length
        path.push(found)
      }
      this.spaces()
      if (!this.looksAt(".")) return path
      this.at++
    }
  }

  /** A string of any of the four kinds. */
  private string(): string {
    const quote = this.looksAt("\"") ? "\"" : "'"
    const isLong = this.looksAt(quote.repeat(3))
    const close = isLong ? quote.repeat(3) : quote
    const start = this.at
    this.at += close.length
    let said = ""
    for (;;) {
      if (this.atEnd || (!isLong && this.looksAt("\n"))) {
        this.at = start
        this.refuse("a string has no end")
      }
      if (this.looksAt(close)) break
      const character = this.text[this.at++] ?? ""
      if (character !== "\\" || quote === "'") said += character
      else said += this.escape(isLong)
    }
    this.at += close.length
    // Two more quotes may belong to the text of a long string.
    for (let more = 0; isLong && more < 2 && this.looksAt(quote); more++) {
      said += quote
      this.at++
    }
    return isLong ? said.replace(/^\r?\n/, "") : said
  }

  private escape(isLong: boolean): string {
    const character = this.text[this.at++] ?? ""
    const known = escapes[character]
    if (known !== undefined) return known
    const digits = { x: 2, u: 4, U: 8 }[character]
    if (digits !== undefined) {
      const hex = this.text.slice(this.at, this.at + digits)
      const point = /^[0-9A-Fa-f]+$/.test(hex) && hex.length === digits ? Number.parseInt(hex, 16) : -1
      if (point < 0 || point > 0x10ffff) this.refuse("an escape is not spelled as TOML asks")
      this.at += digits
      return String.fromCodePoint(point)
    }
    if (isLong && /\s/.test(character)) {
      while (/\s/.test(this.text[this.at] ?? "")) this.at++
      return ""
    }
    return this.refuse("an escape is not spelled as TOML asks")
  }

  value(path: Path, leaves: Array<Leaf>, depth = 0): Entry["value"] {
    if (depth > DEPTH_MAX) this.refuse(`more than ${DEPTH_MAX} values stand inside each other`)
    const from = this.at
    const ended = (kind: Entry["value"]["kind"], said: string): Entry["value"] => ({ from, to: this.at, kind, said })
    const leaf = (isText: boolean, value: string) => {
      leaves.push({ path, from, to: this.at, isText, value })
      return ended(isText ? "text" : "other", value)
    }
    if (this.looksAt("\"") || this.looksAt("'")) return leaf(true, this.string())
    if (this.looksAt("[") || this.looksAt("{")) {
      const isList = this.looksAt("[")
      const close = isList ? "]" : "}"
      this.at++
      for (let index = 0; ; index++) {
        this.gap()
        if (this.looksAt(close)) break
        if (isList) this.value([...path, String(index)], leaves, depth + 1)
        else {
          const key = this.key()
          this.take("=")
          this.spaces()
          this.value([...path, ...key], leaves, depth + 1)
        }
        this.gap()
        if (this.looksAt(close)) break
        this.take(",")
      }
      this.at++
      return ended(isList ? "list" : "table", "")
    }
    bareValue.lastIndex = this.at
    const found = bareValue.exec(this.text)?.[0]
    if (found === undefined) return this.refuse("a value is expected")
    this.at += found.length
    return leaf(false, found)
  }
}

const parse = (text: string): Read => {
  const reader = new Reader(text)
  const tables: Array<Table> = [{ path: [], isList: false, end: reader.at }]
  const entries: Array<Entry> = []
  let header: Path = []
  while (!reader.atEnd) {
    reader.spaces()
    if (reader.looksAt("[")) {
      const isList = reader.looksAt("[[")
      reader.at += isList ? 2 : 1
      header = reader.key()
      reader.take(isList ? "]]" : "]")
      reader.endOfLine()
      tables.push({ path: header, isList, end: reader.at })
    } else if (reader.looksAt("#") || reader.looksAt("\n") || reader.looksAt("\r\n") || reader.atEnd) reader.endOfLine()
    else {
      const path = [...header, ...reader.key()]
      reader.take("=")
      reader.spaces()
      const leaves: Array<Leaf> = []
      const value = reader.value(path, leaves)
      reader.endOfLine()
      entries.push({ path, table: tables.length - 1, value, leaves, end: reader.at })
    }
  }
  return { tables, entries, comments: reader.comments }
}

const read = (text: string): Contents => {
  const { comments, entries } = parse(text)
  return { leaves: entries.flatMap(({ leaves }) => leaves), comments }
}

const isSame = (a: Path, b: Path): boolean => a.length === b.length && a.every((name, i) => name === b[i])
const isBelow = (path: Path, above: Path): boolean => path.length > above.length && isSame(path.slice(0, above.length), above)

const keyText = (name: string): string => /^[A-Za-z0-9_-]+$/.test(name) ? name : JSON.stringify(name)

const change = (text: string, asked: Change): string => {
  const { path } = asked
  if ("item" in asked) throw new Unkept({ message: `${nameOf(path)} is no single value` })
  const { entries, tables } = parse(text)
  const put = JSON.stringify(asked.value)
  const found = entries.filter((entry) => isSame(entry.path, path))
  if (found.length > 1) throw new Unkept({ message: `${nameOf(path)} stands there twice` })
  const [standing] = found
  if (standing !== undefined) {
    const { from, kind, said, to } = standing.value
    if (kind === "list" || kind === "table") throw new Unkept({ message: `${nameOf(path)} is not a single value` })
    return said === String(asked.value) && (kind === "text") === (typeof asked.value === "string") ? text : spliced(text, { from, to, put })
  }
  if (asked.onlyIfPresent === true) return text
  const above = path.slice(0, -1)
  // Where a table is written inline or with dotted keys, a header of its own would define it twice.
  const inline = entries.find((entry) => isBelow(path, entry.path))
  if (inline !== undefined) throw new Unkept({ message: `${nameOf(inline.path)} is not written as a table with a header of its own` })
  const dotted = entries.find((entry) => isBelow(entry.path, above) && above.length > 0 && !isSame((tables[entry.table] as Table).path, above) && !isBelow((tables[entry.table] as Table).path, above))
  if (dotted !== undefined) throw new Unkept({ message: `${nameOf(above)} is written with dotted keys, not as a table with a header of its own` })
  const list = tables.find((table) => table.isList && (isSame(table.path, path) || isSame(table.path, above) || isBelow(path, table.path)))
  if (list !== undefined) throw new Unkept({ message: `${nameOf(list.path)} is a list of tables` })
  if (tables.some((table) => isSame(table.path, path) || isBelow(table.path, path)) || entries.some((entry) => isBelow(entry.path, path))) throw new Unkept({ message: `${nameOf(path)} is a table` })
  const newline = breakOf(text)
  const line = `${keyText(path.at(-1) ?? "")} = ${put}${newline}`
  const index = tables.findIndex((table) => isSame(table.path, above))
  if (index === -1) {
    const gap = text === "" ? "" : text.endsWith("\n") ? newline : newline + newline
    return `${text}${gap}[${above.map(keyText).join(".")}]${newline}${line}`
  }
  const at = entries.findLast((entry) => entry.table === index)?.end ?? (tables[index] as Table).end
  return spliced(text, { from: at, to: at, put: at > 0 && text[at - 1] !== "\n" && text[at - 1] !== "\uFEFF" ? newline + line : line })
}

export const toml: Format = { read, change, hidden: "\"[redacted]\"" }
