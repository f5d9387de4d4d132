/**
 * Reads the `input` of a responses request as strictly as the vendor does: item types, parts by role, ids by their prefix, calls
 * and outputs in pairs, reasoning items with what follows them.
 */
import * as Predicate from "effect/Predicate"
import { countTokens } from "#src/simulator/text.ts"
import { Bad, invalidType } from "#src/simulator/formats/chatRequest.ts"

const ROLES = ["user", "assistant", "system", "developer"]
const DETAILS = ["low", "high", "auto", "original"]
const AUDIO_FORMATS = ["mp3", "wav"]
const HOSTED_ITEMS = [
  "item_reference", "file_search_call", "computer_call", "computer_call_output", "web_search_call", "image_generation_call", "code_interpreter_call", "local_shell_call",
  "local_shell_call_output", "shell_call", "shell_call_output", "apply_patch_call", "apply_patch_call_output", "mcp_list_tools", "mcp_approval_request", "mcp_approval_response",
  "mcp_call", "compaction", "tool_search_call", "tool_search_output"
]
const PREFIXES: Readonly<Record<string, string>> = { message: "msg", function_call: "fc", custom_tool_call: "ctc", reasoning: "rs" }
const TOKENS_PER_ITEM = 4
const TOKENS_PER_MEDIUM = 85
export const MAX_ID = 64

export const missing = (param: string): Bad => new Bad(`Missing required parameter: '${param}'.`, param, "missing_required_parameter")

export const invalidValue = (param: string, value: unknown, supported: ReadonlyArray<string>): Bad =>
  new Bad(`Invalid value: '${String(value)}'. Supported values are: ${supported.map((one) => `'${one}'`).join(", ")}.`, param, "invalid_value")

export const textAt = (value: unknown, param: string): string => {
  if (value === undefined || value === null) throw missing(param)
  if (!Predicate.isString(value)) throw invalidType(param, "a string", value)
  return value
}

type Object = { readonly [key: string]: unknown }

export interface Input {
  readonly lastUserText: string
  readonly toolResult: string | null
  readonly tokens: number
  /** The whole prompt's text, for the rule of JSON mode. */
  readonly text: string
}

/** `continued`: calls may stand in an earlier response. `stored`: items without their content can be found. */
export const readInput = (input: unknown, continued: boolean, stored: boolean): Input => {
  if (input === undefined || input === null) {
    if (continued) return { lastUserText: "", toolResult: null, tokens: 0, text: "" }
    throw missing("input")
  }
  if (Predicate.isString(input)) return { lastUserText: input, toolResult: null, tokens: countTokens(input) + TOKENS_PER_ITEM, text: input }
  if (!Array.isArray(input)) throw invalidType("input", "one of a string or array of objects", input)
  if (input.length === 0 && !continued) throw new Bad("Invalid 'input': empty array. Expected an array with minimum length 1, but got an empty array instead.", "input", "empty_array")
  const reader = new Reader(continued, stored)
  input.forEach((item: unknown, i) => reader.item(item, `input[${i}]`, input[i + 1]))
  return reader.end()
}

class Reader {
  private lastUserText = ""
  private toolResult: string | null = null
  private tokens = 0
  private text = ""
  /** Calls that still want their output, with the type of it. */
  private readonly open = new Map<string, string>()
  private readonly ids = new Set<string>()
  private readonly continued: boolean
  private readonly stored: boolean

  constructor(continued: boolean, stored: boolean) {
    this.continued = continued
    this.stored = stored
  }

  item(item: unknown, at: string, next: unknown): void {
    if (!Predicate.isObject(item)) throw invalidType(at, "an object", item)
    const type = item["type"] ?? "message"
    this.tokens += TOKENS_PER_ITEM
    if (!Predicate.isString(type)) throw invalidType(`${at}.type`, "a string", type)
    this.id(item, type, at)
    switch (type) {
      case "message": return this.message(item, at)
      case "function_call": return this.call(item, "function_call_output", "arguments", at)
      case "custom_tool_call": return this.call(item, "custom_tool_call_output", "input", at)
      case "function_call_output":
      case "custom_tool_call_output": return this.output(item, type, at)
      case "reasoning": return this.reasoning(item, at, next)
      default:
        if (!HOSTED_ITEMS.includes(type)) throw invalidValue(`${at}.type`, type, ["message", "reasoning", "function_call", "function_call_output", ...HOSTED_ITEMS])
    }
  }

  end(): Input {
    const [open] = this.open.keys()
    if (open !== undefined) throw new Bad(`No tool output found for function call ${open}.`, "input")
    const { lastUserText, text, tokens, toolResult } = this
    return { lastUserText, toolResult, tokens, text }
  }

  private id(item: Object, type: string, at: string): void {
    const { id } = item
    if (id === undefined || id === null) return
    if (!Predicate.isString(id)) throw invalidType(`${at}.id`, "a string", id)
    const prefix = PREFIXES[type]
    if (prefix !== undefined && !id.startsWith(prefix)) throw new Bad(`Invalid '${at}.id': '${id}'. Expected an ID that begins with '${prefix}'.`, `${at}.id`, "invalid_value")
    if (id.length > MAX_ID) throw tooLong(`${at}.id`, id)
    if (type !== "item_reference" && this.ids.has(id)) throw new Bad(`Duplicate item found with id ${id}. Remove duplicate items from your input and try again.`, "input")
    this.ids.add(id)
  }

  private message(item: Object, at: string): void {
    const { content, role } = item
    if (!Predicate.isString(role) || !ROLES.includes(role)) throw invalidValue(`${at}.role`, role, ROLES)
    if (content === undefined) throw missing(`${at}.content`)
    const read = this.content(content, `${at}.content`, role)
    this.toolResult = null
    if (role === "user") this.lastUserText = read
  }

  private call(item: Object, answeredBy: string, field: string, at: string): void {
    const id = textAt(item["call_id"], `${at}.call_id`)
    if (id === "") throw new Bad(`Invalid '${at}.call_id': empty string. Expected a string with minimum length 1, but got an empty string instead.`, `${at}.call_id`, "empty_string")
    if (id.length > MAX_ID) throw tooLong(`${at}.call_id`, id)
    const name = textAt(item["name"], `${at}.name`)
    if (!/^[a-zA-Z0-9_-]+$/.test(name)) {
      throw new Bad(`Invalid '${at}.name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.`, `${at}.name`, "invalid_value")
    }
    this.open.set(id, answeredBy)
    this.toolResult = null
    this.tokens += countTokens(name) + countTokens(textAt(item[field], `${at}.${field}`))
  }

  private output(item: Object, type: string, at: string): void {
    const id = textAt(item["call_id"], `${at}.call_id`)
    const expected = this.open.get(id)
    if (expected === undefined ? !this.continued : expected !== type) throw new Bad(`No tool call found for function call output with call_id ${id}.`, "input")
    if (item["output"] === undefined || item["output"] === null) throw missing(`${at}.output`)
    const text = this.content(item["output"], `${at}.output`, "user")
    this.toolResult = this.toolResult === null ? text : `${this.toolResult}\n${text}`
    this.open.delete(id)
  }

  private reasoning(item: Object, at: string, next: unknown): void {
    const id = textAt(item["id"], `${at}.id`)
    const { content, encrypted_content: encrypted, summary } = item
    if (summary === undefined) throw missing(`${at}.summary`)
    if (!Array.isArray(summary)) throw invalidType(`${at}.summary`, "an array of objects", summary)
    summary.forEach((part: unknown, i) => {
      if (!Predicate.isObject(part)) throw invalidType(`${at}.summary[${i}]`, "an object", part)
      if (part["type"] !== "summary_text") throw invalidValue(`${at}.summary[${i}].type`, part["type"], ["summary_text"])
      textAt(part["text"], `${at}.summary[${i}].text`)
    })
    if (Array.isArray(content) && content.length > 0) {
      throw new Bad(`Invalid '${at}.content': array too long. Expected an array with maximum length 0, but got an array with length ${content.length} instead.`, `${at}.content`, "array_above_max_length")
    }
    if (encrypted === undefined || encrypted === null) {
      if (!this.stored) throw new Bad(`Item with id '${id}' not found. Items are not persisted when \`store\` is set to false.`, "input", null, 404)
    } else if (!Predicate.isString(encrypted) || !/^gAAAA[A-Za-z0-9_=-]*$/.test(encrypted)) {
      throw new Bad(`The encrypted content for item ${id} could not be verified. Reason: Encrypted content could not be decrypted or parsed.`, null, "invalid_encrypted_content")
    }
    const follows = Predicate.isObject(next) ? next["type"] ?? "message" : null
    if (follows === null || (follows === "message" && (next as Object)["role"] !== "assistant") || String(follows).endsWith("_output")) {
      throw new Bad(`Item '${id}' of type 'reasoning' was provided without its required following item.`, "input")
    }
  }

  /** Text of a message's content or of a tool's output; media count by their number. */
  private content(content: unknown, param: string, role: string): string {
    if (Predicate.isString(content)) return this.say(content)
    if (!Array.isArray(content)) throw invalidType(param, "one of a string or array of objects", content)
    const allowed = role === "assistant" ? ["output_text", "refusal"] : ["input_text", "input_image", "input_file", "input_audio"]
    let text = ""
    content.forEach((part: unknown, i) => {
      const at = `${param}[${i}]`
      if (!Predicate.isObject(part)) throw invalidType(at, "an object", part)
      const { type } = part
      if (type === undefined) throw missing(`${at}.type`)
      if (!Predicate.isString(type) || !allowed.includes(type)) throw invalidValue(`${at}.type`, type, allowed)
      if (type === "refusal") text += this.say(textAt(part["refusal"], `${at}.refusal`))
      else if (type === "input_text" || type === "output_text") text += this.say(textAt(part["text"], `${at}.text`))
      else {
        this.tokens += TOKENS_PER_MEDIUM
        if (type === "input_image") image(part, at)
        else if (type === "input_file") file(part, at)
        else audio(part, at)
      }
    })
    return text
  }

  private say(text: string): string {
    this.tokens += countTokens(text)
    this.text += `${text}\n`
    return text
  }
}

export const tooLong = (param: string, value: string): Bad =>
  new Bad(`Invalid '${param}': string too long. Expected a string with maximum length ${MAX_ID}, but got a string with length ${value.length} instead.`, param, "string_above_max_length")

const image = (part: Object, at: string): void => {
  const { detail, file_id: file, image_url: url } = part
  if (detail !== undefined && detail !== null && !DETAILS.includes(String(detail))) throw invalidValue(`${at}.detail`, detail, DETAILS)
  if (Predicate.isString(file)) return
  const address = textAt(url, `${at}.image_url`)
  if (/^https?:\/\/./.test(address) || /^data:image\/(?:png|jpeg|jpg|gif|webp);base64,[A-Za-z0-9+/=]+$/.test(address)) return
  throw new Bad(`Invalid '${at}.image_url'. Expected a valid URL, but got a value with an invalid format.`, `${at}.image_url`, "invalid_value")
}

const file = (part: Object, at: string): void => {
  const given = ["file_id", "file_url", "file_data"].filter((field) => part[field] !== undefined && part[field] !== null)
  if (given.length !== 1) throw new Bad("Invalid value: 'input_file' must have exactly one of 'file_id', 'file_url' and 'file_data'.", at, "invalid_value")
  const value = textAt(part[given[0]!], `${at}.${given[0]!}`)
  if (given[0] !== "file_data") return
  textAt(part["filename"], `${at}.filename`)
  if (!/^(?:data:[\w.+-]+\/[\w.+-]+;base64,)?[A-Za-z0-9+/=]+$/.test(value)) {
    throw new Bad(`Invalid '${at}.file_data'. Expected a base64-encoded data URL with a MIME type.`, `${at}.file_data`, "invalid_value")
  }
}

const audio = (part: Object, at: string): void => {
  const given = part["input_audio"]
  if (!Predicate.isObject(given)) throw missing(`${at}.input_audio`)
  textAt(given["data"], `${at}.input_audio.data`)
  if (!AUDIO_FORMATS.includes(String(given["format"]))) throw invalidValue(`${at}.input_audio.format`, given["format"], AUDIO_FORMATS)
}
