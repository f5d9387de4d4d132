/** The WebSockets of one server: their handshakes, who owns each, and the routes that serve some of them. */
import type { SocketRoute } from "#src/platform/server/sockets/ServerSocket.ts"
import { acceptOver, type DirectSocketHost } from "./DirectSocket.ts"
import type { NativeApp, NativeRequest, NativeResponse, NativeUpgradeContext } from "./native.ts"
import type { SocketOwner } from "./SocketOwner.ts"
import type { ExchangeHost } from "./ExchangeHost.ts"
import { UwsExchange } from "./UwsExchange.ts"
import { Upgrade } from "./UwsSocket.ts"

/** Completes the handshake for an owner; false when the client has gone. */
export type Shake = (owner: SocketOwner) => boolean

export class NativeSockets {
  readonly live = new Set<SocketOwner>()
  private readonly routes = new Map<string, SocketRoute>()
  private readonly host: ExchangeHost
  private readonly direct: DirectSocketHost

  constructor(host: ExchangeHost, direct: Omit<DirectSocketHost, "maxPendingBytes" | "slowReaderMillis" | "watch">) {
    const { maxPendingBytes, slowReaderMillis, watch } = host
    this.host = host
    this.direct = { ...direct, maxPendingBytes, slowReaderMillis, watch }
  }

  /** Serves an exact path. */
  route(path: string, route: SocketRoute): void {
    this.routes.set(path, route)
  }

  /** Hands a GET, or a HEAD, to the socket route of its path; false when there is none. */
  serve(exchange: UwsExchange, shake: Shake | undefined): boolean {
    const route = exchange.method === "GET" || exchange.method === "HEAD" ? this.routes.get(exchange.path) : undefined
    route?.(exchange, shake === undefined ? null : acceptOver(this.direct, shake))
    return route !== undefined
  }

  /** A handshake for effect's lane. */
  upgradeOf(shake: Shake | undefined): Upgrade | undefined {
    return shake === undefined ? undefined : new Upgrade(shake, this.direct.limits)
  }

  /** Takes the upgrades of every path; `dispatch` decides who serves them. */
  mount(app: NativeApp, dispatch: (exchange: UwsExchange, shake: Shake | undefined) => void): void {
    const { highWaterBytes, idleSeconds, maxPayloadBytes } = this.direct.limits
    app.ws<{ readonly owner: SocketOwner }>("/*", {
      // The native server cuts without a word: what is only a little too long is told so by its owner.
      maxPayloadLength: 2 * maxPayloadBytes,
      // Bounded by waiting writers, not by dropping: the native limit only catches a broken writer.
      maxBackpressure: highWaterBytes + 4 * maxPayloadBytes,
      closeOnBackpressureLimit: false,
      idleTimeout: idleSeconds,
      sendPingsAutomatically: true,
      upgrade: (res, req, context) => {
        const exchange = new UwsExchange(res, req, this.host)
        dispatch(exchange, req.getHeader("sec-websocket-version") === VERSION ? this.shakeOf(exchange, req, context) : undefined)
      },
      open: (ws) => ws.getUserData().owner.opened(ws),
      message: (ws, data, isBinary) => ws.getUserData().owner.message(data, isBinary),
      drain: (ws) => ws.getUserData().owner.drained(),
      ping: (ws) => ws.getUserData().owner.alive(),
      pong: (ws) => ws.getUserData().owner.alive(),
      close: (ws, code, reason) => {
        const { owner } = ws.getUserData()
        this.live.delete(owner)
        owner.ended(code, textDecoder.decode(reason))
        this.host.onSettled?.()
      }
    })
  }

  /** Copies what the handshake needs: the native request is gone when the application asks for it. */
  private shakeOf(exchange: UwsExchange, req: NativeRequest, context: NativeUpgradeContext): Shake {
    const key = req.getHeader("sec-websocket-key")
    const protocol = req.getHeader("sec-websocket-protocol")
    const extensions = req.getHeader("sec-websocket-extensions")
    return (owner) => {
      const res: NativeResponse | null = exchange.upgrade()
      if (res === null) return false
      this.live.add(owner)
      // Never in a cork of its own: when the socket keeps its address, the native end of that cork takes the WebSocket for a response
      // and may close it. The native library warns of it on stderr, once per process ("... must be made from within a corked callback"): it
      // asks for corks to save packets, and a handshake is one packet.
      res.upgrade({ owner }, key, protocol, extensions, context)
      return true
    }
  }
}

/** The one version of the protocol that is spoken (RFC 6455, section 4.1). */
const VERSION = "13"

const textDecoder = new TextDecoder()
