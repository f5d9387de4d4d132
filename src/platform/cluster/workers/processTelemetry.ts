/** The telemetry of this process. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { Values } from "#src/platform/configuration/Settings.ts"
import * as GatewayTelemetry from "#src/platform/telemetry/GatewayTelemetry.ts"

/** One of several workers answers a scrape for all of them. */
export const layerOf = (settings: Values) => {
  const own = GatewayTelemetry.layerOf(settings)
  return settings.worker === 0 ? own : Layer.provide(Layer.unwrap(Effect.map(
    Effect.promise(() => import("./WorkerTelemetry.ts")),
    (WorkerTelemetry) => WorkerTelemetry.layer
  )), own)
}
