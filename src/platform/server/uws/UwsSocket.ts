/**
 * Effect's `Socket` over one upgraded WebSocket. Writes wait for the client when its socket is full; a client that
 * sends faster than the application reads is closed with 1013, because the native server cannot pause a WebSocket.
 */
import type { NonEmptyReadonlyArray } from "effect/Array"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import * as Socket from "effect/socket/Socket"
import type { NativeWebSocket } from "./native.ts"
import type { SocketOwner } from "./SocketOwner.ts"

export interface WebSocketOptions {
  /** Largest message in bytes; a larger one closes the connection. Default 16 MiB. */
  readonly maxPayloadBytes?: number | undefined
  /** Bytes of unsent messages after which a write waits. Default 256 KiB. */
  readonly highWaterBytes?: number | undefined
  /** Bytes of unread messages after which the client is closed with 1013. Default 32 MiB. */
  readonly maxUnreadBytes?: number | undefined
  /** Seconds without a sign of life before the connection is closed; pings are sent. 8 to 960. Default 120. */
  readonly idleSeconds?: number | undefined
  /** How often a socket of a socket route is pinged, ms. Default 25 seconds. */
  readonly pingMillis?: number | undefined
  /** Time without a sign of life after which such a socket is closed, ms. Default 90 seconds. */
  readonly silentMillis?: number | undefined
}

export type WebSocketLimits = { readonly [K in keyof WebSocketOptions]-?: number }

export const webSocketLimits = (options: WebSocketOptions = {}): WebSocketLimits => ({
  maxPayloadBytes: options.maxPayloadBytes ?? 16 * 1024 * 1024,
  highWaterBytes: options.highWaterBytes ?? 256 * 1024,
  maxUnreadBytes: options.maxUnreadBytes ?? 32 * 1024 * 1024,
  // The native server ends the process for a value outside this range.
  idleSeconds: Math.min(960, Math.max(8, Math.round(options.idleSeconds ?? 120))),
  pingMillis: options.pingMillis ?? 25_000,
  silentMillis: options.silentMillis ?? 90_000
})

type Messages = NonEmptyReadonlyArray<Uint8Array | string>
type Resume<A> = (effect: Effect.Effect<A, Socket.SocketError>) => void

const closed = (code: number, closeReason?: string): Socket.SocketError =>
  new Socket.SocketError({ reason: new Socket.SocketCloseError({ code, closeReason }) })

const notOpen = (message: string): Socket.SocketError =>
  new Socket.SocketError({ reason: new Socket.SocketOpenError({ kind: "Unknown", cause: new Error(message) }) })

const decoder = new TextDecoder()
/** The code for a connection that ended without a close message. */
const ABNORMAL = 1006

/** One upgradeable request: before the handshake a promise of a socket, after it the socket itself. */
export class Upgrade implements SocketOwner {
  readonly socket: Socket.Socket
  /** True once the handshake was sent: the response of the handler is then discarded. */
  upgraded = false
  /** Set by the owner of the fiber; called when the connection broke without a close message. */
  onLost: (() => void) | undefined

  private readonly handshake: (owner: SocketOwner) => boolean
  private readonly options: WebSocketLimits
  private ws: NativeWebSocket<unknown> | undefined
  private unread: Array<Uint8Array | string> = []
  private unreadBytes = 0
  private reading: Resume<Messages> | undefined = undefined
  private readonly writing: Array<Resume<void>> = []
  private opening: Array<Resume<void>> = []
  private error: Socket.SocketError | undefined

  /** `handshake` answers the client and calls `opened` before it returns; false when the client has gone. */
  constructor(handshake: (owner: SocketOwner) => boolean, options: WebSocketLimits) {
    this.handshake = handshake
    this.options = options
    this.socket = Socket.make({ reader: this.reader, writer: Effect.succeed(this.writer) })
  }

  private readonly reader: Socket.Socket["reader"] = Effect.suspend(() => {
    if (!this.upgraded && !this.handshake(this)) {
      return Effect.fail(this.error ?? notOpen("The client closed the connection before the upgrade"))
    }
    return Effect.flatMap(Effect.scope, (scope) =>
      Effect.as(
        Scope.addFinalizerExit(scope, (exit) => Effect.sync(() => this.end(closeCode(exit)))),
        { pull: this.pull, upgrade: Socket.SocketUpgradeError.unsupported }
      ))
  })

  private readonly pull: Effect.Effect<Messages, Socket.SocketError> = Effect.callback((resume) => {
    if (this.unread.length > 0) return resume(Effect.succeed(this.takeUnread()))
    if (this.error !== undefined) return resume(Effect.fail(this.error))
    this.reading = resume
    return Effect.sync(() => {
      if (this.reading === resume) this.reading = undefined
    })
  })

  private readonly writer: Socket.Writer = {
    write: (chunk) => this.whenOpen(() => this.writeOne(chunk)),
    writeAll: (chunks) => this.whenOpen(() => this.writeMany(chunks))
  }

  private whenOpen(write: () => Effect.Effect<void, Socket.SocketError>): Effect.Effect<void, Socket.SocketError> {
    return Effect.suspend(() => {
      if (this.ws !== undefined || this.error !== undefined) return write()
      return Effect.flatMap(Effect.callback<void, Socket.SocketError>((resume) => {
        this.opening.push(resume)
      }), write)
    })
  }

  private writeOne(chunk: Uint8Array | string | Socket.CloseEvent): Effect.Effect<void, Socket.SocketError> {
    if (!Socket.isCloseEvent(chunk)) return this.writeMany([chunk])
    this.end(chunk.code, chunk.reason)
    return Effect.void
  }

  private writeMany(chunks: ReadonlyArray<Uint8Array | string>): Effect.Effect<void, Socket.SocketError> {
    const { ws } = this
    if (ws === undefined) return Effect.fail(this.error!)
    for (const chunk of chunks) {
      if (ws.send(chunk, typeof chunk !== "string") === 2) {
        return Effect.fail(new Socket.SocketError({
          reason: new Socket.SocketWriteError({ cause: new Error("The message was dropped: the client reads too slowly") })
        }))
      }
    }
    if (ws.getBufferedAmount() <= this.options.highWaterBytes) return Effect.void
    return Effect.callback((resume) => {
      this.writing.push(resume)
    })
  }

  private end(code: number, reason?: string): void {
    const { ws } = this
    if (ws === undefined) return
    this.fail(closed(code, reason))
    ws.end(code, reason)
  }

  private takeUnread(): Messages {
    const messages = this.unread
    this.unread = []
    this.unreadBytes = 0
    return messages as unknown as Messages
  }

  private fail(error: Socket.SocketError): void {
    if (this.error !== undefined) return
    this.error = error
    this.ws = undefined
    const { reading } = this
    this.reading = undefined
    if (reading !== undefined) reading(Effect.fail(error))
    for (const resume of this.writing.splice(0)) resume(Effect.fail(error))
    for (const resume of this.opening.splice(0)) resume(Effect.fail(error))
  }

  // ---- from the native side -----------------------------------------------------------------------------------------

  opened(ws: NativeWebSocket<unknown>): void {
    this.ws = ws
    this.upgraded = true
    for (const resume of this.opening.splice(0)) resume(Effect.void)
  }

  message(data: ArrayBuffer, isBinary: boolean): void {
    if (this.error !== undefined) return
    if (data.byteLength > this.options.maxPayloadBytes) return this.end(1009, "message_too_large")
    // The native buffer is detached when this callback returns.
    this.unread.push(isBinary ? new Uint8Array(data.slice(0)) : decoder.decode(data))
    this.unreadBytes += data.byteLength
    const { reading } = this
    if (reading !== undefined) {
      this.reading = undefined
      return reading(Effect.succeed(this.takeUnread()))
    }
    if (this.unreadBytes > this.options.maxUnreadBytes) this.end(1013, "messages are not read fast enough")
  }

  drained(): void {
    const { ws } = this
    if (ws === undefined || ws.getBufferedAmount() > this.options.highWaterBytes) return
    for (const resume of this.writing.splice(0)) resume(Effect.void)
  }

  /** The native server notes it by itself. */
  alive(): void {}

  /** The handler of the request decides how it ends. */
  leave(): void {}

  ended(code: number, reason: string): void {
    this.fail(closed(code, reason === "" ? undefined : reason))
    if (code === ABNORMAL) this.onLost?.()
  }

  /** Ends the connection from the server's side. */
  shutdown(): void {
    this.end(1001, "server is shutting down")
  }
}

const closeCode = (exit: Exit.Exit<unknown, unknown>): number =>
  Exit.isSuccess(exit) ? 1000 : Cause.hasInterruptsOnly(exit.cause) ? 1001 : 1011
