import * as Schema from "effect/Schema"
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as OpenApi from "effect/http-api/OpenApi"
import { Access, anyone, setsUp } from "#schemas/api/Access.ts"
import { Success, text } from "#schemas/api/fields.ts"
import { PASSWORD_MAXIMUM, PASSWORD_MINIMUM } from "#schemas/passwordLength.ts"
import { PasswordChange } from "#src/management/authentication/passwordChange.ts"

const LoginState = Schema.Struct({
  requireLogin: Schema.Boolean,
  hasPassword: Schema.Boolean,
  setupComplete: Schema.Boolean
})

const LoginChange = Schema.Struct({
  requireLogin: Schema.optionalKey(Schema.Boolean),
  password: Schema.optionalKey(text(PASSWORD_MINIMUM, PASSWORD_MAXIMUM)),
  /** Needed to replace an existing password. */
  currentPassword: Schema.optionalKey(text(1, 200)),
  /** With a new password: access tokens that were minted with the old one stay; absent = they are revoked. */
  keepTokens: Schema.optionalKey(Schema.Boolean)
})

const change = { payload: LoginChange, success: Schema.Struct({ ...LoginState.fields, passwordChange: Schema.optionalKey(PasswordChange) }) }

export const AuthGroup = HttpApiGroup.make("auth").add(
  HttpApiEndpoint.post("login", "/api/auth/login", { payload: Schema.Struct({ password: text(1, 200) }), success: Success })
    .annotate(Access, anyone)
    .annotate(OpenApi.Summary, "Sign in; sets the auth_token cookie"),
  HttpApiEndpoint.post("logout", "/api/auth/logout", { success: Success })
    .annotate(Access, anyone)
    .annotate(OpenApi.Summary, "Sign out; the session is revoked on the server"),
  HttpApiEndpoint.get("status", "/api/auth/status", {
    success: Schema.Struct({
      authenticated: Schema.Boolean,
      /** `session`, `key`, `token`, `local`, `open` or `anonymous`. */
      method: Schema.String,
      /** Whether GET /api/auth/oidc/login is offered. */
      singleSignOn: Schema.Boolean,
      /** Whether POST /api/auth/login takes the password. */
      passwordLogin: Schema.Boolean,
      ...LoginState.fields
    })
  }).annotate(Access, anyone).annotate(OpenApi.Summary, "Whether this call is authenticated"),
  HttpApiEndpoint.get("requireLogin", "/api/settings/require-login", { success: LoginState })
    .annotate(Access, anyone)
    .annotate(OpenApi.Summary, "Whether management needs a login"),
  HttpApiEndpoint.put("setRequireLogin", "/api/settings/require-login", change)
    .annotate(Access, setsUp)
    .annotate(OpenApi.Summary, "Turn the login on or off, or set the password"),
  HttpApiEndpoint.post("postRequireLogin", "/api/settings/require-login", change)
    .annotate(Access, setsUp)
    .annotate(OpenApi.Summary, "As PUT; from loopback it also sets the first password")
).annotateMerge(OpenApi.annotations({
  title: "Authentication",
  description: "Dashboard sessions and the management password."
}))
