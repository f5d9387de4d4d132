/** `gateway serve` with GATEWAY_WORKERS above 1: this process supervises, its children serve. */
import * as Net from "node:net"
import * as Effect from "effect/Effect"
import { Failure } from "./Failure.ts"
import { configFileOf } from "#src/platform/configuration/configFile.ts"
import * as Workers from "#src/platform/cluster/workers/Workers.ts"
import * as Log from "#src/platform/telemetry/Log.ts"
import type { Loaded } from "./environment.ts"

/** The port, once no other process is found on it: workers share their port, and would silently share a foreign process's port. */
export const claimPort = (host: string, port: number): Effect.Effect<number, NodeJS.ErrnoException> =>
  Effect.callback((resume) => {
    const probe = Net.createServer()
    probe.once("error", (error) => resume(Effect.fail(error)))
    probe.listen({ host, port, exclusive: true }, () => {
      const address = probe.address()
      const found = typeof address === "object" && address !== null ? address.port : port
      probe.close(() => resume(Effect.succeed(found)))
    })
  })

const logLevels = { debug: "Debug", info: "Info", warn: "Warn", error: "Error" } as const

/** Supervises until a stop over HTTP, and answers its kind; `graceMs` is what a worker gets to drain. */
export const supervise = <E, R>(settings: Loaded, port: number, graceMs: number, started: Effect.Effect<void, E, R>) => {
  const command = [process.execPath, ...process.execArgv, process.argv[1] ?? "", "serve"] as const
  return Workers.run({
    workers: settings.workers,
    command,
    environment: { ...process.env, HOST: settings.host, PORT: String(port), GATEWAY_DATA_DIR: settings.dataDir, GATEWAY_WORKERS: String(settings.workers) },
    reloads: configFileOf(settings) !== null,
    graceMs
  }, started).pipe(
    Effect.catchIf(
      (error): error is Workers.NotStarted => error instanceof Workers.NotStarted,
      // The worker has said it on the same terminal.
      ({ ended }) => Effect.fail(new Failure({ message: "", exitCode: ended.code ?? 1 }))
    ),
    Effect.provide(Log.layer({
      level: logLevels[settings.logLevel],
      format: settings.logFormat === "auto" ? (process.stdout.isTTY ? "pretty" : "json") : settings.logFormat
    }))
  )
}
