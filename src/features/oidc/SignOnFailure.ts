/** Why a sign-in by single sign-on does not go on. Its message says what to do; it holds no code, token or secret. */
import * as Schema from "effect/Schema"
import * as Refusal from "#schemas/api/Refusal.ts"

export class SignOnFailure extends Schema.TaggedError<SignOnFailure>()("SignOnFailure", {
  reason: Schema.Literals([
    /** Not configured, or switched off. */
    "off",
    /** The browser did not begin this sign-in, or too long ago. */
    "state",
    /** The issuer's page ended without a sign-in. */
    "denied",
    /** The issuer does not take the code or the client. */
    "refused",
    /** The identity token proves nothing. */
    "token",
    /** The subject is not in oidcAllowedSubjects. */
    "subject",
    /** The address guard does not let the gateway call it. */
    "blocked-url",
    /** The issuer answers something else than OpenID Connect asks. */
    "issuer",
    "unreachable"
  ]),
  message: Schema.String,
  /** Who the issuer says it is, where that is known. */
  subject: Schema.NullOr(Schema.String)
}) {}

export const failure = (reason: SignOnFailure["reason"], message: string, subject: string | null = null): SignOnFailure => new SignOnFailure({ reason, message, subject })

export const refusalOf = ({ message, reason }: SignOnFailure): Refusal.Refusal => {
  switch (reason) {
    case "off":
      return Refusal.badRequest(message, { code: "oidc_off" })
    case "state":
      return Refusal.badRequest(message, { code: "oidc_state_invalid" })
    case "denied":
      return Refusal.forbidden(message, { code: "oidc_denied" })
    case "refused":
      return Refusal.badRequest(message, { code: "oidc_refused" })
    case "token":
      return Refusal.unauthorized(message, { code: "oidc_token_invalid" })
    case "subject":
      return Refusal.forbidden(message, { code: "oidc_subject_not_allowed" })
    case "blocked-url":
      return Refusal.badRequest(message, { code: "url_blocked" })
    case "issuer":
      return new Refusal.Refusal(502, "server_error", "oidc_issuer_unusable", message)
    case "unreachable":
      return new Refusal.Refusal(502, "server_error", "oidc_issuer_unreachable", message)
  }
}
