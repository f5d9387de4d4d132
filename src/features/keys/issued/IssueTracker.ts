/** Turns reports of clients (POST /v1/issues/report) into issues. */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

/** `busy`: too many reports in a short time; `unreachable` and `refused` are the tracker's. The message holds no credential. */
export class IssueFailure extends Schema.TaggedError<IssueFailure>()("IssueFailure", {
  reason: Schema.Literals(["busy", "unreachable", "refused"]),
  message: Schema.String
}) {}

export interface Issue {
  readonly title: string
  /** Markdown. */
  readonly body: string
  readonly labels: ReadonlyArray<string>
}

/** `url` is for people. */
export interface Filed {
  readonly url: string
  readonly number: number
}

export class IssueTracker extends Context.Service<IssueTracker, {
  /** Null where no repository is configured. */
  readonly file: ((issue: Issue) => Effect.Effect<Filed, IssueFailure>) | null
}>()("gateway/ports/IssueTracker") {}
