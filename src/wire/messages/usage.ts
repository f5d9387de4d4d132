/** Usage and stop reasons of the messages format. */
import type { FinishReason, TokenUsage } from "#schemas/wire/conversation.ts"
import * as Json from "#src/wire/json/json.ts"
import * as ServiceTier from "#src/wire/neutral/serviceTier.ts"

const counts = ["input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"]

/** The vendor counted what came out: usage without it, as in the first frame, is known in part. */
export const countsOutput = (value: unknown): boolean => Json.isRecord(value) && Json.hasCount(value, "output_tokens")

/**
 * Merges a usage object of the vendor into what was known before. Counts of a stream are cumulative; the three input counts form a
 * group, and a group of zeros (or none) in message_delta says nothing new.
 */
export const usageOf = (value: unknown, before: TokenUsage | null): TokenUsage | null => {
  if (!Json.isRecord(value) || !Json.hasCount(value, ...counts)) return before
  const fresh = Json.countAt(value, "input_tokens")
  let cacheRead = Json.countAt(value, "cache_read_input_tokens")
  let cacheCreation = Json.countAt(value, "cache_creation_input_tokens")
  const written = Json.recordAt(value, "cache_creation")
  let hour = written === null ? before?.cacheCreationHour ?? 0 : Json.countAt(written, "ephemeral_1h_input_tokens")
  if (cacheCreation === 0 && written !== null) cacheCreation = Json.countAt(written, "ephemeral_5m_input_tokens") + hour
  let input = fresh + cacheRead + cacheCreation
  if (before !== null) {
    if (input === 0) ({ cacheCreation, cacheCreationHour: hour = 0, cacheRead, input } = before)
    else if (fresh === 0 && value["input_tokens"] === undefined) {
      // Cache counts alone: the uncached rest is as it was.
      input = before.input - before.cacheRead - before.cacheCreation + cacheRead + cacheCreation
    } else if (value["cache_read_input_tokens"] === undefined && value["cache_creation_input_tokens"] === undefined) {
      ({ cacheCreation, cacheCreationHour: hour = 0, cacheRead } = before)
      input = fresh + cacheRead + cacheCreation
    }
  }
  const detail = Json.recordAt(value, "output_tokens_details")
  const reasoning = detail === null ? 0 : Json.countAt(detail, "thinking_tokens") || Json.countAt(detail, "reasoning_tokens")
  const usage = {
    input,
    output: Math.max(Json.countAt(value, "output_tokens"), before?.output ?? 0),
    cacheRead,
    cacheCreation,
    reasoning: Math.max(reasoning, before?.reasoning ?? 0),
    ...(hour === 0 ? {} : { cacheCreationHour: hour })
  }
  return ServiceTier.served(usage, value["service_tier"] ?? before?.tier)
}

/** The vendor's usage object; `input_tokens` leaves cache reads and writes out. How long writes are kept is told where some are for an hour. */
export const wireUsage = (usage: TokenUsage) => ({
  input_tokens: Math.max(0, usage.input - usage.cacheRead - usage.cacheCreation),
  cache_creation_input_tokens: usage.cacheCreation,
  cache_read_input_tokens: usage.cacheRead,
  ...(usage.cacheCreationHour === undefined ? {} : {
    cache_creation: {
      ephemeral_5m_input_tokens: Math.max(0, usage.cacheCreation - usage.cacheCreationHour), ephemeral_1h_input_tokens: usage.cacheCreationHour
    }
  }),
  output_tokens: usage.output
})

/** Null for "not finished yet"; a word of the future counts as a plain stop. */
export const finishOf = (reason: unknown): FinishReason | null => {
  switch (reason) {
    case "end_turn": return "stop"
    case "max_tokens": return "length"
    case "stop_sequence": return "stop-sequence"
    case "tool_use": return "tool-calls"
    case "pause_turn": return "pause"
    case "refusal": return "refusal"
    case "model_context_window_exceeded": return "context"
    default: return typeof reason === "string" && reason !== "" ? "stop" : null
  }
}

/** `calls`: the choice holds tool calls; some families stop with a plain "stop" after them. */
export const stopReasonOf = (finish: FinishReason | null, calls: boolean): string => {
  switch (finish) {
    case "length": return "max_tokens"
    case "stop-sequence": return "stop_sequence"
    case "tool-calls": return "tool_use"
    case "pause": return "pause_turn"
    case "content-filter":
    case "refusal": return "refusal"
    case "context": return "model_context_window_exceeded"
    case "stop":
    case null: return calls ? "tool_use" : "end_turn"
  }
}
