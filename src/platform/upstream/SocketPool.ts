/**
 * The sockets of one origin (by one proxy): a stack of idle ones, a queue for the calls above the cap.
 *
 * An idle socket is popped, the warmest first, so that cold ones can expire; nothing ever walks the busy ones. What waits for what is
 * known exactly: a call is queued, connecting or sent.
 */
import type { OnReadOpts } from "node:net"
import type { OutboundProxy } from "#actors/request/ports/OutboundProxy.ts"
import type { HttpCall } from "./HttpCall.ts"
import type { Dial, Dialed, Dialer, SessionSlot, DialTarget } from "./Dialer.ts"
import { peerOf } from "./Dialer.ts"
import * as EgressProxy from "./EgressProxy.ts"
import type { TunnelCounts } from "./egress/TunnelCounts.ts"
import { Http1Connection } from "./Http1Connection.ts"
import type { ConnectionOwner } from "./Http1Connection.ts"
import { RequestHeads } from "./request/RequestHead.ts"
import { WheelEntry } from "./TimerWheel.ts"
import type { TimerWheel } from "./TimerWheel.ts"

export interface PoolSettings {
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
  /** What this gateway calls itself in the header of hops; null = no header. */
  readonly hop: string | null
  /** Time for TCP and TLS to a proxy, in ms. */
  readonly proxyConnectMs: number
}

/** Longest idle time that a server's `keep-alive: timeout=` may ask for, in ms. */
const maxKeepAliveMs = 120_000
/** Taken off the server's own `keep-alive: timeout=`, in ms: the margin against the race with its close. */
const keepAliveMarginMs = 1_000

/** Closes the idle sockets of a pool in time: one entry in the wheel per pool, not one per socket. */
class IdleWatch extends WheelEntry {
  readonly #pool: SocketPool

  constructor(pool: SocketPool) {
    super()
    this.#pool = pool
  }

  onTick(now: number): number {
    return this.#pool.expire(now)
  }
}

export class SocketPool implements ConnectionOwner {
  readonly key: string
  readonly origin: string
  /** `host:port` for messages, with the proxy when there is one. */
  readonly peer: string
  readonly target: DialTarget
  readonly now: () => number
  readonly heads: RequestHeads
  lastUsedAt = 0
  /** Calls that hold a socket or are getting one. */
  running = 0
  readonly #dialer: Dialer
  readonly #settings: PoolSettings
  readonly tunnelled: boolean
  readonly proxy: OutboundProxy | null
  readonly #tunnels: TunnelCounts | null
  readonly #trusted: boolean
  readonly #sessions: SessionSlot = { session: undefined }
  readonly #proxySessions: SessionSlot = { session: undefined }
  readonly #wheel: TimerWheel
  readonly #idleWatch: IdleWatch = new IdleWatch(this)
  readonly #all = new Set<Http1Connection>()
  /** The warmest is the last. */
  readonly #idle: Array<Http1Connection> = []
  readonly #queue = new Set<HttpCall>()
  #retired = false

  constructor(options: {
    readonly key: string
    readonly origin: string
    /** The origin's `name[:port]`, for the host header. */
    readonly host: string
    readonly target: DialTarget
    readonly proxy: OutboundProxy | null
    /** What becomes of its tunnels is counted there. */
    readonly tunnels: TunnelCounts | null
    /** True for an origin of this process itself (the simulator): not subject to the flags. */
    readonly trusted: boolean
    readonly dialer: Dialer
    readonly settings: PoolSettings
    readonly wheel: TimerWheel
  }) {
    this.key = options.key
    this.origin = options.origin
    this.target = options.target
    this.peer = peerOf(options.target) + (options.proxy === null ? "" : ` through the proxy ${options.proxy.id}`)
    this.now = options.wheel.now
    this.#wheel = options.wheel
    this.heads = new RequestHeads(options.host, options.settings.hop)
    this.tunnelled = options.proxy !== null
    this.proxy = options.proxy
    this.#tunnels = options.tunnels
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
  submit(call: HttpCall, fresh: boolean): boolean {
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
  leaveQueue(call: HttpCall): void {
    this.#queue.delete(call)
  }

  onIdle(connection: Http1Connection, hintMs: number): void {
    const idleMs = hintMs < 0 ? this.#settings.keepAliveMs : Math.min(hintMs - keepAliveMarginMs, maxKeepAliveMs)
    if (idleMs <= 0 || (this.#retired && this.#queue.size === 0)) return connection.close()
    for (const call of this.#queue) {
      this.#queue.delete(call)
      this.#assign(connection, call)
      return
    }
    connection.idleUntil = this.now() + idleMs
    this.#idle.push(connection)
    this.#wheel.schedule(this.#idleWatch, connection.idleUntil)
  }

  /** Closes the sockets whose idle time is over; answers when to look again. */
  expire(now: number): number {
    let next = Infinity
    for (let i = this.#idle.length - 1; i >= 0; i--) {
      const connection = this.#idle[i]
      if (connection === undefined) continue
      if (connection.idleUntil <= now) connection.close()
      else if (connection.idleUntil < next) next = connection.idleUntil
    }
    return next
  }

  drop(connection: Http1Connection): void {
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

  dial(onread: OnReadOpts, done: Dialed): Dial {
    return this.proxy === null
      ? this.#dialer.connect(this.target, this.#trusted ? null : "provider", this.#sessions, onread, done)
      : this.#tunnel(this.proxy, done)
  }

  #tunnel(proxy: OutboundProxy, done: Dialed): Dial {
    const tunnels = this.#tunnels
    const since = this.now()
    const counted: Dialed = tunnels === null ? done : (error, socket) => {
      // TLS inside the tunnel is the target's: the tunnel stood.
      if (error === null || error.reason === "tls") tunnels.made(proxy.id, this.now() - since)
      else if (error.reason === "proxy" && !error.ofTarget) tunnels.setAside(proxy)
      done(error, socket)
    }
    return EgressProxy.connect(this.#dialer, proxy, this.#settings.proxyConnectMs, this.target, this.#proxySessions, this.#sessions, counted)
  }

  /** A call failed because its proxy did. */
  noteProxyFailed(message: string): void {
    if (this.proxy !== null) this.#tunnels?.failed(this.proxy.id, message)
  }

  /** A call waited in vain for the tunnel. */
  noteProxySilent(): void {
    if (this.proxy !== null) this.#tunnels?.setAside(this.proxy)
  }

  /** Keeps no socket from now on; running calls end as they would. */
  retire(): void {
    this.#retired = true
    for (const connection of this.#idle.splice(0)) connection.close()
  }

  /** Closes every socket. */
  close(): void {
    this.#queue.clear()
    for (const connection of this.#all) connection.close()
    this.#wheel.cancel(this.#idleWatch)
  }

  #usable(connection: Http1Connection): boolean {
    if (connection.closed) return false
    const now = this.now()
    if (now >= connection.idleUntil || now - connection.bornAt > this.#settings.maxSocketAgeMs) return false
    if (this.#trusted || now - connection.checkedAt < this.#settings.recheckMs) return true
    connection.checkedAt = now
    return this.#dialer.checkAddress(
      this.proxy === null ? this.target.host : this.proxy.host,
      connection.address,
      this.proxy === null ? "provider" : "proxy"
    ) === null
  }

  #add(): Http1Connection {
    const connection = new Http1Connection(this, this.#settings.maxHeadBytes)
    this.#all.add(connection)
    return connection
  }

  #assign(connection: Http1Connection, call: HttpCall): void {
    call.onAssigned(connection)
    connection.assign(call)
  }
}
