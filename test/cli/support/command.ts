/** Runs the real commands as child processes, with nothing of this machine's environment but PATH. */
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process"
import * as fs from "node:fs"
import * as net from "node:net"
import * as os from "node:os"
import * as path from "node:path"
import { fileURLToPath } from "node:url"
import { afterAll, vi } from "vitest"
import { startEnvironment, startFlags } from "#test/support/startFlags.ts"

export { freePort } from "#test/support/freePort.ts"

export const root = fileURLToPath(new URL("../../..", import.meta.url))

/** ms that any wait may take; what a start needs on an idle machine is a hundredth of it. */
const patience = 100_000

vi.setConfig({ testTimeout: 300_000 })

export interface Options {
  readonly cwd?: string
  readonly env?: Readonly<Record<string, string>>
  readonly input?: string
}

export interface Ended {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly stdout: string
  readonly stderr: string
}

/** One child; its output is kept. */
export class Command {
  stdout = ""
  stderr = ""
  readonly child: ChildProcessWithoutNullStreams
  readonly ended: Promise<Ended>
  readonly #lookers = new Set<() => void>()

  constructor(file: string, args: ReadonlyArray<string>, options: Options) {
    this.child = spawn(file, args, {
      cwd: options.cwd ?? emptyDirectory(),
      env: { PATH: process.env["PATH"] ?? "", ...options.env }
    })
    this.child.stdout.on("data", (chunk: Buffer) => this.#heard(() => this.stdout += chunk.toString()))
    this.child.stderr.on("data", (chunk: Buffer) => this.#heard(() => this.stderr += chunk.toString()))
    this.child.stdin.on("error", () => undefined)
    this.child.stdin.end(options.input ?? "")
    this.ended = new Promise((resolve) => {
      this.child.once("close", (code, signal) => {
        started.delete(this)
        resolve({ code, signal, stdout: this.stdout, stderr: this.stderr })
        this.#heard(() => undefined)
      })
    })
    started.add(this)
  }

  get pid(): number {
    return this.child.pid ?? 0
  }

  #heard(take: () => void): void {
    take()
    for (const look of this.#lookers) look()
  }

  /** Waits until the text stands on stdout; fails when the child ends before. */
  said(text: string, times = 1): Promise<void> {
    return new Promise((resolve, reject) => {
      const done = (settle: () => void) => {
        clearTimeout(timer)
        this.#lookers.delete(look)
        settle()
      }
      const fail = (why: string) => done(() => reject(new Error(`${why} before '${text}':\n${this.stdout}\n${this.stderr}`)))
      const look = () => {
        if (this.stdout.split(text).length > times) done(resolve)
        else if (this.child.exitCode !== null || this.child.signalCode !== null) fail(`ended (${this.child.exitCode ?? this.child.signalCode})`)
      }
      const timer = setTimeout(() => fail(`${patience} ms passed`), patience)
      this.#lookers.add(look)
      look()
    })
  }

  signal(name: NodeJS.Signals): void {
    this.child.kill(name)
  }

  stop(): Promise<Ended> {
    this.signal("SIGTERM")
    return this.ended
  }
}

const started = new Set<Command>()
const directories: Array<string> = []

/** Ends what a failed test left running, and removes its directories. */
afterAll(async () => {
  for (const command of started) command.signal("SIGKILL")
  await Promise.all([...started].map((command) => command.ended))
  for (const directory of directories) fs.rmSync(directory, { recursive: true, force: true })
})

/** A directory of this test file. */
export function emptyDirectory(): string {
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), "gateway-cli-"))
  directories.push(directory)
  return directory
}

/** Starts `gateway ...` with this Node, as `bin/gateway` does. */
export const start = (args: ReadonlyArray<string>, options: Options = {}): Command =>
  new Command(process.execPath, [...startFlags, path.join(root, "src/main.ts"), ...args], { ...options, env: { ...startEnvironment, ...options.env } })

/** Runs a command to its end. */
export const run = (args: ReadonlyArray<string>, options: Options = {}): Promise<Ended> => start(args, options).ended

/** A port that stays taken until `close`. */
export const takenPort = (): Promise<{ readonly port: number; readonly close: () => void }> =>
  new Promise((resolve, reject) => {
    const server = net.createServer((socket) => socket.destroy())
    server.once("error", reject)
    server.listen(0, "127.0.0.1", () => {
      const address = server.address()
      resolve({ port: typeof address === "object" && address !== null ? address.port : 0, close: () => server.close() })
    })
  })
