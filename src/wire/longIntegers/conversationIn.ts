/** The conversation that a client's request is. */
import { PublicError } from "#schemas/errors.ts"
import type { ContentPart, Conversation } from "#schemas/wire/conversation.ts"
import * as LongIntegers from "#src/wire/longIntegers/longIntegers.ts"
import type { ClientCodec, Json } from "#src/wire/WireFormat.ts"

/**
 * `tree`: what the client sent, as it is read; `body`: its bytes. Calls and their results keep integers that no number holds; all else
 * is as the tree says, because it may be judged and counted.
 */
export const conversationIn = (codec: ClientCodec, tree: Json, body: Buffer): Conversation | PublicError => {
  const conversation = codec.decodeRequest(tree)
  if (conversation instanceof PublicError) return conversation
  const isRounded = conversation.turns.some(({ parts }) => LongIntegers.isRounded(codec.name, parts) || LongIntegers.isResultRounded(codec.name, parts))
  if (!isRounded) return conversation
  const exact = LongIntegers.parseRecord(body.toString("utf8"))
  const again = exact === null ? null : codec.decodeRequest(exact)
  if (again === null || again instanceof PublicError) return conversation
  const asSent = (part: ContentPart, other: ContentPart | undefined): ContentPart =>
    (part.kind === "toolCall" && other?.kind === "toolCall" && other.id === part.id) || (part.kind === "toolResult" && other?.kind === "toolResult" && other.id === part.id) ? other : part
  return {
    ...conversation,
    turns: conversation.turns.map((turn, at) => ({ ...turn, parts: turn.parts.map((part, i) => asSent(part, again.turns[at]?.parts[i])) }))
  }
}
