/**
 * Closes a process that runs already. A limit of 0 descriptors lets it keep what is open and open nothing more: no socket, no file, no
 * pipe, whatever its code finds (setrlimit(2), RLIMIT_NOFILE). The limit of its data bounds all memory that it may write to, so also
 * buffers outside the heap. Linux alone has what this needs.
 */
import { spawn } from "node:child_process"
import * as fs from "node:fs/promises"
import * as os from "node:os"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

const places = ["/usr/bin", "/bin", "/usr/sbin", "/sbin"]
/** What keeps a gateway busy comes first. */
const NICENESS = 5

/** Why the process cannot be closed on this machine. */
export class Unsealed extends Schema.TaggedError<Unsealed>()("Unsealed", { message: Schema.String }) {}

/** A program of util-linux; looked up in the system's own folders, not in PATH. */
export const program = (name: string): Effect.Effect<string, Unsealed> => Effect.gen(function*() {
  for (const place of places) {
    const file = `${place}/${name}`
    const isThere = yield* Effect.promise(() => fs.access(file, fs.constants.X_OK).then(() => true, () => false))
    if (isThere) return file
  }
  return yield* new Unsealed({ message: `the sandbox needs the program ${name} of util-linux on the gateway's machine` })
})

const read = (file: string): Effect.Effect<string, Unsealed> => Effect.tryPromise({
  try: () => fs.readFile(file, "utf8"),
  catch: () => new Unsealed({ message: `the sandbox needs ${file.replace(/\d+/, "<pid>")}, which this machine does not show` })
})

/** Sockets that the process has beside its own three channels: the gateway's, if they leaked into it. */
const strangeSockets = (pid: number): Effect.Effect<number, Unsealed> => Effect.tryPromise({
  try: async () => {
    let strange = 0
    for (const descriptor of await fs.readdir(`/proc/${pid}/fd`)) {
      const target = await fs.readlink(`/proc/${pid}/fd/${descriptor}`).catch(() => "")
      if (Number(descriptor) > 2 && target.startsWith("socket:")) strange++
    }
    return strange
  },
  catch: () => new Unsealed({ message: "the sandbox needs /proc/<pid>/fd, which this machine does not show" })
})

const limit = (file: string, args: ReadonlyArray<string>): Effect.Effect<void, Unsealed> => Effect.callback((resume) => {
  const child = spawn(file, [...args], { cwd: "/", env: {}, stdio: "ignore" })
  child.once("error", (error: NodeJS.ErrnoException) => resume(Effect.fail(new Unsealed({ message: `prlimit cannot be started (${error.code ?? "error"})` }))))
  child.once("close", (code) => resume(code === 0 ? Effect.void : Effect.fail(new Unsealed({ message: `prlimit refused the limits (exit code ${code})` }))))
  return Effect.sync(() => child.kill("SIGKILL"))
})

export interface Bounds {
  /** Bytes beside what the process holds before the handler is there. */
  readonly memoryBytes: number
  /** Seconds of the processor; the last resort behind the gateway's own clock. */
  readonly cpuSeconds: number
}

/** Closes the process, and looks whether it is closed. */
export const close = Effect.fnUntraced(function*(pid: number, { cpuSeconds, memoryBytes }: Bounds) {
  const prlimit = yield* program("prlimit")
  const data = /^VmData:\s+(\d+) kB$/m.exec(yield* read(`/proc/${pid}/status`))?.[1]
  if (data === undefined) return yield* new Unsealed({ message: "the sandbox needs VmData of /proc/<pid>/status, which this machine does not show" })
  if ((yield* strangeSockets(pid)) > 0) return yield* new Unsealed({ message: "a socket of the gateway is open in the sandbox" })
  const bytes = Number(data) * 1_024 + memoryBytes
  yield* limit(prlimit, [
    "--pid", String(pid), "--nofile=0:0", "--nproc=0:0", "--fsize=0:0", "--core=0:0", `--cpu=${cpuSeconds}:${cpuSeconds}`, `--data=${bytes}:${bytes}`
  ])
  const limits = yield* read(`/proc/${pid}/limits`)
  if (!/^Max open files\s+0\s+0\s/m.test(limits) || !new RegExp(`^Max data size\\s+${bytes}\\s+${bytes}\\s`, "m").test(limits)) {
    return yield* new Unsealed({ message: "the limits of the sandbox do not hold on this machine" })
  }
  yield* Effect.ignore(Effect.try(() => os.setPriority(pid, NICENESS)))
})
