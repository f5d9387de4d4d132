/** The Telemetry port: metrics in place, the access log into the sink, spans for later. Never throws into a request. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Supervisor from "#actors/Supervisor.ts"
import { Configuration, shownProvider } from "#actors/ports/Configuration.ts"
import { Lifecycle } from "#actors/ports/Lifecycle.ts"
import { Ledger } from "#actors/request/ports/Ledger.ts"
import { Telemetry } from "#actors/request/ports/Telemetry.ts"
import { Upstream } from "#actors/request/ports/Upstream.ts"
import type { Values } from "#src/platform/configuration/Settings.ts"
import { FrontEnd } from "#src/platform/server/FrontEnd.ts"
import { builtin, type Registry } from "#src/providers/Registry.ts"
import { AccessLog } from "./AccessLog.ts"
import { LogOutput } from "./Log.ts"
import { Metrics } from "./Metrics.ts"
import { Otlp } from "./Otlp.ts"
import * as KnownModels from "./knownModels.ts"
import * as LoopWatch from "./LoopWatch.ts"
import { Spool } from "#src/platform/spool/Spool.ts"
import * as Readings from "./readings.ts"

export interface Options {
  /** Access log: 0 = off, 1 = every request, n = every n-th that succeeded, Infinity = failures only. */
  readonly accessLogEvery: number
  /** Start of the process, ms since the epoch. */
  readonly startedAt: number
  /** Models that have metrics of their own, beside those that the configuration names. */
  readonly registry: Registry
  /** Bytes of request bodies that are held, their cap, and requests refused by it. */
  readonly heldBodies: { readonly bytes: number; readonly most: number; readonly refused: number }
  /** Where uploads lie; absent: nowhere. */
  readonly spool?: Pick<Spool["Service"], "failed" | "stored">
}

export const make = (options: Options) =>
  Effect.gen(function*() {
    const context = yield* Effect.context<never>()
    const configuration = yield* Configuration
    const ledger = yield* Ledger
    const upstream = yield* Upstream
    const output = yield* LogOutput
    const otlp = yield* Otlp
    const nameOf = (provider: string): string => shownProvider(configuration.current(), provider)
    const metrics = new Metrics(context, KnownModels.make(options.registry, configuration.current))
    const loop = LoopWatch.make(yield* Supervisor.ticker("event loop watch"), context)
    const registered = [
      ...Readings.processReadings(options.startedAt, loop.late),
      ...Readings.ledgerReadings(ledger.reconciliation),
      ...Readings.upstreamReadings(upstream.stats),
      ...Readings.bodyReadings(options.heldBodies),
      ...(options.spool === undefined ? [] : Readings.spoolReadings(options.spool)),
      ...Readings.logReadings(output.sink)
    ].map((reading) => metrics.reading(reading))
    yield* Effect.addFinalizer(() =>
      Effect.sync(() => {
        loop.stop()
        for (const remove of registered) remove()
      })
    )
    const access = new AccessLog({ every: options.accessLogEvery, format: output.format, write: (line) => output.sink.write(line), nameOf })
    return Telemetry.of({
      requestStarted: (_endpoint, stream) => metrics.requestStarted(stream),
      attemptSettled: (row) => {
        const name = nameOf(row.provider)
        metrics.attemptSettled(row, name)
        otlp.attemptSettled(row, name)
      },
      requestSettled: (summary) => {
        metrics.requestSettled(summary)
        access.requestSettled(summary)
        otlp.requestSettled(summary)
      },
      render: () => metrics.render()
    })
  })

export const layer = (options: Options): Layer.Layer<Telemetry, never, Configuration | Ledger | Upstream | LogOutput | Otlp> => Layer.effect(Telemetry, make(options))

/** Failures are always logged; of successes every n-th. */
const accessLogEvery = { off: 0, errors: Number.POSITIVE_INFINITY, all: 1 } as const

/** What the operator set, over the bodies that the front end holds. */
export const layerOf = (settings: Values) => Layer.unwrap(Effect.gen(function*() {
  const { heldBodies } = yield* FrontEnd
  const { startedAt } = yield* Lifecycle
  return layer({ accessLogEvery: accessLogEvery[settings.accessLog], startedAt, registry: builtin, heldBodies, spool: yield* Spool })
}))
