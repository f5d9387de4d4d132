/** `gateway serve`: runs the gateway until a signal or a stop over HTTP, then drains and ends. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { LifecycleControl } from "#src/bootstrap/NodeLifecycle.ts"
import * as FrontDoor from "#src/FrontDoor.ts"
import { FrontEnd } from "#src/server/FrontEnd.ts"
import { load, type Loaded, type Overrides } from "./environment.ts"
import { failure } from "./Failure.ts"
import { Launcher } from "./Launcher.ts"
import { listenerOn } from "./processes.ts"
import * as RunningGateway from "./RunningGateway.ts"

/** What the exit may take beyond the grace of live streams (ms). */
const closeMs = 2_000

const isPortTaken = (error: unknown): boolean =>
  typeof error === "object" && error !== null && Reflect.get(error, "reason") === "AddressInUse"

const portTaken = (settings: Loaded) => {
  const owner = listenerOn(settings.port)
  const who = owner === null ? "another process" : `process ${owner.pid}${owner.command === "" ? "" : ` (${owner.command})`}`
  return failure(`Cannot listen on ${settings.host}:${settings.port}: the port is in use by ${who}.\n`
    + "Stop that process, or choose another port with PORT or `gateway serve --port <port>`.")
}

const urlOf = (settings: Loaded, port: number): string => {
  // Every address is reached from this machine over loopback.
  const host = settings.host === "0.0.0.0" ? "127.0.0.1" : settings.host === "::" ? "[::1]" : settings.host.includes(":") ? `[${settings.host}]` : settings.host
  return `${settings.tlsCert === null ? "http" : "https"}://${host}:${port}`
}

export const serve = (overrides: Overrides) =>
  Effect.scoped(Effect.gen(function*() {
    const launcher = yield* Launcher
    const settings = yield* load(overrides)
    launcher.serves(settings.shutdownTimeoutMs + closeMs)
    const startedAt = Date.now()
    const door = yield* Layer.build(FrontDoor.layer(settings)).pipe(
      Effect.catchIf(isPortTaken, () => Effect.fail(portTaken(settings)))
    )
    // The port is open; everything else is loaded behind it.
    const App = yield* Effect.promise(() => import("#src/App.ts"))
    const inner = yield* Effect.provideContext(Layer.build(App.behindDoor(settings, startedAt)), door)
    const context = Context.merge(door, inner)
    return yield* Effect.provideContext(
      Effect.gen(function*() {
        yield* RunningGateway.announce(settings.dataDir, urlOf(settings, (yield* FrontEnd).port))
        const kind = yield* (yield* LifecycleControl).stopRequested
        yield* launcher.stopping
        if (kind === "restart") yield* launcher.restart
      }),
      context
    )
  }))
