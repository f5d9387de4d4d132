/**
 * A Redis server of a test's own, to be frozen, killed and started again; the shared one (GATEWAY_TEST_REDIS_URL, else
 * 127.0.0.1:6379) is for tests that keep to a prefix of their own and harm nobody.
 */
import { type ChildProcess, spawn } from "node:child_process"
import * as fs from "node:fs"
import * as net from "node:net"
import * as os from "node:os"
import * as path from "node:path"
import { Redis } from "ioredis"
import { freePort } from "./freePort.ts"

export { freePort }

export interface OwnRedis {
  readonly url: string
  readonly pid: () => number
  /** SIGSTOP: connections stay open, nobody answers. */
  readonly freeze: () => void
  readonly thaw: () => void
  /** SIGKILL; waits until it is gone. */
  readonly kill: () => Promise<void>
  /** Starts it again on the same port, empty. */
  readonly start: () => Promise<void>
  /** A client beside the gateway's. */
  readonly client: () => Redis
  readonly stop: () => Promise<void>
}

const startMs = 10_000

/** Whether a server program is installed; tests that need one are skipped without, and fail under CI. */
export const canStartRedis = (): boolean =>
  process.env["CI"] === "true" || (process.env["PATH"] ?? "").split(path.delimiter).some((directory) => fs.existsSync(path.join(directory, "redis-server")))

const children = new Set<ChildProcess>()
process.once("exit", () => {
  for (const child of children) child.kill("SIGKILL")
})

/** `password` is asked of every client; nothing is persisted. */
export const ownRedis = async (options: { readonly password?: string } = {}): Promise<OwnRedis> => {
  const port = await freePort()
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), "gateway-redis-"))
  const url = `redis://${options.password === undefined ? "" : `:${options.password}@`}127.0.0.1:${port}`
  const clients = new Set<Redis>()
  let child: ChildProcess | null = null
  const client = (): Redis => {
    const redis = new Redis(url, { maxRetriesPerRequest: null })
    redis.on("error", () => undefined)
    clients.add(redis)
    return redis
  }
  const start = async (): Promise<void> => {
    const born = spawn("redis-server", [
      "--port", String(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", directory,
      ...(options.password === undefined ? [] : ["--requirepass", options.password])
    ], { stdio: "ignore" })
    children.add(born)
    born.once("exit", () => children.delete(born))
    child = born
    const redis = new Redis(url, { maxRetriesPerRequest: null, retryStrategy: () => 20 })
    redis.on("error", () => undefined)
    const timer = setTimeout(() => redis.disconnect(), startMs)
    try {
      await redis.ping()
    } finally {
      clearTimeout(timer)
      redis.disconnect()
    }
  }
  const kill = async (): Promise<void> => {
    const dying = child
    if (dying === null || dying.exitCode !== null || dying.signalCode !== null) return
    const gone = new Promise((resolve) => dying.once("exit", resolve))
    dying.kill("SIGKILL")
    await gone
  }
  await start()
  return {
    url,
    pid: () => child?.pid ?? 0,
    freeze: () => {
      child?.kill("SIGSTOP")
    },
    thaw: () => {
      child?.kill("SIGCONT")
    },
    kill,
    start,
    client,
    stop: async () => {
      for (const redis of clients) redis.disconnect()
      await kill()
      fs.rmSync(directory, { recursive: true, force: true })
    }
  }
}

/** A way to a server on which connections can be made to say nothing more, as if their other end had vanished; later ones speak. */
export const silentRoad = async (url: string): Promise<{
  readonly url: string
  readonly silence: () => void
  /** Later connections lead there, those that stand stay. */
  readonly lead: (url: string) => void
  readonly close: () => Promise<void>
}> => {
  const to = new URL(url)
  let port = Number(to.port)
  const pairs = new Set<readonly [net.Socket, net.Socket]>()
  const road = net.createServer((near) => {
    const far = net.connect(port, to.hostname)
    near.on("error", () => undefined).pipe(far).on("error", () => undefined).pipe(near)
    pairs.add([near, far])
  })
  await new Promise<void>((resolve) => road.listen(0, "127.0.0.1", resolve))
  const address = road.address()
  to.port = String(typeof address === "object" && address !== null ? address.port : 0)
  return {
    url: to.href,
    silence: () => {
      for (const [near, far] of pairs) {
        near.unpipe()
        far.unpipe()
        near.on("data", () => undefined)
        far.on("data", () => undefined)
      }
    },
    lead: (next) => {
      port = Number(new URL(next).port)
    },
    close: async () => {
      for (const pair of pairs) for (const socket of pair) socket.destroy()
      await new Promise((resolve) => road.close(resolve))
    }
  }
}
