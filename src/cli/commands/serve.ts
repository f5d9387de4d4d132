/** `gateway serve`: runs the gateway until a signal or a stop over HTTP, then drains and ends. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { messageOf } from "#actors/thrown.ts"
import { compactHeap } from "#src/platform/structures/compactHeap.ts"
import { LifecycleControl } from "#src/bootstrap/NodeLifecycle.ts"
import * as FrontDoor from "#src/FrontDoor.ts"
import { localUrlOf } from "#src/platform/configuration/address.ts"
import { configFileOf } from "#src/platform/configuration/configFile.ts"
import * as Pglite from "#src/platform/postgres/pglite/Pglite.ts"
import { FrontEnd } from "#src/platform/server/FrontEnd.ts"
import { ListenError } from "#src/platform/server/Listener.ts"
import { load, type Loaded, type Overrides } from "#src/cli/environment.ts"
import { failure } from "#src/cli/Failure.ts"
import { Launcher } from "#src/cli/Launcher.ts"
import { listenerOn } from "#src/cli/processes.ts"
import * as RunningGateway from "#src/cli/RunningGateway.ts"

/** What the exit may take beyond the grace of live streams (ms). */
const closeMs = 2_000

const isPortTaken = (error: unknown): boolean =>
  typeof error === "object" && error !== null && Reflect.get(error, "reason") === "AddressInUse"

const portTaken = (settings: Loaded) => {
  const owner = listenerOn(settings.port)
  const holder = owner === null ? "another process" : `process ${owner.pid}${owner.command === "" ? "" : ` (${owner.command})`}`
  return failure(`Cannot listen on ${settings.host}:${settings.port}: the port is in use by ${holder}.\n`
    + "Stop that process, or choose another port with PORT or `gateway serve --port <port>`.")
}

const isTlsUnusable = (error: unknown): error is ListenError => error instanceof ListenError && error.reason === "TlsUnusable"

/** The front end knows its options; the person at the terminal set variables. */
const tlsUnusable = (settings: Loaded, { cause }: ListenError) =>
  failure(`Cannot listen on ${settings.host}:${settings.port} with TLS: ${messageOf(cause)}.\n`
    + "Check GATEWAY_TLS_KEY, GATEWAY_TLS_CERT and GATEWAY_TLS_PASSPHRASE.")

/** What the supervisor allows its workers beyond their own stopping time, before it kills them (ms). */
const workerMs = 1_000

/** Several processes: this one starts them and serves nothing itself. */
const superviseWorkers = Effect.fnUntraced(function*(settings: Loaded) {
  const launcher = yield* Launcher
  const stopMs = settings.shutdownTimeoutMs + closeMs
  launcher.serves(stopMs + 2 * workerMs)
  const { claimPort, supervise } = yield* Effect.promise(() => import("#src/cli/workers.ts"))
  const port = yield* claimPort(settings.host, settings.port).pipe(Effect.mapError((error) =>
    error.code === "EADDRINUSE" ? portTaken(settings) : failure(`Cannot listen on ${settings.host}:${settings.port}: ${error.message}`)))
  const kind = yield* supervise(settings, port, stopMs + workerMs, RunningGateway.announce(settings.dataDir, localUrlOf(settings, port)))
  yield* launcher.stopping
  if (kind === "restart") yield* launcher.restart
})

/** Waits for a stop asked for over HTTP; one of several workers leaves it to the supervisor to stop them all. */
const stopAsked = Effect.fnUntraced(function*(settings: Loaded) {
  const { stopRequested } = yield* LifecycleControl
  if (settings.worker === 0) return yield* stopRequested
  const Worker = yield* Effect.promise(() => import("#src/platform/cluster/workers/Worker.ts"))
  yield* Effect.raceFirst(Worker.drainAsked, Effect.andThen(Effect.flatMap(stopRequested, Worker.stop), Effect.never))
  return "shutdown"
})

/** A reload asked for before the configuration file is read must not end the process: the start reads the newest one anyway. */
const outliveReloads = (settings: Loaded) => {
  const early = (): void => undefined
  return configFileOf(settings) === null
    ? Effect.void
    : Effect.acquireRelease(Effect.sync(() => process.on("SIGHUP", early)), () => Effect.sync(() => process.off("SIGHUP", early)))
}

export const serve = (overrides: Overrides) =>
  Effect.scoped(Effect.gen(function*() {
    const launcher = yield* Launcher
    const settings = yield* load(overrides)
    yield* outliveReloads(settings)
    if (settings.workers > 1 && settings.worker === 0) return yield* superviseWorkers(settings)
    launcher.serves(settings.shutdownTimeoutMs + closeMs)
    const startedAt = Date.now()
    const door = yield* Layer.build(FrontDoor.layer(settings)).pipe(
      Effect.catchIf(isPortTaken, () => Effect.fail(portTaken(settings))),
      Effect.catchIf(isTlsUnusable, (error) => Effect.fail(tlsUnusable(settings, error)))
    )
    // The port is open. The embedded database starts in its thread while everything else is loaded.
    const database = settings.databaseUrl === null ? yield* Effect.provideContext(Pglite.begin(settings), door) : null
    const App = yield* Effect.promise(() => import("#src/App.ts"))
    const behindDoor = App.behindDoor(settings, startedAt, Effect.promise(compactHeap))
    const inner = yield* Effect.provideContext(Layer.build(behindDoor), Context.add(door, Pglite.Begun, database))
    const context = Context.merge(door, inner)
    return yield* Effect.provideContext(
      Effect.gen(function*() {
        if (settings.worker === 0) yield* RunningGateway.announce(settings.dataDir, localUrlOf(settings, (yield* FrontEnd).port))
        const kind = yield* stopAsked(settings)
        yield* launcher.stopping
        if (kind === "restart") yield* launcher.restart
      }),
      context
    )
  }))
