/**
 * A lock file that keeps two processes out of one data directory.
 *
 * The file names its owner (pid, its start time, boot and pid namespace) and is touched every two seconds. An owner of
 * our own namespace is looked up by pid and start time, so the lock of a killed process is taken over at once, reaped or not; an owner of
 * another container or machine counts as dead when it has not touched the file for six seconds.
 */
import * as Schema from "effect/Schema"
import { randomBytes } from "node:crypto"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import type { Ticker } from "#actors/Ticker.ts"
import { setTimeout as delay } from "node:timers/promises"
import * as Processes from "#src/platform/structures/processes.ts"

interface Owner {
  readonly pid: number
  readonly started: string
  readonly place: string
  readonly nonce: string
}

export interface DirectoryLock {
  readonly release: () => void
}

/** Another process holds the directory. */
export class DirectoryLocked extends Schema.TaggedError<DirectoryLocked>()("DirectoryLocked", { message: Schema.String }) {}

/** How often the holder touches its lock, ms. */
const touchMs = 2_000
/** A lock that was not touched for so long is abandoned, ms: its holder may miss two touches. */
const staleMs = 6_000
/** Between two looks at the lock of another host, ms. */
const lookMs = 250
/** How long a process that seems to live is given, ms: one that was just killed takes a moment to go. */
const patienceMs = 1_000
/** Between two looks at it, ms. */
const lookAtOwnerMs = 50

const readText = (file: string): string => {
  try {
    return fs.readFileSync(file, "utf8")
  } catch {
    return ""
  }
}

/** Where pids mean the same processes: boot, pid namespace and host name. */
const place = (): string => {
  let namespace = ""
  try {
    namespace = fs.readlinkSync("/proc/self/ns/pid")
  } catch {
    namespace = process.platform
  }
  return [readText("/proc/sys/kernel/random/boot_id").trim(), namespace, os.hostname()].join(" ")
}

const parse = (text: string): Owner | null => {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value !== "object" || value === null) return null
    const { nonce, pid, place: where, started } = value as Record<string, unknown>
    return typeof pid === "number" && typeof started === "string" && typeof where === "string" && typeof nonce === "string"
      ? { pid, started, place: where, nonce }
      : null
  } catch {
    return null
  }
}

/** "alive" and "dead" are certain; "elsewhere" can only be judged by its heartbeat. */
const judge = (owner: Owner | null): "alive" | "dead" | "elsewhere" => {
  if (owner === null || owner.place !== place()) return "elsewhere"
  return Processes.isAlive(owner.pid) && Processes.startTicks(owner.pid) === owner.started ? "alive" : "dead"
}

const modified = (file: string): number => {
  try {
    return fs.statSync(file).mtimeMs
  } catch {
    return 0
  }
}

const refuse = (file: string, owner: Owner | null): DirectoryLocked =>
  new DirectoryLocked({
    message: `The data directory ${path.dirname(file)} is in use by ${owner === null ? "another process" : `process ${owner.pid}`}`
      + ` (lock file ${file}). Stop it, or set GATEWAY_DATA_DIR to another directory, or use a Postgres server (DATABASE_URL).`
  })

/** Waits until the heartbeat is old enough; throws when it beats. */
const awaitSilence = async (file: string, owner: Owner | null): Promise<void> => {
  const seen = modified(file)
  while (Date.now() - seen < staleMs) {
    await delay(lookMs)
    const now = modified(file)
    if (now === 0) return
    if (now !== seen) throw refuse(file, owner)
  }
}

/** Moves a stale lock away, unless another process replaced it in the meantime. */
const evict = (file: string, expected: string): void => {
  const aside = `${file}.${randomBytes(6).toString("hex")}`
  try {
    fs.renameSync(file, aside)
  } catch {
    return
  }
  try {
    if (readText(aside) !== expected) fs.linkSync(aside, file)
  } catch {
    // A third process has locked meanwhile: the next round sees it.
  }
  fs.rmSync(aside, { force: true })
}

/** Writes the whole lock beside the file and links it into place, so that no process reads half of one. */
const install = (file: string, text: string): boolean => {
  const fresh = `${file}.${randomBytes(6).toString("hex")}`
  try {
    fs.writeFileSync(fresh, text, { mode: 0o600 })
    fs.linkSync(fresh, file)
    return true
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "EEXIST") return false
    throw error
  } finally {
    fs.rmSync(fresh, { force: true })
  }
}

/** Takes the lock; rejects with DirectoryLocked when a living process holds it. */
export const acquire = async (file: string, ticker: Ticker): Promise<DirectoryLock> => {
  const owner: Owner = {
    pid: process.pid,
    started: Processes.startTicks(process.pid),
    place: place(),
    nonce: randomBytes(8).toString("hex")
  }
  const text = JSON.stringify(owner)
  const refuseAt = Date.now() + patienceMs
  while (!install(file, text)) {
    const found = readText(file)
    if (found === "" && !fs.existsSync(file)) continue
    const other = parse(found)
    const state = judge(other)
    if (state === "alive") {
      if (Date.now() >= refuseAt) throw refuse(file, other)
      await delay(lookAtOwnerMs)
      continue
    }
    if (state === "elsewhere") await awaitSilence(file, other)
    evict(file, found)
  }
  const stopBeat = ticker.every(touchMs, () => {
    const now = new Date()
    fs.utimes(file, now, now, () => undefined)
  })
  return {
    release: () => {
      stopBeat()
      if (readText(file) === text) fs.rmSync(file, { force: true })
    }
  }
}
