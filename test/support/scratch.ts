/**
 * One directory for all that a run of the tests writes, gone with it: in memory where there is plenty, because a flush to a disk
 * costs an embedded database more than its statements. Runs before the workers start, which inherit TMPDIR.
 */
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"

const memory = "/dev/shm"
/** Below this the files stay on the disk (bytes); a run needs a twentieth of it. */
const plenty = 4 * 1024 ** 3
const prefix = "gateway-run-"
/** Copies of a migrated database (`postgres.ts`) are touched when they are used; others go after so long (ms). */
const migratedPrefix = "gateway-pglite-migrated-"
const keptMs = 7 * 24 * 3_600_000

const room = (directory: string): number => {
  try {
    fs.accessSync(directory, fs.constants.W_OK)
    const { bavail, bsize } = fs.statfsSync(directory)
    return bavail * bsize
  } catch {
    return 0
  }
}

const alive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EPERM"
  }
}

/** What a run that was killed left behind (directories carry the pid of their run), and databases of schemas that nobody uses any more. */
const sweep = (home: string): void => {
  for (const name of fs.readdirSync(home)) {
    const directory = path.join(home, name)
    const [, pid] = /^gateway-run-(\d+)-/.exec(name) ?? []
    const isLeft = pid !== undefined && !alive(Number(pid))
    const isOld = name.startsWith(migratedPrefix) && (fs.statSync(directory, { throwIfNoEntry: false })?.mtimeMs ?? Infinity) < Date.now() - keptMs
    if (!isLeft && !isOld) continue
    try {
      fs.rmSync(directory, { recursive: true, force: true })
    } catch {
      // It is another user's.
    }
  }
}

export default function setup(): () => void {
  const disk = os.tmpdir()
  const home = room(memory) > plenty ? memory : disk
  for (const place of new Set([home, disk])) sweep(place)
  const directory = fs.mkdtempSync(path.join(home, `${prefix}${process.pid}-`))
  // A Postgres that a test starts runs as another user.
  fs.chmodSync(directory, 0o711)
  process.env["TMPDIR"] = directory
  process.env["GATEWAY_TEST_TEMPLATES"] ??= disk
  return () => {
    process.env["TMPDIR"] = disk
    fs.rmSync(directory, { recursive: true, force: true })
  }
}
