/**
 * One WebSocket as the front end hands it to a socket route: messages by plain callbacks, no fiber per message, honest backpressure.
 *
 * The front end pings each socket, ends one whose client is silent or does not read, and bounds its messages (RFC 6455).
 */
import type { AbortReason, Exchange } from "#src/platform/server/Exchange.ts"

export interface ServerSocket {
  /** True after either side closed it. */
  readonly closed: boolean
  /** Bytes that were sent and that the client has not taken yet. */
  readonly pendingBytes: number
  /**
   * Sends one text message. Bytes are UTF-8 and borrowed: the caller may reuse them as soon as this returns. False when the client is
   * behind: stop producing until `drained`. A producer that goes on is cut as a slow reader.
   */
  readonly send: (message: string | Uint8Array) => boolean
  /** Closes with a code of RFC 6455, section 7.4; `closed` of the handler follows. */
  readonly close: (code: number, reason: string) => void
}

/** What a socket route does with its socket. A throw of any of them closes the socket with 1011. */
export interface SocketHandler {
  /** One whole message. The bytes belong to the handler. */
  readonly message: (data: Buffer, isBinary: boolean) => void
  /** What `send` refused to be followed by has been taken. */
  readonly drained: () => void
  /** The server will stop: close when nothing is under way, or as soon as that is so. */
  readonly leave: () => void
  /** It is over; called once. */
  readonly closed: (reason: AbortReason) => void
}

export interface SocketOptions {
  /** A longer message closes the socket with 1009 `message_too_large`; at most the front end's own bound. Bytes. */
  readonly maxMessageBytes: number
  /** How often it is pinged, ms; absent: as the front end pings. */
  readonly pingMillis?: number
  /** Time without a sign of life after which it is closed, ms; absent: the front end's. */
  readonly silentMillis?: number
}

/** Completes the handshake, at once or later, and makes the handler; false when the client has gone. */
export type Accept = (options: SocketOptions, open: (socket: ServerSocket) => SocketHandler) => boolean

/**
 * Handler of a socket route. It must accept, answer the exchange, or register `onAbort`, before it returns. `accept` is null for a
 * plain GET.
 */
export type SocketRoute = (exchange: Exchange, accept: Accept | null) => void
