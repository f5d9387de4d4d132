/** What may be stored as a credential. Pure. */
import * as Refusal from "#schemas/api/Refusal.ts"

/** Surrounding blanks are a copying slip; a control character inside would break the upstream's header. */
export const clean = (apiKey: string | undefined, field: string): string | null | Refusal.Refusal => {
  const trimmed = apiKey?.trim() ?? ""
  if (trimmed === "") return null
  for (let i = 0; i < trimmed.length; i++) {
    const code = trimmed.charCodeAt(i)
    // A service-account document may span lines; a header value may not.
    if ((code < 32 || code === 127) && !trimmed.startsWith("{")) return Refusal.invalidField(field, "Must not contain control characters")
  }
  return trimmed
}
