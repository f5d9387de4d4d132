/** Calls that take back a record as another call shows it, and which parts of it are the gateway's own. */
import * as Context from "effect/Context"

export interface SentBackRule {
  /** Members that name the record in what GET of the same path answers; none: that answer is the record, or its only member is. */
  readonly by: ReadonlyArray<string>
  /** Those of `by` that the GET takes in its query. */
  readonly asked: ReadonlyArray<string>
  /** Members that the gateway moves by itself, such as counters: they may have changed since the record was read. */
  readonly moves: ReadonlyArray<string>
}

/** PUT and PATCH of a path that has a GET need none, unless something moves. */
export class SentBack extends Context.Service<SentBack, SentBackRule>()("gateway/api/SentBack") {}

export const sentBack = (rule: Partial<SentBackRule>): SentBackRule => ({ by: [], asked: [], moves: [], ...rule })
