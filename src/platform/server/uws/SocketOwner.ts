/** What the native server calls for each WebSocket. */
import type { NativeWebSocket } from "./native.ts"

export interface SocketOwner {
  readonly opened: (ws: NativeWebSocket<unknown>) => void
  /** The buffer is detached when this returns. */
  readonly message: (data: ArrayBuffer, isBinary: boolean) => void
  readonly drained: () => void
  /** The client answered a ping, or sent one. */
  readonly alive: () => void
  readonly ended: (code: number, reason: string) => void
  /** A drain begins: what has nothing under way ends now. */
  readonly leave: () => void
  /** Ends the connection from the server's side. */
  readonly shutdown: () => void
}
