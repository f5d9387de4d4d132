/** What makes the loops of tunnels run. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { ChangeFeed } from "#actors/ports/ChangeFeed.ts"
import { DocumentStore } from "#actors/ports/Stores.ts"
import type { InProcess } from "#test/support/gateway.ts"
import * as TunnelPrograms from "#test/support/tunnelPrograms.ts"

export const programs = TunnelPrograms.make("tailscale")
process.once("exit", programs.remove)

export const faults = (node: string, gateway: () => InProcess) => ({
  // The program is not installed: it is looked for again and again.
  tunnel: {
    world: "alone",
    act: () => Effect.runPromise(Effect.andThen(
      Context.get(gateway().services(), DocumentStore).put("tunnel", `${node}/ngrok`, { enabled: true }), Context.get(gateway().services(), ChangeFeed).reread
    ))
  },
  "tunnel states": { world: "alone" },
  "tunnel sign-in": {
    world: "alone",
    act: () => {
      programs.set({ backend: "NeedsLogin" })
      return gateway().operator.call("POST", "/api/tunnels/tailscale/login")
    }
  }
} as const)
