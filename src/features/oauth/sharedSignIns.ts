/** Sign-ins to providers, as any node of the gateway can begin and end them. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { schemeOf } from "#src/platform/configuration/address.ts"
import type { Settings } from "#src/platform/configuration/Settings.ts"
import { orShared } from "#src/platform/redis/orShared.ts"
import { FrontEnd } from "#src/platform/server/FrontEnd.ts"
import * as MemorySignInStore from "./MemorySignInStore.ts"
import * as OAuthSignIns from "./OAuthSignIns.ts"

/** Their redirect comes back to the address that browsers know, and to any node behind it. */
export const layerOf = (settings: Settings["Service"]) => {
  const store = orShared(settings, MemorySignInStore.layer, async () => (await import("./RedisSignInStore.ts")).layer)
  return Layer.unwrap(Effect.map(FrontEnd, ({ port }) => OAuthSignIns.layer({
    environment: settings.environment,
    publicUrl: settings.publicUrl?.replace(/\/+$/, "") ?? `${schemeOf(settings)}://localhost:${port}`
  }))).pipe(Layer.provide(store))
}
