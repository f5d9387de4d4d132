/** The error of a management client when a token cannot be obtained. Pure. */
import type { CredentialFailure } from "#actors/request/ports/Credentials.ts"
import type { Diagnosis, ProbeResult } from "#src/features/providers/ports/ProviderProbe.ts"
import * as Refusal from "#schemas/api/Refusal.ts"

export const of = (failure: CredentialFailure): Refusal.Refusal => {
  switch (failure.reason) {
    case "unknown-connection":
      return Refusal.badRequest("The connection has no token to renew", { code: "oauth_unsupported" })
    case "unreachable":
    case "protocol":
      return new Refusal.Refusal(502, "server_error", "upstream_error", failure.message)
    case "blocked-url":
      return Refusal.badRequest(failure.message, { code: "url_blocked" })
    default:
      return Refusal.badRequest(failure.message, { code: "token_refresh_failed" })
  }
}

const diagnosisOf = (failure: CredentialFailure): Diagnosis => ({
  type: failure.reason === "refused" ? "token_expired" : "token_refresh_failed",
  source: "oauth",
  code: failure.code ?? failure.reason,
  message: failure.message
})

/** The outcome of a test that got no token. */
export const probeResult = (failure: CredentialFailure): ProbeResult => ({
  valid: false, statusCode: null, latencyMs: 0, diagnosis: diagnosisOf(failure), method: null, models: null, blocked: failure.reason === "blocked-url"
})
