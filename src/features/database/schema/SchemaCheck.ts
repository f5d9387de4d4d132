/** The database's schema against that of this release. */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { StoreError } from "#actors/ports/StoreError.ts"
import type { Drift } from "./compare.ts"

export interface Checked {
  /** Parts of this release's schema that were looked at. */
  readonly parts: number
  readonly drift: ReadonlyArray<Drift>
}

export interface Repaired extends Checked {
  readonly repaired: ReadonlyArray<Drift>
  /** What the database refused, and why. */
  readonly failed: ReadonlyArray<{ readonly name: string; readonly message: string }>
}

export class SchemaCheck extends Context.Service<SchemaCheck, {
  readonly check: Effect.Effect<Checked, StoreError>
  /** Mends what can be mended without touching a row; `drift` is what is left. */
  readonly repair: Effect.Effect<Repaired, StoreError>
}>()("gateway/ports/SchemaCheck") {}
