/** Readers of single facts in answers and stream chunks: usage, errors, finish reasons, log probabilities. All total. */
import type { UpstreamErrorBody } from "#actors/request/ports/Face.ts"
import type { FinishReason, TokenLogprob, TokenUsage } from "#schemas/wire/conversation.ts"
import * as Json from "#src/wire/json/json.ts"
import * as ServiceTier from "#src/wire/neutral/serviceTier.ts"

/** Usage in the vendor's shape, or null when the value is no usage object or holds no count. */
export const usageOf = (value: unknown): TokenUsage | null => {
  if (!Json.isRecord(value) || !Json.hasCount(value, "promptTokenCount", "candidatesTokenCount", "thoughtsTokenCount")) return null
  const thoughts = Json.countAt(value, "thoughtsTokenCount")
  const counts = usageFrom(
    Json.countAt(value, "promptTokenCount"), Json.countAt(value, "toolUsePromptTokenCount"), Json.countAt(value, "candidatesTokenCount"),
    thoughts, Json.countAt(value, "cachedContentTokenCount")
  )
  return ServiceTier.served(counts, value["serviceTier"])
}

export const usageFrom = (prompt: number, toolUse: number, candidates: number, thoughts: number, cached: number): TokenUsage => ({
  input: prompt + toolUse, output: candidates + thoughts, cacheRead: cached, cacheCreation: 0, reasoning: thoughts
})

/** JSON of usageMetadata. */
export const usageText = (usage: TokenUsage): string => {
  const thoughts = usage.reasoning > 0 ? `,"thoughtsTokenCount":${usage.reasoning}` : ""
  const cached = usage.cacheRead > 0 ? `,"cachedContentTokenCount":${usage.cacheRead}` : ""
  const candidates = Math.max(0, usage.output - usage.reasoning)
  return `{"promptTokenCount":${usage.input},"candidatesTokenCount":${candidates},"totalTokenCount":${usage.input + usage.output}${thoughts}${cached}}`
}

/** Error object `{error:{code, message, status, details}}`; null when there is none. */
export const errorOf = (body: Readonly<Record<string, unknown>>): UpstreamErrorBody | null => {
  const error = body["error"]
  if (typeof error === "string" && error !== "") return { message: error, type: null, code: null, status: null }
  if (!Json.isRecord(error)) return null
  const { code, details, message, status } = error
  return {
    message: typeof message === "string" ? message : "The upstream reported an error without a message.",
    type: typeof status === "string" ? status : null,
    code: reasonIn(details) ?? (typeof code === "string" ? code : null),
    status: typeof code === "number" ? code : null,
    ...(typeof message === "string" ? { own: error } : {})
  }
}

/** The reason of an ErrorInfo, such as `API_KEY_INVALID`. */
const reasonIn = (details: unknown): string | null => {
  if (!Array.isArray(details)) return null
  for (const detail of details) {
    if (Json.isRecord(detail) && typeof detail["reason"] === "string") return detail["reason"]
  }
  return null
}

/**
 * The vendor's finish reason; null for none. A malformed or unexpected call is a stop: with nothing else in it, such an
 * answer counts as empty and is tried again.
 */
export const finishOf = (reason: unknown, calls: number): FinishReason | null => {
  if (typeof reason !== "string" || reason === "" || reason === "FINISH_REASON_UNSPECIFIED") return null
  switch (reason) {
    case "MAX_TOKENS": return "length"
    case "SAFETY":
    case "RECITATION":
    case "LANGUAGE":
    case "BLOCKLIST":
    case "PROHIBITED_CONTENT":
    case "SPII":
    case "MODEL_ARMOR":
    case "IMAGE_SAFETY":
    case "IMAGE_PROHIBITED_CONTENT":
    case "IMAGE_RECITATION":
    case "IMAGE_OTHER":
    case "OTHER": return "content-filter"
    default: return calls > 0 ? "tool-calls" : "stop"
  }
}

const finishWords: Readonly<Record<FinishReason, string>> = {
  "stop": "STOP", "stop-sequence": "STOP", "tool-calls": "STOP", "length": "MAX_TOKENS", "context": "MAX_TOKENS",
  "content-filter": "SAFETY", "refusal": "SAFETY",
  // No value means "send this back to continue"; STOP would call it complete.
  "pause": "OTHER"
}

export const finishWord = (reason: FinishReason): string => finishWords[reason]

/** The prompt itself was refused: there are no candidates then. */
export const isBlocked = (body: Readonly<Record<string, unknown>>): boolean => {
  const feedback = body["promptFeedback"]
  return Json.isRecord(feedback) && typeof feedback["blockReason"] === "string" && feedback["blockReason"] !== "BLOCK_REASON_UNSPECIFIED"
}

/** `logprobsResult` in the chat vocabulary. */
export const logprobsOf = (value: unknown): ReadonlyArray<TokenLogprob> => {
  if (!Json.isRecord(value) || !Array.isArray(value["chosenCandidates"])) return []
  const tops: ReadonlyArray<unknown> = Array.isArray(value["topCandidates"]) ? value["topCandidates"] : []
  const entries: Array<TokenLogprob> = []
  value["chosenCandidates"].forEach((one: unknown, i) => {
    const chosen = tokenOf(one)
    if (chosen === null) return
    const top = tops[i]
    const alternatives: ReadonlyArray<unknown> = Json.isRecord(top) && Array.isArray(top["candidates"]) ? top["candidates"] : []
    entries.push({ ...chosen, top: alternatives.map(tokenOf).filter((token) => token !== null) })
  })
  return entries
}

const tokenOf = (value: unknown): { readonly token: string; readonly logprob: number; readonly bytes: null } | null => {
  if (!Json.isRecord(value)) return null
  const { logProbability, token } = value
  return typeof token === "string" && typeof logProbability === "number" ? { token, logprob: logProbability, bytes: null } : null
}

/** JSON of `avgLogprobs` and `logprobsResult`, as members of a candidate. */
export const logprobsText = (entries: ReadonlyArray<TokenLogprob>): string => {
  const sum = entries.reduce((total, entry) => total + entry.logprob, 0)
  const token = (one: { readonly token: string; readonly logprob: number }) => ({ token: one.token, logProbability: one.logprob })
  const result = {
    topCandidates: entries.map((entry) => ({ candidates: (entry.top.length > 0 ? entry.top : [entry]).map(token) })),
    chosenCandidates: entries.map(token)
  }
  return `"avgLogprobs":${sum / Math.max(1, entries.length)},"logprobsResult":${JSON.stringify(result)}`
}
