/**
 * Renews the tokens of signed-in connections before their time, so that no request waits for a token endpoint.
 *
 * A connection with a `healthCheckInterval` is looked at once per interval and renewed when its token would not last until the next
 * look; one without is looked at in every round; 0 switches it off. Terminal connections are left to the operator.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Configuration } from "#actors/ports/Configuration.ts"
import { Credentials } from "#actors/request/ports/Credentials.ts"
import { Flags } from "#actors/ports/Flags.ts"
import { ConnectionStore } from "#actors/ports/Stores.ts"
import { TokenHealth } from "#src/features/oauth/ports/TokenHealth.ts"
import type { Connection } from "#schemas/records/Connection.ts"
import { kindOf } from "#src/providers/credentialKind.ts"
import { builtin, type Registry } from "#src/providers/Registry.ts"
import * as Rounds from "#src/platform/structures/Rounds.ts"

export interface Options {
  readonly registry?: Registry
}

const minuteMs = 60_000
/** Between two rounds. */
const every = "60 seconds"
/** A token with less life than this is renewed, ms. */
const aheadMs = 5 * minuteMs
/** Renewals at once. */
const parallel = 5
/** Characters of an account in a log line. */
const accountPrefix = 8

const terminal: ReadonlySet<string> = new Set(["expired", "banned", "credits_exhausted"])

const timeOf = (text: string | null): number | null => {
  const at = Date.parse(text ?? "")
  return Number.isNaN(at) ? null : at
}

/** Whether it is this connection's turn. */
export const isDue = ({ healthCheckInterval, lastHealthCheckAt }: Pick<Connection, "healthCheckInterval" | "lastHealthCheckAt">, now: number): boolean => {
  if (healthCheckInterval === 0) return false
  const last = timeOf(lastHealthCheckAt)
  return healthCheckInterval === null || last === null || now - last >= healthCheckInterval * minuteMs
}

/** Whether its token must be renewed now to be good until it is looked at again; a short-lived one keeps most of its life. */
export const isAging = (
  connection: Pick<Connection, "tokenExpiresAt" | "expiresAt" | "expiresIn" | "healthCheckInterval">,
  now: number
): boolean => {
  const { expiresAt, expiresIn, healthCheckInterval, tokenExpiresAt } = connection
  const end = timeOf(tokenExpiresAt ?? expiresAt)
  // Without an end only a renewal shows whether the grant still stands.
  if (end === null) return healthCheckInterval !== null
  if (healthCheckInterval !== null) return end - now < aheadMs + healthCheckInterval * minuteMs
  return end - now < (expiresIn === null ? aheadMs : Math.min(aheadMs, expiresIn * 1_000 / 4))
}

const accountOf = ({ email, providerSpecificData }: Connection): string =>
  String(providerSpecificData["accountId"] ?? email ?? "").slice(0, accountPrefix)

export const make = Effect.fnUntraced(function*(options: Options) {
  const configuration = yield* Configuration
  const credentials = yield* Credentials
  const flags = yield* Flags
  const store = yield* ConnectionStore
  const registry = options.registry ?? builtin
  let lastCheckAt: number | null = null

  const running = (): boolean => !flags.isOn("GATEWAY_DISABLE_BACKGROUND_SERVICES") && !flags.isOn("GATEWAY_DISABLE_TOKEN_HEALTHCHECK")

  const renews = (connection: Connection): boolean => connection.isActive && !terminal.has(connection.testStatus) &&
    kindOf(connection, registry.byId.get(connection.provider) ?? null) === "refresh"

  /** Failures are written and logged where renewals are made. */
  const renew = (connection: Connection) => Effect.ignore(Effect.tap(credentials.ahead(connection.id), () =>
    Effect.annotateLogs(Effect.logInfo("a token was renewed ahead"), {
      connectionId: connection.id, provider: connection.provider,
      ...(flags.isOn("AUTH_LOG_INCLUDE_ACCOUNT_ID") ? { account: accountOf(connection) } : {})
    })))

  const round = Effect.gen(function*() {
    const now = yield* Clock.currentTimeMillis
    const due = configuration.current().connections.filter((connection) => renews(connection) && isDue(connection, now))
    const aging = due.filter((connection) => isAging(connection, now))
    yield* Effect.forEach(aging, renew, { concurrency: parallel, discard: true })
    const ended = yield* Clock.currentTimeMillis
    // One commit for all; a connection that is looked at in every round is marked only when something was done.
    const marked = due.filter((connection) => connection.healthCheckInterval !== null || aging.includes(connection))
    if (marked.length > 0) {
      const lastHealthCheckAt = new Date(ended).toISOString()
      yield* configuration.commit(Effect.forEach(marked, ({ id }) => store.patch(id, { lastHealthCheckAt }), { discard: true }))
    }
    lastCheckAt = ended
  })

  const rounds = yield* Rounds.make(
    "token refresh",
    () => running() && configuration.current().connections.some((connection) => renews(connection) && connection.healthCheckInterval !== 0),
    every,
    round.pipe(Effect.catch((error) => Effect.logError("a round of token checks failed", error)))
  )
  yield* Effect.acquireRelease(Effect.sync(() => configuration.onChange(rounds.wake)), (quiet) => Effect.sync(quiet))

  return TokenHealth.of({ lastCheckAt: () => lastCheckAt, running })
})

export const layer = (options: Options = {}) => Layer.effect(TokenHealth, make(options))
