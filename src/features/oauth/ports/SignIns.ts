/** Signing in to a provider: authorization code with PKCE, or device code. Every node knows the sign-ins in progress. */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { Connection } from "#schemas/records/Connection.ts"

export type Flow = "authorization-code" | "device-code"

/** Why a sign-in does not continue. Its message is safe to show; it holds no code and no token. */
export class SignInFailure extends Schema.TaggedError<SignInFailure>()("SignInFailure", {
  reason: Schema.Literals([
    "unknown-provider",
    /** The provider has no sign-in, or not by this flow. */
    "unsupported",
    /** A value of the provider's URLs is missing. */
    "incomplete",
    /** No such sign-in is pending: a state that was never given, was used, or belongs to another provider. */
    "unknown-state",
    "expired",
    /** The user said no. */
    "denied",
    /** The token endpoint refused the code, the verifier or the client. */
    "refused",
    "unreachable",
    "blocked-url",
    /** Sign-ins in progress cannot be read or kept now. */
    "unavailable"
  ]),
  message: Schema.String
}) {}

/** What a provider offers and whether it can be used. */
export interface Offer {
  readonly provider: string
  readonly flows: ReadonlyArray<Flow>
  /** The client id is set. */
  readonly configured: boolean
  /** Variables that are missing. */
  readonly missing: ReadonlyArray<string>
  /** The address to register with the provider. */
  readonly redirectUri: string
}

export interface SignInRequest {
  readonly provider: string
  readonly flow?: Flow | undefined
  /** What fills the provider's URLs. */
  readonly values: Connection["providerSpecificData"]
  /** Given back with the tokens. */
  readonly purpose: Purpose
}

/** What the tokens are for: a new connection, or a known one that needs a sign-in. */
export interface Purpose {
  readonly connectionId: string | null
  readonly name: string | null
  /** What the operator gave; a known connection keeps the rest of its own. */
  readonly providerSpecificData: Connection["providerSpecificData"]
}

export type Started =
  | { readonly flow: "authorization-code"; readonly state: string; readonly authorizeUrl: string; readonly redirectUri: string; readonly expiresAt: number }
  | {
    readonly flow: "device-code"; readonly state: string; readonly userCode: string; readonly verificationUri: string
    readonly verificationUriComplete: string | null; readonly intervalMs: number; readonly expiresAt: number
  }

/** Tokens and identity of a finished sign-in, as fields of a connection. */
export interface SignedIn {
  readonly provider: string
  readonly purpose: Purpose
  readonly fields: Pick<Connection,
    "accessToken" | "refreshToken" | "idToken" | "tokenType" | "scope" | "expiresAt" | "tokenExpiresAt" | "expiresIn" | "email" | "displayName">
}

/** A device sign-in that is not finished; ask again after `intervalMs`. */
export interface PendingSignIn {
  readonly _tag: "Pending"
  readonly intervalMs: number
  readonly expiresAt: number
}

export class SignIns extends Context.Service<SignIns, {
  readonly offer: (provider: string) => Effect.Effect<Offer, SignInFailure>
  /** Begins a sign-in; a provider without a client id answers its offer instead. */
  readonly start: (request: SignInRequest) => Effect.Effect<Started | Offer, SignInFailure>
  /** The authorization page sent the browser back; a state is good once, whatever comes of it. */
  readonly finish: (provider: string, state: string, answer: { readonly code: string } | { readonly error: string }) => Effect.Effect<SignedIn, SignInFailure>
  /** Asks whether the user has entered the device code; sooner than the interval nothing is asked. */
  readonly poll: (provider: string, state: string) => Effect.Effect<SignedIn | PendingSignIn, SignInFailure>
}>()("gateway/ports/SignIns") {}
