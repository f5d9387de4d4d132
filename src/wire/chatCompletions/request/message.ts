/** What an upstream's message or delta says, read leniently: vendors differ, and nothing of theirs may throw. */
import type { MediaPart, TokenLogprob } from "#schemas/wire/conversation.ts"
import { media, parseDataUri } from "./media.ts"
import * as Json from "#src/wire/json/json.ts"

type Record = Readonly<{ [key: string]: unknown }>

export const stringAt = (record: Record, key: string): string => {
  const value = record[key]
  return typeof value === "string" ? value : ""
}

export interface Said {
  readonly text: string
  readonly thinking: string
}

/** Content as a string, or as the parts that some vendors give: text, and thinking as a part of its own. */
export const contentOf = (content: unknown): Said => {
  if (typeof content === "string") return { text: content, thinking: "" }
  let text = ""
  let thinking = ""
  for (const part of Array.isArray(content) ? content : Json.isRecord(content) ? [content] : []) {
    if (!Json.isRecord(part)) continue
    if (part["type"] === "thinking") thinking += typeof part["thinking"] === "string" ? part["thinking"] : contentOf(part["thinking"]).text
    else text += stringAt(part, "text")
  }
  return { text, thinking }
}

/** Reasoning that stands at the very beginning of the content between tags. */
export const thinkOpen = "<think>"
export const thinkClose = "</think>"

/** Content that begins with `<think>` as thinking and text, line ends at the seams removed. */
export const splitThink = (content: string): Said => {
  if (!content.startsWith(thinkOpen)) return { text: content, thinking: "" }
  const end = content.indexOf(thinkClose)
  const thinking = (end === -1 ? content.slice(thinkOpen.length) : content.slice(thinkOpen.length, end)).replace(/^[\r\n]+/, "")
  return { thinking, text: end === -1 ? "" : content.slice(end + thinkClose.length).replace(/^[\r\n]+/, "") }
}

export interface SaidCall {
  readonly id: string
  readonly name: string
  readonly arguments: string
  readonly custom: boolean
  /** As the vendor numbers it, -1 when it does not. */
  readonly index: number
  readonly extra: unknown
}

/** Tool calls or pieces of them, whatever of them is there. */
export const callsOf = (message: Record): ReadonlyArray<SaidCall> => {
  const calls = message["tool_calls"]
  const out: Array<SaidCall> = []
  for (const call of Array.isArray(calls) ? calls : []) {
    if (!Json.isRecord(call)) continue
    const custom = Json.recordAt(call, "custom")
    const body = custom ?? Json.recordAt(call, "function") ?? {}
    const index = call["index"]
    out.push({
      id: stringAt(call, "id"), name: stringAt(body, "name"), arguments: argumentsOf(custom === null ? body["arguments"] : body["input"]),
      custom: custom !== null || call["type"] === "custom", index: typeof index === "number" && Number.isInteger(index) && index >= 0 ? index : -1,
      extra: call["extra_content"]
    })
  }
  const legacy = Json.recordAt(message, "function_call")
  if (legacy !== null && out.length === 0) {
    out.push({ id: "", name: stringAt(legacy, "name"), arguments: argumentsOf(legacy["arguments"]), custom: false, index: 0, extra: undefined })
  }
  return out
}

/** Arguments are JSON text; some servers give the object itself. */
const argumentsOf = (value: unknown): string =>
  typeof value === "string" ? value : value === null || value === undefined ? "" : JSON.stringify(value)

/** An id for a call that came without one. */
export const makeCallId = (answerId: string, choice: number, index: number): string =>
  `call_${answerId.replace(/[^A-Za-z0-9]/g, "").slice(-24)}_${choice}_${index}`

/** `images: [{type:"image_url", image_url:{url}}]`, an aggregator's form for generated images. */
export const imagesOf = (message: Record): ReadonlyArray<MediaPart> => {
  const images = message["images"]
  const out: Array<MediaPart> = []
  for (const image of Array.isArray(images) ? images : []) {
    const url = Json.isRecord(image) ? stringAt(Json.recordAt(image, "image_url") ?? {}, "url") : ""
    if (url === "") continue
    out.push(media("image", parseDataUri(url) ?? { kind: "url", url, mediaType: null }))
  }
  return out
}

const logprobOf = (entry: unknown): TokenLogprob["top"][number] | null => {
  if (!Json.isRecord(entry) || typeof entry["token"] !== "string" || typeof entry["logprob"] !== "number") return null
  const bytes = entry["bytes"]
  return {
    token: entry["token"], logprob: entry["logprob"],
    bytes: Array.isArray(bytes) ? bytes.filter((byte): byte is number => typeof byte === "number") : null
  }
}

/** Log probabilities of a choice, null when it has none. */
export const logprobsOf = (value: unknown): ReadonlyArray<TokenLogprob> | null => {
  if (!Json.isRecord(value)) return null
  const entries = Array.isArray(value["content"]) ? value["content"] : value["refusal"]
  if (!Array.isArray(entries)) return null
  const out: Array<TokenLogprob> = []
  for (const entry of entries) {
    const own = logprobOf(entry)
    if (own === null || !Json.isRecord(entry)) continue
    const top = entry["top_logprobs"]
    out.push({ ...own, top: Array.isArray(top) ? top.map(logprobOf).filter((one) => one !== null) : [] })
  }
  return out.length === 0 ? null : out
}

const texts: ReadonlySet<string> = new Set(["content", "reasoning_content", "reasoning", "refusal"])

/** The one member of a delta that says something, besides its role; null when there are more or none. */
export const onlyKey = (delta: Record): string | null => {
  let found: string | null = null
  for (const key in delta) {
    const value = delta[key]
    if (key === "role" || value === null || value === "" || (Array.isArray(value) && value.length === 0)) continue
    if (found !== null || !(texts.has(key) || (key === "tool_calls" && Array.isArray(value) && value.length === 1))) return null
    found = key
  }
  return found
}

/** The delta of a chunk's first choice. */
export const deltaOfFrame = (frame: unknown): Record | null => {
  const choices = Json.isRecord(frame) ? frame["choices"] : null
  const choice: unknown = Array.isArray(choices) ? choices[0] : null
  return Json.isRecord(choice) ? Json.recordAt(choice, "delta") : null
}

/** Arguments, or a custom call's input, of the first call in a chunk. */
export const argumentsOfFrame = (frame: unknown): unknown => {
  const delta = deltaOfFrame(frame)
  return delta === null ? undefined : callsOf(delta)[0]?.arguments
}
