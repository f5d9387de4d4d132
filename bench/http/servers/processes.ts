/**
 * The bench's own child processes: started pinned to a core, their output kept in a file, ended by pid. Nothing is ever
 * ended by name, and nothing that this module did not start.
 */
import { type ChildProcess, spawn } from "node:child_process"
import { accessSync, closeSync, constants, existsSync, mkdirSync, openSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { createServer, connect } from "node:net"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { allowedCpus, tree } from "./ProcFs.ts"

export const root = join(import.meta.dirname, "..", "..", "..")
const workRoot = join(root, "bench", ".work")
/** Logs, configurations and data of this run; two runs never share one. */
export const workDirectory = join(workRoot, `run-${process.pid}`)

const STOP_GRACE_MS = 5_000
const LOG_TAIL_LINES = 15

export interface Child {
  readonly pid: number
  readonly process: ChildProcess
  readonly log: string
  readonly stopSignal: NodeJS.Signals
}

const children = new Set<Child>()

/** Removes what earlier runs have left, unless they still run. */
export const clearOldWork = (): void => {
  if (!existsSync(workRoot)) return
  for (const name of readdirSync(workRoot)) {
    const pid = /^run-(\d+)$/.exec(name)?.[1]
    if (pid === undefined || !existsSync(`/proc/${pid}`)) rmSync(join(workRoot, name), { recursive: true, force: true })
  }
}

/** True when the program can be found on PATH or at one of the usual places of servers. */
export const programPath = (name: string): string | null => {
  const directories = [...(process.env["PATH"] ?? "").split(":"), "/usr/sbin", "/usr/local/sbin"]
  for (const directory of directories) {
    if (directory === "") continue
    const path = join(directory, name)
    try {
      accessSync(path, constants.X_OK)
      return path
    } catch {
      continue
    }
  }
  return null
}

export interface Placement {
  /** CPU of the measured target, or null when processes are not pinned. */
  readonly target: number | null
  /** CPU of mock and load generator. */
  readonly rest: number | null
}

/** The target gets one core for itself where the machine has two and `taskset`. */
export const placement = (pin: boolean): Placement => {
  const [target, rest] = allowedCpus()
  if (!pin || target === undefined || rest === undefined || programPath("taskset") === null) {
    return { target: null, rest: null }
  }
  return { target, rest }
}

export interface SpawnOptions {
  readonly name: string
  readonly cpu: number | null
  readonly env?: Readonly<Record<string, string>>
  readonly ipc?: boolean
  /** Default: the project. */
  readonly cwd?: string
  readonly identity?: { readonly uid: number; readonly gid: number }
  /** What asks it to end; default SIGTERM. */
  readonly stopSignal?: NodeJS.Signals
}

/** Variables that a child may inherit: nothing of the caller's credentials or settings reaches a target. */
const inherited = (): Record<string, string> =>
  Object.fromEntries(["PATH", "HOME", "LANG", "TMPDIR", "LD_LIBRARY_PATH"].flatMap((name) => {
    const value = process.env[name]
    return value === undefined ? [] : [[name, value]]
  }))

export const start = (command: string, args: ReadonlyArray<string>, options: SpawnOptions): Child => {
  mkdirSync(workDirectory, { recursive: true })
  const log = join(workDirectory, `${options.name}.log`)
  const file = openSync(log, "w")
  const pinned = options.cpu === null ? [command, ...args] : ["taskset", "-c", String(options.cpu), command, ...args]
  const child = spawn(pinned[0] ?? command, pinned.slice(1), {
    cwd: options.cwd ?? root,
    ...options.identity,
    env: { ...inherited(), ...options.env },
    stdio: options.ipc === true ? ["ignore", file, file, "ipc"] : ["ignore", file, file]
  })
  closeSync(file)
  if (child.pid === undefined) throw new Error(`${options.name} could not be started: ${command}`)
  const started: Child = { pid: child.pid, process: child, log, stopSignal: options.stopSignal ?? "SIGTERM" }
  children.add(started)
  child.on("error", () => children.delete(started))
  child.on("exit", () => children.delete(started))
  return started
}

/** The same Node that runs the bench runs every child that is written for Node. */
export const startNode = (script: string, args: ReadonlyArray<string>, options: SpawnOptions, flags: ReadonlyArray<string> = []): Child =>
  start(process.execPath, ["--disable-warning=ExperimentalWarning", ...flags, join(options.cwd ?? root, script), ...args], options)

export const alive = (child: Child): boolean => child.process.exitCode === null && child.process.signalCode === null

const signal = (pid: number, name: NodeJS.Signals): void => {
  try {
    process.kill(pid, name)
  } catch {
    // already gone
  }
}

/** Asks a child to end, then ends what is left of it and of its own children. */
export const stop = async (child: Child): Promise<void> => {
  const family = tree(child.pid)
  if (alive(child)) {
    const exited = new Promise<void>((resolve) => child.process.once("exit", () => resolve()))
    signal(child.pid, child.stopSignal)
    await Promise.race([exited, sleep(STOP_GRACE_MS, undefined, { ref: false })])
  }
  if (alive(child)) for (const pid of [...family].reverse()) signal(pid, "SIGKILL")
  children.delete(child)
}

export const stopAll = async (): Promise<void> => {
  await Promise.all([...children].map(stop))
}

/** For the last moment of the process: no waiting, no exceptions. */
export const killAllNow = (): void => {
  for (const child of children) for (const pid of [...tree(child.pid)].reverse()) signal(pid, "SIGKILL")
  children.clear()
}

export const logTail = (child: Child): string => {
  try {
    return readFileSync(child.log, "utf8").trimEnd().split("\n").slice(-LOG_TAIL_LINES).join("\n")
  } catch {
    return ""
  }
}

/** What a child wrote until it ended by itself. Throws when it fails or takes too long. */
export const outputOf = async (child: Child, timeoutMs: number): Promise<string> => {
  const exited = new Promise<number | null>((resolve) => child.process.once("exit", resolve))
  const code = await Promise.race([exited, sleep(timeoutMs, "late" as const, { ref: false })])
  if (code === "late") await stop(child)
  if (code !== 0) throw new Error(`${code === "late" ? `not finished after ${timeoutMs} ms` : `ended with ${code}`}\n${logTail(child)}`)
  return readFileSync(child.log, "utf8")
}

/** A loopback port that was free a moment ago. */
export const freePort = (): Promise<number> =>
  new Promise((resolve, reject) => {
    const server = createServer()
    server.once("error", reject)
    server.listen(0, "127.0.0.1", () => {
      const address = server.address()
      server.close(() => {
        if (typeof address === "object" && address !== null) resolve(address.port)
        else reject(new Error("no free loopback port"))
      })
    })
  })

const accepts = (host: string, port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect({ host, port })
    socket.once("connect", () => {
      socket.destroy()
      resolve(true)
    })
    socket.once("error", () => {
      socket.destroy()
      resolve(false)
    })
  })

/** Milliseconds until the port accepts a connection. Throws with the child's last output when it ends or takes too long. */
export const listening = async (child: Child, host: string, port: number, timeoutMs: number): Promise<number> => {
  const begun = performance.now()
  while (performance.now() - begun < timeoutMs) {
    if (await accepts(host, port)) return performance.now() - begun
    if (!alive(child)) throw new Error(`ended before it listened on ${port}\n${logTail(child)}`)
    await sleep(2)
  }
  throw new Error(`not listening on ${port} after ${timeoutMs} ms\n${logTail(child)}`)
}
