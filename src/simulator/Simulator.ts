/**
 * The simulator: a scriptable upstream that behaves on the wire as a vendor would, and keeps the truth about what it sent.
 *
 * `make` listens on a port of its own for the life of a scope. Clients use it over HTTP only; scripts, truth log and totals
 * are reached in-process through the service, or from another process through the endpoints under `/__sim`.
 */
import type { Server } from "node:http"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as Supervisor from "#actors/Supervisor.ts"
import { http } from "#src/platform/structures/nodeHttp.ts"
import { whenEnded } from "./control.ts"
import { makeHandler } from "./handler.ts"
import { Pacer } from "./Pacer.ts"
import { Rules } from "./Rules.ts"
import { decodeRules, decodeScript, type Rule } from "./Script.ts"
import { type Options, resolve, type SimulatorSettings } from "./Settings.ts"
import { type TruthEntry, type TruthFilter, type Summary, TruthLog } from "./TruthLog.ts"

export type { TruthEntry, TruthFilter, KeyMark, TruthOutcome, Summary } from "./TruthLog.ts"
export type { Malformed, Match, Point, Rule, Script, Split } from "./Script.ts"
export type { Options } from "./Settings.ts"

/** The address could not be listened on: taken, or not ours. */
export class ListenFailed extends Schema.TaggedError<ListenFailed>()("ListenFailed", {
  host: Schema.String,
  port: Schema.Number,
  message: Schema.String
}) {}

/** A script or rule that the schema refuses; the message names the field. */
export class BadScript extends Schema.TaggedError<BadScript>()("BadScript", { message: Schema.String }) {}

export class SimulatorError extends Schema.TaggedError<SimulatorError>()("SimulatorError", {
  reason: Schema.Union([ListenFailed, BadScript])
}) {
  override get message(): string {
    return this.reason.message
  }
}

export class Simulator extends Context.Service<Simulator, {
  /** `http://host:port`, without a slash at the end. */
  readonly url: string
  readonly port: number
  /** Registers a rule and answers its id. */
  readonly rule: (rule: Rule) => Effect.Effect<string, SimulatorError>
  readonly removeRule: (id: string) => Effect.Effect<boolean>
  readonly clearRules: Effect.Effect<void>
  /** Rules for the life of a scope; at its end the calls that they still hold are cut. */
  readonly scopedRules: (given: ReadonlyArray<Rule>) => Effect.Effect<{ readonly used: () => number }, SimulatorError, Scope.Scope>
  /** Truth-log entries, oldest first. */
  readonly entries: (filter?: TruthFilter) => Effect.Effect<ReadonlyArray<TruthEntry>>
  /** Waits until `count` requests that match have ended (with outcome "open": have arrived), and answers them. */
  readonly ended: (filter?: TruthFilter, count?: number) => Effect.Effect<ReadonlyArray<TruthEntry>>
  /** Waits until no request is open. */
  readonly idle: Effect.Effect<void>
  readonly summary: Effect.Effect<Summary>
  /** Forgets rules, ended entries and totals. */
  readonly reset: Effect.Effect<void>
}>()("gateway/simulator/Simulator") {}

const checkScripts = (settings: SimulatorSettings): SimulatorError | null => {
  for (const [name, script] of [["defaults", settings.defaults] as const, ...settings.models]) {
    const decoded = decodeScript(script)
    if (Result.isFailure(decoded)) return new SimulatorError({ reason: new BadScript({ message: `script of '${name}': ${String(decoded.failure)}` }) })
  }
  return null
}

const listen = (settings: SimulatorSettings, server: Server): Effect.Effect<number, SimulatorError> =>
  Effect.callback<number, SimulatorError>((resume) => {
    const failed = (error: Error): void =>
      resume(Effect.fail(new SimulatorError({
        reason: new ListenFailed({ host: settings.host, port: settings.port, message: `cannot listen on ${settings.host}:${settings.port}: ${error.message}` })
      })))
    server.once("error", failed)
    server.listen({ host: settings.host, port: settings.port, backlog: 4096 }, () => {
      server.removeListener("error", failed)
      const address = server.address()
      resume(Effect.succeed(typeof address === "object" && address !== null ? address.port : settings.port))
    })
  })

export const make = Effect.fnUntraced(function*(options: Options = {}): Effect.fn.Return<Simulator["Service"], SimulatorError, Scope.Scope> {
  const settings = resolve(options)
  const bad = checkScripts(settings)
  if (bad !== null) return yield* bad
  const clock = yield* Clock.Clock
  const monotonic = (): number => Number(clock.monotonicTimeNanosUnsafe()) / 1e6
  const offset = clock.currentTimeMillisUnsafe() - monotonic()
  const pacer = new Pacer(monotonic, yield* Supervisor.ticker("simulator pace"))
  const rules = new Rules()
  const log = new TruthLog(
    { size: settings.logSize, bodyBudget: settings.logBodyBytes, recordSecrets: settings.recordSecrets },
    () => offset + monotonic()
  )
  let port = settings.port
  let requests = 0
  const nextId = (): string => `sim${port}x${(++requests).toString(36).padStart(8, "0")}`

  // No timeouts of its own: when to give up is what its clients are tested for.
  const server = http.createServer(
    { requestTimeout: 0, headersTimeout: 0, keepAliveTimeout: 0, noDelay: true, insecureHTTPParser: false },
    makeHandler({ settings, rules, log, pacer, nextId })
  )
  port = yield* Effect.acquireRelease(listen(settings, server), () =>
    Effect.callback<void>((resume) => {
      pacer.close()
      for (const entry of log.query({ outcome: "open" })) log.settle(entry, "error")
      server.close(() => resume(Effect.void))
      server.closeAllConnections()
    }))
  const host = settings.host.includes(":") ? `[${settings.host}]` : settings.host

  return Simulator.of({
    url: `http://${host}:${port}`,
    port,
    rule: (rule) =>
      Effect.suspend(() => {
        const decoded = decodeRules([rule])
        if (Result.isFailure(decoded)) return new SimulatorError({ reason: new BadScript({ message: String(decoded.failure) }) })
        return Effect.succeed(rules.add(rule))
      }),
    removeRule: (id) => Effect.sync(() => rules.remove(id)),
    clearRules: Effect.sync(() => rules.clear()),
    scopedRules: Effect.fnUntraced(function*(given) {
      const decoded = decodeRules(given)
      if (Result.isFailure(decoded)) return yield* new SimulatorError({ reason: new BadScript({ message: String(decoded.failure) }) })
      const held = yield* Effect.acquireRelease(
        Effect.sync(() => given.map((rule) => rules.hold(rule))),
        (all) => Effect.sync(() => {
          for (const one of all) rules.release(one)
        })
      )
      return { used: () => held.reduce((sum, { used }) => sum + used, 0) }
    }),
    entries: (filter) => Effect.sync(() => log.query(filter)),
    ended: (filter = {}, count = 1) =>
      Effect.callback((resume) => {
        const stop = whenEnded({ log }, filter, count, (entries) => resume(Effect.succeed(entries)))
        return Effect.sync(stop)
      }),
    idle: Effect.callback((resume) => {
      const check = (): void => {
        if (log.summary().open > 0) return
        stop()
        resume(Effect.void)
      }
      const stop = log.listen(check)
      queueMicrotask(check)
      return Effect.sync(stop)
    }),
    summary: Effect.sync(() => log.summary()),
    reset: Effect.sync(() => {
      rules.clear()
      log.clear()
      log.clearSummary()
    })
  })
})

export const layer = (options?: Options): Layer.Layer<Simulator, SimulatorError> => Layer.effect(Simulator, make(options))
