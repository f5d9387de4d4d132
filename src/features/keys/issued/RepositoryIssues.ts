/**
 * Issues of a repository over the REST API that GitHub and its relatives speak: one small call through the URL guard and the
 * `Upstream` port, bounded in time, size and number.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { type Filed, IssueFailure, IssueTracker } from "./IssueTracker.ts"
import { Upstream, type UpstreamRequest } from "#actors/request/ports/Upstream.ts"
import { UrlGuard } from "#actors/ports/UrlGuard.ts"
import * as StatusReason from "#schemas/statusReason.ts"
import * as SmallAnswer from "#src/platform/upstream/egress/smallAnswer.ts"

/** Issues that this node files in any hour; the reports beyond them are kept here only. */
const mostPerHour = 30
const hourMs = 3_600_000
/** Bytes of an answer that are read. */
const answerMax = 256 * 1024
const timeouts = { connect: 5_000, headers: 10_000, firstEvent: 0, idle: 5_000, total: 15_000 }

/** `repository`: `owner/name`; `api`: the API's address without a last slash. */
export interface Options {
  readonly repository: string | null
  readonly token: Redacted.Redacted<string> | null
  readonly api: string
}

const unreachable = (message: string): IssueFailure => new IssueFailure({ reason: "unreachable", message })

const send = (upstream: Upstream["Service"], request: UpstreamRequest): Effect.Effect<SmallAnswer.SmallAnswer, IssueFailure> =>
  SmallAnswer.read(answerMax, (handler) => upstream.dispatch(request, handler), {
    failed: ({ message, reason }) => unreachable(`The issue tracker cannot be reached (${reason}): ${message.slice(0, 200)}`),
    tooLarge: () => unreachable("The issue tracker's answer is too large.")
  })

/** Null when it is no issue. */
const filedOf = (body: string): Filed | null => {
  try {
    const value: unknown = JSON.parse(body)
    if (typeof value !== "object" || value === null) return null
    const url: unknown = Reflect.get(value, "html_url")
    const number: unknown = Reflect.get(value, "number")
    return typeof url === "string" && URL.canParse(url) && typeof number === "number" && Number.isInteger(number) ? { url, number } : null
  } catch {
    return null
  }
}

export const make = Effect.fnUntraced(function*({ api, repository, token }: Options) {
  const upstream = yield* Upstream
  const guard = yield* UrlGuard
  if (repository === null || token === null) return IssueTracker.of({ file: null })
  const target = new URL(`${api}/repos/${repository}/issues`)
  const headers = [
    "accept", "application/vnd.github+json", "accept-encoding", "identity", "content-type", "application/json", "user-agent", "gateway",
    "authorization", `Bearer ${Redacted.value(token)}`
  ]
  let recent: ReadonlyArray<number> = []
  return IssueTracker.of({
    file: Effect.fn("RepositoryIssues.file")(function*(issue) {
      const now = yield* Clock.currentTimeMillis
      recent = recent.filter((time) => time > now - hourMs)
      if (recent.length >= mostPerHour) {
        return yield* new IssueFailure({ reason: "busy", message: `${mostPerHour} issues were filed in the last hour; the report is kept in the audit log.` })
      }
      recent = [...recent, now]
      yield* Effect.mapError(guard.check(target.href, "provider"), (blocked) => unreachable(`The issue tracker is refused: ${blocked.message}`))
      const { body, status } = yield* send(upstream, {
        origin: target.origin, path: target.pathname, method: "POST", headers, body: JSON.stringify(issue), timeouts, proxy: null
      })
      const filed = StatusReason.isOk(status) ? filedOf(body) : null
      return filed ?? (yield* new IssueFailure({
        reason: "refused",
        message: `The issue tracker answered ${status} for ${repository}: check GATEWAY_ISSUES_REPO and the rights of GATEWAY_ISSUES_TOKEN.`
      }))
    })
  })
})

/** The tracker over the `Upstream` port; nothing is filed until repository and token are given. */
export const layer = (options: Options): Layer.Layer<IssueTracker, never, Upstream | UrlGuard> => Layer.effect(IssueTracker, make(options))
