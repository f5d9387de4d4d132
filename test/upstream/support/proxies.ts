/** Small local proxies for tests: HTTP CONNECT and SOCKS5, with credentials and scripted misbehaviour. */
import * as net from "node:net"
import * as tls from "node:tls"
import { latch } from "./scriptedServer.ts"
import { cert, key } from "./selfSigned.ts"

export interface LocalProxy extends AsyncDisposable {
  readonly port: number
  /** `host:port` of every tunnel that was asked for. */
  readonly tunnels: ReadonlyArray<string>
  /** Credentials as they were sent, one per connection. */
  readonly credentials: ReadonlyArray<string>
  readonly sockets: ReadonlyArray<net.Socket>
  /** Resolves when the first connection is closed. */
  readonly firstClosed: Promise<void>
}

export interface ProxyOptions {
  readonly tls?: boolean
  /** Credentials that are asked for, `user:password`. */
  readonly expect?: string
  /** Where every tunnel really goes: names need no resolver. */
  readonly to: { readonly host: string; readonly port: number }
  /** Takes the connection and never answers. */
  readonly silent?: boolean
  /** Sent instead of any answer. */
  readonly instead?: string
  /** Answers byte by byte. */
  readonly slow?: boolean
}

type Session = (socket: net.Socket, state: { readonly tunnels: Array<string>; readonly credentials: Array<string> }) => void

const start = async (options: ProxyOptions, session: Session): Promise<LocalProxy> => {
  const tunnels: Array<string> = []
  const credentials: Array<string> = []
  const sockets: Array<net.Socket> = []
  const closed = latch()
  const onSocket = (socket: net.Socket) => {
    sockets.push(socket)
    socket.on("error", () => {})
    if (options.silent === true) socket.resume()
    else if (options.instead !== undefined) socket.once("data", () => socket.write(options.instead ?? ""))
    else session(socket, { tunnels, credentials })
  }
  const server = options.tls === true ? tls.createServer({ key, cert }, onSocket) : net.createServer(onSocket)
  // Before any TLS: a handshake may be cut before it is complete.
  server.on("connection", (socket: net.Socket) => socket.once("close", () => closed.open()))
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const address = server.address()
  return {
    port: typeof address === "object" && address !== null ? address.port : 0,
    tunnels,
    credentials,
    sockets,
    firstClosed: closed.done,
    [Symbol.asyncDispose]: () =>
      new Promise((resolve) => {
        for (const socket of sockets) socket.destroy()
        server.close(() => resolve())
      })
  }
}

const join = (client: net.Socket, to: ProxyOptions["to"]): void => {
  const target = net.connect(to)
  client.on("close", () => target.destroy())
  target.on("close", () => client.destroy())
  target.on("error", () => client.destroy())
  client.pipe(target).pipe(client)
}

const send = async (socket: net.Socket, bytes: Uint8Array, slow: boolean): Promise<void> => {
  const step = slow ? 1 : bytes.length
  for (let at = 0; at < bytes.length; at += step) {
    await new Promise<void>((resolve) => socket.write(bytes.subarray(at, at + step), () => setImmediate(resolve)))
  }
}

/** Collects bytes until `take` answers. */
const read = <A>(socket: net.Socket, take: (bytes: Buffer) => A | null): Promise<A> =>
  new Promise((resolve) => {
    let bytes = Buffer.alloc(0)
    const onData = (chunk: Buffer) => {
      bytes = Buffer.concat([bytes, chunk])
      const taken = take(bytes)
      if (taken === null) return
      socket.removeListener("data", onData)
      socket.pause()
      resolve(taken)
    }
    socket.on("data", onData)
    socket.resume()
  })

export const http = (options: ProxyOptions): Promise<LocalProxy> =>
  start(options, (socket, { credentials, tunnels }) => {
    void (async () => {
      const head = await read(socket, (bytes) => bytes.includes("\r\n\r\n") ? bytes.toString("latin1") : null)
      const sent = /proxy-authorization: Basic (\S+)/i.exec(head)?.[1]
      credentials.push(sent === undefined ? "" : Buffer.from(sent, "base64").toString())
      const slow = options.slow === true
      if (options.expect !== undefined && credentials.at(-1) !== options.expect) {
        return send(socket, Buffer.from("HTTP/1.1 407 Proxy Authentication Required\r\nproxy-authenticate: Basic\r\n\r\n"), slow)
      }
      tunnels.push(head.split(" ")[1] ?? "")
      await send(socket, Buffer.from("HTTP/1.1 200 Connection established\r\nvia: test\r\n\r\n"), slow)
      join(socket, options.to)
      return undefined
    })()
  })

export const socks5 = (options: ProxyOptions): Promise<LocalProxy> =>
  start(options, (socket, { credentials, tunnels }) => {
    void (async () => {
      const slow = options.slow === true
      const methods = await read(socket, (bytes) => bytes.length >= 2 && bytes.length >= 2 + (bytes[1] ?? 0) ? bytes : null)
      if (options.expect === undefined) await send(socket, Buffer.from([5, 0]), slow)
      else {
        if (!methods.subarray(2).includes(2)) return send(socket, Buffer.from([5, 255]), slow)
        await send(socket, Buffer.from([5, 2]), slow)
        const [user, password] = await read(socket, (bytes) => {
          const userEnd = 2 + (bytes[1] ?? 0)
          const end = userEnd + 1 + (bytes[userEnd] ?? 0)
          return bytes.length < userEnd + 1 || bytes.length < end ? null : [bytes.toString("utf8", 2, userEnd), bytes.toString("utf8", userEnd + 1, end)]
        })
        credentials.push(`${user}:${password}`)
        if (credentials.at(-1) !== options.expect) return send(socket, Buffer.from([1, 1]), slow)
        await send(socket, Buffer.from([1, 0]), slow)
      }
      const request = await read(socket, (bytes) => {
        const kind = bytes[3]
        const length = kind === 1 ? 10 : kind === 4 ? 22 : 7 + (bytes[4] ?? 0)
        return bytes.length >= 5 && bytes.length >= length ? bytes : null
      })
      const host = request[3] === 3
        ? request.toString("latin1", 5, 5 + (request[4] ?? 0))
        : request[3] === 1 ? [...request.subarray(4, 8)].join(".") : request.subarray(4, 20).toString("hex")
      tunnels.push(`${host}:${request.readUInt16BE(request.length - 2)}`)
      // The reply may carry an address of any kind: here a name.
      await send(socket, Buffer.from([5, 0, 0, 3, 4, 116, 101, 115, 116, 0, 80]), slow)
      join(socket, options.to)
      return undefined
    })()
  })
