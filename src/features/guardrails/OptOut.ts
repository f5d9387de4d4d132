/** Which guardrails a request is read without: those that its key names, and those that the client names where it may. Pure. */
import type { ApiKey } from "#schemas/records/ApiKey.ts"
import * as GuardrailName from "#schemas/api/GuardrailName.ts"
import * as Json from "#src/wire/json/json.ts"

/** What a request says of it. */
export interface Request {
  readonly key: ApiKey | null
  readonly parsed: Readonly<Record<string, unknown>>
  readonly request: { readonly header: (lowerCaseName: string) => string | undefined }
}

const field = "disabledGuardrails"

/** Names of guardrails in a list, or in a text with commas. */
export const namesIn = (said: unknown): ReadonlyArray<GuardrailName.GuardrailName> => {
  const names: ReadonlyArray<unknown> = typeof said === "string" ? said.split(",") : Array.isArray(said) ? said : []
  return names.flatMap((name) => {
    const known = typeof name === "string" ? GuardrailName.normalized(name) : ""
    return GuardrailName.isGuardrail(known) ? [known] : []
  })
}

/** `isAllowed`: what the setting allowGuardrailOptOut says; a key can forbid it, too. */
export const of = ({ key, parsed, request }: Request, isAllowed: boolean): ReadonlyArray<GuardrailName.GuardrailName> => {
  const named = namesIn(key?.policy.disabledGuardrails)
  if (!isAllowed || key?.policy.allowGuardrailOptOut === false) return named
  const metadata = parsed["metadata"]
  return [...new Set([
    ...named,
    ...namesIn(request.header("x-gateway-disabled-guardrails")), ...namesIn(request.header("x-disabled-guardrails")),
    ...namesIn(parsed[field]), ...namesIn(Json.isRecord(metadata) ? metadata[field] : undefined)
  ])].sort()
}
