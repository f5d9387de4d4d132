/** What may be stored as a credential. Pure. */
import * as Refusal from "#schemas/api/Refusal.ts"

/** The last character that a header value can hold. */
const LAST_CODE = 0xff

/** Surrounding blanks are a copying slip; a control character inside would break the upstream's header. */
export const clean = (apiKey: string | undefined, field: string): string | null | Refusal.Refusal => {
  const trimmed = apiKey?.trim() ?? ""
  if (trimmed === "") return null
  for (let i = 0; i < trimmed.length; i++) {
    const code = trimmed.charCodeAt(i)
    // A service-account document may span lines and hold any text; a header value may not.
    if (trimmed.startsWith("{")) break
    if (code < 32 || code === 127) return Refusal.invalidField(field, "Must not contain control characters")
    if (code > LAST_CODE) return Refusal.invalidField(field, `No header can carry its character ${i + 1} (U+${code.toString(16).toUpperCase().padStart(4, "0")}): paste the credential alone`)
  }
  return trimmed
}
