/** The database and the stores, for commands that work without a gateway. */
import * as path from "node:path"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import type { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import * as PostgresClient from "#src/platform/postgres/PostgresClient.ts"
import type { PgliteError } from "#src/platform/postgres/pglite/Pglite.ts"
import * as Stores from "#src/Stores.ts"
import * as Fingerprint from "#src/platform/secrets/Fingerprint.ts"
import * as Sealer from "#src/platform/secrets/Sealer.ts"
import type { Loaded } from "#src/cli/environment.ts"
import { failure } from "#src/cli/Failure.ts"
import * as RunningGateway from "#src/cli/RunningGateway.ts"

/** The database as people call it, without its password. */
export const nameOf = (settings: Loaded): string => {
  if (settings.databaseUrl === null) return `embedded Postgres in ${path.resolve(settings.dataDir)}`
  try {
    const { host, pathname } = new URL(Redacted.value(settings.databaseUrl))
    return `Postgres at ${host}${pathname}`
  } catch {
    return "Postgres (DATABASE_URL)"
  }
}

export const client = (settings: Loaded): Layer.Layer<SqlClient, PgliteError | SqlError> =>
  settings.databaseUrl === null
    ? PostgresClient.pgliteLayer({ dataDir: settings.dataDir })
    : PostgresClient.layer({ url: settings.databaseUrl, poolSize: 2 })

export const secrets = (settings: Loaded) => Sealer.layer(Sealer.optionsOf(settings))

/** Every store, migrated. */
export const stores = (settings: Loaded) =>
  Layer.effectDiscard(Fingerprint.check).pipe(Layer.provideMerge(Stores.layer()), Layer.provideMerge(client(settings)), Layer.provideMerge(secrets(settings)))

/** The embedded database serves one process: `what` waits for the gateway to stop. */
export const refuseWhileRunning = (settings: Loaded, what: string) =>
  Effect.suspend(() => {
    const running = settings.databaseUrl === null ? RunningGateway.find(settings.dataDir) : null
    return running === null ? Effect.void : Effect.fail(failure(
      `${what} needs the embedded database for itself, and process ${running.pid} is using it (${path.resolve(settings.dataDir)}).\n`
        + `Stop that gateway first (kill -TERM ${running.pid}), then repeat the command.`
    ))
  })
