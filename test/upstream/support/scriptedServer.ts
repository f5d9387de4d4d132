/** A hand-written peer on 127.0.0.1: it reads requests and sends exactly the bytes that a test scripts. */
import * as net from "node:net"
import * as tls from "node:tls"

/** A fact that a test waits for. */
export interface Latch<A = void> {
  readonly done: Promise<A>
  readonly open: (value: A) => void
}

export const latch = <A = void>(): Latch<A> => {
  let open: (value: A) => void = () => {}
  const done = new Promise<A>((resolve) => {
    open = resolve
  })
  return { done, open }
}

/** One accepted connection, as the server sees it. */
export class Peer {
  readonly socket: net.Socket
  readonly index: number
  /** Resolves when the socket is closed, however. */
  readonly closed: Promise<void>
  received: Buffer = Buffer.alloc(0)
  requests = 0
  error: Error | null = null

  constructor(socket: net.Socket, index: number) {
    this.socket = socket
    this.index = index
    this.closed = new Promise((resolve) => socket.once("close", () => resolve()))
    socket.on("error", (error) => {
      this.error = error
    })
  }

  write(bytes: string | Uint8Array): boolean {
    return this.socket.write(bytes)
  }

  /** RST instead of FIN. */
  reset(): void {
    this.socket.resetAndDestroy()
  }
}

export interface RequestSeen {
  readonly head: string
  readonly body: Buffer
  readonly peer: Peer
  /** 0 for the first request on this socket. */
  readonly index: number
}

export type Script = (request: RequestSeen) => void

/** Splits what arrived into requests with a content-length body. */
const takeRequest = (bytes: Buffer): { readonly head: string; readonly body: Buffer; readonly rest: Buffer } | null => {
  const end = bytes.indexOf("\r\n\r\n")
  if (end < 0) return null
  const head = bytes.toString("latin1", 0, end)
  const length = Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1] ?? 0)
  if (bytes.length < end + 4 + length) return null
  return { head, body: bytes.subarray(end + 4, end + 4 + length), rest: bytes.subarray(end + 4 + length) }
}

export interface Scripted extends AsyncDisposable {
  readonly port: number
  readonly host: string
  readonly origin: string
  readonly peers: ReadonlyArray<Peer>
  /** The n-th accepted connection. */
  readonly accepted: (index: number) => Promise<Peer>
}

export interface ServerOptions {
  readonly host?: string
  readonly tls?: { readonly key: string; readonly cert: string }
  /** Sees a new connection before any byte. */
  readonly onConnect?: (peer: Peer) => void
}

export const start = async (script: Script, options: ServerOptions = {}): Promise<Scripted> => {
  const peers: Array<Peer> = []
  const waiting = new Map<number, Latch<Peer>>()
  const onSocket = (socket: net.Socket) => {
    const peer = new Peer(socket, peers.length)
    peers.push(peer)
    waiting.get(peer.index)?.open(peer)
    options.onConnect?.(peer)
    socket.on("data", (chunk: Buffer) => {
      peer.received = Buffer.concat([peer.received, chunk])
      for (let seen = takeRequest(peer.received); seen !== null; seen = takeRequest(peer.received)) {
        peer.received = seen.rest
        script({ head: seen.head, body: seen.body, peer, index: peer.requests++ })
      }
    })
  }
  const server: net.Server = options.tls === undefined
    ? net.createServer({ noDelay: true }, onSocket)
    : tls.createServer({ ...options.tls, ALPNProtocols: ["http/1.1"] }, onSocket)
  if (options.tls !== undefined) server.on("tlsClientError", () => {})
  await new Promise<void>((resolve) => server.listen(0, options.host ?? "127.0.0.1", resolve))
  const address = server.address()
  const port = typeof address === "object" && address !== null ? address.port : 0
  const host = options.host ?? "127.0.0.1"
  return {
    port,
    host,
    origin: `${options.tls === undefined ? "http" : "https"}://${host}:${port}`,
    peers,
    accepted: (index) => {
      const known = peers[index]
      if (known !== undefined) return Promise.resolve(known)
      const wait = waiting.get(index) ?? latch<Peer>()
      waiting.set(index, wait)
      return wait.done
    },
    [Symbol.asyncDispose]: () =>
      new Promise((resolve) => {
        for (const peer of peers) peer.socket.destroy()
        server.close(() => resolve())
      })
  }
}

/** `HTTP/1.1 200` with a content-length body. */
export const answer = (body: string | Buffer, headers = ""): Buffer => {
  const bytes = Buffer.from(body)
  return Buffer.concat([Buffer.from(`HTTP/1.1 200 OK\r\ncontent-length: ${bytes.length}\r\n${headers}\r\n`), bytes])
}

export const chunkedHead = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"

export const chunk = (body: string | Uint8Array): Buffer => {
  const bytes = Buffer.from(body)
  return Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from("\r\n")])
}

export const lastChunk = "0\r\n\r\n"

/** A port on 127.0.0.1 on which nothing listens. */
export const unusedPort = async (): Promise<number> => {
  const server = await start(() => {})
  await server[Symbol.asyncDispose]()
  return server.port
}
