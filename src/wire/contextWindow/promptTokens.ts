/**
 * The tokens that a request's prompt has at least: those of the text that its model certainly reads. Nothing is counted of media, tools,
 * calls of tools, thoughts and opaque parts, because vendors leave them out or count them by rules of their own.
 */
import type { FormatName } from "#schemas/wire/conversation.ts"
import { leastTokens } from "#src/wire/contextWindow/leastTokens.ts"
import * as Json from "#src/wire/json/json.ts"

type Body = Readonly<Record<string, unknown>>

/** Where a format keeps what its model reads. */
const places: Readonly<Record<FormatName, ReadonlyArray<string>>> = {
  "chat-completions": ["messages"],
  "messages": ["system", "messages"],
  "responses": ["instructions", "input"],
  "generateContent": ["systemInstruction", "system_instruction", "contents"],
  "completions": ["prompt"],
  "local-model-server": ["system", "messages", "prompt"]
}

/** Members by which a client lets its vendor shorten the prompt, as the vendors call them. */
const shortening = [
  "truncation", "context_management", "transforms", "plugins", "truncate_prompt_tokens", "prompt_truncation", "prompt_truncate_len",
  "context_length_exceeded_behavior"
]

const isOff = (value: unknown): boolean =>
  value === undefined || value === null || value === "disabled" || value === "error" || (Array.isArray(value) && value.length === 0)

/** Parts whose `text`, `content`, `parts` or `output` is read as it stands. */
const spoken: ReadonlySet<unknown> = new Set([
  undefined, "message", "text", "input_text", "output_text", "tool_result", "function_call_output", "custom_tool_call_output"
])

/** Thoughts in an answer's text, up to this mark, are left out by the prompt templates of open models. */
const thoughtsEnd = "</think>"

/** What stands before such a part is not read again. */
const isSummary = (type: unknown): boolean => typeof type === "string" && type.startsWith("compaction")

/** 0 where the prompt may be shortened on its way. */
export const leastPromptTokens = (format: FormatName, body: Body): number => {
  if (!shortening.every((name) => isOff(body[name]))) return 0
  let tokens = 0
  let isShortened = false
  const add = (text: string): void => {
    const end = text.lastIndexOf(thoughtsEnd)
    tokens += leastTokens(end === -1 ? text : text.slice(end + thoughtsEnd.length))
  }
  const read = (value: unknown): void => {
    if (typeof value === "string") add(value)
    else if (Array.isArray(value)) for (const item of value) read(item)
    else if (Json.isRecord(value)) readPart(value)
  }
  const readPart = (part: Body): void => {
    const { content, functionResponse, output, parts, text, thought, type } = part
    if (isSummary(type)) isShortened = true
    if (!spoken.has(type) || thought === true) return
    if (typeof text === "string") add(text)
    read(content)
    read(parts)
    read(output)
    if (Json.isRecord(functionResponse)) readLeaves(functionResponse["response"])
  }
  const readLeaves = (value: unknown): void => {
    if (typeof value === "string") add(value)
    else if (Array.isArray(value)) for (const item of value) readLeaves(item)
    else if (Json.isRecord(value)) for (const name of Object.keys(value)) readLeaves(value[name])
  }
  for (const place of places[format]) {
    // Several bare prompts are several requests.
    if (place === "prompt" && Array.isArray(body[place]) && body[place].length !== 1) continue
    read(body[place])
  }
  return isShortened ? 0 : Math.floor(tokens)
}
