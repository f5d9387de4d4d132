/**
 * How long a call waits for the state that nodes share, ms; null = as long as every request. An operator's change gets more time
 * than a client's request, which continues without that state.
 */
import * as Context from "effect/Context"

export const StoreDeadline = Context.Reference<number | null>("gateway/StoreDeadline", { defaultValue: () => null })
