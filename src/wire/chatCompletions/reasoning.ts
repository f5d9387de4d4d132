/**
 * Reasoning in the chat dialects: `reasoning_content` or `reasoning` as plain text, and `reasoning_details`, the list in which
 * one aggregator carries signatures (`reasoning.text` with `signature`, `reasoning.encrypted` with `data`) and summaries.
 */
import type { ReasoningPart, Signature } from "#schemas/wire/conversation.ts"
import * as Json from "#src/wire/json/json.ts"
import * as Signatures from "#src/wire/signatures.ts"

type Record = Readonly<{ [key: string]: unknown }>
type Mutable<T> = { -readonly [K in keyof T]: T[K] }

const textAt = (record: Record, key: string): string => {
  const value = record[key]
  return typeof value === "string" ? value : ""
}

export const plainReasoning = (message: Record): string => textAt(message, "reasoning_content") || textAt(message, "reasoning")

export const reasoningPart = (text: string, more: Partial<ReasoningPart> = {}): ReasoningPart => ({
  kind: "reasoning", text, summary: false, signature: null, id: null, redacted: false, ...more
})

export const openSignature = (text: string): Signature | null => Signatures.open(text, "chat-completions")

/** A signature where it stands alone: text that was withheld by the vendor, or an item that is encrypted only. */
const hiddenPart = (signature: Signature, id: string | null): ReasoningPart =>
  reasoningPart("", { signature, id, redacted: signature.family === "messages" })

/** The reasoning of one whole assistant message; the details win over the plain text, which repeats them. */
export const readReasoning = (message: Record): ReadonlyArray<ReasoningPart> => {
  const plain = plainReasoning(message)
  const details = message["reasoning_details"]
  const parts = Array.isArray(details) ? readDetails(details) : []
  if (plain === "" || parts.some((part) => part.text !== "")) return parts.map(shown)
  const unread = parts.filter((part) => !part.hidden)
  const only = unread[0]
  if (unread.length === 1 && only !== undefined) return parts.map((part) => part === only ? { ...part, text: plain } : part).map(shown)
  return [reasoningPart(plain), ...parts.map(shown)]
}

interface Detail extends Mutable<ReasoningPart> {
  /** An encrypted item, which has no text of its own. */
  readonly hidden: boolean
}

const shown = (part: Detail): ReasoningPart =>
  reasoningPart(part.text, { summary: part.summary, signature: part.signature, id: part.id, redacted: part.redacted })

/** Entries of one index and type are pieces of one part: clients that only collect a stream's entries give them back so. */
const readDetails = (details: ReadonlyArray<unknown>): ReadonlyArray<Detail> => {
  const parts: Array<Detail> = []
  let lastType = ""
  let lastIndex: unknown = null
  for (const detail of details) {
    if (!Json.isRecord(detail)) continue
    const type = textAt(detail, "type")
    const index = detail["index"]
    const id = textAt(detail, "id") || null
    const last = parts[parts.length - 1]
    const continues = last !== undefined && typeof index === "number" && index === lastIndex
    if (type === "reasoning.encrypted") {
      const signature = openSignature(textAt(detail, "data"))
      if (signature === null) continue
      // A summary and the encrypted item it sums up share their index.
      if (continues && lastType === "reasoning.summary" && last.signature === null) {
        last.signature = signature
        last.id = id ?? last.id
      } else parts.push({ ...hiddenPart(signature, id), hidden: true })
    } else if (type === "reasoning.text" || type === "reasoning.summary") {
      const text = textAt(detail, type === "reasoning.text" ? "text" : "summary")
      const signature = openSignature(textAt(detail, "signature"))
      if (continues && lastType === type && last.signature === null) {
        last.text += text
        last.signature = signature
      } else if (text !== "" || signature !== null) {
        parts.push({ ...reasoningPart(text, { summary: type === "reasoning.summary", signature, id }), hidden: false })
      } else continue
    } else continue
    lastType = type
    lastIndex = index
  }
  return parts
}

/** Details of whole parts; `value` answers what is written for a signature, null for one that must not go there. */
export const writeDetails = (parts: ReadonlyArray<ReasoningPart>, value: (signature: Signature) => string | null): ReadonlyArray<Record> => {
  const out: Array<Record> = []
  parts.forEach((part, index) => {
    const signature = part.signature === null ? null : value(part.signature)
    const id = { ...(part.id === null ? {} : { id: part.id }), ...formatOf(part.signature) }
    const encrypted = signature === null ? [] : [{ type: "reasoning.encrypted", data: signature, ...id, index }]
    if (part.text === "") out.push(...encrypted)
    else if (part.summary) out.push({ type: "reasoning.summary", summary: part.text, ...id, index }, ...encrypted)
    else out.push({ type: "reasoning.text", text: part.text, ...(signature === null ? {} : { signature }), ...id, index })
  })
  return out
}

const formats: { readonly [family: string]: string | undefined } = { messages: "anthropic-claude-v1", responses: "openai-responses-v1", generateContent: "google-gemini-v1" }

/** The aggregator's name of a signature's form, as a member; this format's own signatures go back as they came. */
export const formatOf = (signature: Signature | null): Record => {
  const format = signature === null ? undefined : formats[signature.family]
  return format === undefined ? {} : { format }
}

/** The signature of a call as a detail under the call's id, for clients that keep details and nothing else. */
export const callDetail = (id: string, signature: Signature, index: number): Record => ({
  type: "reasoning.encrypted", data: sealed(signature), id, ...formatOf(signature), index
})

/** Details that are no more than the signature of a call of the same message, which has it itself. */
export const withoutCalls = <Detail>(details: ReadonlyArray<Detail>, message: Record): ReadonlyArray<Detail> => {
  const calls = message["tool_calls"]
  if (!Array.isArray(calls)) return details
  const signed = new Set(calls.flatMap((call: unknown) => Json.isRecord(call) && thoughtSignature(call["extra_content"]) !== null ? [call["id"]] : []))
  return signed.size === 0 ? details : details.filter((detail) => !(Json.isRecord(detail) && detail["type"] === "reasoning.encrypted" && signed.has(detail["id"])))
}

/** What a client is given: every signature, sealed when it is another family's. */
export const sealed = (signature: Signature): string => Signatures.seal(signature, "chat-completions")

/** The thought signature that one vendor puts beside calls and text, `extra_content.google.thought_signature`. */
export const thoughtSignature = (extraContent: unknown): Signature | null => {
  const google = Json.isRecord(extraContent) ? extraContent["google"] : null
  const text = Json.isRecord(google) ? textAt(google, "thought_signature") : ""
  const signature = openSignature(text)
  // An unsealed value is that vendor's own, and is valid in its other format too.
  return signature !== null && signature.family === "chat-completions" ? { family: "generateContent", value: signature.value } : signature
}

export const extraContent = (signature: Signature): Record => ({
  google: { thought_signature: signature.family === "generateContent" ? signature.value : sealed(signature) }
})
