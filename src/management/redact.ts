/** Takes secret-looking members out of documents before they leave or are logged. */
import type * as Schema from "effect/Schema"

export const REDACTED = "[redacted]"

const secretName = /secret|token|passw|cookie|credential|private|authorization|api[-_]?key|access[-_]?key|service[-_]?account|session|bearer|signature|jwt|assertion/i
/** Names that look like the above and hold no secret: ids, counts, times, switches. */
const harmlessName = /(Id|Ids|_id|_ids|Type|_type|Prefix|Enabled|Count|ExpiresAt|expires_at|Limit|Ms)$|^(max|min|input|output|prompt|completion)[-_A-Za-z]*tokens?$/

export const isSecretName = (name: string): boolean => secretName.test(name) && !harmlessName.test(name)

const walk = (value: Schema.Json, mask: boolean): Schema.Json => {
  if (Array.isArray(value)) return value.map((item: Schema.Json) => walk(item, mask))
  if (typeof value !== "object" || value === null) return value
  const out: Record<string, Schema.Json> = {}
  for (const [key, member] of Object.entries(value as Schema.JsonObject)) {
    if (!isSecretName(key)) out[key] = walk(member, mask)
    else if (mask) out[key] = REDACTED
  }
  return out
}

type Document = Readonly<Record<string, Schema.Json>>

/** Secret members read `[redacted]`. */
export const redact = (document: Document): Document => walk(document, true) as Document

/** Secret members are gone. */
export const withoutSecrets = (document: Document): Document => walk(document, false) as Document

/** Header values that carry a credential read `[redacted]`. */
export const redactHeaders = (headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, isSecretHeader(name) ? REDACTED : value]))

export const hasSecretHeader = (headers: Readonly<Record<string, string>>): boolean => Object.keys(headers).some(isSecretHeader)

const isSecretHeader = (name: string): boolean => /(key|token|secret|auth|cookie|passw|credential|signature|session)/i.test(name)

/** A document that came back from a client: members that still read `[redacted]` keep their stored value. */
export const keepRedacted = <A>(incoming: Readonly<Record<string, A>>, stored: Readonly<Record<string, A>>): Record<string, A> => {
  const out: Record<string, A> = {}
  for (const [name, value] of Object.entries(incoming)) {
    if (value !== REDACTED) out[name] = value
    else if (stored[name] !== undefined) out[name] = stored[name]
  }
  return out
}
