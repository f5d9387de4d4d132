/** Calls a token endpoint (RFC 6749): one form out, one small JSON document back, through the URL guard and the Upstream port. */
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import { CredentialFailure } from "#actors/request/ports/Credentials.ts"
import type { UpstreamFailure } from "#actors/request/ports/Upstream.ts"
import type { UrlGuard } from "#actors/ports/UrlGuard.ts"
import * as StatusReason from "#schemas/statusReason.ts"
import type { Asker, ControlCalls } from "#src/platform/upstream/egress/ControlCalls.ts"
import * as SmallAnswer from "#src/platform/upstream/egress/smallAnswer.ts"
import { parseRecord } from "#src/wire/json/json.ts"

/** Bytes of an answer that are read. */
const ANSWER_MAX = 256 * 1024
/** Characters of a vendor's words that are kept. */
const MESSAGE_MAX = 200
/** Longest credible life of a token (s): a year. */
const LIFE_MAX = 31_536_000

const timeouts = { connect: 5_000, headers: 10_000, firstEvent: 0, idle: 5_000, total: 15_000 }

/** What a token endpoint grants. */
export interface Grant {
  readonly accessToken: Redacted.Redacted<string>
  readonly refreshToken: Redacted.Redacted<string> | null
  readonly idToken: Redacted.Redacted<string> | null
  readonly tokenType: string | null
  readonly scope: string | null
  /** Life in seconds, or null when it was not said. */
  readonly expiresIn: number | null
}

export type Form = Readonly<Record<string, string>>
type Json = Readonly<Record<string, unknown>>

export interface TokenEndpoint {
  /** Answers the JSON object of a success; an error object is a failure with its `code`. */
  readonly post: (url: string, form: Form, asker: Asker) => Effect.Effect<Json, CredentialFailure>
  /** `post`, read as a grant. */
  readonly grant: (url: string, form: Form, asker: Asker) => Effect.Effect<Grant, CredentialFailure>
}

const text = (value: unknown): string | null => typeof value === "string" && value !== "" ? value : null
const secret = (value: unknown): Redacted.Redacted<string> | null => {
  const found = text(value)
  return found === null ? null : Redacted.make(found)
}

const protocol = (message: string): CredentialFailure =>
  new CredentialFailure({ reason: "protocol", source: "upstream", retry: "later", code: null, message })

/** Some vendors send numbers as text. */
const lifeOf = (value: unknown): number | null => {
  const seconds = typeof value === "string" ? Number(value) : value
  return typeof seconds === "number" && Number.isFinite(seconds) && seconds > 0 ? Math.min(Math.floor(seconds), LIFE_MAX) : null
}

/** The vendor's words without what we sent, control characters and length. */
const sanitize = (words: string, form: Form): string => {
  let plain = words
  for (const value of Object.values(form)) if (value.length >= 8) plain = plain.replaceAll(value, "[redacted]")
  return plain.replaceAll(/eyJ[\w-]+(?:\.[\w-]*){0,2}/g, "[redacted]").replaceAll(/\p{Cc}+/gu, " ").slice(0, MESSAGE_MAX)
}

/** What the operator can only mend with another credential. */
const grantRefused: ReadonlySet<string> = new Set(["invalid_grant", "access_denied", "expired_token", "bad_refresh_token", "incorrect_device_code"])
/** What passes. */
const passing: ReadonlySet<string> = new Set(["temporarily_unavailable", "server_error", "slow_down", "authorization_pending"])

const refusal = (status: number, json: Json | null, form: Form): CredentialFailure | null => {
  const code = text(json?.["error"])?.replaceAll(/[^\w.-]/g, "").slice(0, 64) ?? null
  if (StatusReason.isOk(status) && code === null) return null
  const said = text(json?.["error_description"])
  const words = `The token endpoint answered ${status}${code === null ? "" : ` ${code}`}${said === null ? "" : `: ${sanitize(said, form)}`}`
  if (StatusReason.isPassing(status) || (code !== null && passing.has(code))) {
    return new CredentialFailure({ reason: "unreachable", source: "upstream", retry: "later", code, message: words })
  }
  if (code !== null && grantRefused.has(code)) {
    return new CredentialFailure({ reason: "refused", source: "operator", retry: "never", code, message: words })
  }
  if (StatusReason.of(status) === "redirect") return protocol("The token endpoint answered a redirect, which is not followed")
  return code === null ? protocol(words) : new CredentialFailure({ reason: "rejected", source: "operator", retry: "never", code, message: words })
}

const ofFailure = (failure: UpstreamFailure): CredentialFailure => failure.reason === "blocked-url"
  ? new CredentialFailure({ reason: "blocked-url", source: "operator", retry: "never", code: null, message: failure.message })
  : new CredentialFailure({
    reason: "unreachable", source: failure.reason === "proxy" ? "operator" : "upstream", retry: "later", code: null,
    message: `The token endpoint cannot be reached (${failure.reason}): ${failure.message.slice(0, MESSAGE_MAX)}`
  })

const headers = [
  "content-type", "application/x-www-form-urlencoded", "accept", "application/json", "accept-encoding", "identity", "user-agent", "gateway"
]

export const make = (calls: ControlCalls, guard: UrlGuard["Service"]): TokenEndpoint => {
  const send = (url: URL, body: string, asker: Asker): Effect.Effect<SmallAnswer.SmallAnswer, CredentialFailure> => SmallAnswer.read(
    ANSWER_MAX,
    (handler) => calls.dispatch(asker, { origin: url.origin, path: url.pathname + url.search, method: "POST", headers, body, timeouts }, handler),
    { failed: ofFailure, tooLarge: () => protocol("The token endpoint's answer is too large") }
  )

  const post: TokenEndpoint["post"] = Effect.fnUntraced(function*(target, form, asker) {
    yield* Effect.mapError(guard.check(target, "provider"), (blocked) => new CredentialFailure({
      reason: blocked.reason === "unresolvable" ? "unreachable" : "blocked-url",
      source: blocked.reason === "unresolvable" ? "upstream" : "operator",
      retry: blocked.reason === "unresolvable" ? "later" : "never",
      code: null,
      message: `The token endpoint is refused: ${blocked.message}`
    }))
    const answer = yield* send(new URL(target), new URLSearchParams(form).toString(), asker)
    const json = parseRecord(answer.body)
    const refused = refusal(answer.status, json, form)
    if (refused !== null) return yield* refused
    return json ?? (yield* protocol("The token endpoint's answer is no JSON object"))
  })

  return {
    post,
    grant: (url, form, asker) => Effect.flatMap(post(url, form, asker), (json) => {
      const accessToken = secret(json["access_token"])
      if (accessToken === null || !isHeaderText(Redacted.value(accessToken))) {
        return Effect.fail(protocol("The token endpoint's answer holds no usable access token"))
      }
      return Effect.succeed({
        accessToken,
        refreshToken: secret(json["refresh_token"]),
        idToken: secret(json["id_token"]),
        tokenType: text(json["token_type"]),
        scope: text(json["scope"]),
        expiresIn: lifeOf(json["expires_in"])
      })
    })
  }
}

/** The token becomes a header: visible ASCII only. */
const isHeaderText = (value: string): boolean => /^[\x21-\x7e]{1,16384}$/.test(value)
