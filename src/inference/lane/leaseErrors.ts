/** Errors of the lease endpoints: every failed lookup has the same bytes, and none names an owner or connection. */
import { PublicError } from "#schemas/errors.ts"

const lease = (status: number, code: string, message: string): PublicError => new PublicError(code, status, "lease_error", message)

export const ownerHeader = "x-gateway-lease-owner"
export const generationHeader = "x-gateway-lease-generation"

export const contextRequired = lease(400, "LEASE_CONTEXT_REQUIRED",
  "Send X-Gateway-Lease-Owner, and with it X-Gateway-Lease-Generation on inference calls or 'generation' in the body of renew, release and status.")
export const contextInvalid = lease(400, "LEASE_CONTEXT_INVALID",
  "The lease owner must be 'vlo_' and 43 base64url characters, the generation a positive whole number as the lease was granted with.")
export const actionInvalid = lease(400, "LEASE_ACTION_INVALID",
  "The body must be a JSON object whose 'action' is acquire, renew, release or status; a release may have the reason OWNER_EXIT or CLIENT_CANCELLED.")
export const modelInvalid = lease(400, "LEASE_MODEL_INVALID", "Acquire needs 'model': the id of the model that the session will use.")
export const authenticationRequired = lease(401, "LEASE_AUTHENTICATION_REQUIRED", "Session leases need an API key: send 'Authorization: Bearer <key>'.")
export const keyInvalid = lease(401, "LEASE_API_KEY_INVALID", "The API key is not valid.")
export const scopeRequired = lease(403, "LEASE_SCOPE_REQUIRED", "Session leases need an API key with the scope lease:exclusive.")
export const keyConfigurationInvalid = lease(403, "LEASE_KEY_CONFIGURATION_INVALID",
  "The API key has the scope lease:exclusive but no allowedConnections: an operator has to name them.")
export const required = lease(409, "LEASE_REQUIRED",
  "This API key works under a lease only: acquire one with POST /api/v1/session-leases and send X-Gateway-Lease-Owner and X-Gateway-Lease-Generation.")
export const fenceStale = lease(409, "LEASE_FENCE_STALE", "There is no such active lease; acquire a new one.")
export const connectionMismatch = lease(409, "LEASE_CONNECTION_MISMATCH",
  "The request would use another connection than the leased one; acquire a lease for its model.")
export const unsupportedRoute = lease(400, "LEASE_UNSUPPORTED_ROUTE", "This endpoint cannot be used with a key of scope lease:exclusive: its calls cannot be fenced.")
export const unsupportedTransport = lease(400, "LEASE_UNSUPPORTED_TRANSPORT", "This transport cannot be used with a key of scope lease:exclusive: its calls cannot be fenced.")
export const contentTypeRequired = lease(415, "LEASE_CONTENT_TYPE_REQUIRED", "Send the body as content-type application/json.")
export const eligibilityUnavailable = lease(429, "LEASE_ELIGIBILITY_UNAVAILABLE", "No connection that the key may lease for this model can take calls at the moment.")
export const noEligibleConnection = lease(503, "LEASE_NO_ELIGIBLE_CONNECTION", "None of the connections that the key may lease exists any more.")
export const serviceUnavailable = lease(503, "LEASE_SERVICE_UNAVAILABLE", "Leases cannot be checked at the moment, so nothing was sent; try again.")

/** Bounds of the Retry-After for a client while all connections are leased, s. */
const shortestWait = 1
const longestWait = 3_600

/** Every free connection is held by another owner; `freeAt`: when the first of those leases ends. */
export const capacity = ({ eligible, freeAt, now }: { readonly eligible: number; readonly freeAt: number; readonly now: number }) => {
  const retryAfter = Math.min(longestWait, Math.max(shortestWait, Math.ceil((freeAt - now) / 1000)))
  const message = "Every connection that the key may lease for this model is held by another session."
  return {
    error: new PublicError("LEASE_CAPACITY_UNAVAILABLE", 429, "lease_error", message, retryAfter),
    body: JSON.stringify({
      state: "WAITING_FOR_CAPACITY",
      error: { message, type: "lease_error", code: "LEASE_CAPACITY_UNAVAILABLE" },
      reason: "NO_FREE_ELIGIBLE_CONNECTION",
      retryAfter,
      eligibleCount: eligible,
      freeCount: 0
    })
  }
}
