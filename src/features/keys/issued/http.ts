import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import type { IssueLimits } from "#schemas/records/Limits.ts"
import { answer } from "#src/management/answer.ts"
import { Audit } from "#src/management/audit/Audit.ts"
import * as Surface from "#src/management/Surface.ts"
import { type IssueReport, RegisteredKeysGroup } from "./api.ts"
import { Issuance } from "./Issuance.ts"
import * as IssueReports from "./issueReports.ts"
import { IssueTracker } from "./IssueTracker.ts"
import { RegisteredKeys } from "./RegisteredKeys.ts"

const shown = ({ subject: _subject, ...rest }: IssueLimits) => rest

export const layer = HttpApiBuilder.group(Surface.make(RegisteredKeysGroup), "registeredKeys", Effect.fn(function*(handlers) {
  const audit = yield* Audit
  const issuance = yield* Issuance
  const keys = yield* RegisteredKeys
  const tracker = yield* IssueTracker

  const limits = (kind: "provider" | "account", id: string) => Effect.andThen(keys.holder, Effect.map(issuance.limits(kind, id), shown))

  /** The report is stored even when the issue tracker fails. */
  const report = Effect.fn("RegisteredKeys.report")(function*(input: IssueReport) {
    const { key: callerKey } = yield* keys.holder
    const report = IssueReports.cleaned(input)
    const { file } = tracker
    const outcome = file === null ? null : yield* Effect.result(file(IssueReports.issueOf(report, callerKey === null ? "an operator" : `API key ${callerKey.id}`)))
    const details = {
      ...report, apiKeyId: callerKey?.id ?? null,
      ...(outcome === null ? {} : Result.isSuccess(outcome) ? { issue: outcome.success.url } : { trackerError: outcome.failure.message })
    }
    yield* audit.note({ action: "issue.reported", target: callerKey?.id ?? null, resourceType: "issue", details, status: outcome !== null && Result.isFailure(outcome) ? "failure" : "success" })
    yield* Effect.annotateLogs(Effect.logWarning("Issue reported by a client"), details)
    if (outcome === null) return { logged: true as const, configured: false as const }
    return Result.isSuccess(outcome) ? outcome.success : { logged: true as const, configured: true as const, error: outcome.failure.message }
  })

  return handlers.handleAll({
    list: ({ query }) => answer(keys.list(query)),
    issue: ({ payload }) => answer(keys.issue(payload)),
    get: ({ params }) => answer(keys.get(params.id)),
    remove: ({ params }) => answer(keys.revoke(params.id)),
    revoke: ({ params }) => answer(keys.revoke(params.id)),
    providerLimits: ({ params }) => answer(limits("provider", params.id)),
    setproviderLimits: ({ params, payload }) => answer(Effect.map(issuance.setLimits("provider", params.id, payload), shown)),
    accountLimits: ({ params }) => answer(limits("account", params.id)),
    setaccountLimits: ({ params, payload }) => answer(Effect.map(issuance.setLimits("account", params.id, payload), shown)),
    check: ({ query }) => answer(keys.check(query)),
    report: ({ payload }) => answer(report(payload))
  })
}))
