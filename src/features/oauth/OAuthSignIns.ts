/** The SignIns port: OAuth 2.0 authorization code with PKCE (RFC 7636) and device code (RFC 8628) from the registry's data rows. */
import { createHash } from "node:crypto"
import * as Clock from "effect/Clock"
import * as SecureRandom from "effect/crypto/SecureRandom"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { decodeJwt } from "jose"
import * as Redacted from "effect/Redacted"
import type { CredentialFailure } from "#actors/request/ports/Credentials.ts"
import { type Flow, type Offer, type PendingSignIn, type Purpose, type SignedIn, SignInFailure, SignIns } from "#src/features/oauth/ports/SignIns.ts"
import { UrlGuard } from "#actors/ports/UrlGuard.ts"
import type { Provider, ProviderOAuth } from "#schemas/Provider.ts"
import { builtin, type Registry } from "#src/providers/Registry.ts"
import * as OAuthClient from "#src/features/oauth/tokens/OAuthClient.ts"
import * as PendingSignIns from "./pendingSignIns.ts"
import { Configuration } from "#actors/ports/Configuration.ts"
import * as ControlCalls from "#src/platform/upstream/egress/ControlCalls.ts"
import * as TokenEndpoint from "#src/features/oauth/tokens/tokenEndpoint.ts"
import * as TokenRecord from "#src/features/oauth/tokens/tokenRecord.ts"

export interface Options {
  readonly environment: OAuthClient.Environment
  /** The gateway's own address as browsers see it, without a trailing slash. */
  readonly publicUrl: string
  readonly registry?: Registry
}

/** A browser sign-in is finished within this time (ms). */
const CODE_LIFE_MS = 600_000
/** Bounds of what a vendor says about a device code (ms). */
const DEVICE_LIFE_MS = { usual: 600_000, most: 1_800_000 }
const POLL_MS = { usual: 5_000, most: 60_000 }
const SLOW_DOWN_MS = 5_000
/** Longest shown value of a vendor. */
const TEXT_MAX = 2_048

const DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code"

const failure = (reason: SignInFailure["reason"], message: string) => new SignInFailure({ reason, message })
const unknownState = failure("unknown-state", "No such sign-in is pending: begin again")
const expired = failure("expired", "The sign-in took too long: begin again")

const flowsOf = (oauth: ProviderOAuth): ReadonlyArray<Flow> => [
  ...(oauth.authorizeUrl === undefined ? [] : ["authorization-code" as const]),
  ...(oauth.deviceUrl === undefined ? [] : ["device-code" as const])
]

const ofCredential = (error: CredentialFailure): SignInFailure => {
  switch (error.code) {
    case "access_denied":
      return failure("denied", "The sign-in was denied")
    case "expired_token":
      return expired
  }
  switch (error.reason) {
    case "refused":
    case "rejected":
    case "malformed":
    case "not-configured":
      return failure("refused", error.message)
    case "blocked-url":
      return failure("blocked-url", error.message)
    default:
      return failure("unreachable", error.message)
  }
}

type SignInRow = Provider & { readonly oauth: ProviderOAuth }

const text = (value: unknown): string | null => typeof value === "string" && value !== "" && value.length <= TEXT_MAX ? value : null
const seconds = (value: unknown, usual: number, most: number): number =>
  typeof value === "number" && value > 0 ? Math.min(value * 1000, most) : usual

/** A link that an operator may be shown: http or https, nothing that runs. */
const link = (value: unknown): string | null => {
  const found = text(value)
  const url = found === null ? null : URL.parse(found)
  return url !== null && (url.protocol === "https:" || url.protocol === "http:") ? url.href : null
}

/**
 * The account that signed in, as the id token says; it came from the token endpoint itself, so its signature adds nothing (OpenID
 * Connect 3.1.3.7).
 */
const identityOf = (grant: TokenEndpoint.Grant): Pick<SignedIn["fields"], "email" | "displayName"> => {
  const noIdentity = { email: null, displayName: null }
  if (grant.idToken === null) return noIdentity
  try {
    const claims = decodeJwt(Redacted.value(grant.idToken))
    return { email: text(claims["email"])?.slice(0, 320) ?? null, displayName: (text(claims["name"]) ?? text(claims["preferred_username"]))?.slice(0, 200) ?? null }
  } catch {
    return noIdentity
  }
}

const signedIn = (provider: string, purpose: Purpose, grant: TokenEndpoint.Grant, now: number): SignedIn => ({
  provider,
  purpose,
  fields: {
    tokenType: null, scope: null, expiresAt: null, tokenExpiresAt: null, expiresIn: null,
    ...TokenRecord.life(grant, now),
    accessToken: grant.accessToken, refreshToken: grant.refreshToken, idToken: grant.idToken,
    ...identityOf(grant)
  }
})

export const make = Effect.fnUntraced(function*(options: Options) {
  const random = yield* SecureRandom.SecureRandom
  const endpoint = TokenEndpoint.make(yield* ControlCalls.make, yield* UrlGuard)
  const configuration = yield* Configuration
  const registry = options.registry ?? builtin
  const codes = yield* PendingSignIns.codeFlows
  const devices = yield* PendingSignIns.deviceFlows

  const secret = Effect.map(random.randomBytes(32), (bytes) => Buffer.from(bytes).toString("base64url"))

  /** A known connection signs in by its own proxy. */
  const askerOf = (provider: string, { connectionId }: Purpose): ControlCalls.Asker =>
    ({ provider, connection: connectionId === null ? null : configuration.current().connectionById.get(connectionId) ?? null })

  const rowOf = (provider: string): Effect.Effect<SignInRow, SignInFailure> => {
    const row = registry.byPrefix.get(provider)
    if (row === undefined) return Effect.fail(failure("unknown-provider", "No such provider"))
    const { oauth } = row
    return oauth === undefined
      ? Effect.fail(failure("unsupported", `Provider ${row.id} has no sign-in: store a credential with POST /api/providers`))
      : Effect.succeed({ ...row, oauth })
  }

  const redirectOf = (row: SignInRow): string =>
    row.oauth.redirectUri ?? `${options.publicUrl}/api/oauth/${row.id}/callback`

  const offerOf = (row: SignInRow): Offer => {
    const configured = OAuthClient.of(row, row.oauth, options.environment) !== null
    return { provider: row.id, flows: flowsOf(row.oauth), configured, missing: configured ? [] : [row.oauth.clientId], redirectUri: redirectOf(row) }
  }

  const filled = (client: OAuthClient.OAuthClient, template: string, values: OAuthClient.Placeholders): Effect.Effect<string, SignInFailure> => {
    const url = client.url(template, values)
    return url === null ? Effect.fail(failure("incomplete", `Give the values of ${template} in providerSpecificData`)) : Effect.succeed(url)
  }

  const startCode = Effect.fnUntraced(function*(
    row: SignInRow, client: OAuthClient.OAuthClient, url: string, tokenUrl: string, purpose: Purpose
  ) {
    const state = yield* secret
    const verifier = yield* secret
    const redirectUri = redirectOf(row)
    const page = new URL(url)
    const parameters = {
      ...row.oauth.authorizeParams,
      response_type: "code", client_id: client.id, redirect_uri: redirectUri, state,
      code_challenge: createHash("sha256").update(verifier).digest("base64url"), code_challenge_method: "S256"
    }
    for (const [name, value] of Object.entries(parameters)) page.searchParams.set(name, value)
    if (row.oauth.scopes.length > 0) page.searchParams.set("scope", row.oauth.scopes.join(" "))
    const now = yield* Clock.currentTimeMillis
    const expiresAt = now + CODE_LIFE_MS
    yield* codes.add(state, { flow: "authorization-code", provider: row.id, purpose, tokenUrl, verifier, redirectUri, expiresAt }, now)
    return { flow: "authorization-code" as const, state, authorizeUrl: page.href, redirectUri, expiresAt }
  })

  const startDevice = Effect.fnUntraced(function*(
    row: SignInRow, client: OAuthClient.OAuthClient, url: string, tokenUrl: string, purpose: Purpose
  ) {
    const answer = yield* Effect.mapError(endpoint.post(url, {
      ...OAuthClient.form(client), ...(row.oauth.scopes.length > 0 ? { scope: row.oauth.scopes.join(" ") } : {})
    }, askerOf(row.id, purpose)), ofCredential)
    const deviceCode = text(answer["device_code"])
    const userCode = text(answer["user_code"])
    const verificationUri = link(answer["verification_uri"] ?? answer["verification_url"])
    if (deviceCode === null || userCode === null || verificationUri === null) {
      return yield* failure("unreachable", "The provider's answer to the device sign-in cannot be understood")
    }
    const now = yield* Clock.currentTimeMillis
    const state = yield* secret
    const intervalMs = seconds(answer["interval"], POLL_MS.usual, POLL_MS.most)
    const expiresAt = now + seconds(answer["expires_in"], DEVICE_LIFE_MS.usual, DEVICE_LIFE_MS.most)
    yield* devices.add(state, { flow: "device-code", provider: row.id, purpose, tokenUrl, deviceCode, intervalMs, expiresAt }, now, intervalMs)
    return {
      flow: "device-code" as const, state, userCode, verificationUri, verificationUriComplete: link(answer["verification_uri_complete"]), intervalMs, expiresAt
    }
  })

  const clientOf = (row: SignInRow): Effect.Effect<OAuthClient.OAuthClient, SignInFailure> => {
    const client = OAuthClient.of(row, row.oauth, options.environment)
    return client === null ? Effect.fail(unknownState) : Effect.succeed(client)
  }

  const waiting = ({ expiresAt, intervalMs }: PendingSignIns.DeviceFlow): PendingSignIn => ({ _tag: "Pending", intervalMs, expiresAt })

  /** With a claim in the store: no other node asks at the same time. */
  const askDevice = (row: SignInRow, state: string, entry: PendingSignIns.DeviceFlow) => {
    let then: PendingSignIns.DeviceFlow | null = entry
    const asked = Effect.gen(function*() {
      const client = yield* clientOf(row)
      return yield* Effect.matchEffect(
        endpoint.grant(entry.tokenUrl, { ...OAuthClient.form(client), grant_type: DEVICE_GRANT, device_code: entry.deviceCode }, askerOf(row.id, entry.purpose)),
        {
          onSuccess: (grant) => Effect.map(Clock.currentTimeMillis, (now) => {
            then = null
            return signedIn(entry.provider, entry.purpose, grant, now)
          }),
          onFailure: (error): Effect.Effect<PendingSignIn, SignInFailure> => {
            // RFC 8628, 3.5: these two say "go on"; a transient failure does not end the sign-in either.
            if (error.code === "slow_down") then = { ...entry, intervalMs: Math.min(entry.intervalMs + SLOW_DOWN_MS, POLL_MS.most) }
            if (error.code === "slow_down" || error.code === "authorization_pending") return Effect.succeed(waiting(then ?? entry))
            if (error.retry === "never") then = null
            return Effect.fail(ofCredential(error))
          }
        }
      )
    })
    // The vendor's answer stands, also when the store cannot be updated: the turn, and then the sign-in, expire by themselves.
    return Effect.ensuring(asked, Effect.suspend(() =>
      Effect.ignore(then === null ? devices.take(row.id, state) : devices.rest(state, then, then.intervalMs))))
  }

  return SignIns.of({
    offer: (provider) => Effect.map(rowOf(provider), offerOf),
    start: Effect.fn("SignIns.start")(function*(request) {
      const row = yield* rowOf(request.provider)
      const flow = request.flow ?? flowsOf(row.oauth)[0]
      const template = flow === "device-code" ? row.oauth.deviceUrl : row.oauth.authorizeUrl
      if (flow === undefined || template === undefined) return yield* failure("unsupported", `Provider ${row.id} has no sign-in by ${flow ?? "any flow"}`)
      const client = OAuthClient.of(row, row.oauth, options.environment)
      if (client === null) return offerOf(row)
      const tokenUrl = yield* filled(client, row.oauth.tokenUrl, request.values)
      const url = yield* filled(client, template, request.values)
      return yield* (flow === "device-code" ? startDevice : startCode)(row, client, url, tokenUrl, request.purpose)
    }),
    finish: Effect.fn("SignIns.finish")(function*(provider, state, answer) {
      const row = yield* rowOf(provider)
      // Used up before the code is tried: a second browser with the same state comes too late, on every node.
      const entry = yield* codes.take(row.id, state)
      if (entry === null) return yield* unknownState
      if (entry.expiresAt <= (yield* Clock.currentTimeMillis)) return yield* expired
      if ("error" in answer) {
        const code = answer.error.replaceAll(/[^\w.-]/g, "").slice(0, 64)
        return yield* failure("denied", code === "access_denied" ? "The sign-in was denied" : `The provider answered ${code}`)
      }
      const client = yield* clientOf(row)
      const grant = yield* Effect.mapError(endpoint.grant(entry.tokenUrl, {
        ...OAuthClient.form(client), grant_type: "authorization_code", code: answer.code, redirect_uri: entry.redirectUri, code_verifier: entry.verifier
      }, askerOf(row.id, entry.purpose)), ofCredential)
      return signedIn(row.id, entry.purpose, grant, yield* Clock.currentTimeMillis)
    }),
    poll: Effect.fn("SignIns.poll")(function*(provider, state) {
      const row = yield* rowOf(provider)
      const entry = yield* devices.find(row.id, state)
      if (entry === null) return yield* unknownState
      if (entry.expiresAt <= (yield* Clock.currentTimeMillis)) {
        yield* devices.take(row.id, state)
        return yield* expired
      }
      return (yield* devices.turn(row.id, state)) ? yield* askDevice(row, state, entry) : waiting(entry)
    })
  })
})

export const layer = (options: Options) => Layer.effect(SignIns, make(options)).pipe(Layer.provide(SecureRandom.layerWebCrypto))
