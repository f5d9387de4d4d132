/** A combo's system message in front of the request's own: once for the neutral conversation, once per raw body. Pure. */
import type { Conversation, FormatName, TextPart } from "#schemas/wire/conversation.ts"
import * as Json from "#src/wire/json/json.ts"
import type { Json as Body } from "#src/wire/WireFormat.ts"

/** Between the combo's words and the request's own, where both must be one text. */
const gap = "\n\n"

const textPart = (text: string): TextPart => ({ kind: "text", text, cache: null, annotations: [], signature: null })

/** The conversation with one more system turn in front. */
export const ofConversation = (conversation: Conversation, message: string): Conversation => ({
  ...conversation,
  turns: [{ role: "system", parts: [textPart(message)], name: null, path: "system_message" }, ...conversation.turns]
})

const joined = (message: string, own: unknown): string => typeof own === "string" && own !== "" ? message + gap + own : message

/** Chat-shaped messages: a request that uses the role `developer` gets the same role, as the two do not mix. */
const inMessages = (body: Body, message: string): Body => {
  const own = Array.isArray(body["messages"]) ? body["messages"] : []
  const role = Json.isRecord(own[0]) && own[0]["role"] === "developer" ? "developer" : "system"
  return { ...body, messages: [{ role, content: message }, ...own] }
}

const inInstruction = (body: Body, message: string): Body => {
  const name = Object.hasOwn(body, "system_instruction") ? "system_instruction" : "systemInstruction"
  const own = body[name]
  if (!Json.isRecord(own)) return { ...body, [name]: { parts: [{ text: joined(message, own) }] } }
  const parts = Array.isArray(own["parts"]) ? own["parts"] : own["parts"] === undefined ? [] : [own["parts"]]
  return { ...body, [name]: { ...own, parts: [{ text: message }, ...parts] } }
}

/** A body of that format with the message in front; the given body is not changed. */
export const ofBody = (format: FormatName, body: Body, message: string): Body => {
  switch (format) {
    case "chat-completions":
      return inMessages(body, message)
    case "local-model-server":
      return Array.isArray(body["messages"]) ? inMessages(body, message) : { ...body, system: joined(message, body["system"]) }
    case "messages":
      return { ...body, system: Array.isArray(body["system"]) ? [{ type: "text", text: message }, ...body["system"]] : joined(message, body["system"]) }
    case "responses":
      return { ...body, instructions: joined(message, body["instructions"]) }
    case "generateContent":
      return inInstruction(body, message)
    case "completions":
      // A bare prompt has no system place: what stands in front of it is read first.
      return typeof body["prompt"] === "string" ? { ...body, prompt: joined(message, body["prompt"]) } : body
  }
}
