/** The secrets that clients present: API keys (`sk-...`) and access tokens (`gwa_live_...`). */
import { createHash, randomBytes } from "node:crypto"
import * as Redacted from "effect/Redacted"

/** A new secret and what may be stored of it. */
export interface GeneratedKey {
  readonly secret: Redacted.Redacted<string>
  readonly hash: string
  readonly prefix: string
  readonly suffix: string
}

/** Random base64url characters of a secret: 24 bytes, 192 bits. */
const randomChars = 32
const prefixChars = 8
const suffixChars = 4

export const apiKeyMark = "sk-"
export const accessTokenMark = "gwa_live_"

/** SHA-256, hex: how a presented secret is looked up. */
export const hash = (secret: string): string => createHash("sha256").update(secret).digest("hex")

/** The first eight characters. */
export const prefix = (secret: string): string => secret.slice(0, prefixChars)

/** The last four characters. */
export const suffix = (secret: string): string => secret.slice(-suffixChars)

const generate = (mark: string): GeneratedKey => {
  const secret = mark + randomBytes((randomChars * 3) / 4).toString("base64url")
  return { secret: Redacted.make(secret), hash: hash(secret), prefix: prefix(secret), suffix: suffix(secret) }
}

/** `sk-` and 32 random characters. */
export const generateApiKey = (): GeneratedKey => generate(apiKeyMark)

/** `gwa_live_` and 32 random characters; its prefix shows three of them beyond the mark. */
export const generateAccessToken = (): GeneratedKey => {
  const made = generate(accessTokenMark)
  return { ...made, prefix: Redacted.value(made.secret).slice(0, accessTokenMark.length + 3) }
}
