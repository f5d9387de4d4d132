/**
 * Removes secrets from everything that leaves the process: by type (Redacted), by name (headers and fields that
 * hold credentials) and by shape (key-like strings in any text).
 */
import * as Redacted from "effect/Redacted"

export const REDACTED = "<redacted>"

/** Deepest level and most entries of a value that is shown. */
const DEPTH_MAX = 6
const ENTRIES_MAX = 64

/** Names whose value is never shown, compared without case, `-` and `_`. */
const SECRET_NAMES = new Set([
  "authorization", "proxyauthorization", "xapikey", "xiapikey", "xgoogapikey", "apikey", "cookie", "setcookie", "xauthtoken", "xamzsecuritytoken",
  "password", "passwd", "initialpassword", "secret", "clientsecret", "gatewaysecret", "token", "accesstoken", "refreshtoken", "idtoken",
  "sessiontoken", "bearer", "credential", "credentials", "privatekey", "signature", "webhooksecret", "xsessionowner", "xgatewayleaseowner", "leaseowner", "owner"
])

export const isSecretName = (name: string): boolean => SECRET_NAMES.has(name.replaceAll(/[-_\s]/g, "").toLowerCase())

/** Key-like strings: vendor prefixes, our own keys. */
const KEYS = /\b(?:(?:sk|pk|rk|gsk|xai|gwa|vlo|hf|gh[posu]|glpat|whsec|nvapi|pplx|fw|csk|r8|tvly|xox[abeprs])[-_.]|AIza|AKIA|ASIA|ya29\.)[A-Za-z0-9_\-.]{10,}/g

/**
 * The same, and JSON web tokens. A run that begins like a token is taken whole, also without the parts behind it: a pattern that gave it
 * back would read it again from each beginning within it.
 */
const KEYS_AND_TOKENS = new RegExp(String.raw`${KEYS.source}|(\beyJ[A-Za-z0-9_-]{8,})(\.[A-Za-z0-9_-]{4,}(?:\.[A-Za-z0-9_-]*)?)?`, "g")
const maskedKey = (_found: string, begun?: string, rest?: string): string => begun === undefined || rest !== undefined ? REDACTED : begun.replace(KEYS, REDACTED)

const BEARER = /\b(Bearer\s+)[^\s"',;\\]{4,}/gi
/** Before what can be base64 and is no plain word. */
const BASIC = /\b([Bb]asic\s+)(?=[a-z]*[A-Z0-9+/=])[A-Za-z0-9+/=_-]{6,}/g

/** `authorization: ...`, `"x-api-key":"..."`, `cookie=...` inside a text, to the end of the value. */
const HEADERS =
  /(["']?\b(?:proxy-)?authorization|["']?\bx-api-key|["']?\bx-goog-api-key|["']?\bapi[-_]key|["']?\b(?:set-)?cookie|["']?\bx-session-owner)(\\?["']?\s*[:=]\s*)("(?:[^"\\]|\\.)*"|'[^']*'|\\"(?:[^"\\]|\\[^"])*\\"|[^\r\n"'\\]*)/gi

/** Credentials in a URL: `//user:password@` and query parameters. */
const USERINFO = /(\/\/)[^\s/@:"']+:[^\s/@"']+@/g
const PARAMETERS = /([?&](?:key|api_?key|token|access_token|refresh_token|secret|client_secret|password|sig|signature|code)=)[^&\s"'#\\]+/gi

/** Anything that could be one of the above; most lines have none of it. */
const SUSPECT = /[?&]\w+=|\/\/[^\s/]+:|Bearer|Basic|authorization|api[-_]key|cookie|session-owner|eyJ|AIza|AKIA|ASIA|ya29|xox|\b(?:sk|pk|rk|gsk|xai|gwa|vlo|hf|gh[posu]|glpat|whsec|nvapi|pplx|fw|csk|r8|tvly)[-_.]/i

/** The text without what looks like a secret. */
export const text = (value: string): string =>
  SUSPECT.test(value)
    ? value
      .replace(BEARER, `$1${REDACTED}`)
      .replace(BASIC, `$1${REDACTED}`)
      .replace(HEADERS, (_match, name: string, separator: string, secret: string) => `${name}${separator}${secret.startsWith("\"") ? `"${REDACTED}"` : REDACTED}`)
      .replace(USERINFO, `$1${REDACTED}@`)
      .replace(PARAMETERS, `$1${REDACTED}`)
      .replace(KEYS_AND_TOKENS, maskedKey)
    : value

const isHeaderList = (value: ReadonlyArray<unknown>): boolean =>
  value.length % 2 === 0 && value.some((item, i) => i % 2 === 0 && typeof item === "string" && isSecretName(item))

/** A value that JSON can show: bounded, without cycles, secrets replaced by type, by name and by shape. */
export const value = (input: unknown, depth = 0): unknown => {
  if (Redacted.isRedacted(input)) return REDACTED
  switch (typeof input) {
    case "string":
      return text(input)
    case "boolean":
    case "undefined":
      return input
    case "number":
      return Number.isFinite(input) ? input : String(input)
    case "bigint":
    case "symbol":
      return String(input)
    case "function":
      return `[function ${input.name}]`
  }
  if (input === null) return null
  if (input instanceof Date) return Number.isNaN(input.getTime()) ? "Invalid Date" : input.toISOString()
  if (ArrayBuffer.isView(input)) return `[${input.byteLength} bytes]`
  if (depth >= DEPTH_MAX) return "[...]"
  if (input instanceof Error) {
    return { name: input.name, message: text(input.message), stack: text(input.stack ?? ""), ...input.cause === undefined ? {} : { cause: value(input.cause, depth + 1) } }
  }
  if (Array.isArray(input)) {
    // A flat header list: name, value, name, value.
    const flat = isHeaderList(input)
    return input.slice(0, ENTRIES_MAX).map((item: unknown, i) => flat && i % 2 === 1 && isSecretName(String(input[i - 1])) ? REDACTED : value(item, depth + 1))
  }
  const entries: Iterable<[unknown, unknown]> = input instanceof Map ? input.entries() : input instanceof Set ? Array.from(input).entries() : Object.entries(input as object)
  const shown: Record<string, unknown> = {}
  let count = 0
  for (const [key, item] of entries) {
    if (count++ >= ENTRIES_MAX) break
    const name = String(key)
    shown[text(name)] = isSecretName(name) ? REDACTED : value(item, depth + 1)
  }
  return shown
}
