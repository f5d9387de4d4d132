/** Signing in at the operator's issuer: OpenID Connect's authorization code flow with PKCE (RFC 7636), state and nonce. */
import { createHash } from "node:crypto"
import * as Cache from "effect/Cache"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as SecureRandom from "effect/crypto/SecureRandom"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import { Configuration } from "#actors/ports/Configuration.ts"
import { Secrets } from "#actors/ports/Secrets.ts"
import type { StoreError } from "#actors/ports/StoreError.ts"
import { DocumentStore } from "#actors/ports/Stores.ts"
import { UrlGuard } from "#actors/ports/UrlGuard.ts"
import { Upstream } from "#actors/request/ports/Upstream.ts"
import * as Issuer from "#schemas/api/issuer.ts"
import * as StatusReason from "#schemas/statusReason.ts"
import * as SingleSignOn from "#src/management/authentication/singleSignOn.ts"
import { ManagementOptions } from "#src/management/ManagementOptions.ts"
import * as IdToken from "./idToken.ts"
import * as IssuerCalls from "./IssuerCalls.ts"
import * as Metadata from "./metadata.ts"
import * as Pending from "./pending.ts"
import { failure, type SignOnFailure } from "./SignOnFailure.ts"

/** How long an issuer's description of itself is used, and how soon one that failed is asked for again, ms. */
const METADATA_MS = { known: 600_000, failed: 5_000 }
/** An operator changes the issuer now and then; the newest few stay. */
const ISSUERS_MAX = 4
/** Characters of the issuer's words that are shown. */
const WORDS_MAX = 300

/** What the issuer's page sends the browser back with. */
export interface Return {
  readonly state?: string
  readonly code?: string
  readonly error?: string
  readonly error_description?: string
  /** RFC 9207. */
  readonly iss?: string
}

export class SignOn extends Context.Service<SignOn, {
  /** The issuer's page, and the cookie that the browser brings back from it. */
  readonly begin: (returnTo: string) => Effect.Effect<{ readonly authorizeUrl: string; readonly cookie: string }, SignOnFailure>
  /** The sign-in that this browser began; fails when it began none with this state. */
  readonly resume: (cookie: string | undefined, back: Return) => Effect.Effect<Pending.Pending, SignOnFailure>
  /** Who signed in; fails when the operator's list does not name that person. */
  readonly finish: (pending: Pending.Pending, back: Return) => Effect.Effect<SingleSignOn.Identity, SignOnFailure | StoreError>
}>()("gateway/oidc/SignOn") {}

const off = failure("off", "Single sign-on is off: an operator sets oidcIssuer, oidcClientId and oidcEnabled by PATCH /api/settings")

/** The issuer's words without what we sent, and without control characters. */
const plain = (words: string, sent: ReadonlyArray<string> = []): string =>
  sent.filter((value) => value.length >= 8).reduce((text, value) => text.replaceAll(value, "[redacted]"), words).replaceAll(/\p{Cc}+/gu, " ").slice(0, WORDS_MAX)

/** `code: description`, as far as an answer of the issuer has them. */
const saidIn = (code: unknown, description: unknown, sent: ReadonlyArray<string> = []): string =>
  [code, description].filter((part) => typeof part === "string" && part !== "").map((part) => plain(String(part), sent)).join(": ")

/** RFC 6749, section 2.3.1: each part is form-encoded first. */
const encoded = (text: string): string => new URLSearchParams({ "": text }).toString().slice(1)

export const make = Effect.gen(function*() {
  const configuration = yield* Configuration
  const documents = yield* DocumentStore
  const secrets = yield* Secrets
  const random = yield* SecureRandom.SecureRandom
  const { publicUrl } = yield* ManagementOptions
  const calls = IssuerCalls.make(yield* Upstream, yield* UrlGuard)
  const redirectUri = `${publicUrl}/api/auth/oidc/callback`

  // Callers without a credential begin sign-ins: however many there are, the issuer is asked once.
  const described = yield* Cache.makeWith(
    (issuer: string) => Effect.flatMap(calls.get(Issuer.discoveryOf(issuer), "for its openid-configuration"), (json) => {
      const metadata = Metadata.read(json, issuer)
      return typeof metadata === "string" ? Effect.fail(failure("issuer", `The issuer ${metadata}`)) : Effect.succeed(metadata)
    }),
    { capacity: ISSUERS_MAX, timeToLive: (exit) => Exit.isSuccess(exit) ? METADATA_MS.known : METADATA_MS.failed }
  )

  const client = Effect.suspend(() => {
    const found = SingleSignOn.clientIn(configuration.current().settings)
    return found === null ? Effect.fail(off) : Effect.succeed(found)
  })
  const secret = Effect.map(random.randomBytes(32), (bytes) => Buffer.from(bytes).toString("base64url"))

  const idTokenOf = Effect.fnUntraced(function*(metadata: Metadata.Metadata, { clientId, verifier }: Pending.Pending, code: string) {
    const stored = yield* documents.get("secret", "oidcClientSecret")
    const clientSecret = typeof stored === "string" && stored !== "" ? stored : null
    const basic = clientSecret !== null && metadata.secretIn === "basic"
    const form = {
      grant_type: "authorization_code", code, redirect_uri: redirectUri, code_verifier: verifier,
      ...basic ? {} : { client_id: clientId, ...clientSecret === null ? {} : { client_secret: clientSecret } }
    }
    const authorization = basic ? `Basic ${Buffer.from(`${encoded(clientId)}:${encoded(clientSecret)}`).toString("base64")}` : null
    const { json, status } = yield* calls.post(metadata.tokenEndpoint, form, authorization)
    if (StatusReason.isPassing(status)) return yield* failure("unreachable", `The issuer's token endpoint answered ${status}: try again in a moment`)
    if (!StatusReason.isOk(status) || json === null) {
      const said = saidIn(json?.["error"], json?.["error_description"], [code, verifier, ...clientSecret === null ? [] : [clientSecret]])
      return yield* failure("refused", `The issuer's token endpoint answered ${status}${said === "" ? "" : ` (${said})`}: begin again; if that stays, check oidcClientId, oidcClientSecret and the redirect URI ${redirectUri}`)
    }
    const token = json["id_token"]
    return typeof token === "string" && token !== "" ? token : yield* failure("issuer", "The issuer's token endpoint answered without an id_token: allow the client the scope openid")
  })

  return SignOn.of({
    begin: Effect.fn("SignOn.begin")(function*(returnTo) {
      const { clientId, issuer } = yield* client
      const { authorizationEndpoint } = yield* Cache.get(described, issuer)
      const pending: Pending.Pending = {
        state: yield* secret, nonce: yield* secret, verifier: yield* secret, issuer, clientId, returnTo,
        expiresAt: (yield* Clock.currentTimeMillis) + Pending.LIFE_MS
      }
      const page = new URL(authorizationEndpoint)
      const parameters = {
        response_type: "code", scope: "openid", client_id: clientId, redirect_uri: redirectUri, state: pending.state, nonce: pending.nonce,
        code_challenge: createHash("sha256").update(pending.verifier).digest("base64url"), code_challenge_method: "S256"
      }
      for (const [name, value] of Object.entries(parameters)) page.searchParams.set(name, value)
      return { authorizeUrl: page.href, cookie: Pending.seal(secrets, pending) }
    }),
    resume: Effect.fn("SignOn.resume")(function*(cookie, { iss, state }) {
      const { clientId, issuer } = yield* client
      const pending = Pending.open(secrets, cookie, yield* Clock.currentTimeMillis)
      if (pending === null || pending.state !== state) {
        return yield* failure("state", `This browser did not begin that sign-in, or took longer than ${Pending.LIFE_MS / 60_000} minutes: begin again at ${publicUrl}/dashboard, the address that browsers come back to (GATEWAY_PUBLIC_URL)`)
      }
      if (pending.issuer !== issuer || pending.clientId !== clientId) return yield* failure("state", "The settings of single sign-on were changed meanwhile: begin again")
      if (iss !== undefined && iss !== issuer) return yield* failure("state", "The answer comes from another issuer: begin again")
      return pending
    }),
    finish: Effect.fn("SignOn.finish")(function*(pending, { code, error, error_description }) {
      if (error !== undefined && error !== "") return yield* failure("denied", `The issuer did not sign you in (${saidIn(error, error_description)})`)
      if (code === undefined || code === "") return yield* failure("issuer", "The issuer sent the browser back without a code: begin again")
      const { clientId, issuer, nonce } = pending
      const metadata = yield* Cache.get(described, issuer)
      const token = yield* idTokenOf(metadata, pending, code)
      // Sign-ins are rare: the keys are read for each, so a key that the issuer took back is out at once, and a new one is known.
      const jwks = yield* calls.get(metadata.jwksUri, "for its keys")
      const now = yield* Clock.currentTimeMillis
      const subject = yield* Effect.mapError(IdToken.verify(token, jwks, { issuer, clientId, nonce, now }), (reason) => failure("token", `The issuer's id_token is refused: ${reason}`))
      if (!SingleSignOn.admits(configuration.current().settings, { issuer, subject })) {
        return yield* failure("subject", `The issuer says that you are '${plain(subject)}', who may not sign in here: an operator adds that to oidcAllowedSubjects`, subject)
      }
      return { issuer, subject }
    })
  })
})

export const layer = Layer.effect(SignOn, make)
