/** What the management surface may ask of routing: what would happen to a request now, and why past ones went where they went. */
import * as Context from "effect/Context"
import type * as Schema from "effect/Schema"
import type { Usage } from "#actors/request/ports/Face.ts"
import type { LastGood } from "#src/routing/auto/lastGood.ts"
import type { Target } from "#actors/request/ports/Target.ts"
import type { PublicError } from "#schemas/errors.ts"
import type { ApiKey } from "#schemas/records/ApiKey.ts"
import type { Combo } from "#schemas/records/Combo.ts"
import type { CallFormat } from "#schemas/wire/formats.ts"

/** A target as it would be asked, or why it would not. */
export interface ExplainedTarget {
  /** Stable key of the target in its plan; may hold a connection id. */
  readonly target: string
  readonly provider: string
  readonly model: string
  readonly connectionId: string | null
  /** Wire format the upstream would be called in. */
  readonly format: string
  /** Place in the order, from 1; null when it is left out. */
  readonly position: number | null
  readonly skipped: { readonly reason: string; readonly until: string | null; readonly detail: string } | null
}

export interface Explanation {
  readonly strategy: string
  readonly combo: string | null
  /** Every target is blocked only by the gateway's guess, and would be called anyway. */
  readonly lastResort: boolean
  readonly targets: ReadonlyArray<ExplainedTarget>
  /** Filters that would have left no target and are not applied. */
  readonly relaxed: ReadonlyArray<string>
  /** The error of the request, when no target can be called now */
  readonly error: {
    readonly status: number
    readonly code: string
    readonly message: string
    readonly retryAfterSeconds: number | null
  } | null
}

/** A target of a draft, as the ledger names it. */
export interface DraftTarget {
  readonly provider: string
  readonly model: string
  readonly connectionId: string | null
  /** Canonical public id. */
  readonly publicModel: string
  /** USD for these tokens at the present price; null while there is none. */
  readonly costOf: (usage: Usage) => number | null
}

/** Where one request would go under a draft while nothing is blocked. `answered` tells the strategy which target answered. */
export interface DraftRoute {
  readonly targets: ReadonlyArray<DraftTarget>
  readonly answered: (index: number) => void
}

/** One remembered decision; JSON-ready. */
export type DecisionView = Readonly<Record<string, Schema.Json>>

export class RoutingViews extends Context.Service<RoutingViews, {
  /** Pure reading: sends nothing and remembers nothing. `draft`: as if this combo stood among the combos, in place of the one of its id. */
  readonly explain: (model: string, key: ApiKey | null, face: CallFormat, draft?: Combo) => Explanation | PublicError
  /** The requests of a draft one after the other, with a memory of their own; nothing is sent, and no health or quota counts. */
  readonly rehearse: (draft: Combo) => (key: ApiKey | null, face: CallFormat) => DraftRoute | PublicError
  /** Targets of one model of a provider, for every key; a combo has none of its own. They hold credentials: never show them whole. */
  readonly planned: (model: string, face: CallFormat) => ReadonlyArray<Target> | PublicError
  /** What answered last on this node, per combo and key; newest first. */
  readonly lastGood: () => ReadonlyArray<LastGood>
  /** Null when it was not kept: too long ago, or a single model that answered at once. */
  readonly decision: (requestId: string) => DecisionView | null
  /** Newest first. */
  readonly decisions: (limit: number) => ReadonlyArray<DecisionView>
}>()("gateway/ports/RoutingViews") {}
