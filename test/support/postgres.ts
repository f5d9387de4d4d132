/**
 * Databases for tests: a fresh database of a real Postgres per suite, and one embedded PGlite per test file.
 *
 * The server is GATEWAY_TEST_POSTGRES_URL, else 127.0.0.1:5432, else one spawned from an installed Postgres. Without any,
 * suites are skipped with the reason printed; under CI=true they fail.
 */
import { type ChildProcess, execFileSync, spawn } from "node:child_process"
import { createHash, randomBytes } from "node:crypto"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { fileURLToPath } from "node:url"
import { setTimeout as delay } from "node:timers/promises"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as ManagedRuntime from "effect/ManagedRuntime"
import * as Redacted from "effect/Redacted"
import type * as Scope from "effect/Scope"
import * as SqlClient from "effect/sql/SqlClient"
import postgres from "postgres"
import { describe, it } from "vitest"
import { Secrets } from "#actors/ports/Secrets.ts"
import * as Migrations from "#src/Migrations.ts"
import * as PostgresClient from "#src/platform/postgres/PostgresClient.ts"
import * as Stores from "#src/Stores.ts"
import * as Sealer from "#src/platform/secrets/Sealer.ts"
import { freePort } from "./freePort.ts"

/** A server that this process started, on a free loopback port. */
export interface SpawnedServer {
  readonly url: string
  readonly pid: () => number
  /** Starts it again on the same port and data after it was killed. */
  readonly restart: () => Promise<void>
  /** SIGKILL to the postmaster; waits until it is gone. */
  readonly kill: () => Promise<void>
  readonly stop: () => Promise<void>
}

const startTimeout = 15_000

const answers = async (url: string): Promise<boolean> => {
  const sql = postgres(url, { max: 1, connect_timeout: 2, onnotice: () => undefined })
  try {
    await sql`SELECT 1`
    return true
  } catch {
    return false
  } finally {
    await sql.end({ timeout: 0 })
  }
}

const binaries = (): string | null => {
  const root = "/usr/lib/postgresql"
  if (!fs.existsSync(root)) return null
  const versions = fs.readdirSync(root).sort((a, b) => Number(b) - Number(a))
  for (const version of versions) {
    const bin = path.join(root, version, "bin")
    if (fs.existsSync(path.join(bin, "initdb"))) return bin
  }
  return null
}

/** Postgres refuses to run as root: then it runs as the first unprivileged user there is. */
const identity = (): { readonly uid?: number; readonly gid?: number } => {
  if (process.getuid?.() !== 0) return {}
  for (const user of ["postgres", "nobody"]) {
    try {
      return {
        uid: Number(execFileSync("id", ["-u", user], { encoding: "utf8" })),
        gid: Number(execFileSync("id", ["-g", user], { encoding: "utf8" }))
      }
    } catch {
      // The next one.
    }
  }
  return {}
}

const exited = (child: ChildProcess): Promise<void> =>
  new Promise((resolve) => child.exitCode !== null || child.signalCode !== null ? resolve() : child.once("exit", () => resolve()))

/** Starts a Postgres of our own, or answers null where none is installed. */
export const spawnServer = async (): Promise<SpawnedServer | null> => {
  const bin = binaries()
  if (bin === null) return null
  const home = fs.mkdtempSync(path.join(os.tmpdir(), "gateway-postgres-"))
  const who = identity()
  fs.chmodSync(home, 0o755)
  if (who.uid !== undefined) fs.chownSync(home, who.uid, who.gid ?? who.uid)
  const data = path.join(home, "data")
  execFileSync(path.join(bin, "initdb"), ["-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync"], { ...who, stdio: "ignore", cwd: home })
  const port = await freePort()
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`
  let child: ChildProcess | null = null
  const start = async () => {
    child = spawn(path.join(bin, "postgres"), ["-D", data, "-p", String(port), "-h", "127.0.0.1", "-k", "", "-F"], { ...who, stdio: "ignore", cwd: home })
    const deadline = Date.now() + startTimeout
    while (!(await answers(url))) {
      if (Date.now() > deadline) throw new Error("The spawned Postgres did not start.")
      await delay(50)
    }
  }
  const end = async (signal: NodeJS.Signals) => {
    if (child === null) return
    child.kill(signal)
    await exited(child)
  }
  await start()
  return {
    url,
    pid: () => child?.pid ?? 0,
    restart: async () => {
      // The children of a killed postmaster notice within moments; a new one refuses to start before.
      for (let attempt = 0; ; attempt++) {
        try {
          return await start()
        } catch (error) {
          if (attempt === 2) throw error
        }
      }
    },
    kill: () => end("SIGKILL"),
    stop: async () => {
      await end("SIGINT")
      fs.rmSync(home, { recursive: true, force: true })
    }
  }
}

/** The server that tests use, or why there is none. */
export interface Server {
  readonly url: string | null
  readonly reason: string
  readonly stop: () => Promise<void>
}

const nothing = async () => undefined

/** Finds or starts the server; call once per test file and stop it at the end. */
export const findServer = async (): Promise<Server> => {
  const configured = process.env["GATEWAY_TEST_POSTGRES_URL"]
  if (configured !== undefined) return { url: configured, reason: "", stop: nothing }
  for (const database of ["test", "postgres"]) {
    const url = `postgres://postgres@127.0.0.1:5432/${database}`
    if (await answers(url)) return { url, reason: "", stop: nothing }
  }
  const spawned = await spawnServer()
  if (spawned !== null) return { url: spawned.url, reason: "", stop: spawned.stop }
  return { url: null, reason: "no Postgres: set GATEWAY_TEST_POSTGRES_URL, or install one", stop: nothing }
}

/** Runs `body` with the server's URL; else skips with the reason, and fails under CI=true. */
export const withServer = (server: Server, name: string, body: (url: string) => void): void => {
  const { reason, url } = server
  if (url !== null) return void describe(name, () => body(url))
  if (process.env["CI"] === "true") {
    return void it(name, () => {
      throw new Error(reason)
    })
  }
  console.log(`skipped ${name}: ${reason}`)
  describe.skip(`${name} (${reason})`, () => {
    it("needs a server", () => undefined)
  })
}

const databaseUrl = (server: string, database: string): string => {
  const url = new URL(server)
  url.pathname = `/${database}`
  return url.href
}

/** A database that lives as long as the scope. */
export const freshDatabase = (server: string): Effect.Effect<string, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const name = `gateway_${randomBytes(6).toString("hex")}`
      const sql = postgres(server, { max: 1, onnotice: () => undefined })
      await sql.unsafe(`CREATE DATABASE ${name}`)
      await sql.end()
      return databaseUrl(server, name)
    }),
    (url) =>
      Effect.promise(async () => {
        const sql = postgres(server, { max: 1, onnotice: () => undefined })
        await sql.unsafe(`DROP DATABASE IF EXISTS ${new URL(url).pathname.slice(1)} WITH (FORCE)`)
        await sql.end()
      })
  )

/** A client of a fresh database. */
export const freshClient = (
  server: string,
  options: Omit<PostgresClient.Options, "url"> = {}
): Layer.Layer<SqlClient.SqlClient> =>
  Layer.unwrap(Effect.map(freshDatabase(server), (url) => PostgresClient.layer({ ...options, url: Redacted.make(url) }))).pipe(Layer.orDie)

/** A directory that is removed with the scope. */
export const temporaryDirectory: Effect.Effect<string, never, Scope.Scope> = Effect.acquireRelease(
  Effect.sync(() => fs.mkdtempSync(path.join(os.tmpdir(), "gateway-test-"))),
  (directory) => Effect.sync(() => fs.rmSync(directory, { recursive: true, force: true }))
)

const pgliteVersion = "0.5.16"

/** A database made once per machine: initdb takes seconds, a copy does not. */
const template = async (name: string, make: (directory: string) => Promise<void>): Promise<string> => {
  const home = path.join(process.env["GATEWAY_TEST_TEMPLATES"] ?? os.tmpdir(), `gateway-pglite-${name}-${process.getuid?.() ?? 0}`)
  if (fs.existsSync(home)) {
    fs.utimesSync(home, new Date(), new Date())
    return home
  }
  const fresh = fs.mkdtempSync(`${home}-`)
  await make(fresh)
  try {
    fs.renameSync(fresh, home)
  } catch {
    // Another test file was faster.
    fs.rmSync(fresh, { recursive: true, force: true })
  }
  return home
}

/** The data directory to copy whose embedded database is initialised and knows no table. */
export const initialised = (): Promise<string> =>
  template(`template-${pgliteVersion}`, (directory) =>
    Effect.runPromise(Effect.asVoid(Effect.scoped(Layer.build(PostgresClient.pgliteLayer({ dataDir: directory, packed: false }))))))

const sources = path.resolve(import.meta.dirname, "../../src")

/** Every migration of the sources, wherever its folder lies, in the order in which they run. */
export const migrationFiles = (): ReadonlyArray<string> =>
  fs.readdirSync(sources, { recursive: true, encoding: "utf8" })
    .filter((file) => /(^|\/)migrations\/\d+_\w+\.ts$/.test(file))
    .sort((a, b) => path.basename(a) < path.basename(b) ? -1 : 1)
    .map((file) => path.join(sources, file))

/** Changes with every file that says what the schema is. */
const schemaVersion = (): string => {
  const hash = createHash("sha256")
  for (const file of migrationFiles()) hash.update(path.basename(file)).update(fs.readFileSync(file))
  return hash.digest("hex").slice(0, 16)
}

/** The data directory to copy whose embedded database is migrated and empty. */
export const migrated = (): Promise<string> =>
  template(`migrated-${pgliteVersion}-${schemaVersion()}`, async (directory) => {
    fs.cpSync(await initialised(), directory, { recursive: true })
    await Effect.runPromise(Effect.scoped(Layer.build(Layer.provide(Migrations.layer, PostgresClient.pgliteLayer({ dataDir: directory })))))
  })

/**
 * The compiled code of the embedded server. V8 shares it between threads while one of them holds it; otherwise the server of each test
 * file would compile it anew, which takes more than a second of CPU.
 */
let code: Promise<object> | null = null
const { compile } = Reflect.get(globalThis, "WebAssembly") as { readonly compile: (bytes: Uint8Array) => Promise<object> }
const holdCode = (): Promise<object> => code ??= compile(fs.readFileSync(fileURLToPath(import.meta.resolve("@electric-sql/pglite/pglite.wasm"))))

const copyOf = (source: () => Promise<string>): Effect.Effect<string, never, Scope.Scope> =>
  Effect.tap(temporaryDirectory, (directory) => Effect.promise(async () => {
    await holdCode()
    fs.cpSync(await source(), directory, { recursive: true })
  }))

/** A data directory whose embedded database was initialised by an earlier start. */
export const pgliteDirectory: Effect.Effect<string, never, Scope.Scope> = copyOf(initialised)

/** A data directory whose embedded database was also migrated, and is empty. */
export const migratedDirectory: Effect.Effect<string, never, Scope.Scope> = copyOf(migrated)

/** An embedded server on an empty database. */
export const pgliteClient: Layer.Layer<SqlClient.SqlClient> = Layer.unwrap(
  Effect.map(pgliteDirectory, (dataDir) => PostgresClient.pgliteLayer({ dataDir }))
).pipe(Layer.orDie)

/** Secrets under a fixed master key. */
export const secrets: Layer.Layer<Secrets> = Layer.sync(Secrets, () =>
  Sealer.make({ current: Redacted.make("a test master secret"), previous: [] }))

/** Migrates the client's database and offers every store, the client and the secrets. */
export const stores = <E>(client: Layer.Layer<SqlClient.SqlClient, E>) =>
  Stores.layer().pipe(Layer.provideMerge(Layer.merge(client, secrets)), Layer.orDie)

/**
 * One client for all suites of a test file: each suite that builds the layer starts with empty tables.
 * Call `dispose` in the file's last `afterAll`.
 */
export const sharedStores = (client: Layer.Layer<SqlClient.SqlClient>) => {
  const runtime = ManagedRuntime.make(stores(client))
  const empty = Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const tables = yield* sql<{ readonly name: string }>`
      SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'gateway_migrations'`
    yield* sql`TRUNCATE ${sql.csv(tables.map((table) => sql`${sql(table.name)}`))}`
  })
  return {
    layer: Layer.effectDiscard(empty).pipe(Layer.provideMerge(Layer.effectContext(runtime.contextEffect)), Layer.orDie),
    dispose: () => runtime.dispose()
  }
}
