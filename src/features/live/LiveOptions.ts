/** What an operator sets for live events. */
import * as Context from "effect/Context"
import * as Layer from "effect/Layer"
import { nodeIdOf } from "#src/platform/configuration/nodeId.ts"
import type { Values } from "#src/platform/configuration/Settings.ts"
import * as ClientAddress from "#src/platform/gate/clientAddress.ts"
import * as Hosts from "#src/platform/gate/hosts.ts"
import type { ExchangeGuard } from "#src/platform/server/Exchange.ts"
import type { ServerOptions } from "#src/platform/server/ServerOptions.ts"

export class LiveOptions extends Context.Service<LiveOptions, {
  /** Names this node in its events. */
  readonly nodeId: string
  /** Second port (LIVE_WS_PORT); 0 = none. */
  readonly port: number
  readonly host: string
  /** The port is shared with the other processes of this machine. */
  readonly isShared: boolean
  /** Which Host headers are answered. */
  readonly guard: ExchangeGuard
  /** The client's address behind GATEWAY_TRUSTED_PROXIES. */
  readonly clientAddress: ServerOptions["clientAddress"]
  /** Origins of other pages that may listen (LIVE_WS_ALLOWED_ORIGINS). */
  readonly allowedOrigins: ReadonlyArray<string>
}>()("gateway/features/live/LiveOptions") {}

export const layerOf = (settings: Values): Layer.Layer<LiveOptions> => Layer.succeed(LiveOptions, {
  nodeId: nodeIdOf(settings),
  port: settings.livePort,
  host: settings.liveHost,
  isShared: settings.worker > 0,
  guard: Hosts.guard(settings),
  clientAddress: ClientAddress.make(settings.trustedProxies),
  allowedOrigins: settings.liveAllowedOrigins
})
