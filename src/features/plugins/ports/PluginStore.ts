/** Records of plugins. */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { StoreError } from "#actors/ports/StoreError.ts"
import type { Plugin } from "./Plugin.ts"

type Op<A> = Effect.Effect<A, StoreError>

export class PluginStore extends Context.Service<PluginStore, {
  /** By name. */
  readonly list: Op<ReadonlyArray<Plugin>>
  readonly get: (name: string) => Op<Plugin | null>
  /** A name that is taken is a conflict. */
  readonly insert: (plugin: Plugin) => Op<void>
  /** False when it is gone. */
  readonly replace: (plugin: Plugin) => Op<boolean>
  readonly remove: (name: string) => Op<boolean>
}>()("gateway/plugins/PluginStore") {}
