/**
 * What an operator changes in the instructions of a body that is ready for its provider: paragraphs and blocks go, texts are said
 * otherwise, and blocks stand around them. All bytes beside the instructions stay. Pure.
 */
import type { FamilyName } from "#schemas/wire/conversation.ts"
import type { SystemTransform } from "#schemas/instructions/SystemTransforms.ts"
import { asBuffer } from "#src/wire/json/asBuffer.ts"
import * as Edits from "#src/wire/json/edits.ts"
import * as Json from "#src/wire/json/json.ts"
import * as Splice from "#src/wire/json/splice.ts"
import * as SystemPrompt from "./systemPrompt.ts"

type Body = Readonly<Record<string, unknown>>
type Path = ReadonlyArray<string | number>

/** One text of the instructions. */
interface Block {
  /** Where its text stands. */
  readonly path: Path
  /** What goes with it. */
  readonly part: Path
  /** What goes when all its parts do, and how many it has. */
  readonly whole: Path
  readonly parts: number
  readonly text: string
}

/** The texts of the instructions: null = it goes. */
interface Said {
  readonly own: ReadonlyArray<string | null>
  readonly before: ReadonlyArray<string>
  readonly after: ReadonlyArray<string>
}

// ---- where instructions stand -------------------------------------------------------------------------------------------------------

/** Texts of a list of parts, or of a text in its place. `whole`: what goes when no part is left. */
const inContent = (content: unknown, path: Path, whole: Path): ReadonlyArray<Block> => {
  if (typeof content === "string") return content === "" ? [] : [{ path, part: whole, whole, parts: 1, text: content }]
  if (!Array.isArray(content)) return []
  return content.flatMap((part: unknown, i): ReadonlyArray<Block> => Json.isRecord(part) && typeof part["text"] === "string" && part["text"] !== ""
    ? [{ path: [...path, i, "text"], part: [...path, i], whole, parts: content.length, text: part["text"] }]
    : [])
}

const inMessages = (name: string, messages: unknown): ReadonlyArray<Block> => Array.isArray(messages)
  ? messages.flatMap((message: unknown, i): ReadonlyArray<Block> => Json.isRecord(message) && (message["role"] === "system" || message["role"] === "developer")
    ? inContent(message["content"], [name, i, "content"], [name, i])
    : [])
  : []

const inInstruction = (body: Body): ReadonlyArray<Block> => ["systemInstruction", "system_instruction"].flatMap((name) => {
  const own = body[name]
  return typeof own === "string" ? inContent(own, [name], [name]) : Json.isRecord(own) ? inContent(own["parts"], [name, "parts"], [name]) : []
})

const blocksOf = (family: FamilyName, body: Body): ReadonlyArray<Block> => {
  switch (family) {
    case "chat-completions":
    case "local-model-server":
      return inMessages("messages", body["messages"])
    case "messages":
      return inContent(body["system"], ["system"], ["system"])
    case "responses":
      return [...inContent(body["instructions"], ["instructions"], ["instructions"]), ...inMessages("input", body["input"])]
    case "generateContent":
      return inInstruction(body)
  }
}

// ---- what changes in them -----------------------------------------------------------------------------------------------------------

const folded = (text: string, isSensitive: boolean | undefined): string => isSensitive === false ? text.toLowerCase() : text

const withoutParagraphs = (text: string, goes: (paragraph: string) => boolean): string | null => {
  const paragraphs = text.split(/\n{2,}/)
  const kept = paragraphs.filter((paragraph) => !goes(paragraph))
  if (kept.length === paragraphs.length) return text
  const left = kept.join("\n\n")
  return left.trim() === "" ? null : left
}

/** The words that an operation looks for, and how. */
const finder = (words: ReadonlyArray<string>, isSensitive: boolean | undefined, fits: (text: string, word: string) => boolean) => {
  const wanted = words.map((word) => folded(word, isSensitive))
  return (paragraph: string): boolean => {
    const text = folded(paragraph, isSensitive)
    return wanted.some((word) => fits(text, word))
  }
}

const changed = (transform: SystemTransform): (text: string) => string | null => {
  switch (transform.kind) {
    case "drop_paragraph_if_contains": {
      const goes = finder(transform.needles, transform.caseSensitive, (text, needle) => text.includes(needle))
      return (text) => withoutParagraphs(text, goes)
    }
    case "drop_paragraph_if_starts_with": {
      const goes = finder(transform.prefixes, transform.caseSensitive, (text, prefix) => text.trimStart().startsWith(prefix))
      return (text) => withoutParagraphs(text, goes)
    }
    case "drop_block_if_contains":
      return (text) => transform.needles.some((needle) => text.includes(needle)) ? null : text
    case "replace_text":
      return (text) => {
        const said = transform.allOccurrences === true ? text.replaceAll(transform.match, () => transform.replacement) : text.replace(transform.match, () => transform.replacement)
        return said.trim() === "" ? null : said
      }
    default:
      return (text) => text
  }
}

const kept = (texts: ReadonlyArray<string | null>): ReadonlyArray<string> => texts.filter((text) => text !== null)

const step = (said: Said, transform: SystemTransform): Said => {
  const { after, before, own } = said
  if (transform.kind === "prepend_system_block" || transform.kind === "append_system_block") {
    const { idempotencyKey, kind, text } = transform
    const isSaid = kept([...before, ...own, ...after]).some((one) => one.startsWith(idempotencyKey ?? text))
    return isSaid ? said : kind === "prepend_system_block" ? { ...said, before: [text, ...before] } : { ...said, after: [...after, text] }
  }
  const change = changed(transform)
  return { before: kept(before.map(change)), own: own.map((text) => text === null ? null : change(text)), after: kept(after.map(change)) }
}

// ---- the bytes ----------------------------------------------------------------------------------------------------------------------

type Tree = Map<string | number, Edits.Edits>

const put = (tree: Tree, path: Path, edit: Edits.Edits): void => {
  let place = tree
  for (const name of path.slice(0, -1)) {
    const below = place.get(name)
    const next: Tree = below instanceof Map ? below : new Map()
    place.set(name, next)
    place = next
  }
  place.set(path.at(-1) ?? "", edit)
}

const removal = new Edits.Removal()

/** The changes of the texts. A message or a member of which every part goes, goes itself. */
const editsOf = (blocks: ReadonlyArray<Block>, own: Said["own"]): Tree => {
  const tree: Tree = new Map()
  const gone = new Map<string, number>()
  const nameOf = (path: Path): string => JSON.stringify(path)
  for (const [i, { whole }] of blocks.entries()) if (own[i] === null) gone.set(nameOf(whole), (gone.get(nameOf(whole)) ?? 0) + 1)
  for (const [i, { part, parts, path, text, whole }] of blocks.entries()) {
    const said = own[i] as string | null
    if (said === null) put(tree, gone.get(nameOf(whole)) === parts ? whole : part, removal)
    else if (said !== text) put(tree, path, new Edits.Value(said))
  }
  return tree
}

/** The body with the operations, one after the other; the same bytes when nothing changes. */
export const apply = (transforms: ReadonlyArray<SystemTransform>, family: FamilyName, bytes: Uint8Array): Uint8Array => {
  const sent = asBuffer(bytes)
  const body = Json.parseRecord(sent.toString("utf8"))
  if (body === null) return bytes
  const blocks = blocksOf(family, body)
  const { after, before, own } = transforms.reduce(step, { before: [], own: blocks.map(({ text }) => text), after: [] })
  const tree = editsOf(blocks, own)
  const rest = tree.size === 0 ? sent : Edits.inBytes(sent, tree) ?? Buffer.from(JSON.stringify(Edits.applied(body, tree)))
  const around = { before: SystemPrompt.joined(...before), after: SystemPrompt.joined(...after) }
  if (around.before === "" && around.after === "") return rest === sent ? bytes : rest
  const left = rest === sent ? body : Edits.applied(body, tree) as Body
  const edits = SystemPrompt.editsOf(around, family, rest, left)
  return Splice.edit(rest, left, edits) ?? Buffer.from(JSON.stringify(SystemPrompt.ofBody(around, family, left)))
}
