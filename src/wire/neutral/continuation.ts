/** A conversation whose answer broke off, with a request for the rest. */
import type { Conversation, TextPart } from "#schemas/wire/conversation.ts"

const instruction = "Your previous answer was cut off. Continue exactly where it stopped: do not repeat anything, do not comment on the interruption."

const textPart = (text: string): TextPart => ({ kind: "text", text, cache: null, annotations: [], signature: null })

export const of = (conversation: Conversation, partialText: string): Conversation => ({
  ...conversation,
  turns: [
    ...conversation.turns,
    { role: "assistant", parts: [textPart(partialText)], name: null, path: "answer" },
    { role: "user", parts: [textPart(instruction)], name: null, path: "continuation" }
  ]
})
