/**
 * The first tier of the gateway, in a file of its own because it is loaded first: the port is open while the rest is still being
 * read from disk. Keep its imports few.
 */
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Errors from "#schemas/errors.ts"
import { version } from "#schemas/version.ts"
import * as ClientAddress from "#src/platform/gate/clientAddress.ts"
import * as Hosts from "#src/platform/gate/hosts.ts"
import * as PublicNames from "#src/platform/gate/publicNames.ts"
import type { Values } from "#src/platform/configuration/Settings.ts"
import type { DirectRoute } from "#src/platform/server/Exchange.ts"
import * as UwsHttpServer from "#src/platform/server/uws/UwsHttpServer.ts"
import * as NamelessFile from "#src/platform/structures/namelessFile.ts"
import * as Log from "#src/platform/telemetry/Log.ts"
import { errorBodyAt } from "#src/wire/errorBodyAt.ts"

/** Tier 1: where log lines go, and the port. It is open before anything else is ready; until then each request is answered with "retry later". */
export const layer = (settings: Values) => {
  const publicNames = PublicNames.make()
  return doorOf(settings, publicNames).pipe(Layer.provideMerge(Layer.merge(Log.layerOf(settings), Layer.succeed(PublicNames.PublicNames, publicNames))))
}

const doorOf = (settings: Values, publicNames: PublicNames.Names) => UwsHttpServer.layer({
  host: settings.host,
  port: settings.port,
  // The workers of one machine share the port; a foreign process on it is still an error, which the supervisor looks for.
  reusePort: settings.worker > 0,
  // Its siblings serve meanwhile.
  openLater: settings.worker > 0,
  tls: settings.tlsCert === null || settings.tlsKey === null ? undefined : {
    certFile: settings.tlsCert,
    keyFile: settings.tlsKey,
    passphrase: settings.tlsPassphrase === null ? undefined : Redacted.value(settings.tlsPassphrase)
  },
  maxBodyBytes: settings.maxBodyBytes,
  heldBodyBytes: settings.heldBodyBytes ?? undefined,
  overflowDirectory: NamelessFile.directoryIn(settings.dataDir),
  slowReaderTimeout: settings.slowReaderTimeoutMs,
  // The grace of live streams ends a second earlier, so that their own error still reaches them.
  gracefulShutdownTimeout: settings.shutdownTimeoutMs + 1_000,
  notReady: starting,
  guard: Hosts.guard({ ...settings, publicNames }),
  clientAddress: ClientAddress.make(settings.trustedProxies)
})

const starting: DirectRoute = (exchange) => {
  const ping = exchange.path === "/api/health/ping"
  exchange.respond(503, ["Content-Type", "application/json", "Retry-After", "1", "X-Gateway-Version", version], ping
    ? JSON.stringify({ status: "unavailable", version })
    : errorBodyAt(exchange.path)(Errors.make("starting", "The gateway is starting or shutting down; repeat the request in a second.")))
}
