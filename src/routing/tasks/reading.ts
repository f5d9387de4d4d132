/**
 * What a request says of its task, in any format of conversations: the newest words of a person, the instructions, the tools. The same
 * for all calls of one tool loop, because a tool's results are not a person's words. Reads a bounded part of any body. Pure.
 */
import * as Json from "#src/wire/json/json.ts"

export interface Said {
  /** The newest words of a person: their beginning, and their end where they are long. */
  readonly text: string
  /** Characters of all of those words. */
  readonly length: number
  /** A picture stands beside those words. */
  readonly images: boolean
  /** The beginning of the instructions. */
  readonly instructions: string
  /** Names of the first tools. */
  readonly tools: ReadonlyArray<string>
  /** Tokens that the answer may have; null = not said. */
  readonly maxTokens: number | null
}

/** Characters that are read of one text: of its beginning, and of its end. */
export const BEGINNING = 6_144
export const END = 2_048
/** Characters of the instructions that are read. */
export const INSTRUCTIONS = 4_096
/** Newest turns that are looked at, parts of one turn, and tools. */
const TURNS = 1_000
const PARTS = 200
export const TOOLS = 64
const NAME = 64

type Body = Readonly<Record<string, unknown>>

/** Agents put notes of their own beside a person's words. */
const reminder = "<system-reminder>"

const turnsOf = (body: Body): ReadonlyArray<unknown> => {
  for (const name of ["messages", "input", "contents"]) {
    const value = body[name]
    if (Array.isArray(value)) return value
    if (typeof value === "string") return [{ role: "user", content: value }]
  }
  const prompt = body["prompt"]
  const only: unknown = Array.isArray(prompt) ? prompt[0] : prompt
  return typeof only === "string" ? [{ role: "user", content: only }] : []
}

/** A text, or the parts of a turn. */
const partsOf = (turn: Body): ReadonlyArray<unknown> => {
  const value = turn["content"] ?? turn["parts"]
  return Array.isArray(value) ? value.slice(0, PARTS) : [value]
}

const isResultPart = (part: unknown): boolean => Json.isRecord(part) && (part["type"] === "tool_result" || part["functionResponse"] !== undefined)

/** What a tool answered. */
const isResult = (turn: unknown): boolean => {
  if (!Json.isRecord(turn)) return false
  const { role, type } = turn
  return role === "tool" || role === "function" || (typeof type === "string" && type.endsWith("_output")) || partsOf(turn).some(isResultPart)
}

const isPerson = (turn: Body): boolean => turn["role"] === "user" || (turn["role"] === undefined && turn["parts"] !== undefined)

const isPicture = (part: Body): boolean => {
  const { type } = part
  if (type === "image" || type === "image_url" || type === "input_image") return true
  const held = part["inlineData"] ?? part["inline_data"] ?? part["fileData"] ?? part["file_data"]
  if (!Json.isRecord(held)) return false
  const kind = held["mimeType"] ?? held["mime_type"]
  return typeof kind === "string" && kind.startsWith("image/")
}

const textTypes: ReadonlySet<unknown> = new Set([undefined, "text", "input_text"])

/** The text of a part; null when it is none, or an agent's note. */
const textOf = (part: unknown): string | null => {
  if (typeof part === "string") return part
  if (!Json.isRecord(part) || !textTypes.has(part["type"])) return null
  const { text } = part
  return typeof text === "string" && !text.startsWith(reminder) ? text : null
}

/** A text of bounded length, as it is read. */
class Excerpt {
  length = 0
  private beginning = ""
  private end = ""

  add(text: string): void {
    const joined = this.length === 0 ? text : `\n${text}`
    this.length += text.length
    const room = BEGINNING - this.beginning.length
    this.beginning += joined.slice(0, Math.max(0, room))
    if (joined.length > room) this.end = (this.end + joined.slice(Math.max(0, room, joined.length - END))).slice(-END)
  }

  get text(): string {
    return this.end === "" ? this.beginning : `${this.beginning}\n${this.end}`
  }
}

const newest = (turns: ReadonlyArray<unknown>): Pick<Said, "text" | "length" | "images"> => {
  const last = Math.max(0, turns.length - TURNS)
  for (let i = turns.length - 1; i >= last; i--) {
    const turn = turns[i]
    // A person's turn right behind a tool's results belongs to the loop: agents put reminders there.
    if (!Json.isRecord(turn) || !isPerson(turn) || isResult(turn) || isResult(turns[i - 1])) continue
    const excerpt = new Excerpt()
    let images = Array.isArray(turn["images"]) && turn["images"].length > 0
    for (const part of partsOf(turn)) {
      const text = textOf(part)
      if (text !== null) excerpt.add(text)
      else if (Json.isRecord(part) && isPicture(part)) images = true
    }
    return { text: excerpt.text, length: excerpt.length, images }
  }
  return { text: "", length: 0, images: false }
}

const wholeText = (value: unknown): string => {
  if (typeof value === "string") return value.slice(0, INSTRUCTIONS)
  const parts: ReadonlyArray<unknown> = Array.isArray(value) ? value.slice(0, PARTS) : Json.isRecord(value) ? partsOf(value) : []
  let text = ""
  for (const part of parts) {
    if (text.length >= INSTRUCTIONS) break
    const one = textOf(part)
    if (one !== null) text += `${one.slice(0, INSTRUCTIONS)}\n`
  }
  return text.slice(0, INSTRUCTIONS)
}

/** Turns at the beginning that may be instructions. */
const FIRST = 4

const instructionsOf = (body: Body, turns: ReadonlyArray<unknown>): string => {
  const own = body["system"] ?? body["instructions"] ?? body["systemInstruction"] ?? body["system_instruction"]
  let text = own === undefined ? "" : wholeText(own)
  for (const turn of turns.slice(0, FIRST)) {
    if (Json.isRecord(turn) && (turn["role"] === "system" || turn["role"] === "developer")) text += `${text === "" ? "" : "\n"}${wholeText(turn["content"])}`
  }
  return text.slice(0, INSTRUCTIONS)
}

const nameOf = (tool: unknown): ReadonlyArray<string> => {
  if (!Json.isRecord(tool)) return []
  const declared = tool["functionDeclarations"] ?? tool["function_declarations"]
  if (Array.isArray(declared)) return declared.slice(0, TOOLS).flatMap(nameOf)
  const named = Json.isRecord(tool["function"]) ? tool["function"]["name"] : tool["name"] ?? tool["type"]
  return typeof named === "string" ? [named.slice(0, NAME)] : []
}

const maxTokensOf = (body: Body): number | null => {
  const within = (name: string): Body => Json.isRecord(body[name]) ? body[name] : {}
  for (const most of [
    body["max_tokens"], body["max_completion_tokens"], body["max_output_tokens"], within("generationConfig")["maxOutputTokens"], within("options")["num_predict"]
  ]) if (typeof most === "number" && most > 0) return most
  return null
}

export const read = (body: Body): Said => {
  const turns = turnsOf(body)
  const tools = body["tools"]
  return {
    ...newest(turns),
    instructions: instructionsOf(body, turns),
    tools: Array.isArray(tools) ? tools.slice(0, TOOLS).flatMap(nameOf).slice(0, TOOLS) : [],
    maxTokens: maxTokensOf(body)
  }
}
