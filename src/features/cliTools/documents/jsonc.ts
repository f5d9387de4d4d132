/** JSON with comments and trailing commas, as the settings of editors and agents are written. */
import type * as Schema from "effect/Schema"
import { breakOf, type Change, type Contents, DEPTH_MAX, type Format, type Leaf, nameOf, type Path, type Range, spliced, TextReader, Unkept } from "./Document.ts"

interface Member {
  /** Null in a list. */
  readonly key: string | null
  /** Where its key, or in a list its value, begins. */
  readonly from: number
  readonly node: Node
}

interface Node extends Range {
  readonly kind: "object" | "array" | "text" | "other"
  readonly value: string
  readonly members: ReadonlyArray<Member>
  /** End of the last token or comment before the closing bracket. */
  readonly tail: number
  /** A comma follows the last member. */
  readonly comma: boolean
}

const bare = /-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y

class Reader extends TextReader {
  protected readonly language = "JSON"

  /** Skips what stands between tokens; answers where the last comment of it ends, or `before`. */
  gap(before: number): number {
    let last = before
    for (;;) {
      while (/\s/.test(this.text[this.at] ?? "")) this.at++
      const two = this.text.slice(this.at, this.at + 2)
      if (two !== "//" && two !== "/*") return last
      const from = this.at
      const closed = two === "//" ? this.text.slice(from).search(/[\r\n]|$/) + from : this.text.indexOf("*/", from + 2) + 2
      if (closed < from + 2) this.refuse("a comment has no end")
      this.at = closed
      this.comments.push({ from, to: closed })
      last = closed
    }
  }

  string(): string {
    const from = this.at++
    for (; this.at < this.text.length; this.at++) {
      const character = this.text[this.at]
      if (character === "\\") this.at++
      else if (character === "\"") {
        this.at++
        try {
          return JSON.parse(this.text.slice(from, this.at)) as string
        } catch {
          this.at = from
          this.refuse("a string is not spelled as JSON asks")
        }
      }
    }
    this.at = from
    return this.refuse("a string has no end")
  }

  node(depth: number): Node {
    if (depth > DEPTH_MAX) this.refuse(`more than ${DEPTH_MAX} values stand inside each other`)
    const from = this.at
    const first = this.text[from]
    if (first === "{" || first === "[") return this.container(first, from, depth)
    const leaf = (kind: "text" | "other", value: string): Node => ({ kind, from, to: this.at, value, members: [], tail: from, comma: false })
    if (first === "\"") return leaf("text", this.string())
    bare.lastIndex = from
    const found = bare.exec(this.text)?.[0]
    if (found === undefined) return this.refuse("a value is expected")
    this.at += found.length
    return leaf("other", found)
  }

  private container(open: "{" | "[", from: number, depth: number): Node {
    const close = open === "{" ? "}" : "]"
    const members: Array<Member> = []
    this.at++
    let comma = true
    let tail = this.at
    for (;;) {
      tail = this.gap(tail)
      if (this.text[this.at] === close) break
      if (!comma) this.refuse(`a comma or ${close} is expected`)
      const start = this.at
      let key: string | null = null
      if (open === "{") {
        if (this.text[this.at] !== "\"") this.refuse("the name of a member is expected")
        key = this.string()
        this.gap(0)
        if (this.text[this.at] !== ":") this.refuse("a colon is expected")
        this.at++
        this.gap(0)
      }
      const node = this.node(depth + 1)
      members.push({ key, from: start, node })
      tail = this.gap(node.to)
      comma = this.text[this.at] === ","
      if (comma) tail = ++this.at
    }
    this.at++
    return { kind: open === "{" ? "object" : "array", from, to: this.at, value: "", members, tail, comma: members.length > 0 && comma }
  }
}

const parse = (text: string): { readonly root: Node; readonly comments: ReadonlyArray<Range> } => {
  const reader = new Reader(text)
  reader.gap(0)
  const root = reader.node(0)
  reader.gap(0)
  if (reader.at < text.length) reader.refuse("something follows the document")
  return { root, comments: reader.comments }
}

/** A file without a value is an empty one: agents read it so, too. */
const filled = (text: string): string => text.replace("\uFEFF", "").trim() === "" ? "{}\n" : text

const leavesOf = (node: Node, path: Path): ReadonlyArray<Leaf> => node.kind === "text" || node.kind === "other"
  ? [{ path, from: node.from, to: node.to, isText: node.kind === "text", value: node.value }]
  : node.members.flatMap(({ key, node: inner }, index) => leavesOf(inner, [...path, key ?? String(index)]))

const read = (text: string): Contents => {
  const { comments, root } = parse(filled(text))
  return text.trim() === "" ? { leaves: [], comments: [] } : { leaves: leavesOf(root, []), comments }
}

/** The white space before a place, where nothing else stands before it in its line. */
const indentAt = (text: string, at: number): string | null => /(?:^|\n)([ \t]*)$/.exec(text.slice(0, at))?.[1] ?? null
const lineIndent = (text: string, at: number): string => /^[ \t]*/.exec(text.slice(text.lastIndexOf("\n", at - 1) + 1))?.[0] ?? ""

const rendered = (value: Schema.Json, indent: string, unit: string, newline: string): string =>
  JSON.stringify(value, null, unit).replaceAll("\n", `${newline}${indent}`)

const inserted = (text: string, root: Node, into: Node, key: string | null, value: Schema.Json): string => {
  const newline = breakOf(text)
  const [first] = root.members
  const unit = (first === undefined ? null : indentAt(text, first.from)) || "  "
  const outer = lineIndent(text, into.from)
  const own = into.members[0] === undefined ? null : indentAt(text, into.members[0].from)
  const spread = text.slice(into.from, into.to).includes("\n")
  const indent = own ?? `${outer}${unit}`
  const prefix = key === null ? "" : `${JSON.stringify(key)}: `
  const put = `${prefix}${rendered(value, indent, unit, newline)}`
  const last = into.members.at(-1)
  if (last !== undefined && !spread) {
    return spliced(text, { from: last.node.to, to: last.node.to, put: `, ${prefix}${JSON.stringify(value)}` })
  }
  const isClosedBelow = text.slice(into.tail, into.to).includes("\n")
  return spliced(text,
    ...(last === undefined || into.comma ? [] : [{ from: last.node.to, to: last.node.to, put: "," }]),
    { from: into.tail, to: isClosedBelow ? into.tail : into.to - 1, put: `${newline}${indent}${put}${isClosedBelow ? "" : `${newline}${outer}`}` }
  )
}

const nested = (path: Path, value: Schema.Json): Schema.Json => path.reduceRight<Schema.Json>((inner, name) => ({ [name]: inner }), value)

const change = (before: string, asked: Change): string => {
  const text = filled(before)
  const { root } = parse(text)
  const wanted: Schema.Json = "item" in asked ? [asked.item] : asked.value
  if (root.kind !== "object") throw new Unkept({ message: "it is no JSON object" })
  let node = root
  for (const [depth, name] of asked.path.entries()) {
    const found = node.members.filter(({ key }) => key === name)
    if (found.length > 1) throw new Unkept({ message: `${nameOf(asked.path.slice(0, depth + 1))} stands there twice` })
    if (found[0] === undefined) {
      return "onlyIfPresent" in asked && asked.onlyIfPresent === true ? before : inserted(text, root, node, name, nested(asked.path.slice(depth + 1), wanted))
    }
    node = found[0].node
    const isLast = depth === asked.path.length - 1
    const expected = !isLast ? "object" : "item" in asked ? "array" : null
    if (expected === null ? node.kind === "object" || node.kind === "array" : node.kind !== expected) {
      throw new Unkept({ message: `${nameOf(asked.path.slice(0, depth + 1))} is not ${expected === null ? "a single value" : expected === "object" ? "an object" : "a list"}` })
    }
  }
  if (!("item" in asked)) {
    const put = JSON.stringify(asked.value)
    return text.slice(node.from, node.to) === put ? before : spliced(text, { from: node.from, to: node.to, put })
  }
  const isThere = node.members.some(({ node: item }) => item.members.some(({ key, node: id }) => key === "id" && id.kind === "text" && id.value === asked.item.id))
  return isThere ? before : inserted(text, root, node, null, asked.item)
}

export const jsonc: Format = { read, change, hidden: "\"[redacted]\"" }
