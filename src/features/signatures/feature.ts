/** Signatures of thoughts, kept for clients whose format has no field for them. */
import * as Feature from "#src/management/Feature.ts"
import { processIdOf } from "#src/platform/configuration/nodeId.ts"
import { orShared } from "#src/platform/redis/orShared.ts"
import * as MemoryThoughtSignatures from "./MemoryThoughtSignatures.ts"

export const signatures = Feature.make({
  name: "signatures",
  services: (settings) => orShared(settings, MemoryThoughtSignatures.layer, async () => (await import("./RedisThoughtSignatures.ts")).layer(processIdOf(settings)))
})
