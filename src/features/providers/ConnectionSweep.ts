/**
 * Tests the connections in the background, as POST /api/providers/{id}/test does. Off until the resilience setting
 * `credentialHealthCheck` has an interval; connections that are inactive, terminal, or of a blocked provider
 * are not tested.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { blockedProviders, Configuration } from "#actors/ports/Configuration.ts"
import { Flags } from "#actors/ports/Flags.ts"
import { ResilienceControl } from "#src/features/resilience/ports/ResilienceControl.ts"
import type { Connection } from "#schemas/records/Connection.ts"
import * as Rounds from "#src/platform/structures/Rounds.ts"
import { ConnectionTests } from "./ConnectionTests.ts"

const minuteMs = 60_000
/** Between two looks for connections whose turn it is. */
const every = "60 seconds"
/** Connections that are tested in one round; the others have their turn in the next. */
const perRound = 100

const terminal: ReadonlySet<string> = new Set(["expired", "banned", "credits_exhausted"])

/** Tested longest ago first. */
export const due = (connections: ReadonlyArray<Connection>, intervalMinutes: number, now: number): ReadonlyArray<Connection> => {
  if (intervalMinutes <= 0) return []
  const testedAt = ({ lastTested }: Connection): number => Date.parse(lastTested ?? "") || 0
  return connections
    .filter((connection) => connection.isActive && !terminal.has(connection.testStatus) && now - testedAt(connection) >= intervalMinutes * minuteMs)
    .sort((a, b) => testedAt(a) - testedAt(b))
    .slice(0, perRound)
}

export const make = Effect.gen(function*() {
  const configuration = yield* Configuration
  const control = yield* ResilienceControl
  const flags = yield* Flags
  const tests = yield* ConnectionTests

  const interval = (): number => flags.isOn("GATEWAY_DISABLE_BACKGROUND_SERVICES") ? 0 : control.settings().credentialHealthCheck.intervalMinutes

  const round = Effect.gen(function*() {
    const snapshot = configuration.current()
    const blocked = blockedProviders(snapshot)
    const turn = due(snapshot.connections.filter(({ provider }) => !blocked.has(provider)), interval(), yield* Clock.currentTimeMillis)
    if (turn.length > 0) yield* tests.testAll(turn)
  }).pipe(Effect.catch((error) => Effect.logError("a round of connection tests failed", error)))

  const rounds = yield* Rounds.make("connection tests", () => interval() > 0, every, round)
  yield* Effect.acquireRelease(Effect.sync(() => configuration.onChange(rounds.wake)), (quiet) => Effect.sync(quiet))
})

export const layer = Layer.effectDiscard(make)
