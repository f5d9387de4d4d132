/** The text of a conversation, for the tokenizer: media and opaque parts have none. */
import type { Conversation, ContentPart } from "#schemas/wire/conversation.ts"

const textOfPart = (part: ContentPart): string => {
  switch (part.kind) {
    case "text":
    case "refusal":
    case "reasoning":
      return part.text
    case "toolCall":
      return `${part.name} ${part.arguments}`
    case "toolResult":
      return part.content.map(textOfPart).join("\n")
    default:
      return ""
  }
}

export const promptText = (conversation: Conversation): string => [
  ...conversation.turns.flatMap((turn) => turn.parts.map(textOfPart)),
  ...conversation.tools.map((tool) =>
    tool.kind === "function" ? `${tool.name} ${tool.description ?? ""} ${JSON.stringify(tool.parameters ?? {})}` : JSON.stringify(tool))
].filter((text) => text !== "").join("\n")
