/** Tunnels of a node that opens none. */
import * as Layer from "effect/Layer"
import * as Tailscale from "#src/features/tunnels/Tailscale.ts"
import * as Tunnels from "#src/features/tunnels/Tunnels.ts"

export const surface = Tailscale.layer.pipe(Layer.provideMerge(Tunnels.layer({
  isOn: false, node: "node-a", worker: 0, files: { cloudflared: null, ngrok: null, tailscale: null }, cloudflaredToken: null, ngrokToken: null,
  environment: {}, tailscaleDir: "/nonexistent", targetOf: (port) => `http://127.0.0.1:${port}`
})))
