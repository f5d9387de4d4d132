/** What the gateway remembers for an API key between conversations. */
import * as Layer from "effect/Layer"
import * as Feature from "#src/management/Feature.ts"
import * as Acting from "./acting.ts"
import { MemoryGroup } from "./api.ts"
import { degradation } from "./degradation.ts"
import * as Http from "./http.ts"
import * as KeyMemories from "./KeyMemories.ts"
import * as Memories from "./Memories.ts"
import version49 from "./migrations/0049_memories.ts"
import version70 from "./migrations/0070_memory_vectors.ts"
import * as Begun from "./models/begun.ts"
import * as MemoryReranker from "./models/MemoryReranker.ts"
import * as PostgresMemoryStore from "./PostgresMemoryStore.ts"
import * as Sweep from "./sweep.ts"
import * as MemoryVectors from "./vectors/MemoryVectors.ts"

export const memory = Feature.make({
  name: "memory",
  groups: [MemoryGroup],
  handlers: Layer.merge(Layer.provide(Http.layer, Memories.layer), Begun.layer),
  services: (settings) => Sweep.layer(settings.memoryDays).pipe(Layer.provideMerge(KeyMemories.layerOf(settings)), Layer.provideMerge(Layer.merge(MemoryVectors.layer, MemoryReranker.layer))),
  stores: PostgresMemoryStore.layer,
  migrations: { "49_memories": version49, "70_memory_vectors": version70 },
  acting: [Acting.memory],
  degradation
})
