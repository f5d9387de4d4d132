/** Signatures that a client's format had no field for, put back on the tool calls they came with. */
import type { Conversation, FamilyName, ContentPart, Signature, ToolCallPart, Turn } from "#schemas/wire/conversation.ts"

/** `recall` is asked only for calls of turns in which nothing that `family` signed came back. */
export const withRecalled = (conversation: Conversation, family: FamilyName, recall: (callId: string) => Signature | null): Conversation => {
  let turns: Array<Turn> | null = null
  conversation.turns.forEach((turn, at) => {
    if (turn.role !== "assistant" || turn.parts.some((part) => isSignedBy(part, family))) return
    let parts: Array<ContentPart> | null = null
    turn.parts.forEach((part, i) => {
      const signed = part.kind === "toolCall" ? signedCall(part, family, recall) : null
      if (signed !== null) (parts ??= turn.parts.slice())[i] = signed
    })
    if (parts !== null) (turns ??= conversation.turns.slice())[at] = { ...turn, parts }
  })
  return turns === null ? conversation : { ...conversation, turns }
}

const isSignedBy = (part: ContentPart, family: FamilyName): boolean => "signature" in part && part.signature?.family === family

const signedCall = (part: ToolCallPart, family: FamilyName, recall: (callId: string) => Signature | null): ToolCallPart | null => {
  const signature = recall(part.id)
  return signature?.family === family ? { ...part, signature } : null
}
