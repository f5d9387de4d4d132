/** A connection whose credential is taken for expired, after soft lockouts: its record says so, unless it is terminal already. */
import * as Effect from "effect/Effect"
import { type Configuration, shownProvider } from "#actors/ports/Configuration.ts"
import type { ConnectionStore } from "#actors/ports/Stores.ts"
import * as SoftLockout from "#actors/resilience/SoftLockout.ts"
import { isTerminal } from "#src/features/resilience/ports/marks.ts"

/** `message`: the upstream's words; `at`: ms since the epoch. The record is read when its turn comes. */
export const mark = (
  configuration: Configuration["Service"], connections: ConnectionStore["Service"], id: string, message: string, at: number
): Effect.Effect<void> => configuration.commit(Effect.gen(function*() {
  const record = yield* connections.get(id)
  if (record === null || isTerminal(record)) return
  yield* connections.patch(id, {
    testStatus: "expired", lastError: message.slice(0, 500), lastErrorType: "auth_error", lastErrorSource: "upstream", errorCode: "401",
    lastErrorAt: new Date(at).toISOString()
  })
  yield* Effect.logWarning(
    `A connection of provider ${shownProvider(configuration.current(), record.provider)} is taken for expired: it was refused again after ${SoftLockout.most} rests within an hour.`
  )
})).pipe(Effect.catch((error) => Effect.logWarning(`An expired connection was not marked: ${error.message}`)))
