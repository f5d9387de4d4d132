/**
 * Whether an upstream's refusal says that the account is banned. Pure.
 *
 * A client must not be able to disable an account: phrases are looked for only where the upstream refuses the credential, and never
 * where the model id that was asked for holds them. A vendor that refuses the request itself (400) must say it by its code, or by this sentence alone.
 */
import type { PublicError } from "#schemas/errors.ts"
import * as StatusReason from "#schemas/statusReason.ts"

/** Codes of vendors, in lower case: OpenAI, Groq, Google. */
const codes: ReadonlySet<string> = new Set(["account_deactivated", "organization_restricted", "consumer_suspended"])

/** Sentences of vendors, in lower case: OpenAI, Anthropic, Google, Groq. */
const phrases: ReadonlyArray<string> = [
  "account associated with this api key has been deactivated", "organization has been disabled", "has been suspended", "organization has been restricted"
]
const alone: ReadonlySet<string> = new Set(["this organization has been disabled"])

/** Characters of a message that are read. */
const READ = 2_000

/** The code that the vendor's own error object names. */
const ownCode = ({ code, upstream }: PublicError): string => {
  const own = upstream?.error?.["code"] ?? upstream?.error?.["status"]
  return (typeof own === "string" ? own : code).toLowerCase()
}

/** What says so; null = nothing. `own`: the operator's signals in lower case, looked for as a code or in the message. `model`: as it was sent upstream. */
export const of = (error: PublicError, status: number, model: string, own: ReadonlyArray<string>): string | null => {
  const reason = StatusReason.of(status)
  const isRefused = reason === "credential" || reason === "forbidden"
  if ((!isRefused && reason !== "invalid") || error.upstream === null || !error.upstream.spoke) return null
  const code = ownCode(error)
  if (codes.has(code)) return code
  const said = error.message.slice(0, READ).toLowerCase()
  if (!isRefused) {
    const sentence = said.trim().replace(/\.$/, "")
    return alone.has(sentence) ? sentence : null
  }
  const asked = model.toLowerCase()
  for (const phrase of [...own, ...phrases]) if ((phrase === code || said.includes(phrase)) && !asked.includes(phrase)) return phrase
  return null
}

/** Codes of vendors for a credential that is no longer, or was never, valid, in lower case. */
const ofCredential: ReadonlySet<string> = new Set([
  "invalid_api_key", "invalid_authentication", "invalid_token", "invalid_grant", "token_expired", "expired_token", "token_revoked", "token_invalidated"
])
const credentialWords = /\b(?:x-api-key|api[ -]?keys?|keys?|tokens?|credentials?|authentication|authorization|session|signature)\b/i
const verdictWords = /\b(?:invalid|not valid|incorrect|wrong|expired|revoked|deactivated|disabled|suspended|malformed|missing|not found|not provided|unknown|unrecogni[sz]ed|no longer|does not exist)\b/i
/** What the request asked for needs a right: a client can choose such a request. */
const rightWords = /\b(?:permissions?|scopes?|not allowed|not authorized to|access to)\b/i

/** The upstream refused the credential (401), and neither says that it is no good nor that the request needs more rights. */
export const isUnclear = (error: PublicError, status: number): boolean => {
  if (StatusReason.of(status) !== "credential" || error.upstream === null) return false
  if (!error.upstream.spoke) return true
  const code = ownCode(error)
  if (ofCredential.has(code) || codes.has(code)) return false
  const said = error.message.slice(0, READ)
  return !(credentialWords.test(said) && verdictWords.test(said)) && !rightWords.test(said) && !phrases.some((phrase) => said.toLowerCase().includes(phrase))
}

/** The operator's signals as they are compared. */
export const ownIn = (stored: unknown): ReadonlyArray<string> =>
  Array.isArray(stored) ? stored.filter((one): one is string => typeof one === "string").map((one) => one.trim().toLowerCase()).filter((one) => one !== "") : []
