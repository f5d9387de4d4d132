import * as Schema from "effect/Schema"
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as HttpApiSchema from "effect/http-api/HttpApiSchema"
import * as OpenApi from "effect/http-api/OpenApi"
import { Access, anyone, mints, reads, TokenScope } from "#schemas/api/Access.ts"
import { Message, text } from "#schemas/api/fields.ts"

const AccessTokenView = Schema.Struct({
  id: Schema.String,
  name: Schema.String,
  scope: TokenScope,
  tokenPrefix: Schema.String,
  createdAt: Schema.String,
  expiresAt: Schema.NullOr(Schema.String),
  lastUsedAt: Schema.NullOr(Schema.String),
  /** Minted with the management password, by a session, or by a token that was: a new password revokes it unless asked not to. */
  byPassword: Schema.Boolean
})

const NewToken = Schema.Struct({
  name: Schema.optionalKey(text(1, 200)),
  scope: Schema.optionalKey(TokenScope),
  /** Days until the token ends; absent = it does not. */
  expiresInDays: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 3650 })))
})
const MintedToken = Schema.Struct({
  /** Shown this once. */
  token: Schema.String,
  id: Schema.String,
  name: Schema.String,
  scope: TokenScope,
  expiresAt: Schema.NullOr(Schema.String)
})

/** Tokens of a remote command line: `gwa_live_<43 base64url>`, read < write < admin. */
export const TokensGroup = HttpApiGroup.make("tokens").add(
  HttpApiEndpoint.post("connect", "/api/cli/connect", {
    payload: Schema.Struct({ password: text(1, 200), ...NewToken.fields }),
    success: MintedToken
  }).annotate(Access, anyone).annotate(OpenApi.Summary, "Exchange the management password for an access token (scope admin unless asked)"),
  HttpApiEndpoint.get("whoami", "/api/cli/whoami", {
    success: Schema.Struct({
      authenticated: Schema.Boolean,
      scope: Schema.NullOr(TokenScope),
      name: Schema.NullOr(Schema.String)
    })
  }).annotate(Access, reads).annotate(OpenApi.Summary, "Who the presented credential is"),
  HttpApiEndpoint.get("list", "/api/cli/tokens", { success: Schema.Struct({ tokens: Schema.Array(AccessTokenView) }) })
    .annotate(Access, mints)
    .annotate(OpenApi.Summary, "Access tokens, without their values"),
  HttpApiEndpoint.post("create", "/api/cli/tokens", {
    payload: Schema.Struct({ ...NewToken.fields, name: text(1, 200) }),
    success: MintedToken.pipe(HttpApiSchema.status(201))
  }).annotate(Access, mints).annotate(OpenApi.Summary, "Create an access token; its value is shown once"),
  HttpApiEndpoint.delete("revoke", "/api/cli/tokens/:id", { params: { id: Schema.String }, success: Message })
    .annotate(Access, mints)
    .annotate(OpenApi.Summary, "Revoke an access token at once")
).annotateMerge(OpenApi.annotations({ title: "Access tokens", description: "Credentials of a remote command line." }))
