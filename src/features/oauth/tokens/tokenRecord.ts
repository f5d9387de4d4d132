/** A connection's record after a sign-in, a renewal, or a refused one. Pure. */
import type { CredentialFailure } from "#actors/request/ports/Credentials.ts"
import type { Connection } from "#schemas/records/Connection.ts"
import type { Grant } from "./tokenEndpoint.ts"

type Fields = Partial<Omit<Connection, "id" | "apiKey" | "accessToken" | "refreshToken" | "idToken">>
type Secrets = Partial<Pick<Connection, "accessToken" | "refreshToken" | "idToken">>

const iso = (ms: number): string => new Date(ms).toISOString()

const unharmed = { lastError: null, lastErrorType: null, lastErrorSource: null, errorCode: null, lastErrorAt: null } as const

/** States that a renewal in the background never overwrites. */
const terminal: ReadonlySet<string> = new Set(["expired", "banned", "credits_exhausted"])

/** A missing refresh or id token keeps the stored one. */
export const secrets = (grant: Grant): Secrets => ({
  accessToken: grant.accessToken,
  ...(grant.refreshToken === null ? {} : { refreshToken: grant.refreshToken }),
  ...(grant.idToken === null ? {} : { idToken: grant.idToken })
})

/** When and for what the grant is good. */
export const life = (grant: Grant, now: number): Fields => {
  const expiresAt = grant.expiresIn === null ? null : iso(now + grant.expiresIn * 1000)
  return {
    expiresIn: grant.expiresIn,
    expiresAt,
    tokenExpiresAt: expiresAt,
    ...(grant.tokenType === null ? {} : { tokenType: grant.tokenType }),
    ...(grant.scope === null ? {} : { scope: grant.scope })
  }
}

/** A renewal by an operator ends the status "needs a sign-in"; a ban or an empty balance stays. */
export const renewed = (current: Connection, grant: Grant, now: number, byOperator: boolean): Fields => ({
  ...life(grant, now),
  ...(byOperator && current.testStatus === "expired" ? { ...unharmed, testStatus: "active" as const } : {}),
  ...(current.lastErrorSource === "oauth" && !terminal.has(current.testStatus) ? unharmed : {}),
  updatedAt: iso(now)
})

export const cleared = (now: number): Fields => ({ ...unharmed, testStatus: "active", updatedAt: iso(now) })

/** A refused grant needs the operator: status `expired` takes the connection out of every plan. */
export const failed = (current: Connection, failure: CredentialFailure, now: number): Fields => ({
  ...(failure.reason === "refused" && !terminal.has(current.testStatus) ? { testStatus: "expired" as const } : {}),
  lastError: failure.message,
  lastErrorType: "token_refresh_failed",
  lastErrorSource: "oauth",
  errorCode: failure.code ?? failure.reason,
  lastErrorAt: iso(now),
  updatedAt: iso(now)
})
