/** The built dashboard as it lies in memory. */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"

export interface DashboardFile {
  readonly type: string
  readonly plain: Uint8Array
  /** The same bytes compressed; null where that is not worth it. */
  readonly brotli: Uint8Array | null
  readonly gzip: Uint8Array | null
}

export interface Built {
  readonly index: string
  /** By file name; each name holds the hash of its content. */
  readonly assets: ReadonlyMap<string, DashboardFile>
}

export class DashboardFiles extends Context.Service<DashboardFiles, {
  /** GATEWAY_DASHBOARD: false = the paths of the dashboard do not exist. */
  readonly isOn: boolean
  /** Whether there is a page to show; reads no file. */
  readonly isReady: Effect.Effect<boolean>
  /** Null while the dashboard is not built. */
  readonly built: Effect.Effect<Built | null>
}>()("gateway/features/dashboard/DashboardFiles") {}
