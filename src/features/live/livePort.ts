/** The second port of live events. */
import * as Effect from "effect/Effect"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import { ListenError } from "#src/platform/server/Listener.ts"
import type { SocketRoute } from "#src/platform/server/sockets/ServerSocket.ts"
import * as UwsHttpServer from "#src/platform/server/uws/UwsHttpServer.ts"
import type { LiveOptions } from "./LiveOptions.ts"

/** What it answers to everything that is no socket. */
const unknown = HttpServerResponse.jsonUnsafe({ error: { message: "Only WebSockets of live events are served on this port", type: "not_found", code: "unknown_route" } }, { status: 404 })

/** Listens until the scope ends. A port that is taken is logged: the events are on the port of the API, too. */
export const openPort = ({ clientAddress, guard, host, isShared, port }: LiveOptions["Service"], paths: ReadonlyArray<string>, route: SocketRoute) =>
  Effect.gen(function*() {
    const { frontEnd, server } = yield* UwsHttpServer.make({ host, port, reusePort: isShared, guard, clientAddress, gracefulShutdownTimeout: 0 })
    for (const path of paths) frontEnd.socket(path, route)
    yield* server.serve(Effect.succeed(unknown))
  }).pipe(Effect.catchTag("ServeError", (error) => {
    const why = error instanceof ListenError && error.reason === "AddressInUse" ? `port ${port} of ${host} is in use.` : `${error.message}.`
    return Effect.logWarning(`Live events are on the port of the API only: ${why} Set LIVE_WS_PORT to a free port, or to 0 for none.`)
  }))
