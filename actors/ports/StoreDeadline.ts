/**
 * How long a call waits for the state that nodes share, ms; null = as long as every request. An operator's change is given more time than a
 * client's request, which goes on without that state.
 */
import * as Context from "effect/Context"

export const StoreDeadline = Context.Reference<number | null>("gateway/StoreDeadline", { defaultValue: () => null })
