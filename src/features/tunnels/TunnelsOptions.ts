/** What the operator of this node set for tunnels. */
import type * as Redacted from "effect/Redacted"
import * as Path from "node:path"
import { schemeOf } from "#src/platform/configuration/address.ts"
import { nodeIdOf } from "#src/platform/configuration/nodeId.ts"
import type { Settings } from "#src/platform/configuration/Settings.ts"
import type { Kind } from "./Tunnel.ts"

export interface TunnelsOptions {
  /** GATEWAY_TUNNELS. */
  readonly isOn: boolean
  readonly node: string
  /** Which of several processes this is; 0 = the only one. The first one runs the programs of its machine. */
  readonly worker: number
  /** Paths that the operator gave; null: the program is looked up. */
  readonly files: Readonly<Record<Kind, string | null>>
  readonly cloudflaredToken: Redacted.Redacted<string> | null
  readonly ngrokToken: Redacted.Redacted<string> | null
  readonly environment: Readonly<Record<string, string | undefined>>
  /** Where a tailscaled of the gateway keeps its state and its socket. */
  readonly tailscaleDir: string
  /** Where programs of this machine reach the gateway. */
  readonly targetOf: (port: number) => string
}

const anyAddress = new Set(["0.0.0.0", "::", "localhost", ""])

export const of = (settings: Settings["Service"]): TunnelsOptions => {
  const { cloudflaredPath, cloudflaredToken, dataDir, environment, host, ngrokPath, ngrokToken, tailscalePath, tunnels, worker } = settings
  const reached = anyAddress.has(host) ? "127.0.0.1" : host.includes(":") ? `[${host}]` : host
  return {
    isOn: tunnels, node: nodeIdOf(settings), worker, cloudflaredToken, ngrokToken, environment,
    files: { cloudflared: cloudflaredPath, ngrok: ngrokPath, tailscale: tailscalePath },
    tailscaleDir: Path.join(Path.resolve(dataDir), "tailscale"),
    targetOf: (port) => `${schemeOf(settings)}://${reached}:${port}`
  }
}
