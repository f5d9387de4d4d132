/**
 * Ownership of the segments of a journal directory: one lock file per process start, and the takeover of a dead owner's files.
 *
 * Files: `<owner>-<seq>.log` segments; `<owner>.lock` the owner may be alive; `<owner>.free` it closed with rows left;
 * `<owner>.claim.<claimant>` a process replays it. Every step from one state to the next is one rename, so one claimant wins.
 */
import { randomBytes } from "node:crypto"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import * as Directories from "#src/platform/structures/directories.ts"
import * as Processes from "#src/platform/structures/processes.ts"

export interface Owner {
  /** `<nodeId>.<instance>`; the instance differs on every start. */
  readonly name: string
  readonly directory: string
}

/** A dead owner of journal files, and the state file that a claim renames; null when it was removed. */
export interface DeadOwner {
  readonly owner: string
  readonly stateFile: string | null
}

interface LockContent {
  readonly pid: number
  readonly host: string
  /** Start time of the process in clock ticks since boot; null where /proc is absent. */
  readonly startTicks: string | null
}

/** A lock of another host counts as dead after this time without a touch, ms. */
const FOREIGN_LOCK_STALE_MS = 60_000

/** Owners that live in this very process. */
const held = new Set<string>()

const SEGMENT = /^([^.]+\.[^.]+)-(\d{8})\.log$/
const STATE = /^([^.]+\.[^.]+)\.(lock|free|claim)(?:\.([^.]+\.[^.]+))?$/

const sanitize = (nodeId: string): string => nodeId.replace(/[^A-Za-z0-9_-]/g, "_").slice(0, 64) || "node"

export const segmentPath = (owner: Owner, seq: number): string =>
  path.join(owner.directory, `${owner.name}-${String(seq).padStart(8, "0")}.log`)

const lockPath = (owner: Owner): string => path.join(owner.directory, `${owner.name}.lock`)

/** Creates the directory, in the data directory, and the lock of a new owner. Throws what the file system throws. */
export const acquireUnsafe = (directory: string, nodeId: string): Owner => {
  Directories.makeInData(directory)
  const owner: Owner = { name: `${sanitize(nodeId)}.${randomBytes(6).toString("hex")}`, directory }
  const content: LockContent = { pid: process.pid, host: os.hostname(), startTicks: Processes.startTicks(process.pid) || null }
  // Under its final name only when complete, so that no process reads half a lock.
  const temporary = path.join(directory, `.${owner.name}.tmp`)
  fs.writeFileSync(temporary, JSON.stringify(content), { mode: 0o600, flag: "wx" })
  fs.renameSync(temporary, lockPath(owner))
  held.add(owner.name)
  return owner
}

/** Gives the lock back; with `rowsLeft` the segments become free for the next claimant. */
export const release = (owner: Owner, rowsLeft: boolean): void => {
  held.delete(owner.name)
  try {
    if (rowsLeft) fs.renameSync(lockPath(owner), path.join(owner.directory, `${owner.name}.free`))
    else fs.rmSync(lockPath(owner), { force: true })
  } catch {
    // The lock stays and is found dead once this process has ended.
  }
}

/** Shows processes on other hosts that share the directory that the owner lives. */
export const touch = (owner: Owner, done: () => void): void => {
  const now = new Date()
  fs.utimes(lockPath(owner), now, now, done)
}

const readLock = (file: string): LockContent | null => {
  try {
    const content: unknown = JSON.parse(fs.readFileSync(file, "utf8"))
    return typeof content === "object" && content !== null && "pid" in content && "host" in content ? content as LockContent : null
  } catch {
    return null
  }
}

const isAlive = (directory: string, owner: string): boolean => {
  if (held.has(owner)) return true
  const file = path.join(directory, `${owner}.lock`)
  const lock = readLock(file)
  if (lock === null) return false
  if (lock.host !== os.hostname()) {
    try {
      return Date.now() - fs.statSync(file).mtimeMs < FOREIGN_LOCK_STALE_MS
    } catch {
      return false
    }
  }
  if (lock.pid === process.pid) return false
  if (!Processes.isAlive(lock.pid)) return false
  const ticks = Processes.startTicks(lock.pid)
  return lock.startTicks === null || ticks === "" || ticks === lock.startTicks
}

/** Segment names by owner, oldest first, and the state file of each owner. */
const list = (directory: string) => {
  const segments = new Map<string, Array<string>>()
  const states = new Map<string, { readonly file: string; readonly by: string | null }>()
  for (const name of fs.readdirSync(directory).sort()) {
    const segment = SEGMENT.exec(name)
    if (segment !== null) {
      const files = segments.get(segment[1]!) ?? []
      files.push(path.join(directory, name))
      segments.set(segment[1]!, files)
      continue
    }
    const state = STATE.exec(name)
    if (state === null) continue
    const by = state[2] === "free" ? null : state[2] === "lock" ? state[1]! : state[3] ?? null
    states.set(state[1]!, { file: path.join(directory, name), by })
  }
  return { segments, states }
}

/** Dead owners of a directory whose files no process replays. Empty when the directory cannot be read. */
export const deadOwners = (self: Owner): ReadonlyArray<DeadOwner> => {
  try {
    const { segments, states } = list(self.directory)
    const dead: Array<DeadOwner> = []
    for (const owner of new Set([...segments.keys(), ...states.keys()])) {
      const state = states.get(owner)
      const keeper = state === undefined ? null : state.by
      if (owner === self.name || (keeper !== null && isAlive(self.directory, keeper))) continue
      dead.push({ owner, stateFile: state?.file ?? null })
    }
    return dead
  } catch {
    return []
  }
}

/** A dead owner whose files are ours to replay; the segments in the order in which they were written. */
export interface JournalClaim {
  readonly owner: string
  readonly segments: ReadonlyArray<string>
  readonly file: string
}

/** Takes a dead owner's files for replay; null when another process was faster. */
export const claim = (self: Owner, dead: DeadOwner): JournalClaim | null => {
  const file = path.join(self.directory, `${dead.owner}.claim.${self.name}`)
  try {
    if (dead.stateFile === null) fs.closeSync(fs.openSync(file, "wx", 0o600))
    else fs.renameSync(dead.stateFile, file)
    // Listed only now: before the claim the owner may still have been closing.
    return { owner: dead.owner, segments: list(self.directory).segments.get(dead.owner) ?? [], file }
  } catch {
    return null
  }
}

/** Returns a claim for another process to finish. */
export const unclaim = (self: Owner, claim: JournalClaim): void => {
  try {
    fs.renameSync(claim.file, path.join(self.directory, `${claim.owner}.free`))
  } catch {
    // The claim is found dead together with this process.
  }
}
