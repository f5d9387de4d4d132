/** Work that belongs to the whole gateway and not to each of its nodes: it runs on one of them at a time. */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"

export class Placement extends Context.Service<Placement, {
  /**
   * Runs `work`, a supervised loop, on one node at a time, for the scope. When its node dies another takes over within seconds; for an
   * instant both may run, so that each step of the work must be safe to repeat.
   */
  readonly place: (name: string, work: Effect.Effect<void>) => Effect.Effect<void, never, Scope.Scope>
}>()("gateway/ports/Placement") {}
