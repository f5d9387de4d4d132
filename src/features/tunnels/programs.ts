/** The programs that open tunnels: where they are, and how they are started. Credentials are variables, never arguments. */
import * as path from "node:path"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as Find from "#src/platform/programs/find.ts"
import { environmentOf, inherited } from "#src/platform/programs/process.ts"
import type { Command } from "#src/platform/programs/run.ts"
import { kinds, type Kind } from "./Tunnel.ts"
import type { TunnelsOptions } from "./TunnelsOptions.ts"

/** `tailscaled`: the daemon behind `tailscale`, where the machine runs none of its own. */
export type Name = Kind | "tailscaled"
export const names: ReadonlyArray<Name> = [...kinds, "tailscaled"]

/** How these programs find their configuration and the network. */
const variables = [
  ...inherited, "XDG_CONFIG_HOME", "SSL_CERT_FILE", "SSL_CERT_DIR",
  "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "no_proxy", "all_proxy"
]

/** Where its vendor tells how to install it. */
export const pages: Readonly<Record<Kind, string>> = {
  cloudflared: "https://developers.cloudflare.com/cloudflare-one/connections/connect-networks/downloads/",
  ngrok: "https://ngrok.com/download",
  tailscale: "https://tailscale.com/download"
}

/** GATEWAY_<NAME>_PATH. */
export const settingOf = (kind: Kind): string => `GATEWAY_${kind.toUpperCase()}_PATH`

/** Its file; null where it is not installed. */
export const find = ({ environment, files }: TunnelsOptions, name: Name): Effect.Effect<string | null> => {
  const given = name === "tailscaled" ? files.tailscale === null ? null : path.join(path.dirname(files.tailscale), "tailscaled") : files[name]
  return Effect.map(given === null ? Find.inPath(environment["PATH"] ?? "", name) : Find.at(given), (found) => found?.file ?? null)
}

export const socketIn = ({ tailscaleDir }: TunnelsOptions): string => path.join(tailscaleDir, "tailscaled.sock")

/** The value of a credential that the program may repeat. */
export const secretOf = ({ cloudflaredToken, ngrokToken }: TunnelsOptions, name: Name): string | null => {
  const secret = name === "cloudflared" ? cloudflaredToken : name === "ngrok" ? ngrokToken : null
  return secret === null ? null : Redacted.value(secret)
}

/** One call of `tailscale`; `ownDaemon`: the gateway's own tailscaled is asked. */
export const tailscale = (options: TunnelsOptions, file: string, args: ReadonlyArray<string>, ownDaemon: boolean): Command => ({
  file, args: [...ownDaemon ? [`--socket=${socketIn(options)}`] : [], ...args], env: environmentOf(options.environment, {}, variables)
})

/** `target`: where the tunnel leads to. */
export const command = (options: TunnelsOptions, name: Name, file: string, target: string, ownDaemon: boolean): Command => {
  const secret = secretOf(options, name)
  const env = (own: Readonly<Record<string, string>>) => environmentOf(options.environment, own, variables)
  // The certificate names no loopback address.
  const isTls = target.startsWith("https:")
  switch (name) {
    case "cloudflared":
      return secret === null
        ? { file, args: ["tunnel", "--no-autoupdate", ...isTls ? ["--no-tls-verify"] : [], "--url", target], env: env({}) }
        : { file, args: ["tunnel", "--no-autoupdate", "run"], env: env({ TUNNEL_TOKEN: secret }) }
    case "ngrok":
      return { file, args: ["http", target, "--log=stdout", "--log-format=json"], env: env(secret === null ? {} : { NGROK_AUTHTOKEN: secret }) }
    case "tailscale":
      // In the foreground: what it serves ends with it.
      return tailscale(options, file, ["funnel", isTls ? target.replace("https:", "https+insecure:") : target], ownDaemon)
    case "tailscaled":
      return { file, args: ["--tun=userspace-networking", `--statedir=${options.tailscaleDir}`, `--socket=${socketIn(options)}`], env: env({}) }
  }
}
