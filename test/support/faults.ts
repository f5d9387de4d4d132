/**
 * Faults of the services that a gateway leans on: a road over loopback that can be closed, frozen or slowed while it is used, and a
 * gateway whose output nobody reads.
 */
import { type ChildProcess, execFileSync, spawn } from "node:child_process"
import * as fs from "node:fs"
import * as net from "node:net"
import * as os from "node:os"
import * as path from "node:path"
import type { DegradationEffect, DegradationRow, Fault } from "#schemas/degradation.ts"
import * as Http from "./http.ts"
import { eventually, Operator, PASSWORD } from "./operator.ts"
import { freePort } from "./redis.ts"
import { startEnvironment, startFlags } from "./startFlags.ts"

/** `refused`: nobody listens and every connection is reset. `frozen`: everything stays open, nothing moves. A number: ms added per direction. */
export type Mood = "open" | "refused" | "frozen" | { readonly slowMs: number }

/** Bytes that wait on a slow road in one direction before its sender is held back. */
const WAITING_BYTES = 1024 * 1024

export interface Road {
  /** The service's URL with the road's address. */
  readonly url: string
  readonly is: (mood: Mood) => Promise<void>
  readonly close: () => Promise<void>
}

/** One direction of one connection; what is read is given on after the delay of its moment, in order. */
const lane = (from: net.Socket, to: net.Socket, moodNow: () => Mood): { readonly look: () => void } => {
  const queue: Array<Buffer> = []
  let waiting = 0
  const look = (): void => {
    if (moodNow() === "frozen" || waiting > WAITING_BYTES) from.pause()
    else from.resume()
  }
  from.on("data", (chunk: Buffer) => {
    const mood = moodNow()
    if (typeof mood === "string" && queue.length === 0) {
      to.write(chunk)
      return
    }
    queue.push(chunk)
    waiting += chunk.length
    // Whichever timer rings first takes the oldest: the order stands when the delay changes.
    setTimeout(() => {
      const oldest = queue.shift()
      waiting -= oldest?.length ?? 0
      if (oldest !== undefined && !to.destroyed) to.write(oldest)
      look()
    }, typeof mood === "object" ? mood.slowMs : 1)
    look()
  })
  return { look }
}

/** A way to the service at `url` (its host and port; the rest is kept) whose mood the test decides. */
export const roadTo = async (url: string): Promise<Road> => {
  const to = new URL(url)
  const [host, farPort] = [to.hostname, Number(to.port)]
  const port = await freePort()
  to.hostname = "127.0.0.1"
  to.port = String(port)
  let mood: Mood = "open"
  const sockets = new Set<net.Socket>()
  const lanes = new Set<{ readonly look: () => void }>()
  const join = (near: net.Socket): void => {
    const far = net.connect(farPort, host)
    const both = [lane(near, far, () => mood), lane(far, near, () => mood)]
    for (const one of both) {
      lanes.add(one)
      one.look()
    }
    for (const socket of [near, far]) {
      sockets.add(socket)
      socket.setNoDelay(true)
      socket.on("error", () => undefined)
      socket.once("close", () => {
        sockets.delete(socket)
        for (const one of both) lanes.delete(one)
        near.destroy()
        far.destroy()
      })
    }
  }
  let server: net.Server | null = null
  const listen = () => new Promise<void>((resolve, reject) => {
    server = net.createServer(join)
    server.once("error", reject)
    server.listen(port, "127.0.0.1", resolve)
  })
  const shut = () => new Promise<void>((resolve) => {
    const closing = server
    server = null
    if (closing === null) return resolve()
    closing.close(() => resolve())
    for (const socket of sockets) socket.resetAndDestroy()
  })
  await listen()
  return {
    url: to.href,
    is: async (next) => {
      mood = next
      if (mood === "refused") await shut()
      else if (server === null) await listen()
      for (const one of lanes) one.look()
    },
    close: shut
  }
}

const outcomes = ["admitted", "queued", "denied"] as const
const longest = (values: ReadonlyArray<number | null>): number | null => values.includes(null) ? null : Math.max(...values as ReadonlyArray<number>)

/** What GET /api/health/degradation says of a feature under these faults, combined as it says that they combine. */
export const contractOf = async (operator: Operator, ...faults: ReadonlyArray<Fault>): Promise<(feature: string) => DegradationEffect> => {
  const { features } = await operator.call<{ readonly features: ReadonlyArray<DegradationRow> }>("GET", "/api/health/degradation")
  return (feature) => {
    const row = features.find((one) => one.feature === feature)
    if (row === undefined) throw new Error(`the degradation contract has no feature ${feature}`)
    const effects = faults.map((fault) => row.effects[fault])
    return {
      outcome: outcomes[Math.max(...effects.map(({ outcome }) => outcomes.indexOf(outcome)))] ?? "denied",
      stalenessMs: longest(effects.map(({ stalenessMs }) => stalenessMs)),
      addedLatencyMs: effects.some(({ addedLatencyMs }) => addedLatencyMs === null) ? null : effects.reduce((sum, { addedLatencyMs }) => sum + (addedLatencyMs ?? 0), 0),
      note: effects.map(({ note }) => note).join(" ")
    }
  }
}

/** A gateway as a child whose standard output is a pipe that nobody reads until `drain` does. */
export interface Unheard {
  readonly url: string
  readonly operator: Operator
  readonly pid: number
  readonly dataDir: string
  /** Reads and answers what stands in the pipe now. */
  readonly drain: () => string
  /** SIGTERM; answers the exit code, null when it had to be killed. */
  readonly stop: () => Promise<number | null>
  readonly close: () => Promise<void>
}

const repository = path.resolve(import.meta.dirname, "../..")
const readyMs = 50_000
const exitMs = 20_000
/** What one read takes from the pipe. */
const pipeBytes = 64 * 1024

const children = new Set<ChildProcess>()
process.once("exit", () => {
  for (const child of children) child.kill("SIGKILL")
})

export const unheard = async (environment: Readonly<Record<string, string>>): Promise<Unheard> => {
  const dataDir = fs.mkdtempSync(path.join(os.tmpdir(), "gateway-unheard-"))
  const fifo = path.join(dataDir, "output")
  execFileSync("mkfifo", [fifo])
  // Both ends are open here, so that the child never finds its reader gone: only silent.
  const fd = fs.openSync(fifo, fs.constants.O_RDWR | fs.constants.O_NONBLOCK)
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const child = spawn(process.execPath, [...startFlags, "src/main.ts", "serve"], {
    cwd: repository,
    env: {
      PATH: process.env["PATH"], HOME: process.env["HOME"], ...startEnvironment, HOST: "127.0.0.1", PORT: String(port), GATEWAY_DATA_DIR: dataDir,
      GATEWAY_SIM_PROVIDER: "false", INITIAL_PASSWORD: PASSWORD, LOG_FORMAT: "json", ...environment
    },
    stdio: ["ignore", fd, fd]
  })
  children.add(child)
  const exited = new Promise<number | null>((resolve) => child.once("exit", (code) => {
    children.delete(child)
    resolve(code)
  }))
  const drain = (): string => {
    const parts: Array<Buffer> = []
    const buffer = Buffer.alloc(pipeBytes)
    for (;;) {
      try {
        const count = fs.readSync(fd, buffer)
        if (count === 0) break
        parts.push(Buffer.from(buffer.subarray(0, count)))
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "EAGAIN") throw error
        break
      }
    }
    return Buffer.concat(parts).toString("utf8")
  }
  const stop = async (): Promise<number | null> => {
    child.kill("SIGTERM")
    const timer = setTimeout(() => child.kill("SIGKILL"), exitMs)
    try {
      return await exited
    } finally {
      clearTimeout(timer)
    }
  }
  const close = async (): Promise<void> => {
    if (child.exitCode === null && child.signalCode === null) child.kill("SIGKILL")
    await exited
    fs.closeSync(fd)
    fs.rmSync(dataDir, { recursive: true, force: true })
  }
  const operator = new Operator(() => url)
  try {
    await eventually(
      () => Http.send(url, { path: "/api/health/ping" }).then((reply) => reply.status, () => 0),
      (status) => {
        if (child.exitCode !== null) throw new Error(`the gateway ended while it started:\n${drain()}`)
        return status === 200
      },
      "the gateway's readiness", readyMs
    )
    await operator.login()
  } catch (error) {
    await close()
    throw error
  }
  return { url, operator, pid: child.pid ?? 0, dataDir, drain, stop, close }
}
