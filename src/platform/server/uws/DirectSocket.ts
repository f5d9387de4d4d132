/**
 * The socket of a socket route over uWebSockets. Bytes that the client does not take lie in the native buffer; `drain` events tell
 * when it has taken them. What is sent inside a native callback waits for a turn outside it, because one native cork holds 16 kB.
 */
import type { AbortReason } from "#src/platform/server/Exchange.ts"
import type { Accept, ServerSocket, SocketHandler, SocketOptions } from "#src/platform/server/sockets/ServerSocket.ts"
import type { Watch, Watched } from "#src/platform/server/Watch.ts"
import type { NativeWebSocket } from "./native.ts"
import type { SocketOwner } from "./SocketOwner.ts"
import type { WebSocketLimits } from "./UwsSocket.ts"

/** What all direct sockets of one server share. */
export interface DirectSocketHost {
  readonly limits: WebSocketLimits
  /** Bytes a producer may send ahead of its client. */
  readonly maxPendingBytes: number
  /** Time without progress while the client is behind. */
  readonly slowReaderMillis: number
  readonly watch: Watch
  readonly onDefect: (error: unknown) => void
}

/** Bytes of messages that leave in one native cork. */
const CORK_BYTES = 14 * 1024


export class DirectSocket implements ServerSocket, SocketOwner, Watched {
  private readonly host: DirectSocketHost
  private readonly options: SocketOptions
  private readonly makeHandler: (socket: ServerSocket) => SocketHandler
  private handler: SocketHandler | undefined
  private ws: NativeWebSocket<unknown> | undefined
  /** Inside a native callback, or in the turn that it began. */
  private inParser = false
  private queue: Array<string | Uint8Array> = []
  private queuedBytes = 0
  private blocked = false
  private progressAt = 0
  private seenAt = 0
  private pingedAt = 0
  private ending: { readonly code: number; readonly reason: string } | undefined
  private cutAs: AbortReason | undefined
  private over = false

  constructor(host: DirectSocketHost, options: SocketOptions, makeHandler: (socket: ServerSocket) => SocketHandler) {
    this.host = host
    this.options = options
    this.makeHandler = makeHandler
  }

  get closed(): boolean {
    return this.over || this.ending !== undefined
  }

  get pendingBytes(): number {
    return this.queuedBytes + (this.ws === undefined ? 0 : this.ws.getBufferedAmount())
  }

  send(message: string | Uint8Array): boolean {
    if (this.closed) return false
    if (this.ws === undefined || this.inParser || this.queue.length > 0) {
      const own = typeof message === "string" ? message : Buffer.from(message)
      this.queue.push(own)
      this.queuedBytes += typeof own === "string" ? own.length : own.byteLength
      return this.checkRoom()
    }
    // What left at once leaves nothing behind.
    return this.give(this.ws, message) === SENT ? !this.over : this.checkRoom()
  }

  close(code: number, reason: string): void {
    if (this.closed) return
    this.ending = { code, reason }
    if (this.ws !== undefined && !this.inParser) this.flush()
  }

  // ---- from the native side -----------------------------------------------------------------------------------------

  opened(ws: NativeWebSocket<unknown>): void {
    this.ws = ws
    this.seenAt = this.pingedAt = performance.now()
    this.enterParser()
    this.host.watch.add(this)
    this.guard(() => {
      this.handler = this.makeHandler(this)
    })
  }

  message(data: ArrayBuffer, isBinary: boolean): void {
    this.seenAt = performance.now()
    if (this.closed) return
    this.enterParser()
    if (data.byteLength > this.options.maxMessageBytes) return this.close(1009, "message_too_large")
    // The native buffer is detached when this returns.
    const bytes = Buffer.from(data.slice(0))
    this.guard(() => this.handler?.message(bytes, isBinary))
  }

  alive(): void {
    this.seenAt = performance.now()
  }

  drained(): void {
    this.enterParser()
    this.progressAt = performance.now()
    this.relieve()
  }

  ended(): void {
    this.finish(this.cutAs ?? "client-closed")
  }

  leave(): void {
    this.guard(() => this.handler?.leave())
  }

  shutdown(): void {
    this.cutAs ??= "shutdown"
    this.close(1001, "server is shutting down")
  }

  /** Called by the watch: pings, and ends a client that is silent or that does not read. */
  tick(now: number): void {
    const { limits, slowReaderMillis } = this.host
    const { pingMillis = limits.pingMillis, silentMillis = limits.silentMillis } = this.options
    if (this.over) return this.host.watch.delete(this)
    const { ws } = this
    if (ws === undefined) return
    if (this.blocked && now - this.progressAt >= slowReaderMillis) return this.cut(ws, "slow-reader")
    if (now - this.seenAt >= silentMillis) {
      this.cutAs ??= "client-closed"
      if (this.ending !== undefined || this.blocked) this.cut(ws, "client-closed")
      else this.close(1001, "idle_timeout")
      return
    }
    if (now - this.pingedAt < pingMillis) return
    this.pingedAt = now
    ws.ping()
  }

  // ---- sending ------------------------------------------------------------------------------------------------------

  private enterParser(): void {
    if (this.inParser) return
    this.inParser = true
    setImmediate(() => {
      this.inParser = false
      if (!this.over) this.flush()
    })
  }

  private flush(): void {
    const { ws } = this
    if (ws === undefined) return
    let at = 0
    const { queue } = this
    while (at < queue.length && !this.over) {
      ws.cork(() => {
        let bytes = 0
        while (at < queue.length && (bytes === 0 || bytes < CORK_BYTES)) {
          const message = queue[at++]!
          bytes += message.length
          if (ws.send(message, false) === DROPPED) this.cutAs = "slow-reader"
        }
      })
    }
    this.queue = []
    this.queuedBytes = 0
    if (this.over) return
    if (this.cutAs === "slow-reader") return this.cut(ws, "slow-reader")
    if (this.ending !== undefined) return ws.end(this.ending.code, this.ending.reason)
    this.checkRoom()
    this.relieve()
  }

  private give(ws: NativeWebSocket<unknown>, message: string | Uint8Array): number {
    const result = ws.send(message, false)
    if (result === DROPPED) this.cut(ws, "slow-reader")
    return result
  }

  private checkRoom(): boolean {
    if (this.over) return false
    const pending = this.pendingBytes
    if (pending <= this.host.limits.highWaterBytes) return true
    if (pending > this.host.maxPendingBytes && this.ws !== undefined && this.blocked) {
      this.cut(this.ws, "slow-reader")
      return false
    }
    if (!this.blocked) {
      this.blocked = true
      this.progressAt = performance.now()
    }
    return false
  }

  private relieve(): void {
    if (!this.blocked || this.over || this.pendingBytes > this.host.limits.highWaterBytes / 2) return
    this.blocked = false
    this.guard(() => this.handler?.drained())
  }

  /** Without a close message: the client does not read, or is not there. */
  private cut(ws: NativeWebSocket<unknown>, reason: AbortReason): void {
    this.cutAs = reason
    ws.close()
  }

  private finish(reason: AbortReason): void {
    if (this.over) return
    this.over = true
    this.ws = undefined
    this.queue = []
    this.queuedBytes = 0
    this.host.watch.delete(this)
    this.guard(() => this.handler?.closed(reason))
  }

  private guard(run: () => void): void {
    try {
      run()
    } catch (error) {
      this.host.onDefect(error)
      this.close(1011, "internal_error")
    }
  }
}

/** What the native `send` answers; 0: some of it waits in the native buffer. */
const SENT = 1
const DROPPED = 2

/** `handshake` answers the client and calls `opened` before it returns. */
export const acceptOver = (host: DirectSocketHost, handshake: (owner: SocketOwner) => boolean): Accept => (options, open) =>
  handshake(new DirectSocket(host, options, open))
