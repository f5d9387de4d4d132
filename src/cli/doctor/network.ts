/** The listening address and the servers that are set: asked by connecting, with a deadline. */
import * as net from "node:net"
import * as tls from "node:tls"
import * as Redacted from "effect/Redacted"
import { codeOf, messageOf } from "#actors/thrown.ts"
import type { Loaded } from "#src/cli/environment.ts"
import { listenerOn, parentOf } from "#src/cli/processes.ts"
import { localUrlOf } from "#src/platform/configuration/address.ts"
import type { RunningGateway } from "#src/cli/RunningGateway.ts"
import { broken, type Finding, note, ok, warning } from "./Finding.ts"

/** ms for one answer. */
const patience = 3_000

/** Null when the address can be listened on, else the system's code. */
const tryListen = (host: string, port: number) =>
  new Promise<string | null>((resolve) => {
    const server = net.createServer()
    server.once("error", (error) => resolve(codeOf(error) || String(error)))
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(null)))
  })

const versionAt = async (settings: Loaded): Promise<string | null> => {
  if (settings.tlsCert !== null) return null
  try {
    const answer = await fetch(`${localUrlOf(settings, settings.port)}/api/health/ping`, { signal: AbortSignal.timeout(patience) })
    return answer.headers.get("x-gateway-version")
  } catch {
    return null
  }
}

export const port = async (settings: Loaded, running: RunningGateway | null): Promise<Finding> => {
  const at = `${settings.host}:${settings.port}`
  const code = settings.port === 0 ? null : await tryListen(settings.host, settings.port)
  if (code === null) return ok("port", settings.port === 0 ? `${settings.host}, any free port` : `${at} is free`)
  if (code === "EADDRINUSE") {
    const owner = listenerOn(settings.port)
    if (owner !== null && owner.pid === running?.pid) return note("port", `${at} is served by this gateway, process ${owner.pid}`)
    if (owner !== null && running !== null && parentOf(owner.pid) === running.pid) {
      return note("port", `${at} is served by this gateway: workers of process ${running.pid}`)
    }
    const version = await versionAt(settings)
    const holder = owner === null ? "another process" : `process ${owner.pid} (${owner.command})`
    return broken("port", `${at} is in use by ${version === null ? holder : `a gateway ${version}, ${holder}`}`,
      "Stop that process, or choose another port with PORT or --port.")
  }
  if (code === "EADDRNOTAVAIL") return broken("port", `this machine has no address ${settings.host}`, "Set HOST to 127.0.0.1, 0.0.0.0, ::, or an address of this machine.")
  if (code === "EACCES") return broken("port", `port ${settings.port} needs rights that this user lacks`, "Choose a port from 1024 up, or grant CAP_NET_BIND_SERVICE.")
  return broken("port", `${at} cannot be listened on: ${code}`, "Mend HOST and PORT.")
}

/** One PING over the wire: no driver is needed to know whether the server answers. */
const ping = (url: URL) =>
  new Promise<string>((resolve, reject) => {
    const options = { host: url.hostname.replace(/^\[|\]$/g, ""), port: Number(url.port || 6379) }
    const socket = url.protocol === "rediss:" ? tls.connect({ ...options, servername: url.hostname }) : net.connect(options)
    let answer = ""
    const bulk = (...parts: ReadonlyArray<string>) => `*${parts.length}\r\n${parts.map((part) => `$${Buffer.byteLength(part)}\r\n${part}\r\n`).join("")}`
    const password = decodeURIComponent(url.password)
    const user = decodeURIComponent(url.username)
    socket.setTimeout(patience, () => socket.destroy(new Error(`no answer within ${patience} ms`)))
    socket.once("error", reject)
    socket.once("close", () => reject(new Error("the server closed the connection")))
    socket.once(url.protocol === "rediss:" ? "secureConnect" : "connect", () => {
      if (password !== "") socket.write(user === "" ? bulk("AUTH", password) : bulk("AUTH", user, password))
      socket.write(bulk("PING"))
    })
    socket.on("data", (chunk) => {
      answer += chunk.toString("latin1")
      const refused = /^-(.*)\r\n/m.exec(answer)
      if (answer.includes("+PONG") || refused !== null) {
        resolve(refused === null ? "" : refused[1] ?? "")
        socket.destroy()
      }
    })
  })

export const redis = async (settings: Loaded): Promise<Finding> => {
  if (settings.redisUrl === null) return ok("redis", "not set: shared state lives in this process")
  const url = new URL(Redacted.value(settings.redisUrl))
  try {
    const refused = await ping(url)
    return refused === "" ? ok("redis", `${url.host} answers`) : broken("redis", `${url.host} refuses: ${refused}`, "Mend user and password in REDIS_URL.")
  } catch (error) {
    return broken("redis", `${url.host} cannot be reached: ${messageOf(error) || codeOf(error)}`, "Start the server, or mend REDIS_URL.")
  }
}

const isLoopback = (host: string): boolean => host === "localhost" || host === "::1" || host.startsWith("127.")

export const exposure = (settings: Loaded, requireApiKey: boolean): Finding =>
  isLoopback(settings.host)
    ? ok("exposure", `${settings.host} is reachable from this machine only`)
    : requireApiKey
      ? ok("exposure", `${settings.host} is reachable by others; REQUIRE_API_KEY is on`)
      : warning("exposure", `REQUIRE_API_KEY is off and ${settings.host} is reachable by others: any client can spend your provider credits`,
        "Set REQUIRE_API_KEY=true, or HOST=127.0.0.1.")
