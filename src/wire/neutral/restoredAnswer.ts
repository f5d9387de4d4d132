/** A whole answer with the names and the free text that the client's own tools have. */
import type { Answer, ContentPart } from "#schemas/wire/conversation.ts"
import { unwrapped } from "#src/wire/neutral/freeform.ts"
import type { Restored } from "#src/wire/neutral/ToolNames.ts"

export const restoredAnswer = (answer: Answer, restored: Restored): Answer => ({
  ...answer,
  choices: answer.choices.map((choice) => ({ ...choice, parts: choice.parts.map((part) => restoredPart(part, restored)) }))
})

const restoredPart = (part: ContentPart, restored: Restored): ContentPart => {
  if (part.kind !== "toolCall" || part.custom) return part
  const meant = restored.get(part.name)
  if (meant === undefined) return part
  return { ...part, name: meant.name, ...(meant.custom ? { custom: true, arguments: unwrapped(part.arguments) } : {}) }
}
