/** Quotas that were read from a vendor's own endpoint, beside those that answers carry. */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { QuotaReading } from "#src/routing/ports/Quotas.ts"

export class QuotaReadings extends Context.Service<QuotaReadings, {
  /** Holds them here, and stores them for the other nodes. */
  readonly note: (connectionId: string, readings: ReadonlyArray<QuotaReading>) => void
  /** Holds what other nodes have stored since. */
  readonly follow: Effect.Effect<void>
}>()("gateway/ports/QuotaReadings") {}
