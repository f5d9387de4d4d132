/**
 * The whole gateway for a test: in this process, or as a child that can be killed.
 *
 *     const gateway = await inProcess({ environment: { STREAM_READINESS_TIMEOUT_MS: "300" } })
 *     afterAll(gateway.close)
 *     const node = await gateway.operator.createNode({ prefix: "lab", baseUrl: `${sim.url}/v1` })
 *
 * A start takes seconds (embedded Postgres): start one gateway per test file.
 */
import { type ChildProcess, spawn } from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"
import * as Console from "effect/Console"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Metric from "effect/Metric"
import * as Scope from "effect/Scope"
import * as Supervisor from "#actors/Supervisor.ts"
import { Ledger } from "#actors/request/ports/Ledger.ts"
import { UsageStore } from "#actors/ports/UsageStore.ts"
import type { LedgerRow } from "#schemas/records/LedgerRow.ts"
import * as App from "#src/App.ts"
import { FrontEnd } from "#src/platform/server/FrontEnd.ts"
import * as Settings from "#src/platform/configuration/Settings.ts"
import { EnvFile } from "#src/features/environment/EnvFile.ts"
import { Machine } from "#src/features/cliTools/Machine.ts"
import * as Spool from "#src/platform/spool/Spool.ts"
import * as Log from "#src/platform/telemetry/Log.ts"
import * as Http from "./http.ts"
import * as MediaFetch from "#src/platform/media/MediaFetch.ts"
import { eventually, Operator, PASSWORD } from "./operator.ts"
import { migratedDirectory } from "./postgres.ts"
import { startEnvironment, startFlags } from "./startFlags.ts"
import { freePort } from "./freePort.ts"

export interface Options {
  /** Variables over the test's own. */
  readonly environment?: Readonly<Record<string, string>>
  /** What lies between the gateway and the media that requests name. */
  readonly network?: MediaFetch.Network
  /** Home and PATH of the coding agents that the gateway finds; none by default. */
  readonly machine?: Machine
  /** The installation's file of variables; one of the test's own by default. */
  readonly envFile?: EnvFile
  /** What keeps the files of uploads. */
  readonly disks?: (directory: string) => Spool.CountedDisk
  /** Sees the rounds of the loops of a gateway in this process. */
  readonly probe?: Context.Service.Shape<typeof Supervisor.Probe>
}

const repository = path.resolve(import.meta.dirname, "../..")
const readyMs = 120_000
const exitMs = 30_000

const environmentOf = (dataDir: string, port: number, options: Options): Record<string, string> => ({
  HOST: "127.0.0.1",
  PORT: String(port),
  GATEWAY_DATA_DIR: dataDir,
  GATEWAY_SIM_PROVIDER: "false",
  INITIAL_PASSWORD: PASSWORD,
  // No test reads public lists.
  GATEWAY_LITELLM_PRICES_URL: "http://127.0.0.1:9/prices.json",
  GATEWAY_MODELS_DEV_URL: "http://127.0.0.1:9/api.json",
  LOG_FORMAT: "json",
  LOG_LEVEL: "warn",
  GATEWAY_ACCESS_LOG: "off",
  // Several gateways run on one machine.
  LIVE_WS_PORT: "0",
  // Tests count the calls that reach an upstream; those about model lists turn it on.
  GATEWAY_MODEL_LISTS_REFRESH_MS: "0",
  // A busy machine's embedded database may take longer than a client should wait; tests of the deadline set it themselves.
  GATEWAY_LOOKUP_TIMEOUT_MS: "10000",
  // The same for Redis, whose deadline is much shorter than a busy machine's pauses.
  GATEWAY_REDIS_TIMEOUT_MS: "1000",
  ...options.environment
})

/** A data directory with a migrated database, removed by `remove`. */
const directory = async () => {
  const scope = Scope.makeUnsafe()
  const dataDir = await Effect.runPromise(Scope.provide(migratedDirectory, scope))
  return { dataDir, remove: () => Effect.runPromise(Scope.close(scope, Exit.void)) }
}

type Services = Layer.Success<ReturnType<typeof App.layer>>

export interface InProcess {
  readonly url: string
  readonly dataDir: string
  readonly operator: Operator
  /** Everything that the gateway's layer offers: stores, ledger, configuration. */
  readonly services: () => Context.Context<Services>
  /** Rows in the database once everything settled so far has arrived there, newest first. */
  readonly rows: (requestId?: string) => Promise<ReadonlyArray<LedgerRow>>
  /** Lines that the gateway printed or logged. */
  readonly output: () => string
  /** Stops and starts on the same data directory; the address changes. */
  readonly restart: () => Promise<void>
  readonly close: () => Promise<void>
}

/** Builds `App.layer` in a scope of this process, signed in. */
export const inProcess = async (options: Options = {}): Promise<InProcess> => {
  const { dataDir, remove } = await directory()
  const environment = environmentOf(dataDir, 0, options)
  const lines: Array<string> = []
  const take = (...parts: ReadonlyArray<unknown>): void => {
    lines.push(parts.map((part) => typeof part === "string" ? part : JSON.stringify(part) ?? "").join(" "))
  }
  const quiet: Console.Console = Object.assign(Object.create(console) as Console.Console, { log: take, error: take, info: take, warn: take, debug: take })
  let scope = Scope.makeUnsafe()
  let context: Context.Context<Services>
  let url = ""
  const start = async () => {
    const values = await Effect.runPromise(Effect.fromResult(Settings.decode(environment)))
    scope = Scope.makeUnsafe()
    context = await Effect.runPromise(Layer.buildWithScope(App.layer({ ...values, environment }, Date.now()), scope).pipe(
      Effect.provideService(Console.Console, quiet),
      // Effect's own registry belongs to the process, and would show one gateway the counts of another.
      Effect.provideService(Metric.MetricRegistry, new Map()),
      Effect.provideService(Supervisor.Probe, options.probe ?? null),
      options.disks === undefined ? (built) => built : Effect.provideService(Spool.Disks, options.disks),
      // No test runs the programs or changes the files of its developer.
      Effect.provideService(EnvFile, options.envFile ?? { path: path.join(dataDir, ".env"), process: {} }),
      Effect.provideService(Machine, options.machine ?? { home: dataDir, path: "", mounts: () => null }),
      options.network === undefined ? (built) => built : Effect.provideService(MediaFetch.Network, options.network),
      Effect.provideService(Log.Destination, {
        write: (bytes, done) => {
          lines.push(Buffer.from(bytes).toString("utf8").trimEnd())
          done(null, bytes.length)
        }
      })
    ))
    url = `http://127.0.0.1:${Context.get(context, FrontEnd).port}`
  }
  await start()
  const operator = new Operator(() => url)
  await operator.login()
  const stop = () => Effect.runPromise(Scope.close(scope, Exit.void))
  return {
    get url() {
      return url
    },
    dataDir,
    operator,
    services: () => context,
    rows: (requestId) => Effect.runPromise(Effect.gen(function*() {
      yield* Context.get(context, Ledger).flush(10_000)
      return yield* Context.get(context, UsageStore).rows(requestId === undefined ? { limit: 10_000 } : { requestId, limit: 1_000 })
    })),
    output: () => lines.join("\n"),
    restart: async () => {
      await stop()
      await start()
    },
    close: async () => {
      await stop()
      await remove()
    }
  }
}

export interface Exited {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

export interface Spawned {
  readonly url: string
  readonly pid: () => number
  readonly operator: Operator
  readonly dataDir: string
  readonly output: () => string
  /** Resident memory in bytes, and the most it has been. */
  readonly memory: () => { readonly resident: number; readonly peak: number }
  readonly kill9: () => Promise<void>
  /** SIGTERM; answers how the process ended. */
  readonly stop: () => Promise<Exited>
  /** Starts it again on the same data directory and port. */
  readonly start: () => Promise<void>
  readonly close: () => Promise<void>
}

/** Children of this process, so that none survives it. */
const children = new Set<ChildProcess>()
process.once("exit", () => {
  for (const child of children) child.kill("SIGKILL")
})

const field = (status: string, name: string): number => Number(new RegExp(`${name}:\\s+(\\d+) kB`).exec(status)?.[1] ?? 0) * 1024

/** `gateway serve` as a child process on a free port, ready and signed in. */
export const spawned = async (options: Options = {}): Promise<Spawned> => {
  const { dataDir, remove } = await directory()
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const output: Array<string> = []
  const operator = new Operator(() => url)
  let child: ChildProcess | null = null
  let exited: Promise<Exited> = Promise.resolve({ code: null, signal: null })

  const start = async () => {
    const born = spawn(process.execPath, [...startFlags, "src/main.ts", "serve"], {
      cwd: repository,
      env: { PATH: process.env["PATH"], HOME: process.env["HOME"], ...startEnvironment, ...environmentOf(dataDir, port, options) },
      stdio: ["ignore", "pipe", "pipe"]
    })
    child = born
    children.add(born)
    let over = false
    born.stdout.on("data", (chunk: Buffer) => output.push(chunk.toString("utf8")))
    born.stderr.on("data", (chunk: Buffer) => output.push(chunk.toString("utf8")))
    exited = new Promise((resolve) => born.once("exit", (code, signal) => {
      over = true
      children.delete(born)
      resolve({ code, signal })
    }))
    await eventually(
      () => Http.send(url, { path: "/api/health/ping" }).then((reply) => reply.status, () => 0),
      (status) => {
        if (over) throw new Error(`the gateway ended while it started:\n${output.join("")}`)
        return status === 200
      },
      "the gateway's readiness",
      readyMs
    )
    await operator.login()
  }

  const end = async (signal: NodeJS.Signals): Promise<Exited> => {
    child?.kill(signal)
    const timer = setTimeout(() => child?.kill("SIGKILL"), exitMs)
    try {
      return await exited
    } finally {
      clearTimeout(timer)
      child = null
    }
  }

  try {
    await start()
  } catch (error) {
    await end("SIGKILL")
    await remove()
    throw error
  }
  return {
    url,
    pid: () => child?.pid ?? 0,
    operator,
    dataDir,
    output: () => output.join(""),
    memory: () => {
      const status = fs.readFileSync(`/proc/${child?.pid ?? 0}/status`, "utf8")
      return { resident: field(status, "VmRSS"), peak: field(status, "VmHWM") }
    },
    kill9: async () => {
      await end("SIGKILL")
    },
    stop: () => end("SIGTERM"),
    start,
    close: async () => {
      if (child !== null) await end("SIGKILL")
      await remove()
    }
  }
}
