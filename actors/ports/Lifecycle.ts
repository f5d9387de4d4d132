/** The life of this gateway process as its health and control endpoints see it. */
import * as Context from "effect/Context"

export class Lifecycle extends Context.Service<Lifecycle, {
  readonly version: string
  /** ms since the epoch. */
  readonly startedAt: number
  readonly nodeId: string
  /** Every start tier is up and the schema is migrated: requests can be served. */
  readonly ready: () => boolean
  /** A stop has begun: no new work is taken. */
  readonly draining: () => boolean
  /** All migrations of this build are applied. */
  readonly migrated: () => boolean
  /** Asks the process to end after the reply left (500 ms); `restart` expects a supervisor or the launcher to start it again. */
  readonly requestShutdown: (kind: "restart" | "shutdown") => void
}>()("gateway/ports/Lifecycle") {}
