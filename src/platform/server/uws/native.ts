/**
 * The one door to the native server: the narrow part of uWebSockets that the front end uses, typed by what it really
 * accepts and returns (its own declarations miss members and promise strings where it gives undefined).
 */
import "#src/platform/server/headLimit.ts"
import * as uws from "uWebSockets.js"

/** Valid only inside the callback that hands it over. */
export interface NativeRequest {
  readonly getUrl: () => string
  readonly getQuery: () => string | undefined
  readonly getCaseSensitiveMethod: () => string
  readonly getHeader: (lowerCaseName: string) => string
  readonly forEach: (visit: (name: string, value: string) => void) => void
}

/** Throws on every use after `onAborted` ran or the response was completed. */
export interface NativeResponse {
  readonly writeStatus: (status: string) => unknown
  readonly writeHeader: (name: string, value: string) => unknown
  /** False when the bytes went into the native buffer because the socket is full. */
  readonly write: (chunk: Uint8Array | string) => boolean
  readonly end: (body?: Uint8Array | string, closeConnection?: boolean) => unknown
  /** An explicit undefined as argument would be sent as a length. */
  readonly endWithoutBody: () => unknown
  /** Answers [everything given was taken, response completed]. Never buffers. */
  readonly tryEnd: (bytes: Uint8Array, totalSize: number) => [ok: boolean, done: boolean]
  readonly getWriteOffset: () => number
  readonly onWritable: (handler: (offset: number) => boolean) => unknown
  readonly onAborted: (handler: () => void) => unknown
  /** The buffer is detached when the handler returns. */
  readonly onData: (handler: (chunk: ArrayBuffer, isLast: boolean) => void) => unknown
  /** Stops reading and takes the native timeout away. */
  readonly pause: () => unknown
  /** Reads on and arms the native timeout of ten seconds. */
  readonly resume: () => unknown
  readonly close: () => unknown
  readonly cork: (callback: () => void) => unknown
  readonly getRemoteAddressAsText: () => ArrayBuffer
  readonly upgrade: (
    userData: unknown,
    key: string,
    protocol: string,
    extensions: string,
    context: NativeUpgradeContext
  ) => void
}

declare const upgradeContext: unique symbol
export interface NativeUpgradeContext {
  readonly [upgradeContext]: true
}

declare const listenSocket: unique symbol
export interface NativeListenSocket {
  readonly [listenSocket]: true
}

/** Valid from `open` to `close`. */
export interface NativeWebSocket<Data> {
  readonly getUserData: () => Data
  /** 1 sent, 0 buffered because the socket is full, 2 dropped. */
  readonly send: (message: Uint8Array | string, isBinary: boolean) => number
  readonly getBufferedAmount: () => number
  readonly ping: () => number
  readonly end: (code?: number, reason?: string) => void
  readonly close: () => void
  readonly cork: (callback: () => void) => unknown
}

export interface NativeWebSocketBehavior<Data> {
  readonly maxPayloadLength: number
  readonly maxBackpressure: number
  readonly closeOnBackpressureLimit: boolean
  readonly idleTimeout: number
  readonly sendPingsAutomatically: boolean
  readonly upgrade: (res: NativeResponse, req: NativeRequest, context: NativeUpgradeContext) => void
  readonly open: (ws: NativeWebSocket<Data>) => void
  readonly message: (ws: NativeWebSocket<Data>, message: ArrayBuffer, isBinary: boolean) => void
  readonly drain: (ws: NativeWebSocket<Data>) => void
  readonly ping: (ws: NativeWebSocket<Data>) => void
  readonly pong: (ws: NativeWebSocket<Data>) => void
  readonly close: (ws: NativeWebSocket<Data>, code: number, reason: ArrayBuffer) => void
}

export interface NativeTlsOptions {
  readonly key_file_name: string
  readonly cert_file_name: string
  readonly passphrase?: string
  readonly ca_file_name?: string
}

export interface NativeApp {
  readonly any: (pattern: string, handler: (res: NativeResponse, req: NativeRequest) => void) => unknown
  readonly ws: <Data>(pattern: string, behavior: NativeWebSocketBehavior<Data>) => unknown
  readonly listen: (
    host: string,
    port: number,
    options: number,
    done: (socket: NativeListenSocket | false) => void
  ) => unknown
  /** Called with 1 for each connection that opens and -1 for each that closes. */
  readonly filter: (handler: (res: unknown, change: number) => void) => unknown
  readonly close: () => unknown
}

interface Native {
  readonly App: () => NativeApp
  readonly SSLApp: (options: NativeTlsOptions) => NativeApp
  readonly LIBUS_LISTEN_EXCLUSIVE_PORT: number
  readonly us_listen_socket_close: (socket: NativeListenSocket) => void
  readonly us_socket_local_port: (socket: NativeListenSocket) => number
  readonly _cfg?: (name: string) => void
}

export const native = uws as unknown as Native

/** Exclusive by default: a second process on the same port must fail, not share the traffic silently. */
export const LISTEN_EXCLUSIVE = native.LIBUS_LISTEN_EXCLUSIVE_PORT
/** SO_REUSEPORT: several processes share one port and the kernel spreads the connections. */
export const LISTEN_SHARED = 0

/** Makes an app that does not name its server software in every response. */
export const makeApp = (tls: NativeTlsOptions | undefined): NativeApp => {
  const app = tls === undefined ? native.App() : native.SSLApp(tls)
  native._cfg?.("silent")
  return app
}
