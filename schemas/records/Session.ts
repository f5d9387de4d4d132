import * as Schema from "effect/Schema"

/** A signed-in dashboard session; the cookie's JWT carries `id`, so that logout can revoke it. */
export const Session = Schema.Struct({
  id: Schema.String,
  createdAt: Schema.Number,
  expiresAt: Schema.Number,
  revokedAt: Schema.NullOr(Schema.Number),
  ipAddress: Schema.NullOr(Schema.String),
  /** Of single sign-on: who signed in, and at which issuer; null = with the password. */
  issuer: Schema.NullOr(Schema.String),
  subject: Schema.NullOr(Schema.String)
})
export interface Session extends Schema.Schema.Type<typeof Session> {}

/** A token of a remote command line. */
export const AccessToken = Schema.Struct({
  id: Schema.String,
  name: Schema.String,
  scope: Schema.Literals(["read", "write", "admin"]),
  tokenHash: Schema.String,
  tokenPrefix: Schema.String,
  createdAt: Schema.String,
  expiresAt: Schema.NullOr(Schema.String),
  lastUsedAt: Schema.NullOr(Schema.String),
  /** Minted with the management password itself, by a session, or by a token that was minted so. */
  byPassword: Schema.Boolean
})
export interface AccessToken extends Schema.Schema.Type<typeof AccessToken> {}
