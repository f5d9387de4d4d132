/** The short-lived token of a target: as a header, and the client's error when there is none. Pure. */
import type { CredentialFailure } from "#actors/request/ports/Credentials.ts"
import type { Target } from "#actors/request/ports/Target.ts"
import * as Errors from "#schemas/errors.ts"
import { PublicError } from "#schemas/errors.ts"

/** The headers with a bearer token behind them; the given array stays as it is. */
export const withToken = (headers: ReadonlyArray<string>, token: string): ReadonlyArray<string> => [...headers, "authorization", `Bearer ${token}`]

/** Like an upstream's own 401 where the operator must act, else like an upstream that cannot be reached; the vendor's words stay here. */
export const errorOf = (failure: CredentialFailure, target: Target): PublicError => {
  const where = `Provider ${target.providerAlias}`
  if (failure.retry === "later") {
    return Errors.make("upstream_connect_error", `${where} gave no access token: its token endpoint did not answer properly.`, { retryAfterSeconds: failure.retryAfterSeconds ?? 1 })
  }
  return new PublicError(
    "upstream_auth_error", 401, "authentication_error",
    `${where} gives no access token for the credential stored in the gateway (${failure.reason}). Check the connection with POST /api/providers/{id}/test.`
  )
}
