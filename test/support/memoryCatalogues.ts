/** What the reading of public lists of models stands on, where nothing is read. */
import * as Layer from "effect/Layer"
import { SyncOptions } from "#src/features/pricing/sync/SyncOptions.ts"
import * as Bodies from "#src/inference/lane/services/Bodies.ts"
import * as LocalPlacement from "#src/platform/cluster/LocalPlacement.ts"

export const surface = Layer.mergeAll(Bodies.layer, LocalPlacement.layer, Layer.succeed(SyncOptions, {
  everyMs: 86_400_000, sources: ["litellm"], urls: { litellm: "http://127.0.0.1:9/prices.json", "models.dev": "http://127.0.0.1:9/api.json" }
}))
