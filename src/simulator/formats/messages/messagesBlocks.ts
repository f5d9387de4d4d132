/** Content blocks of a Messages request, read as strictly as the vendor does: shapes, media types, signatures, places. */
import * as Predicate from "effect/Predicate"
import { countTokens } from "#src/simulator/text.ts"
import { Bad } from "#src/simulator/formats/chatRequest.ts"

const TOKENS_PER_MEDIUM = 85
const IMAGE_TYPES = ["image/jpeg", "image/png", "image/gif", "image/webp"]
const ID = /^[a-zA-Z0-9_-]+$/
const NAME = /^[a-zA-Z0-9_-]{1,128}$/
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/
/** First byte of the vendor's signatures, and of the simulator's. */
const SIGNATURE_BYTE = 0x12

/** Fields of each block beside `type`. Blocks of the vendor's own tools are only recognised by their type. */
const FIELDS: { readonly [type: string]: ReadonlyArray<string> } = {
  text: ["text", "citations", "cache_control"],
  image: ["source", "cache_control"],
  document: ["source", "title", "context", "citations", "cache_control"],
  search_result: ["source", "title", "content", "citations", "cache_control"],
  thinking: ["thinking", "signature"],
  redacted_thinking: ["data"],
  tool_use: ["id", "name", "input", "cache_control", "caller"],
  tool_result: ["tool_use_id", "content", "is_error", "cache_control"]
}
const VENDOR_BLOCKS = [
  "server_tool_use", "web_search_tool_result", "web_fetch_tool_result", "code_execution_tool_result", "bash_code_execution_tool_result",
  "text_editor_code_execution_tool_result", "tool_search_tool_result", "container_upload", "mcp_tool_use", "mcp_tool_result"
]
const ASSISTANT_BLOCKS = ["text", "thinking", "redacted_thinking", "tool_use", ...VENDOR_BLOCKS]
const USER_BLOCKS = ["text", "image", "document", "search_result", "tool_result", "container_upload"]
const RESULT_BLOCKS = ["text", "image", "document", "search_result", "tool_reference"]
const PLACES = { user: USER_BLOCKS, assistant: ASSISTANT_BLOCKS, result: RESULT_BLOCKS, system: ["text"], nested: ["text", "image"] } as const

export interface CitedDocument {
  readonly index: number
  readonly title: string | null
  readonly text: string
}

export interface Blocks {
  readonly text: string
  readonly tokens: number
  readonly toolUses: ReadonlyArray<string>
  readonly toolResults: ReadonlyArray<{ readonly id: string; readonly text: string }>
  /** Types in their order. */
  readonly types: ReadonlyArray<string>
}

/** What is counted over the whole request. */
export interface Tally {
  breakpoints: number
  documents: number
  cited: CitedDocument | null
}

export const bad = (message: string): Bad => new Bad(message, null)

export const extraFields = (value: object, allowed: ReadonlyArray<string>, at: string): void => {
  const extra = Object.keys(value).find((key) => !allowed.includes(key))
  if (extra !== undefined) throw bad(`${at === "" ? "" : `${at}.`}${extra}: Extra inputs are not permitted`)
}

export const cacheControl = (control: unknown, at: string, tally: Tally): void => {
  if (control === undefined || control === null) return
  if (!Predicate.isObject(control)) throw bad(`${at}.cache_control: Input should be an object`)
  if (control["type"] !== "ephemeral") throw bad(`${at}.cache_control: Input tag '${String(control["type"])}' found using 'type' does not match any of the expected tags: 'ephemeral'`)
  if (control["ttl"] !== undefined && control["ttl"] !== "5m" && control["ttl"] !== "1h") throw bad(`${at}.cache_control.ephemeral.ttl: Input should be '5m' or '1h'`)
  extraFields(control, ["type", "ttl"], `${at}.cache_control.ephemeral`)
  if (++tally.breakpoints > 4) throw bad(`A maximum of 4 blocks with cache_control may be provided. Found ${tally.breakpoints}.`)
}

const text = (value: unknown, at: string): string => {
  if (value === undefined) throw bad(`${at}: Field required`)
  if (!Predicate.isString(value)) throw bad(`${at}: Input should be a valid string`)
  return value
}

const base64 = (source: { readonly [key: string]: unknown }, at: string, types: ReadonlyArray<string>): void => {
  const type = text(source["media_type"], `${at}.media_type`)
  if (!types.includes(type)) throw bad(`${at}.media_type: Input should be ${types.map((one) => `'${one}'`).join(", ")}`)
  if (!BASE64.test(text(source["data"], `${at}.data`))) throw bad(`${at}.data: Invalid base64 data`)
  extraFields(source, ["type", "media_type", "data"], at)
}

/** Answers the text that a document's source holds, "" when it is no text. */
const readSource = (block: { readonly [key: string]: unknown }, at: string, tally: Tally): string => {
  const source = block["source"]
  const isImage = block["type"] === "image"
  if (!Predicate.isObject(source)) throw bad(`${at}.source: Field required`)
  const type = source["type"]
  const inside = `${at}.source.${String(type)}`
  if (type === "base64") base64(source, inside, isImage ? IMAGE_TYPES : ["application/pdf"])
  else if (type === "url") {
    if (!/^https?:\/\//.test(text(source["url"], `${inside}.url`))) throw bad(`${inside}.url: Only HTTPS URLs are supported.`)
    extraFields(source, ["type", "url"], inside)
  } else if (type === "file") {
    text(source["file_id"], `${inside}.file_id`)
    extraFields(source, ["type", "file_id"], inside)
  } else if (type === "text" && !isImage) {
    if (source["media_type"] !== "text/plain") throw bad(`${inside}.media_type: Input should be 'text/plain'`)
    extraFields(source, ["type", "media_type", "data"], inside)
    return text(source["data"], `${inside}.data`)
  } else if (type === "content" && !isImage) return readBlocks(source["content"], `${inside}.content`, "nested", tally).text
  else throw bad(`${at}.source: Input tag '${String(type)}' found using 'type' does not match any of the expected tags: 'base64', 'url', 'file'${isImage ? "" : ", 'text', 'content'"}`)
  return ""
}

const readDocument = (block: { readonly [key: string]: unknown }, at: string, tally: Tally): string => {
  const content = readSource(block, at, tally)
  const index = tally.documents++
  const title = block["title"] ?? null
  if (title !== null && !Predicate.isString(title)) throw bad(`${at}.title: Input should be a valid string`)
  if (block["context"] !== undefined && block["context"] !== null) text(block["context"], `${at}.context`)
  const citations = block["citations"]
  if (citations !== undefined && citations !== null) {
    if (!Predicate.isObject(citations) || !Predicate.isBoolean(citations["enabled"] ?? false)) throw bad(`${at}.citations.enabled: Input should be a valid boolean`)
    if (citations["enabled"] === true && content !== "") tally.cited ??= { index, title, text: content }
  }
  return content
}

const readSignature = (value: unknown, at: string, what: string): void => {
  const first = Buffer.from(text(value, at), "base64")[0]
  if (first !== SIGNATURE_BYTE) throw bad(`${at.replace(/\.[a-z_]+\.[a-z_]+$/, "")}: Invalid \`${what.split(" ")[0]}\` in \`${what.split(" ")[1]}\` block`)
}

/** A signature that this reader takes back. */
export const signatureOf = (id: string): string => Buffer.concat([Buffer.from([SIGNATURE_BYTE]), Buffer.from(`signed:${id}`)]).toString("base64")

export const readBlocks = (content: unknown, at: string, place: keyof typeof PLACES, tally: Tally): Blocks => {
  if (Predicate.isString(content)) {
    return { text: content, tokens: countTokens(content), toolUses: [], toolResults: [], types: content === "" ? [] : ["text"] }
  }
  if (!Array.isArray(content)) throw bad(`${at}: Input should be a valid string or list`)
  const found = { text: "", tokens: 0, toolUses: [] as Array<string>, toolResults: [] as Array<{ readonly id: string; readonly text: string }>, types: [] as Array<string> }
  content.forEach((block: unknown, i) => {
    const where = `${at}.${i}`
    if (!Predicate.isObject(block)) throw bad(`${where}: Input should be an object`)
    const type = block["type"]
    const all = PLACES[place]
    if (!Predicate.isString(type) || !all.some((one) => one === type)) {
      throw bad(`${where}: Input tag '${String(type)}' found using 'type' does not match any of the expected tags: ${all.map((one) => `'${one}'`).join(", ")}`)
    }
    const inside = `${where}.${type}`
    const fields = FIELDS[type]
    if (fields !== undefined) extraFields(block, ["type", ...fields], inside)
    cacheControl(block["cache_control"], inside, tally)
    readBlock(block as { readonly [key: string]: unknown }, type, inside, found, tally)
    found.types.push(type)
  })
  return found
}

const readBlock = (
  block: { readonly [key: string]: unknown },
  type: string,
  at: string,
  found: { text: string; tokens: number; toolUses: Array<string>; toolResults: Array<{ readonly id: string; readonly text: string }> },
  tally: Tally
): void => {
  switch (type) {
    case "text": {
      const words = text(block["text"], `${at}.text`)
      if (words === "") throw bad(`${at.replace(/\.\d+\.text$/, "")}: text content blocks must be non-empty`)
      if (words.trim() === "") throw bad(`${at.replace(/\.\d+\.text$/, "")}: text content blocks must contain non-whitespace text`)
      readCitations(block["citations"], `${at}.citations`)
      found.text += words
      found.tokens += countTokens(words)
      return
    }
    case "image":
      readSource(block, at, tally)
      found.tokens += TOKENS_PER_MEDIUM
      return
    case "document":
      found.tokens += countTokens(readDocument(block, at, tally)) + TOKENS_PER_MEDIUM
      return
    case "search_result":
      text(block["source"], `${at}.source`)
      text(block["title"], `${at}.title`)
      found.tokens += readBlocks(block["content"], `${at}.content`, "system", tally).tokens
      return
    case "thinking":
      text(block["thinking"], `${at}.thinking`)
      readSignature(block["signature"], `${at}.signature`, "signature thinking")
      return
    case "redacted_thinking":
      readSignature(block["data"], `${at}.data`, "data redacted_thinking")
      return
    case "tool_use": {
      const id = text(block["id"], `${at}.id`)
      if (!ID.test(id)) throw bad(`${at}.id: String should match pattern '^[a-zA-Z0-9_-]+$'`)
      if (!NAME.test(text(block["name"], `${at}.name`))) throw bad(`${at}.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'`)
      if (block["input"] === undefined) throw bad(`${at}.input: Field required`)
      if (!Predicate.isObject(block["input"]) || Array.isArray(block["input"])) throw bad(`${at}.input: Input should be a valid dictionary`)
      if (found.toolUses.includes(id)) throw bad(`${at.replace(/\.content\..*$/, "")}: \`tool_use\` ids must be unique`)
      found.toolUses.push(id)
      found.tokens += countTokens(JSON.stringify(block["input"])) + 1
      return
    }
    case "tool_result": {
      const id = text(block["tool_use_id"], `${at}.tool_use_id`)
      if (!ID.test(id)) throw bad(`${at}.tool_use_id: String should match pattern '^[a-zA-Z0-9_-]+$'`)
      if (block["is_error"] !== undefined && !Predicate.isBoolean(block["is_error"])) throw bad(`${at}.is_error: Input should be a valid boolean`)
      const inner = block["content"] === undefined ? { text: "", tokens: 0 } : readBlocks(block["content"], `${at}.content`, "result", tally)
      found.toolResults.push({ id, text: inner.text })
      found.tokens += inner.tokens
      return
    }
    default:
      found.tokens += countTokens(JSON.stringify(block))
  }
}

const LOCATIONS: { readonly [type: string]: ReadonlyArray<string> } = {
  char_location: ["cited_text", "document_index", "start_char_index", "end_char_index"],
  page_location: ["cited_text", "document_index", "start_page_number", "end_page_number"],
  content_block_location: ["cited_text", "document_index", "start_block_index", "end_block_index"],
  web_search_result_location: ["cited_text", "encrypted_index", "url"],
  search_result_location: ["cited_text", "search_result_index", "source", "start_block_index", "end_block_index"]
}

const readCitations = (citations: unknown, at: string): void => {
  if (citations === undefined || citations === null) return
  if (!Array.isArray(citations)) throw bad(`${at}: Input should be a valid list`)
  citations.forEach((citation: unknown, i) => {
    if (!Predicate.isObject(citation)) throw bad(`${at}.${i}: Input should be an object`)
    const required = LOCATIONS[String(citation["type"])]
    if (required === undefined) throw bad(`${at}.${i}: Input tag '${String(citation["type"])}' found using 'type' does not match any of the expected tags: ${Object.keys(LOCATIONS).map((one) => `'${one}'`).join(", ")}`)
    const missing = required.find((key) => citation[key] === undefined)
    if (missing !== undefined) throw bad(`${at}.${i}.${String(citation["type"])}.${missing}: Field required`)
    if (citation["encrypted_index"] === "") throw bad(`${at}.${i}.web_search_result_location.encrypted_index: Invalid encrypted content`)
  })
}
