/** The time at which an upstream may be asked again: from its headers, else from the text of its error. */
import { headerOf } from "#actors/request/ports/Upstream.ts"
import * as StatusReason from "#schemas/statusReason.ts"

/** No hint blocks longer than this, in ms. */
export const maxHintMs = 24 * 3_600_000

export interface Hint {
  /** From now, in ms; at least 0 and at most `maxHintMs`. */
  readonly delayMs: number
  readonly source: "retry-after" | "reset-header" | "body"
}

/** Vendor headers with the time to the next reset, and the header that says whether that quota is really empty. */
const resets: ReadonlyArray<{ readonly reset: string; readonly remaining: string }> = [
  { reset: "x-ratelimit-reset-requests", remaining: "x-ratelimit-remaining-requests" },
  { reset: "x-ratelimit-reset-tokens", remaining: "x-ratelimit-remaining-tokens" },
  { reset: "anthropic-ratelimit-unified-reset", remaining: "anthropic-ratelimit-unified-remaining" },
  { reset: "anthropic-ratelimit-requests-reset", remaining: "anthropic-ratelimit-requests-remaining" },
  { reset: "anthropic-ratelimit-tokens-reset", remaining: "anthropic-ratelimit-tokens-remaining" },
  { reset: "anthropic-ratelimit-input-tokens-reset", remaining: "anthropic-ratelimit-input-tokens-remaining" },
  { reset: "anthropic-ratelimit-output-tokens-reset", remaining: "anthropic-ratelimit-output-tokens-remaining" },
  { reset: "x-ratelimit-reset", remaining: "x-ratelimit-remaining" },
  { reset: "ratelimit-reset", remaining: "ratelimit-remaining" }
]

const units: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** Seconds above this are an epoch, not a duration (2001 as an epoch, 31 years as a duration). */
const epochSeconds = 1_000_000_000
const epochMillis = epochSeconds * 1_000

/** Codes and words of limits that hold for an account, whatever the model. */
const accountCodes: ReadonlySet<string> = new Set(["usage_limit_reached", "insufficient_quota", "billing_hard_limit_reached", "billing_not_active", "account_deactivated"])
const accountWords = /\b(?:your|the|this) account\b|\ball models\b|\busage limit\b|\bbilling\b|\bcredits?\b/i

const quotaReasons: ReadonlySet<StatusReason.StatusReason> = new Set(["payment", "forbidden", "rate-limit"])
/** Replies whose vendors' headers say when a quota is full again. */
const resetReasons: ReadonlySet<StatusReason.StatusReason> = new Set(["rate-limit", "unavailable", "overloaded"])

/** A refusal that the upstream calls the account's: by a header of its limit over all models, its code or its words. */
export const isAccountWide = (status: number, headers: ReadonlyArray<string>, error: { readonly code: string; readonly message: string }): boolean => {
  if (!quotaReasons.has(StatusReason.of(status))) return false
  if (accountCodes.has(error.code)) return true
  if (headerOf(headers, "anthropic-ratelimit-unified-reset") !== undefined) return true
  return accountWords.test(error.message.slice(0, maxBodyLength))
}

/** Text of a body that is searched, in characters. */
const maxBodyLength = 16_384

const clamp = (ms: number): number => Math.min(Math.max(Math.ceil(ms), 0), maxHintMs)

/** `1h2m3.5s`, `250ms`, `6m0s`, `2 hours 5 min`: ms, or null when the text is no duration. */
const parseDuration = (text: string): number | null => {
  const pattern = /(\d+(?:\.\d+)?)\s*(ms|milliseconds?|s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?)(?![a-z])/giy
  const plain = text.trim()
  let total = 0
  let at = 0
  while (at < plain.length) {
    pattern.lastIndex = at
    const part = pattern.exec(plain)
    if (part === null) return null
    const name = (part[2] ?? "").toLowerCase()
    const unit = name.startsWith("ms") || name.startsWith("milli") ? "ms" : name[0] ?? ""
    total += Number(part[1]) * (units[unit] ?? 0)
    at = pattern.lastIndex
    while (plain[at] === " " || plain[at] === ",") at++
  }
  return at === 0 ? null : total
}

// The three date forms of HTTP (RFC 9110, 5.6.7) begin with a weekday; ISO dates begin with a year.
const datePattern = /^(?:(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*,? |\d{4}-\d{2}-\d{2}t)/i

const parseDate = (text: string, now: number): number | null => {
  if (!datePattern.test(text)) return null
  // asctime has no zone; HTTP says that it is GMT.
  const zoned = /(?:gmt|utc|z|[+-]\d{2}:?\d{2})$/i.test(text) ? text : `${text} GMT`
  const at = Date.parse(zoned)
  return Number.isNaN(at) ? null : at - now
}

/** Seconds, an epoch (s or ms), a duration or a date; ms from now, or null. A number is in seconds. */
export const parseDelay = (value: string, now: number): number | null => {
  const text = value.trim()
  if (/^\d+(?:\.\d+)?$/.test(text)) {
    const number = Number(text)
    if (number >= epochMillis) return number - now
    return number >= epochSeconds ? number * 1_000 - now : number * 1_000
  }
  return parseDuration(text) ?? parseDate(text, now)
}

const fromRetryAfter = (headers: ReadonlyArray<string>, now: number): number | null => {
  const milliseconds = headerOf(headers, "retry-after-ms")
  if (milliseconds !== undefined && /^\d+(?:\.\d+)?$/.test(milliseconds.trim())) return Number(milliseconds)
  const value = headerOf(headers, "retry-after")?.trim()
  if (value === undefined) return null
  // Only the two standard forms: whole seconds, or a date.
  return /^\d+(?:\.\d+)?$/.test(value) ? Number(value) * 1_000 : parseDate(value, now)
}

const fromResets = (headers: ReadonlyArray<string>, now: number): number | null => {
  let empty: number | null = null
  let earliest: number | null = null
  for (const { remaining, reset } of resets) {
    const value = headerOf(headers, reset)
    if (value === undefined) continue
    const delay = parseDelay(value, now)
    if (delay === null) continue
    // A quota that is known to be empty decides (the last of them to refill); else the first reset of any.
    const left = headerOf(headers, remaining)?.trim()
    if (left === "0") empty = Math.max(empty ?? 0, delay)
    else if (left === undefined) earliest = Math.min(earliest ?? Infinity, delay)
  }
  return empty ?? earliest
}

const duration = String.raw`((?:\d+(?:\.\d+)?\s*(?:ms|milliseconds?|s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?)(?![a-z])[\s,]*)+)`
const bodyPatterns: ReadonlyArray<RegExp> = [
  // "retryDelay": "34s" of the generateContent vendors.
  new RegExp(String.raw`"retryDelay"\s*:\s*"${duration}"`, "i"),
  new RegExp(String.raw`\breset(?:s|ting)?\s+(?:after|in)\s+${duration}`, "i"),
  new RegExp(String.raw`\b(?:try again|retry|retrying|wait)(?:\s+(?:again|your request))?\s+(?:(?:in|after|for)\s*)?${duration}`, "i")
]
const plainSeconds = /\b(?:retry|try again)\s+(?:in|after)\s+(\d+(?:\.\d+)?)(?!\s*[a-z\d])/i

const fromBody = (status: number, body: string): number | null => {
  const text = body.length > maxBodyLength ? body.slice(0, maxBodyLength) : body
  for (const pattern of bodyPatterns) {
    const found = pattern.exec(text)?.[1]
    const delay = found === undefined ? null : parseDuration(found)
    if (delay !== null) return delay
  }
  const seconds = StatusReason.of(status) === "rate-limit" ? plainSeconds.exec(text)?.[1] : undefined
  return seconds === undefined ? null : Number(seconds) * 1_000
}

const countAt = (document: Readonly<Record<string, unknown>>, name: string): number | null => {
  const value = document[name]
  return typeof value === "number" && Number.isFinite(value) && value > 0 ? value : null
}

/** Members of an error object: the RetryInfo of the generateContent vendors, a subscription's `resets_in_seconds` and `resets_at`. */
const fromDocument = (document: Readonly<Record<string, unknown>>, now: number): number | null => {
  const { details } = document
  for (const detail of Array.isArray(details) ? details.slice(0, maxDetails) as ReadonlyArray<unknown> : []) {
    const delay = typeof detail === "object" && detail !== null && "retryDelay" in detail ? detail.retryDelay : null
    const parsed = typeof delay === "string" ? parseDuration(delay) : null
    if (parsed !== null) return parsed
  }
  const seconds = countAt(document, "resets_in_seconds")
  if (seconds !== null) return seconds * 1_000
  const at = countAt(document, "resets_at")
  return at !== null && at >= epochSeconds ? (at >= epochMillis ? at : at * 1_000) - now : null
}

/** Details of an error object that are looked at. */
const maxDetails = 32

/**
 * The hint of one upstream reply, or null when there is none (the caller's own back-off applies).
 *
 * `headers` is flat with lower-case names, `body` the error's message ("" when unknown), `now` the wall clock in ms, `document` the
 * vendor's error object.
 */
export const parse = (
  status: number, headers: ReadonlyArray<string>, body: string, now: number, document: Readonly<Record<string, unknown>> | null = null
): Hint | null => {
  const after = fromRetryAfter(headers, now)
  if (after !== null) return { delayMs: clamp(after), source: "retry-after" }
  const reset = resetReasons.has(StatusReason.of(status)) ? fromResets(headers, now) : null
  if (reset !== null) return { delayMs: clamp(reset), source: "reset-header" }
  const told = document === null ? null : fromDocument(document, now)
  if (told !== null) return { delayMs: clamp(told), source: "body" }
  const text = fromBody(status, body)
  return text === null ? null : { delayMs: clamp(text), source: "body" }
}
