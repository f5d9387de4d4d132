/**
 * Secrets that are not sent as they are stored: short-lived tokens, exchanged for a service-account document or renewed with a
 * refresh token. Only targets with `tokenFrom` come here; the header of an API key is built once per configuration snapshot.
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"

/** Why there is no token, whose fault it is and whether asking again later can help. Its message is safe to show an operator. */
export class CredentialFailure extends Schema.TaggedError<CredentialFailure>()("CredentialFailure", {
  reason: Schema.Literals([
    /** No such connection, or none whose token is exchanged. */
    "unknown-connection",
    /** The stored document or its key cannot be read. */
    "malformed",
    /** The client id of the provider's sign-in is not set. */
    "not-configured",
    /** The token endpoint refused the grant: the operator must sign in again or store another document. */
    "refused",
    /** The token endpoint refused the client or the request, not the grant. */
    "rejected",
    /** No answer, or one that says "later". */
    "unreachable",
    /** Something answered that is no token endpoint. */
    "protocol",
    "blocked-url"
  ]),
  source: Schema.Literals(["operator", "upstream", "gateway"]),
  retry: Schema.Literals(["later", "never"]),
  /** Error code of the token endpoint (RFC 6749, 5.2), or null. */
  code: Schema.NullOr(Schema.String),
  /** When a retry may help; absent when unknown. */
  retryAfterSeconds: Schema.optionalKey(Schema.Int),
  message: Schema.String
}) {}

export interface Token {
  readonly value: Redacted.Redacted<string>
  /** ms since the epoch; null when the token endpoint did not say. */
  readonly expiresAt: number | null
}

export class Credentials extends Context.Service<Credentials, {
  /**
   * Memory only, for the hot path: the connection's token while it is good for a call, else null = ask `token`. Near the end of
   * its life the token is renewed behind the caller's back.
   */
  readonly peek: (connectionId: string) => string | null
  /** The connection's token, renewed first when it is about to expire; one renewal serves all waiting calls. */
  readonly token: (connectionId: string) => Effect.Effect<Token, CredentialFailure>
  /** Renews now, whatever is known; the operator's way out of status `expired`. */
  readonly renew: (connectionId: string) => Effect.Effect<Token, CredentialFailure>
  /**
   * Renews before its time, for the sweep: all calls that wait for the connection share it, a final refusal stands, and no
   * endpoint is called while the breaker of token endpoints is open.
   */
  readonly ahead: (connectionId: string) => Effect.Effect<Token, CredentialFailure>
  /** Whether a renewal is running. */
  readonly renewing: (connectionId: string) => boolean
  /** An upstream answered 401 to a call with the token: it is not used again, unless it was brand-new. */
  readonly refused: (connectionId: string) => void
  /** A token for a document that is not stored. */
  readonly exchange: (provider: string, document: Redacted.Redacted<string>) => Effect.Effect<Token, CredentialFailure>
}>()("gateway/ports/Credentials") {}
