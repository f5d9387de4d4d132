/** Placement where there is one node: it does everything. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Placement } from "#actors/ports/Placement.ts"

export const layer = Layer.succeed(Placement, {
  place: (name, work) => Effect.asVoid(Effect.forkScoped(work))
})
