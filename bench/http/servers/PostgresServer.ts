/**
 * A Postgres server of the bench's own, for a target that keeps records: what a database costs is then not booked on the
 * target, as it is not booked on it in production.
 */
import { execFileSync } from "node:child_process"
import { chmodSync, chownSync, existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import postgres from "postgres"
import { freePort, listening, programPath, start } from "./processes.ts"

const LISTEN_TIMEOUT_MS = 20_000
const ANSWER_TRIES = 50
const ANSWER_PAUSE_MS = 100
const PACKAGED = "/usr/lib/postgresql"

export interface PostgresServer {
  /** The URL of a new, empty database. */
  readonly database: () => Promise<string>
}

/** The directory that holds `initdb` and `postgres`, or null. */
const programs = (): string | null => {
  const versions = existsSync(PACKAGED) ? readdirSync(PACKAGED).sort((a, b) => Number(b) - Number(a)) : []
  const packaged = versions.map((version) => join(PACKAGED, version, "bin")).find((bin) => existsSync(join(bin, "initdb")))
  if (packaged !== undefined) return packaged
  const found = programPath("initdb")
  return found === null ? null : join(found, "..")
}

/** Postgres refuses to run as root: then it runs as the first unprivileged user there is. */
const identity = (): { readonly uid: number; readonly gid: number } | null => {
  if (process.getuid?.() !== 0) return null
  for (const user of ["postgres", "nobody"]) {
    try {
      const id = (flag: string): number => Number(execFileSync("id", [flag, user], { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }))
      return { uid: id("-u"), gid: id("-g") }
    } catch {
      continue
    }
  }
  return null
}

/** Starts a server on a free loopback port, or answers null where none is installed. Its directory goes with this process. */
export const startPostgres = async (cpu: number | null): Promise<PostgresServer | null> => {
  const bin = programs()
  if (bin === null) return null
  const who = identity()
  const home = mkdtempSync(join(tmpdir(), "bench-postgres-"))
  process.on("exit", () => rmSync(home, { recursive: true, force: true }))
  chmodSync(home, 0o755)
  if (who !== null) chownSync(home, who.uid, who.gid)
  const data = join(home, "data")
  execFileSync(join(bin, "initdb"), ["-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync"], {
    ...who, stdio: "ignore", cwd: home
  })
  const port = await freePort()
  const child = start(join(bin, "postgres"), ["-D", data, "-p", String(port), "-h", "127.0.0.1", "-k", "", "-F"], {
    name: "postgres", cpu, cwd: home, stopSignal: "SIGINT", ...(who === null ? {} : { identity: who })
  })
  await listening(child, "127.0.0.1", port, LISTEN_TIMEOUT_MS)
  const url = (database: string): string => `postgres://postgres@127.0.0.1:${port}/${database}`
  let databases = 0
  return {
    database: async () => {
      const name = `bench_${++databases}`
      const sql = postgres(url("postgres"), { max: 1, onnotice: () => undefined })
      try {
        for (let attempt = 1; ; attempt++) {
          try {
            await sql.unsafe(`CREATE DATABASE ${name}`)
            return url(name)
          } catch (error) {
            // It listens a moment before it accepts connections.
            if (attempt === ANSWER_TRIES) throw error
            await new Promise((resolve) => setTimeout(resolve, ANSWER_PAUSE_MS))
          }
        }
      } finally {
        await sql.end({ timeout: 1 })
      }
    }
  }
}
