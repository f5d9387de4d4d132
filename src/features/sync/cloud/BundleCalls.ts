/** The call for another gateway's bundle: through the URL guard and the outbound proxies, with deadlines, without redirects. */
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import type { UrlGuard } from "#actors/ports/UrlGuard.ts"
import * as Refusal from "#schemas/api/Refusal.ts"
import * as StatusReason from "#schemas/statusReason.ts"
import * as Bundle from "#src/features/sync/bundle.ts"
import type { ControlCalls } from "#src/platform/upstream/egress/ControlCalls.ts"
import * as SmallAnswer from "#src/platform/upstream/egress/smallAnswer.ts"

/** Bytes of a bundle that are read. */
const ANSWER_MAX = 8 * 1024 * 1024
/** Characters of the other gateway's words that an error repeats. */
const SAID_MAX = 300
const timeouts = { connect: 5_000, headers: 20_000, firstEvent: 0, idle: 10_000, total: 30_000 }

export interface BundleCalls {
  /** Null: the bundle is still of the `known` version. */
  readonly ask: (address: string, token: Redacted.Redacted<string>, known: string | null) => Effect.Effect<Bundle.Bundle | null, Refusal.Refusal>
}

const failed = (message: string): Refusal.Refusal => new Refusal.Refusal(502, "server_error", "upstream_error", message)

const saidIn = (body: string): string => {
  try {
    const said = (JSON.parse(body) as { error?: { message?: unknown } } | null)?.error?.message
    return typeof said === "string" ? `: ${said.slice(0, SAID_MAX)}` : ""
  } catch {
    return ""
  }
}

export const make = (calls: ControlCalls, guard: UrlGuard["Service"]): BundleCalls => ({
  ask: Effect.fnUntraced(function*(address, token, known) {
    const url = new URL(`${address}/api/sync/bundle`)
    yield* Effect.mapError(guard.check(url.href, "provider"), ({ message }) => Refusal.badRequest(`The gateway at cloudUrl may not be called: ${message}`, { code: "url_blocked" }))
    const headers = [
      "accept", "application/json", "accept-encoding", "identity", "user-agent", "gateway", "authorization", `Bearer ${Redacted.value(token)}`,
      ...known === null ? [] : ["if-none-match", `"${known}"`]
    ]
    const answer = yield* SmallAnswer.read(
      ANSWER_MAX,
      (handler) => calls.dispatch({ connection: null, provider: "sync" }, { origin: url.origin, path: url.pathname, method: "GET", headers, body: null, timeouts }, handler),
      {
        failed: ({ message, reason }) => failed(`The gateway at ${address} cannot be reached (${reason}): ${message.slice(0, SAID_MAX)}`),
        tooLarge: () => failed(`The bundle of ${address} is larger than ${ANSWER_MAX} bytes`)
      }
    )
    if (known !== null && StatusReason.isUnchanged(answer.status)) return null
    if (!StatusReason.isOk(answer.status)) return yield* Effect.fail(failed(`The gateway at ${address} answered ${answer.status}${saidIn(answer.body)}`))
    const bundle = Bundle.read(answer.body)
    return bundle ?? (yield* Effect.fail(failed(`The gateway at ${address} answered no bundle that this release reads`)))
  })
})
