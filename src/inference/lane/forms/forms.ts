/** How the lane takes forms: what that needs, and the one way in. */
import * as Effect from "effect/Effect"
import * as Identity from "#src/inference/lane/bodies/identity.ts"
import type { Exchange } from "#src/platform/server/Exchange.ts"
import { FrontEnd } from "#src/platform/server/FrontEnd.ts"
import { Spool } from "#src/platform/spool/Spool.ts"
import type { HeldBytes } from "#src/platform/structures/HeldBytes.ts"
import { FormReception, type Received, type ReceptionOptions } from "./FormReception.ts"

export interface FormServices {
  /** The bytes of bodies that this process holds. */
  readonly held: HeldBytes
  /** Where large files of forms lie. */
  readonly spool: Spool["Service"]
}

export const services: Effect.Effect<FormServices, never, FrontEnd | Spool> = Effect.gen(function*() {
  return { held: (yield* FrontEnd).heldBodies, spool: yield* Spool }
})

/** Takes a form of at most `limit` bytes; `done` is called once, unless the client leaves before. */
export const take = (
  exchange: Exchange, { held, spool }: FormServices, { boundary, limit, meterOf }: Pick<ReceptionOptions, "boundary" | "meterOf"> & { readonly limit: number },
  done: (received: Received) => void
): void => {
  const reception = new FormReception({ boundary, held, spool, meterOf, digests: Identity.isNamed(exchange) }, done)
  exchange.onRelease(reception.release)
  reception.flow = exchange.streamBody(limit, reception)
}
