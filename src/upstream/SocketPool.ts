/**
 * The sockets of one origin (by one proxy): one undici client per socket, a stack of idle ones, a queue for the calls above the cap.
 *
 * undici's own Pool looks for a free client by walking all of them, twice per request: with a thousand open streams that costs more
 * than the request. Here an idle socket is popped (the warmest first, so that cold ones can expire), and what waits for what is known
 * exactly: a call is queued, connecting or sent.
 */
import Client from "undici/lib/dispatcher/client.js"
import type { EventEmitter } from "node:events"
import type { buildConnector } from "undici"
import type { Call } from "./Call.ts"
import type { Dial, Dialed, Dialer, SessionSlot, Target } from "./Dialer.ts"
import { peerOf } from "./Dialer.ts"
import * as EgressProxy from "./EgressProxy.ts"
import { DialError } from "./failures.ts"

export interface Settings {
  /** Sockets per origin and proxy. */
  readonly connections: number
  /** Calls that may wait for a socket, per origin and proxy. */
  readonly maxQueued: number
  /** How long an idle socket is kept, in ms, unless the server names a time itself. */
  readonly keepAliveMs: number
  /** A socket older than this serves no further call, in ms: DNS changes and revoked addresses take hold. */
  readonly maxSocketAgeMs: number
  /** Largest response head in bytes. */
  readonly maxHeadBytes: number
  /** An idle socket's address is checked by the guard again when the last check is older than this, in ms. */
  readonly recheckMs: number
}

/** Longest idle time that a server's `keep-alive: timeout=` may ask for, in ms. */
const maxKeepAliveMs = 120_000
/** Taken off the server's own `keep-alive: timeout=`, in ms: the margin against the race with its close. */
const keepAliveMarginMs = 1_000

/** One socket and the undici client that drives it. */
export class Connection {
  readonly client: Client
  readonly pool: SocketPool
  /** The call that owns the socket; null when idle. */
  call: Call | null = null
  dial: Dial | null = null
  address = ""
  closed = false
  bornAt = 0
  checkedAt = 0
  /** Calls that this socket has completed. */
  served = 0

  constructor(pool: SocketPool, settings: Settings) {
    this.pool = pool
    this.client = new Client(pool.origin, {
      connect: (_options, callback) => {
        this.#connect(callback)
      },
      pipelining: 1,
      allowH2: false,
      // Both are the timer wheel's work; undici would arm a timer of its own per phase.
      headersTimeout: 0,
      bodyTimeout: 0,
      keepAliveTimeout: settings.keepAliveMs,
      keepAliveMaxTimeout: maxKeepAliveMs,
      keepAliveTimeoutThreshold: keepAliveMarginMs,
      maxHeaderSize: settings.maxHeadBytes
    })
    this.client.on("drain", () => this.pool.onIdle(this))
    this.client.on("disconnect", () => this.#onDisconnect())
    this.client.on("connectionError", () => this.pool.drop(this))
    // A throwing handler is reported here by undici; the call has failed by then, and an unheard "error" would end the process.
    const events: EventEmitter = this.client
    events.on("error", () => this.close())
  }

  /** Ends the socket or the attempt to make one, at once. */
  close(): void {
    this.pool.drop(this)
    this.dial?.cancel()
    this.dial = null
    void this.client.destroy(null)
  }

  #connect(callback: buildConnector.Callback): void {
    this.served = 0
    this.call?.onConnecting()
    this.dial = this.pool.dial((error, socket) => {
      this.dial = null
      if (socket === null || socket.destroyed) {
        return callback(error ?? new DialError("reset", `${this.pool.peer} closed the connection while it was being made`), null)
      }
      this.bornAt = this.pool.now()
      this.checkedAt = this.bornAt
      this.address = socket.remoteAddress ?? ""
      callback(null, socket)
    })
  }

  #onDisconnect(): void {
    // A call that was not written yet stays: undici connects again for it. Everything else ends the connection.
    if (this.call === null) this.pool.drop(this)
  }
}

export class SocketPool {
  readonly key: string
  readonly origin: string
  /** `host:port` for messages, with the proxy when there is one. */
  readonly peer: string
  readonly target: Target
  readonly now: () => number
  lastUsedAt = 0
  /** Calls that hold a socket or are getting one. */
  running = 0
  readonly #dialer: Dialer
  readonly #settings: Settings
  readonly #proxy: EgressProxy.Proxy | null
  readonly #trusted: boolean
  readonly #sessions: SessionSlot = { session: undefined }
  readonly #proxySessions: SessionSlot = { session: undefined }
  readonly #all = new Set<Connection>()
  readonly #idle: Array<Connection> = []
  readonly #queue = new Set<Call>()

  constructor(options: {
    readonly key: string
    readonly origin: string
    readonly target: Target
    readonly proxy: EgressProxy.Proxy | null
    /** True for an origin of this process itself (the simulator): not subject to the flags. */
    readonly trusted: boolean
    readonly dialer: Dialer
    readonly settings: Settings
    readonly now: () => number
  }) {
    this.key = options.key
    this.origin = options.origin
    this.target = options.target
    this.peer = peerOf(options.target) + (options.proxy === null ? "" : ` through the proxy ${peerOf(options.proxy.target)}`)
    this.now = options.now
    this.#proxy = options.proxy
    this.#trusted = options.trusted
    this.#dialer = options.dialer
    this.#settings = options.settings
  }

  get pending(): number {
    return this.#queue.size
  }

  get sockets(): number {
    return this.#all.size
  }

  /** Gives the call a socket now, or a place in the queue; false when the queue is full. `fresh` passes idle sockets by. */
  submit(call: Call, fresh: boolean): boolean {
    if (!fresh) {
      for (let connection = this.#idle.pop(); connection !== undefined; connection = this.#idle.pop()) {
        if (this.#usable(connection)) {
          this.#assign(connection, call)
          return true
        }
        connection.close()
      }
    } else if (this.#all.size >= this.#settings.connections) this.#idle.pop()?.close()
    if (this.#all.size < this.#settings.connections) {
      this.#assign(this.#add(), call)
      return true
    }
    if (this.#queue.size >= this.#settings.maxQueued) return false
    this.#queue.add(call)
    return true
  }

  /** The call does not want a socket any more. */
  leaveQueue(call: Call): void {
    this.#queue.delete(call)
  }

  /** The socket's response is complete and undici is ready for another request. */
  onIdle(connection: Connection): void {
    if (connection.closed || connection.call !== null) return
    for (const call of this.#queue) {
      this.#queue.delete(call)
      this.#assign(connection, call)
      return
    }
    this.#idle.push(connection)
  }

  /** The socket is gone (or must not be used again): a queued call gets a new one. */
  drop(connection: Connection): void {
    if (connection.closed) return
    connection.closed = true
    this.#all.delete(connection)
    const place = this.#idle.indexOf(connection)
    if (place >= 0) this.#idle.splice(place, 1)
    for (const call of this.#queue) {
      if (this.#all.size >= this.#settings.connections) break
      this.#queue.delete(call)
      this.#assign(this.#add(), call)
      break
    }
  }

  dial(done: Dialed): Dial {
    return this.#proxy === null
      ? this.#dialer.connect(this.target, this.#trusted ? null : "provider", this.#sessions, done)
      : EgressProxy.connect(this.#dialer, this.#proxy, this.target, this.#proxySessions, this.#sessions, done)
  }

  /** Closes every socket. */
  close(): void {
    this.#queue.clear()
    for (const connection of this.#all) connection.close()
  }

  #usable(connection: Connection): boolean {
    if (connection.closed) return false
    const now = this.now()
    if (now - connection.bornAt > this.#settings.maxSocketAgeMs) return false
    if (this.#trusted || now - connection.checkedAt < this.#settings.recheckMs) return true
    connection.checkedAt = now
    return this.#dialer.checkAddress(
      this.#proxy === null ? this.target.host : this.#proxy.target.host,
      connection.address,
      this.#proxy === null ? "provider" : "proxy"
    ) === null
  }

  #add(): Connection {
    const connection = new Connection(this, this.#settings)
    this.#all.add(connection)
    return connection
  }

  #assign(connection: Connection, call: Call): void {
    connection.call = call
    call.onAssigned(connection)
    connection.client.dispatch(call.options, call)
  }
}
