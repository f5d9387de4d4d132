/** State of the background check of short-lived tokens (a connection's `healthCheckInterval`). */
import * as Context from "effect/Context"

export class TokenHealth extends Context.Service<TokenHealth, {
  /** When the last round ended, ms since the epoch; null before the first. */
  readonly lastCheckAt: () => number | null
  /** False while a flag has switched it off. */
  readonly running: () => boolean
}>()("gateway/ports/TokenHealth") {}
