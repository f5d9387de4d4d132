/** What `tailscale` is asked beside its tunnel: how its daemon stands, and a sign-in. */
import * as fs from "node:fs/promises"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as FiberMap from "effect/FiberMap"
import * as Layer from "effect/Layer"
import type { StoreError } from "#actors/ports/StoreError.ts"
import * as Supervisor from "#actors/Supervisor.ts"
import * as Program from "#src/platform/programs/Program.ts"
import * as Run from "#src/platform/programs/run.ts"
import * as Json from "#src/wire/json/json.ts"
import * as Programs from "./programs.ts"
import * as Readers from "./readers.ts"
import * as TunnelError from "./TunnelError.ts"
import { Tunnels } from "./Tunnels.ts"

/** `tailscale status` answers within this time, ms. */
const STATUS_MS = 5_000
/** Characters of that answer; peers are left out of it. */
const STATUS_MAX = 256 * 1_024
/** A sign-in is asked for its address this long, ms. */
const ADDRESS_MS = 15_000
/** A sign-in that was not finished by then is over, ms. */
const SIGN_IN_MS = 600_000
/** A daemon answers this long after its start, ms, and is asked this often. */
const DAEMON_MS = 10_000
const ASK_MS = 200
/** Bytes of a socket's path, on macOS and Linux alike. */
const SOCKET_MAX = 103

export interface Facts {
  readonly installed: boolean
  readonly daemonRunning: boolean
  /** The daemon is the gateway's own. */
  readonly ownDaemon: boolean
  readonly loggedIn: boolean
  /** As Tailscale calls it: `Running`, `NeedsLogin`, `Stopped` ... */
  readonly backendState: string | null
  readonly version: string | null
  readonly dnsName: string | null
  /** Where the operator signs in, or agrees to Funnel. */
  readonly authUrl: string | null
  /** Why the daemon does not answer. */
  readonly reason: string | null
}

export class Tailscale extends Context.Service<Tailscale, {
  readonly check: Effect.Effect<Facts>
  /** The address at which the sign-in goes on; null when the machine is signed in. */
  readonly signIn: Effect.Effect<string | null, TunnelError.TunnelError>
  /** False when a daemon answered already. */
  readonly startDaemon: Effect.Effect<boolean, TunnelError.TunnelError | StoreError>
  /** Ends the tunnel, a sign-in that goes on, and the gateway's own daemon. */
  readonly disable: Effect.Effect<void, StoreError>
}>()("gateway/tunnels/Tailscale") {}

const textAt = (record: Record<string, unknown> | null, name: string): string | null => {
  const value = record?.[name]
  return typeof value === "string" && value !== "" ? value : null
}

const nothing: Facts = {
  installed: false, daemonRunning: false, ownDaemon: false, loggedIn: false, backendState: null, version: null, dnsName: null, authUrl: null, reason: null
}

/** What `tailscale status --json` says. Pure. */
export const factsIn = (answer: string): Pick<Facts, "loggedIn" | "backendState" | "version" | "dnsName" | "authUrl"> | null => {
  const status = Json.parseRecord(answer)
  const backendState = textAt(status, "BackendState")
  if (status === null || backendState === null) return null
  return {
    backendState, loggedIn: backendState === "Running" || backendState === "Starting", version: textAt(status, "Version"),
    dnsName: textAt(Json.recordAt(status, "Self"), "DNSName")?.replace(/\.$/, "") ?? null, authUrl: textAt(status, "AuthURL")
  }
}

const make = Effect.gen(function*() {
  const tunnels = yield* Tunnels
  const { options } = tunnels
  const context = yield* Effect.context<never>()
  const signIns = yield* FiberMap.make<"sign-in">()
  let asked: Deferred.Deferred<string | null, TunnelError.TunnelError> | null = null
  const ownDaemon = (): boolean => tunnels.of("tailscaled").isEnabled

  const check: Effect.Effect<Facts> = Effect.gen(function*() {
    const file = yield* Programs.find(options, "tailscale")
    if (file === null) return { ...nothing, reason: "tailscale is not installed" }
    if (!options.isOn) return { ...nothing, installed: true, reason: "GATEWAY_TUNNELS is off: no program is asked" }
    const own = ownDaemon()
    const { problem, stderr, stdout } = yield* Run.run(Programs.tailscale(options, file, ["status", "--json", "--peers=false"], own), {
      withinMs: STATUS_MS, outputMax: STATUS_MAX
    })
    const facts = factsIn(stdout)
    const base = { ...nothing, installed: true, ownDaemon: own }
    if (facts === null) return { ...base, reason: Readers.words(stderr, null) || problem || "tailscale status said nothing of use" }
    const authUrl = facts.authUrl ?? tunnels.of("tailscale").state.authUrl
    return { ...base, ...facts, daemonRunning: true, authUrl }
  })

  const mustRun = Effect.gen(function*() {
    if (!options.isOn) return yield* Effect.fail(TunnelError.make("off", "This node opens no tunnels: set GATEWAY_TUNNELS to on"))
    const facts = yield* check
    if (!facts.installed) return yield* Effect.fail(TunnelError.make("not_installed", `tailscale is not installed on the gateway's machine: install it (${Programs.pages.tailscale}), or set GATEWAY_TAILSCALE_PATH`))
    return facts
  })

  const address = (file: string, verb: string, answer: Deferred.Deferred<string | null, TunnelError.TunnelError>) => Effect.scoped(Effect.gen(function*() {
    const read = Readers.readerOf("tailscale", tunnels.target)
    let last = ""
    const program = yield* Program.start(Programs.tailscale(options, file, [verb], ownDaemon()), (line) => {
      last = Readers.words(line, null) || last
      for (const heard of read(line)) if (heard._tag === "NeedsAuth" && heard.authUrl !== null) Deferred.doneUnsafe(answer, Effect.succeed(heard.authUrl))
    })
    const ended = yield* Effect.timeoutOption(program.ended, SIGN_IN_MS)
    const isDone = ended._tag === "Some" && ended.value.code === 0
    Deferred.doneUnsafe(answer, isDone ? Effect.succeed(null) : Effect.fail(TunnelError.make("failed", `tailscale ${verb} failed: ${last}`)))
    if (isDone) tunnels.retry("tailscale")
    asked = null
  }))

  const signIn = Effect.gen(function*() {
    const facts = yield* mustRun
    if (!facts.daemonRunning) return yield* Effect.fail(TunnelError.make("no_daemon", `No tailscaled answers (${facts.reason}): start it, or POST /api/tunnels/tailscale/start-daemon`))
    if (facts.loggedIn) return null
    const file = (yield* Programs.find(options, "tailscale")) ?? "tailscale"
    if (asked === null) {
      const answer = yield* Deferred.make<string | null, TunnelError.TunnelError>()
      asked = answer
      // A machine that was signed in and switched off keeps its account.
      yield* FiberMap.run(signIns, "sign-in", Effect.provideContext(
        Supervisor.supervised("tunnel sign-in", address(file, facts.backendState === "Stopped" ? "up" : "login", answer)), context
      ))
    }
    return yield* Effect.timeoutOrElse(Deferred.await(asked), {
      duration: ADDRESS_MS, orElse: () => Effect.fail(TunnelError.make("failed", `tailscale named no address within ${ADDRESS_MS / 1_000} s: call again in a moment`))
    })
  })

  const daemonAnswers: Effect.Effect<boolean> = Effect.gen(function*() {
    while (!(yield* check).daemonRunning) yield* Effect.sleep(ASK_MS)
    return true
  }).pipe(Effect.timeoutOrElse({ duration: DAEMON_MS, orElse: () => Effect.succeed(false) }))

  const startDaemon = Effect.gen(function*() {
    if ((yield* mustRun).daemonRunning) return false
    const socket = Programs.socketIn(options)
    if (Buffer.byteLength(socket) > SOCKET_MAX) return yield* Effect.fail(TunnelError.make("failed", `The path ${socket} is too long for a socket: choose a shorter GATEWAY_DATA_DIR`))
    yield* Effect.tryPromise({
      try: () => fs.mkdir(options.tailscaleDir, { recursive: true, mode: 0o700 }),
      catch: (error) => TunnelError.make("failed", `${options.tailscaleDir} cannot be made: ${String(error)}`)
    })
    yield* tunnels.enable("tailscaled")
    if (!(yield* daemonAnswers)) {
      const why = tunnels.of("tailscaled").state.lastError
      yield* tunnels.disable("tailscaled")
      return yield* Effect.fail(TunnelError.make("failed", `tailscaled does not answer after ${DAEMON_MS / 1_000} s${why === null ? "" : `: ${why}`}`))
    }
    tunnels.retry("tailscale")
    return true
  })

  return Tailscale.of({
    check, signIn, startDaemon,
    disable: Effect.gen(function*() {
      yield* FiberMap.remove(signIns, "sign-in")
      asked = null
      yield* tunnels.disable("tailscale")
      yield* tunnels.disable("tailscaled")
    })
  })
})

export const layer = Layer.effect(Tailscale, make)
