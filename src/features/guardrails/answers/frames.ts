/** Where the model's own text stands in the events of a stream, by format: in pieces, or whole once more. Thoughts and tool calls are none of it. Pure. */
import type { FormatName } from "#schemas/wire/conversation.ts"
import * as Json from "#src/wire/json/json.ts"

type Record_ = Readonly<Record<string, unknown>>
export type Path = ReadonlyArray<string | number>

/** A text in an event. */
export interface Place {
  /** Which text of the answer it is a piece of. */
  readonly slot: string
  readonly path: Path
  readonly text: string
}

export interface Frame {
  readonly pieces: ReadonlyArray<Place>
  /** Texts that were sent in pieces before. */
  readonly wholes: ReadonlyArray<Omit<Place, "slot">>
  /** Members that say the text's tokens, and what they become. */
  readonly tokens: ReadonlyArray<{ readonly path: Path; readonly to: unknown }>
  /** Texts of which no piece follows this event; null = all. */
  readonly ends: ReadonlyArray<string> | null
}

const noFrame: Frame = { pieces: [], wholes: [], tokens: [], ends: [] }
const last: Frame = { ...noFrame, ends: null }

export const read = (format: FormatName, event: Record_): Frame => {
  if (event["error"] !== undefined && event["error"] !== null && event["type"] === undefined) return last
  switch (format) {
    case "chat-completions":
    case "completions":
      return ofChoices(event)
    case "messages":
      return ofMessages(event)
    case "responses":
      return ofResponses(event)
    case "generateContent":
      return ofCandidates(event)
    case "local-model-server":
      return ofLocal(event)
  }
}

/** An event that says this piece, in the words of the last event in which the text had one. */
export const carrying = (format: FormatName, like: Record_, slot: string, text: string): Record_ => {
  switch (format) {
    case "chat-completions": {
      const { choices: _choices, usage: _usage, ...rest } = like
      return { ...rest, choices: [{ index: Number(slot.replace("refusal ", "")), delta: { [slot.startsWith("refusal ") ? "refusal" : "content"]: text }, finish_reason: null }] }
    }
    case "completions": {
      const { choices: _choices, usage: _usage, ...rest } = like
      return { ...rest, choices: [{ index: Number(slot), text, logprobs: null, finish_reason: null }] }
    }
    case "messages":
      return { type: "content_block_delta", index: Number(slot), delta: { type: "text_delta", text } }
    case "responses":
      return { ...like, delta: text, ...(like["logprobs"] === undefined ? {} : { logprobs: [] }) }
    case "generateContent": {
      const { candidates: _candidates, usageMetadata: _usage, ...rest } = like
      return { ...rest, candidates: [{ index: Number(slot), content: { parts: [{ text }], role: "model" } }] }
    }
    case "local-model-server": {
      const { created_at, model } = like
      return { model, created_at, ...(typeof like["response"] === "string" ? { response: text } : { message: { role: "assistant", content: text } }), done: false }
    }
  }
}

const listAt = (record: Record_, name: string): ReadonlyArray<unknown> => Array.isArray(record[name]) ? record[name] as ReadonlyArray<unknown> : []

interface Building {
  readonly pieces: Array<Place>
  readonly tokens: Array<{ path: Path; to: unknown }>
  readonly ends: Array<string>
}
const building = (): Building => ({ pieces: [], tokens: [], ends: [] })
const built = (parts: Building): Frame => ({ ...parts, wholes: [] })

const isSet = (value: unknown): boolean => value !== undefined && value !== null && !(Array.isArray(value) && value.length === 0)

const ofChoices = (event: Record_): Frame => {
  const frame = building()
  for (const [i, choice] of listAt(event, "choices").entries()) {
    if (!Json.isRecord(choice)) continue
    const index = String(typeof choice["index"] === "number" ? choice["index"] : i)
    const delta = Json.isRecord(choice["delta"]) ? choice["delta"] : {}
    const piece = (slot: string, value: unknown, ...path: Path) => {
      if (typeof value === "string") frame.pieces.push({ slot, path: ["choices", i, ...path], text: value })
    }
    piece(index, choice["text"], "text")
    piece(index, delta["content"], "delta", "content")
    piece(`refusal ${index}`, delta["refusal"], "delta", "refusal")
    if (isSet(choice["logprobs"])) frame.tokens.push({ path: ["choices", i, "logprobs"], to: null })
    if (isSet(choice["finish_reason"]) || isSet(delta["tool_calls"]) || isSet(delta["function_call"])) frame.ends.push(index, `refusal ${index}`)
  }
  return built(frame)
}

const ofMessages = (event: Record_): Frame => {
  const slot = String(event["index"])
  switch (event["type"]) {
    case "content_block_start":
      return blockPiece(event, slot, "content_block", "text")
    case "content_block_delta":
      return blockPiece(event, slot, "delta", "text_delta")
    case "content_block_stop":
      return { ...noFrame, ends: [slot] }
    case "message_delta":
    case "message_stop":
    case "error":
      return last
    default:
      return noFrame
  }
}

const blockPiece = (event: Record_, slot: string, name: string, type: string): Frame => {
  const block = event[name]
  return Json.isRecord(block) && block["type"] === type && typeof block["text"] === "string" ? { ...noFrame, pieces: [{ slot, path: [name, "text"], text: block["text"] }] } : noFrame
}

const ofResponses = (event: Record_): Frame => {
  const { type } = event
  const slot = JSON.stringify([String(type).startsWith("response.refusal"), event["item_id"], event["output_index"], event["content_index"]])
  switch (type) {
    case "response.output_text.delta":
    case "response.refusal.delta":
      return typeof event["delta"] !== "string" ? noFrame
        : { ...noFrame, pieces: [{ slot, path: ["delta"], text: event["delta"] }], tokens: isSet(event["logprobs"]) ? [{ path: ["logprobs"], to: [] }] : [] }
    case "response.output_text.done":
      return { ...noFrame, ends: [slot], wholes: text(event, "text"), tokens: isSet(event["logprobs"]) ? [{ path: ["logprobs"], to: [] }] : [] }
    case "response.refusal.done":
      return { ...noFrame, ends: [slot], wholes: text(event, "refusal") }
    case "response.content_part.done":
      return { ...noFrame, ...ofContent([event["part"]], () => ["part"]) }
    case "response.output_item.done":
      return { ...noFrame, ...ofItems([event["item"]], () => ["item"]) }
    case "response.completed":
    case "response.incomplete":
    case "response.failed":
      return { ...last, ...Json.isRecord(event["response"]) ? ofItems(listAt(event["response"], "output"), (i) => ["response", "output", i]) : {} }
    case "error":
      return last
    default:
      return noFrame
  }
}

type Whole = Pick<Frame, "wholes" | "tokens">

const text = (record: Record_, name: string, ...path: Path): Frame["wholes"] =>
  typeof record[name] === "string" ? [{ path: [...path, name], text: record[name] }] : []

const ofItems = (items: ReadonlyArray<unknown>, pathOf: (i: number) => Path): Whole => {
  const wholes = items.map((item, i) => Json.isRecord(item) && item["type"] === "message" ? ofContent(listAt(item, "content"), (k) => [...pathOf(i), "content", k]) : noFrame)
  return { wholes: wholes.flatMap((one) => one.wholes), tokens: wholes.flatMap((one) => one.tokens) }
}

const ofContent = (parts: ReadonlyArray<unknown>, pathOf: (i: number) => Path): Whole => ({
  wholes: parts.flatMap((part, i) => !Json.isRecord(part) ? [] : part["type"] === "output_text" ? text(part, "text", ...pathOf(i)) : part["type"] === "refusal" ? text(part, "refusal", ...pathOf(i)) : []),
  tokens: parts.flatMap((part, i) => Json.isRecord(part) && isSet(part["logprobs"]) ? [{ path: [...pathOf(i), "logprobs"], to: [] }] : [])
})

const ofCandidates = (event: Record_): Frame => {
  const frame = building()
  for (const [i, candidate] of listAt(event, "candidates").entries()) {
    if (!Json.isRecord(candidate)) continue
    const slot = String(typeof candidate["index"] === "number" ? candidate["index"] : i)
    const content = candidate["content"]
    const parts = Json.isRecord(content) ? listAt(content, "parts") : []
    for (const [k, part] of parts.entries()) {
      if (!Json.isRecord(part)) continue
      if (typeof part["text"] === "string" && part["thought"] !== true) frame.pieces.push({ slot, path: ["candidates", i, "content", "parts", k, "text"], text: part["text"] })
      else if (isSet(part["functionCall"])) frame.ends.push(slot)
    }
    if (isSet(candidate["logprobsResult"])) frame.tokens.push({ path: ["candidates", i, "logprobsResult"], to: null })
    if (isSet(candidate["finishReason"])) frame.ends.push(slot)
  }
  return built(frame)
}

const ofLocal = (event: Record_): Frame => {
  const frame = building()
  const { message } = event
  if (Json.isRecord(message) && typeof message["content"] === "string") frame.pieces.push({ slot: "0", path: ["message", "content"], text: message["content"] })
  if (typeof event["response"] === "string") frame.pieces.push({ slot: "0", path: ["response"], text: event["response"] })
  if (isSet(event["logprobs"])) frame.tokens.push({ path: ["logprobs"], to: [] })
  if (event["done"] === true || (Json.isRecord(message) && isSet(message["tool_calls"]))) frame.ends.push("0")
  return built(frame)
}

/** The same of an answer that is no stream: all of its texts are whole. */
export const ofAnswer = (format: FormatName, answer: Record_): Whole => {
  switch (format) {
    case "chat-completions":
    case "completions":
      return ofMessageChoices(answer)
    case "messages":
      return { wholes: listAt(answer, "content").flatMap((block, i) => Json.isRecord(block) && block["type"] === "text" ? text(block, "text", "content", i) : []), tokens: [] }
    case "responses":
      return ofItems(listAt(answer, "output"), (i) => ["output", i])
    case "generateContent":
      return wholly(ofCandidates(answer))
    case "local-model-server":
      return wholly(ofLocal(answer))
  }
}

const wholly = ({ pieces, tokens }: Frame): Whole => ({ wholes: pieces, tokens })

const ofMessageChoices = (answer: Record_): Whole => {
  const wholes: Array<Omit<Place, "slot">> = []
  const tokens: Array<{ path: Path; to: unknown }> = []
  for (const [i, choice] of listAt(answer, "choices").entries()) {
    if (!Json.isRecord(choice)) continue
    wholes.push(...text(choice, "text", "choices", i))
    const message = choice["message"]
    if (Json.isRecord(message)) {
      wholes.push(...text(message, "content", "choices", i, "message"), ...text(message, "refusal", "choices", i, "message"))
      for (const [k, part] of listAt(message, "content").entries()) if (Json.isRecord(part)) wholes.push(...text(part, "text", "choices", i, "message", "content", k))
    }
    if (isSet(choice["logprobs"])) tokens.push({ path: ["choices", i, "logprobs"], to: null })
  }
  return { wholes, tokens }
}
