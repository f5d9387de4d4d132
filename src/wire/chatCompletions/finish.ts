/** Why a choice ended, in the chat vocabulary and back. */
import type { FinishReason } from "#schemas/wire/conversation.ts"

/** A vendor's word as it is meant; unknown words mean that the model stopped. */
export const readFinish = (reason: string, hasCalls: boolean, hasRefusal: boolean): FinishReason => {
  switch (reason) {
    case "length":
    case "max_tokens":
    case "repetition_truncation":
    case "insufficient_system_resource":
      return "length"
    case "model_length":
    case "context_length":
      return "context"
    case "tool_calls":
    case "function_call":
    case "tool_use":
      return "tool-calls"
    case "content_filter":
    case "sensitive":
    case "safety":
      return "content-filter"
    case "refusal":
      return "refusal"
    default:
      // Several servers say `stop` behind calls, and a refusal ends with `stop` at the vendor itself.
      return hasCalls ? "tool-calls" : hasRefusal ? "refusal" : "stop"
  }
}

export const writeFinish = (reason: FinishReason | null, hasRefusal: boolean): string => {
  switch (reason) {
    case "length":
    case "context":
      return "length"
    case "tool-calls":
      return "tool_calls"
    case "content-filter":
      return "content_filter"
    case "refusal":
      return hasRefusal ? "stop" : "content_filter"
    case null:
    case "stop":
    case "stop-sequence":
    case "pause":
      return "stop"
  }
}
