/** Public addresses of the gateway, by programs of the operator's that it runs: cloudflared, ngrok and tailscale. */
import * as Layer from "effect/Layer"
import * as Feature from "#src/management/Feature.ts"
import { TunnelsGroup } from "./api.ts"
import * as Http from "./http.ts"
import * as Tailscale from "./Tailscale.ts"
import * as Tunnels from "./Tunnels.ts"
import * as TunnelsOptions from "./TunnelsOptions.ts"

export const tunnels = Feature.make({
  name: "tunnels",
  groups: [TunnelsGroup],
  handlers: Http.layer,
  services: (settings) => Tailscale.layer.pipe(Layer.provideMerge(Tunnels.layer(TunnelsOptions.of(settings))))
})
