/** Whether an identity token proves who signed in (OpenID Connect Core 1.0, section 3.1.3.7). */
import * as Effect from "effect/Effect"
import { createLocalJWKSet, errors, type JSONWebKeySet, jwtVerify, type JWTPayload, type JWTVerifyOptions } from "jose"

/** Signatures with the issuer's private key only: `none` proves nothing, and an HMAC is made with what the client knows, too. */
const ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA", "Ed25519"]
/** How far the issuer's clock may differ from ours, s. */
const LEEWAY_S = 60
/** Longest token that is read, characters. */
const TOKEN_MAX = 32_768
/** Longest subject (OpenID Connect Core 1.0, section 2). */
const SUBJECT_MAX = 255

export interface Expected {
  readonly issuer: string
  readonly clientId: string
  readonly nonce: string
  /** ms since the epoch. */
  readonly now: number
}

/** Without a key id several keys of the issuer may fit: each is tried. */
const payloadOf = async (token: string, jwks: JSONWebKeySet, options: JWTVerifyOptions): Promise<JWTPayload> => {
  try {
    return (await jwtVerify(token, createLocalJWKSet(jwks), options)).payload
  } catch (error) {
    if (!(error instanceof errors.JWKSMultipleMatchingKeys)) throw error
    for await (const key of error) {
      try {
        return (await jwtVerify(token, key, options)).payload
      } catch (other) {
        if (!(other instanceof errors.JWSSignatureVerificationFailed)) throw other
      }
    }
    throw new errors.JWSSignatureVerificationFailed()
  }
}

const reasonOf = (error: unknown): string => {
  if (error instanceof errors.JWTExpired) return "it has expired; compare the clocks of the gateway and the issuer"
  if (error instanceof errors.JWTClaimValidationFailed) return `its ${error.claim} is not the one that was asked for`
  if (error instanceof errors.JOSEAlgNotAllowed) return "it is not signed with a private key of the issuer (RS256, ES256, EdDSA and their kind)"
  if (error instanceof errors.JWKSNoMatchingKey || error instanceof errors.JWSSignatureVerificationFailed) return "no key of the issuer signed it"
  if (error instanceof errors.JWKSInvalid) return "the issuer's keys cannot be read"
  return "it cannot be read"
}

/** With more than one audience, or a party named, the token must be made for us (azp). */
const isForUs = ({ aud, azp }: JWTPayload, clientId: string): boolean =>
  azp === undefined ? !Array.isArray(aud) || aud.length === 1 : azp === clientId

/** Answers the subject; fails with what is wrong, as a clause that goes on after "is refused: ". */
export const verify = (token: string, jwks: Readonly<Record<string, unknown>>, { clientId, issuer, nonce, now }: Expected): Effect.Effect<string, string> =>
  token.length > TOKEN_MAX
    ? Effect.fail("it is too long")
    : Effect.flatMap(
      Effect.tryPromise({
        try: () => payloadOf(token, jwks as unknown as JSONWebKeySet, {
          algorithms: ALGORITHMS, issuer, audience: clientId, clockTolerance: LEEWAY_S, currentDate: new Date(now), requiredClaims: ["sub", "exp", "iat", "nonce"]
        }),
        catch: reasonOf
      }),
      (payload) => {
        const { sub } = payload
        if (payload["nonce"] !== nonce) return Effect.fail("its nonce is not the one that was asked for")
        if (!isForUs(payload, clientId)) return Effect.fail("its azp is not the one that was asked for")
        return typeof sub === "string" && sub !== "" && sub.length <= SUBJECT_MAX ? Effect.succeed(sub) : Effect.fail("it has no usable sub")
      }
    )
