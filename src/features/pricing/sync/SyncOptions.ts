/** What the environment says of public lists of models. */
import * as Context from "effect/Context"
import type { Source } from "#schemas/catalogue/SyncedModels.ts"

export interface Options {
  /** PRICING_SYNC_INTERVAL, ms. */
  readonly everyMs: number
  /** PRICING_SYNC_SOURCES. */
  readonly sources: ReadonlyArray<Source>
  readonly urls: Readonly<Record<Source, string>>
}

export class SyncOptions extends Context.Service<SyncOptions, Options>()("gateway/pricing/SyncOptions") {}
