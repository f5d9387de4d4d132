/**
 * The tunnels of this machine: one supervised program for each that is enabled. It is started again after growing waits, and ends with
 * the gateway. What is enabled is stored for the node, so that a restart opens it again. Of several processes of a machine the first
 * one runs the programs; the others read from the store how they stand.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as FiberMap from "effect/FiberMap"
import * as Latch from "effect/Latch"
import * as Layer from "effect/Layer"
import * as Metric from "effect/Metric"
import * as Schema from "effect/Schema"
import * as Semaphore from "effect/Semaphore"
import { ChangeFeed } from "#actors/ports/ChangeFeed.ts"
import { Configuration } from "#actors/ports/Configuration.ts"
import { Flags } from "#actors/ports/Flags.ts"
import type { StoreError } from "#actors/ports/StoreError.ts"
import { DocumentStore } from "#actors/ports/Stores.ts"
import * as Supervisor from "#actors/Supervisor.ts"
import { PublicNames } from "#src/platform/gate/publicNames.ts"
import * as Program from "#src/platform/programs/Program.ts"
import { FrontEnd } from "#src/platform/server/FrontEnd.ts"
import * as Programs from "./programs.ts"
import * as Readers from "./readers.ts"
import * as Tunnel from "./Tunnel.ts"
import * as TunnelError from "./TunnelError.ts"
import type { TunnelsOptions } from "./TunnelsOptions.ts"

/** A call waits this long for a tunnel to open or to fail, ms. */
export const SETTLE_MS = 15_000
/** A program that neither opened a tunnel nor asked for anything by then is started again, ms. */
const OPEN_MS = 60_000

const KIND = "tunnel"
const STATE_KIND = "tunnel-state"

export interface Standing {
  readonly isEnabled: boolean
  readonly state: Tunnel.State
}

export class Tunnels extends Context.Service<Tunnels, {
  readonly options: TunnelsOptions
  /** Where tunnels lead to. */
  readonly target: string
  readonly of: (name: Programs.Name) => Standing
  /** Starts the program now, and waits a while until it stands or fails. */
  readonly enable: (name: Programs.Name) => Effect.Effect<void, TunnelError.TunnelError | StoreError>
  /** Ends the program. */
  readonly disable: (name: Programs.Name) => Effect.Effect<void, StoreError>
  /** Tries now what waits to be tried again. */
  readonly retry: (name: Programs.Name) => void
}>()("gateway/tunnels/Tunnels") {}

/** One program on this machine. */
interface Held {
  readonly name: Programs.Name
  isEnabled: boolean
  state: Tunnel.State
  /** Open when it is to be tried at once. */
  readonly due: Latch.Latch
  /** Open once it stands, waits for its operator, or has failed. */
  readonly settled: Latch.Latch
  /** Open after the configuration changed. */
  readonly changed: Latch.Latch
}

const up = (tunnel: string) => Metric.gauge("gateway_tunnel_up", { description: "1 while a tunnel of the gateway is open.", attributes: { tunnel } })

const readState = Schema.decodeUnknownOption(Tunnel.State)

const how = ({ code, error, signal }: Program.Ended): string => error !== null ? `cannot be started (${error})` : `ended (${signal ?? `exit code ${code}`})`

const make = Effect.fnUntraced(function*(options: TunnelsOptions) {
  const clock = yield* Clock.Clock
  const configuration = yield* Configuration
  const context = yield* Effect.context<never>()
  const documents = yield* DocumentStore
  const feed = yield* ChangeFeed
  const flags = yield* Flags
  const names = yield* PublicNames
  const { port } = yield* FrontEnd
  const target = options.targetOf(port)
  const running = yield* FiberMap.make<Programs.Name>()
  const isRunner = options.worker <= 1
  const unwritten = yield* Latch.make(false)
  const keyOf = (name: Programs.Name): string => `${options.node}/${name}`

  const all = new Map<Programs.Name, Held>(Programs.names.map((name) => [name, {
    name, isEnabled: false, state: Tunnel.stopped, due: Latch.makeUnsafe(false), settled: Latch.makeUnsafe(false), changed: Latch.makeUnsafe(false)
  }]))
  const held = (name: Programs.Name): Held => all.get(name) as Held

  const show = (one: Held, state: Tunnel.State): void => {
    one.state = state
    const host = state.phase === "running" && state.url !== null ? URL.parse(state.url)?.hostname : undefined
    names.set(one.name, host === undefined ? [] : [host])
    if (one.name !== "tailscaled") up(one.name).updateUnsafe(state.phase === "running" ? 1 : 0, context)
    if (state.phase === "running" || state.hasAsked || state.nextTryMs !== null) Latch.openUnsafe(one.settled)
    if (isRunner && options.worker > 0) Latch.openUnsafe(unwritten)
  }

  const happened = (one: Held, event: Tunnel.Event): void => {
    const before = one.state
    show(one, Tunnel.next(before, event, clock.currentTimeMillisUnsafe()))
  }

  /** Why strangers could use the gateway without a credential; null when they cannot. */
  const unguarded = (): string | null => !flags.isOn("REQUIRE_API_KEY")
    ? "Inference needs no key, and a tunnel is open to everybody: set the flag REQUIRE_API_KEY to true"
    : configuration.current().settings.get("requireLogin") === false
    ? "Management needs no sign-in, and a tunnel is open to everybody: set requireLogin to true" : null

  const becameUnguarded = (one: Held): Effect.Effect<string> => Effect.gen(function*() {
    for (;;) {
      yield* one.changed.close
      const why = one.name === "tailscaled" ? null : unguarded()
      if (why !== null) return why
      yield* one.changed.await
    }
  })

  const tooLate = (one: Held): Effect.Effect<string> => Effect.gen(function*() {
    yield* Effect.sleep(OPEN_MS)
    // tailscaled opens nothing itself.
    if (one.name === "tailscaled" || one.state.phase === "running" || one.state.hasAsked) return yield* Effect.never
    return `${one.name} opened no tunnel within ${OPEN_MS / 1_000} s${one.state.lastError === null ? "" : `: ${one.state.lastError}`}`
  })

  /** One life of its program, and why it is over. */
  const life = (one: Held): Effect.Effect<string> => Effect.scoped(Effect.gen(function*() {
    const { name } = one
    const why = name === "tailscaled" ? null : unguarded()
    if (why !== null) return why
    const file = yield* Programs.find(options, name)
    if (file === null) return `${name} is not installed`
    // What asked for it before now is served by this life.
    yield* one.due.close
    happened(one, { _tag: "Started" })
    const read = name === "tailscaled" ? () => [] : Readers.readerOf(name, target)
    const secret = Programs.secretOf(options, name)
    let last = ""
    let problem = ""
    let isHeard = true
    yield* Effect.addFinalizer(() => Effect.sync(() => isHeard = false))
    const program = yield* Program.start(Programs.command(options, name, file, target, held("tailscaled").isEnabled), (line) => {
      if (!isHeard) return
      const said = Readers.words(line, secret)
      if (said !== "") last = said
      for (const heard of read(line)) {
        const event = "message" in heard ? { ...heard, message: Readers.words(heard.message, secret) } : heard
        if (event._tag === "Problem") problem = event.message
        happened(one, event)
      }
    })
    const ended = Effect.map(program.ended, (end) => {
      const words = problem === "" ? last : problem
      return `${name} ${how(end)}${words === "" ? "" : `: ${words}`}`
    })
    return yield* Effect.raceFirst(Effect.raceFirst(ended, tooLate(one)), becameUnguarded(one))
  }))

  const round = (one: Held) => Effect.gen(function*() {
    const message = yield* life(one)
    happened(one, { _tag: "Ended", message })
    const { failures, lastError, nextTryMs } = one.state
    if (failures === 1) yield* Effect.logWarning(`Tunnel ${one.name}: ${lastError ?? message}; it is tried again`)
    yield* Effect.raceFirst(one.due.await, Effect.sleep(Math.max(0, (nextTryMs ?? 0) - clock.currentTimeMillisUnsafe())))
    yield* one.due.close
  })

  const stop = Effect.fnUntraced(function*(one: Held) {
    yield* FiberMap.remove(running, one.name)
    show(one, Tunnel.stopped)
    yield* one.settled.close
  })

  /** The first process runs what the store names. */
  const runStored = Effect.gen(function*() {
    const stored = yield* documents.list(KIND)
    for (const one of all.values()) {
      one.isEnabled = stored.has(keyOf(one.name))
      const mayRun = one.isEnabled && options.isOn
      if (mayRun && !FiberMap.hasUnsafe(running, one.name)) {
        yield* one.due.close
        // The program outlives the call that enabled it, and its log lines are not that call's.
        yield* FiberMap.run(running, one.name, Effect.provideContext(Supervisor.supervised("tunnel", round(one), { fields: { tunnel: one.name } }), context))
      } else if (!mayRun && FiberMap.hasUnsafe(running, one.name)) yield* stop(one)
    }
  })

  /** The others show what it wrote. */
  const readStored = Effect.gen(function*() {
    const [stored, states] = yield* Effect.all([documents.list(KIND), documents.list(STATE_KIND)])
    for (const one of all.values()) {
      one.isEnabled = stored.has(keyOf(one.name))
      const state = readState(states.get(keyOf(one.name)))
      show(one, one.isEnabled && state._tag === "Some" ? state.value : Tunnel.stopped)
    }
  })

  const writeStates = Effect.gen(function*() {
    yield* unwritten.await
    yield* unwritten.close
    yield* Effect.forEach(all.values(), ({ name, state }) => documents.put(STATE_KIND, keyOf(name), state))
    feed.announce()
  }).pipe(Effect.catch((error) => Effect.andThen(Effect.logError(`Tunnels: ${error.message}`), Effect.sleep(Tunnel.backoff.firstMs))))

  // One at a time: an older list must not take the place of a newer one.
  const follow = Semaphore.makeUnsafe(1).withPermits(1)(isRunner ? runStored : readStored)
  yield* feed.hear(({ changes }) => changes === null || changes.some(({ id, kind }) => kind === "document" && /^tunnel(?:-state)?\//.test(id)) ? follow : Effect.void)
  yield* Effect.acquireRelease(
    Effect.sync(() => configuration.onChange(() => {
      for (const one of all.values()) Latch.openUnsafe(one.changed)
    })),
    (leave) => Effect.sync(leave)
  )
  yield* follow.pipe(Effect.catch((error) => Effect.logError(`Tunnels cannot be read: ${error.message}`)))
  if (isRunner) yield* Supervisor.loop("tunnel states", writeStates)

  const check = Effect.fnUntraced(function*(name: Programs.Name) {
    if (!options.isOn) return yield* Effect.fail(TunnelError.make("off", "This node opens no tunnels: set GATEWAY_TUNNELS to on"))
    if (process.platform === "win32") return yield* Effect.fail(TunnelError.make("unsupported", "Tunnels are opened on Linux and macOS only"))
    if ((yield* Programs.find(options, name)) === null) {
      const kind = name === "tailscaled" ? "tailscale" : name
      return yield* Effect.fail(TunnelError.make("not_installed", `${name} is not installed on the gateway's machine: install it (${Programs.pages[kind]}), or set ${Programs.settingOf(kind)}`))
    }
    const why = name === "tailscaled" ? null : unguarded()
    if (why !== null) return yield* Effect.fail(TunnelError.make("unguarded", why))
  })

  return Tunnels.of({
    options, target,
    of: (name) => {
      const { isEnabled, state } = held(name)
      return { isEnabled, state }
    },
    enable: Effect.fn("Tunnels.enable")(function*(name) {
      yield* check(name)
      const one = held(name)
      if (one.state.phase !== "running") yield* one.settled.close
      yield* documents.put(KIND, keyOf(name), { enabled: true })
      yield* one.due.open
      yield* follow
      feed.announce()
      if (name !== "tailscaled" && one.state.phase !== "running") yield* Effect.timeoutOption(one.settled.await, SETTLE_MS)
    }),
    disable: Effect.fn("Tunnels.disable")(function*(name) {
      yield* documents.remove(KIND, keyOf(name))
      yield* follow
      feed.announce()
    }),
    retry: (name) => {
      Latch.openUnsafe(held(name).due)
    }
  })
})

export const layer = (options: TunnelsOptions) => Layer.effect(Tunnels, make(options))
