import * as Schema from "effect/Schema"

/** The credential with which another gateway, or a program, reads the bundle of this one. */
export const SyncToken = Schema.Struct({
  id: Schema.String,
  name: Schema.String,
  /** SHA-256, hex. */
  tokenHash: Schema.String,
  /** The API key that made it, and without whose management rights it ends; null when a session or an access token made it. */
  syncApiKeyId: Schema.NullOr(Schema.String),
  /** ISO 8601, as the others. */
  revokedAt: Schema.NullOr(Schema.String),
  lastUsedAt: Schema.NullOr(Schema.String),
  createdAt: Schema.String,
  updatedAt: Schema.String
})
export interface SyncToken extends Schema.Schema.Type<typeof SyncToken> {}
