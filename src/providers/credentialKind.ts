/** What the secret of a connection is, and therefore how it becomes a header. Pure. */
import * as Redacted from "effect/Redacted"
import type { Connection } from "#schemas/records/Connection.ts"
import type { Provider } from "#schemas/Provider.ts"

/**
 * `static`: sent as it is (an API key, or a token from elsewhere). `service-account`: a document that is exchanged for a
 * short-lived token. `refresh`: an OAuth sign-in whose access token is renewed.
 */
export type CredentialKind = "none" | "static" | "service-account" | "refresh"

/** What the gateway reads of a service-account document. */
export interface ServiceAccount {
  readonly email: string
  readonly privateKey: string
  readonly keyId: string | null
  readonly tokenUri: string
  readonly project: string | null
}

const text = (value: unknown): string | null => typeof value === "string" && value !== "" ? value : null

const defaultTokenUri = "https://oauth2.googleapis.com/token"

/** The service-account document, or null when the text is none. An API key never begins with a brace. */
export const readServiceAccount = (secret: string): ServiceAccount | null => {
  if (!isDocument(secret)) return null
  try {
    const document = JSON.parse(secret) as Record<string, unknown>
    const email = text(document["client_email"])
    const privateKey = text(document["private_key"])
    if (email === null || privateKey === null) return null
    return {
      email,
      privateKey,
      keyId: text(document["private_key_id"]),
      tokenUri: text(document["token_uri"]) ?? defaultTokenUri,
      project: text(document["project_id"])
    }
  } catch {
    return null
  }
}

/** A JSON document is no header value, so it is never sent; one that cannot be read is refused when its token is asked for. */
export const isDocument = (secret: string): boolean => secret.trimStart().startsWith("{")

/** `row` is null for a provider node, which has no sign-in. */
export const kindOf = (connection: Connection | null, row: Pick<Provider, "oauth"> | null): CredentialKind => {
  if (connection === null) return "none"
  if (connection.authType === "oauth") {
    if (connection.refreshToken !== null && row?.oauth !== undefined) return "refresh"
    return connection.accessToken === null ? "none" : "static"
  }
  const secret = connection.apiKey ?? connection.accessToken
  if (secret === null) return "none"
  return isDocument(Redacted.value(secret)) ? "service-account" : "static"
}

/** Whether a token must be asked for before each call. */
export const isExchanged = (kind: CredentialKind): boolean => kind === "service-account" || kind === "refresh"

/** The project of a connection: its own, else the one its service account belongs to. */
export const projectOf = (connection: Connection): string | null => {
  const own = text(connection.providerSpecificData["project"]) ?? text(connection.projectId)
  if (own !== null || connection.apiKey === null) return own
  return readServiceAccount(Redacted.value(connection.apiKey))?.project ?? null
}
