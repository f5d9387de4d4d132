import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import * as Redacted from "effect/Redacted"
import { type SignedIn, type SignInFailure, SignIns } from "#src/features/oauth/ports/SignIns.ts"
import { type Import, OAuthGroup } from "./api.ts"
import * as Refusal from "#schemas/api/Refusal.ts"
import { answer } from "#src/management/answer.ts"
import { SignedInConnections } from "./SignedInConnections.ts"
import { builtin } from "#src/providers/Registry.ts"
import * as Surface from "#src/management/Surface.ts"

const refusalOf = ({ message, reason }: SignInFailure): Refusal.Refusal => {
  switch (reason) {
    case "unknown-provider":
      return Refusal.notFound(message)
    case "unsupported":
      return Refusal.badRequest(message, { code: "oauth_unsupported" })
    case "incomplete":
      return Refusal.invalidField("providerSpecificData", message)
    case "unknown-state":
      return Refusal.badRequest(message, { code: "oauth_state_invalid" })
    case "expired":
      return Refusal.gone(message, { code: "oauth_expired" })
    case "denied":
      return Refusal.badRequest(message, { code: "oauth_denied" })
    case "refused":
      return Refusal.badRequest(message, { code: "oauth_refused" })
    case "blocked-url":
      return Refusal.badRequest(message, { code: "url_blocked" })
    case "unavailable":
      return Refusal.unavailable(message, { code: "store_unavailable" })
    case "unreachable":
      return new Refusal.Refusal(502, "server_error", "upstream_error", message)
  }
}

const refused = <A, E, R>(effect: Effect.Effect<A, E | SignInFailure, R>): Effect.Effect<A, Exclude<E, SignInFailure> | Refusal.Refusal, R> =>
  Effect.catchIf(
    effect,
    (error): error is E & SignInFailure => typeof error === "object" && error !== null && (error as { _tag?: string })._tag === "SignInFailure",
    (error) => Effect.fail(refusalOf(error))
  ) as Effect.Effect<A, Exclude<E, SignInFailure> | Refusal.Refusal, R>

const iso = (ms: number): string => new Date(ms).toISOString()

export const layer = HttpApiBuilder.group(Surface.make(OAuthGroup), "oauth", Effect.fn(function*(handlers) {
  const signIns = yield* SignIns
  const connections = yield* SignedInConnections

  const keep = (signedIn: SignedIn) => Effect.map(connections.keep(signedIn), (connectionId) => ({
    success: true as const, provider: signedIn.provider, connectionId
  }))
  const finish = (provider: string, state: string, reply: { readonly code: string } | { readonly error: string }) =>
    answer(Effect.flatMap(refused(signIns.finish(provider, state, reply)), keep))

  const imported = Effect.fn("OAuth.import")(function*(given: string, payload: Import) {
    const row = builtin.byPrefix.get(given)
    if (row === undefined) return yield* Effect.fail(Refusal.notFound("No such provider"))
    if (!row.authKinds.includes("oauth")) {
      return yield* Effect.fail(Refusal.badRequest(`Provider ${row.id} takes no tokens: store a credential with POST /api/providers`, { code: "oauth_unsupported" }))
    }
    const { accessToken, email, expiresAt, expiresIn, idToken, refreshToken, ...wanted } = payload
    const { purpose } = yield* connections.prepare(row.id, wanted)
    const now = yield* Clock.currentTimeMillis
    const end = expiresAt !== undefined ? iso(Date.parse(expiresAt)) : expiresIn !== undefined ? iso(now + expiresIn * 1000) : null
    const secret = (value: string | undefined) => value === undefined ? null : Redacted.make(value)
    return yield* keep({
      provider: row.id,
      purpose,
      fields: {
        accessToken: Redacted.make(accessToken), refreshToken: secret(refreshToken), idToken: secret(idToken), tokenType: "Bearer", scope: null,
        expiresAt: end, tokenExpiresAt: end, expiresIn: expiresIn ?? null, email: email ?? null, displayName: null
      }
    })
  })

  return handlers.handleAll({
    offer: ({ params }) => refused(signIns.offer(params.provider)),
    start: ({ params, payload: { flow, ...wanted } }) => answer(Effect.gen(function*() {
      const { provider } = yield* refused(signIns.offer(params.provider))
      const prepared = yield* connections.prepare(provider, wanted)
      const started = yield* refused(signIns.start({ provider, flow, ...prepared }))
      if (!("flow" in started)) return { ...started, configured: false as const }
      return { ...started, configured: true as const, expiresAt: iso(started.expiresAt) }
    })),
    callback: ({ params, query: { code, error, state } }) => {
      if (state === undefined || state === "") return Effect.fail(Refusal.invalidField("state", "Missing"))
      if (error !== undefined && error !== "") return finish(params.provider, state, { error })
      return code === undefined || code === "" ? Effect.fail(Refusal.invalidField("code", "Missing")) : finish(params.provider, state, { code })
    },
    exchange: ({ params, payload: { code, state } }) => finish(params.provider, state, { code }),
    poll: ({ params, payload }) => answer(Effect.gen(function*() {
      const polled = yield* refused(signIns.poll(params.provider, payload.state))
      if ("_tag" in polled) return { status: "pending" as const, intervalMs: polled.intervalMs, expiresAt: iso(polled.expiresAt) }
      return { status: "complete" as const, ...yield* keep(polled) }
    })),
    import: ({ params, payload }) => answer(imported(params.provider, payload))
  })
}))
