/** Calls to the issuer: through the URL guard and the Upstream port, with deadlines, one small JSON object back, no redirects. */
import * as Effect from "effect/Effect"
import type { Upstream, UpstreamFailure } from "#actors/request/ports/Upstream.ts"
import type { UrlGuard } from "#actors/ports/UrlGuard.ts"
import * as StatusReason from "#schemas/statusReason.ts"
import * as SmallAnswer from "#src/platform/upstream/egress/smallAnswer.ts"
import { parseRecord } from "#src/wire/json/json.ts"
import { failure, type SignOnFailure } from "./SignOnFailure.ts"

/** Bytes of an answer that are read. */
const ANSWER_MAX = 256 * 1024
const timeouts = { connect: 5_000, headers: 10_000, firstEvent: 0, idle: 5_000, total: 15_000 }

export type Json = Readonly<Record<string, unknown>>

export interface Answer {
  readonly status: number
  /** Null when the body is no JSON object. */
  readonly json: Json | null
}

export interface IssuerCalls {
  /** The object of a successful answer; `what` names it in a failure. */
  readonly get: (url: string, what: string) => Effect.Effect<Json, SignOnFailure>
  /** Any answer. `authorization`: the header, or null for none. */
  readonly post: (url: string, form: Readonly<Record<string, string>>, authorization: string | null) => Effect.Effect<Answer, SignOnFailure>
}

const ofFailure = ({ message, reason }: UpstreamFailure): SignOnFailure => reason === "blocked-url"
  ? failure("blocked-url", `The issuer may not be called: ${message}`)
  : failure("unreachable", `The issuer cannot be reached (${reason}): ${message.slice(0, 200)}`)

export const make = (upstream: Upstream["Service"], guard: UrlGuard["Service"]): IssuerCalls => {
  const send = (url: URL, method: "GET" | "POST", headers: ReadonlyArray<string>, sent: string | null): Effect.Effect<Answer, SignOnFailure> => Effect.map(
    SmallAnswer.read(
      ANSWER_MAX,
      (handler) => upstream.dispatch({ origin: url.origin, path: url.pathname + url.search, method, headers, body: sent, timeouts, proxy: null }, handler),
      { failed: ofFailure, tooLarge: () => failure("issuer", `The issuer's answer at ${url.host} is larger than ${ANSWER_MAX} bytes`) }
    ),
    ({ body, status }) => ({ status, json: parseRecord(body) })
  )

  const checked = (target: string) => Effect.mapBoth(guard.check(target, "oidc"), {
    onSuccess: () => new URL(target),
    onFailure: ({ message, reason }) => reason === "unresolvable"
      ? failure("unreachable", `The issuer cannot be reached: ${message}`)
      : failure("blocked-url", `The issuer may not be called: ${message}`)
  })

  const common = ["accept", "application/json", "accept-encoding", "identity", "user-agent", "gateway"]

  return {
    get: Effect.fnUntraced(function*(target, what) {
      const { json, status } = yield* Effect.flatMap(checked(target), (url) => send(url, "GET", common, null))
      if (StatusReason.isOk(status) && json !== null) return json
      return yield* failure(StatusReason.isPassing(status) ? "unreachable" : "issuer", `The issuer answered ${what} with status ${status}${json === null ? " and no JSON object" : ""}`)
    }),
    post: (target, form, authorization) => Effect.flatMap(checked(target), (url) => send(
      url, "POST",
      [...common, "content-type", "application/x-www-form-urlencoded", ...authorization === null ? [] : ["authorization", authorization]],
      new URLSearchParams(form).toString()
    ))
  }
}
