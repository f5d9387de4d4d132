/** Thoughts of tool calls, kept for providers that want them back. */
import * as Feature from "#src/management/Feature.ts"
import { processIdOf } from "#src/platform/configuration/nodeId.ts"
import { orShared } from "#src/platform/redis/orShared.ts"
import { ReasoningGroup } from "./api.ts"
import * as Http from "./http.ts"
import * as MemoryKeptReasoning from "./MemoryKeptReasoning.ts"

export const reasoning = Feature.make({
  name: "reasoning",
  groups: [ReasoningGroup],
  handlers: Http.layer,
  services: (settings) => orShared(settings, MemoryKeptReasoning.layer, async () => (await import("./RedisKeptReasoning.ts")).layer(processIdOf(settings)))
})
