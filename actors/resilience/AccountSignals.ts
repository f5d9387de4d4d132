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

/** The operator's signals as they are compared. */
export const ownIn = (stored: unknown): ReadonlyArray<string> =>
  Array.isArray(stored) ? stored.filter((one): one is string => typeof one === "string").map((one) => one.trim().toLowerCase()).filter((one) => one !== "") : []
