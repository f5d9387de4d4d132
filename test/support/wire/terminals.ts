/** How many times a client's stream says that it is over: whole or broken, it must say so exactly once. */
import type { FormatName } from "#schemas/wire/conversation.ts"

const count = (text: string, pattern: RegExp): number => text.match(pattern)?.length ?? 0

export const countTerminals = (format: FormatName, text: string): number => {
  switch (format) {
    case "chat-completions":
    case "completions":
      return count(text, /^data: ?\[DONE\]/gm)
    case "messages":
      return count(text, /^data: ?\{\s*"type": ?"(message_stop|error)"/gm)
    case "responses":
      return count(text, /^data: ?\{\s*"type": ?"(response\.completed|response\.incomplete|response\.failed|error)"/gm)
    case "generateContent":
      // Each candidate has a finish reason of its own.
      return text.split("\n").filter((line) => count(line, /"finishReason": ?"[^{}]*"index": ?0|^data: ?\{"error"|"blockReason": ?"/) > 0).length
    case "local-model-server":
      return count(text, /"done": ?true|^\{"error"/gm)
  }
}
