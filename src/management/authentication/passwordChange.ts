import * as Schema from "effect/Schema"

/** What a replaced password ended: everything that the old one had opened, but the caller's own session or token. */
export const PasswordChange = Schema.Struct({
  sessionsEnded: Schema.Int,
  tokensRevoked: Schema.Int,
  /** Access tokens that were minted with the old password and still work. */
  tokensKept: Schema.Int,
  /** How to revoke those. */
  revokeTokens: Schema.optionalKey(Schema.String)
}).annotate({ identifier: "PasswordChange" })
export interface PasswordChange extends Schema.Schema.Type<typeof PasswordChange> {}
