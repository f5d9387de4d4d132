/** The id of a group of nodes, beside its records: of nodes that start at once, the first one gives it. */
import * as Crypto from "node:crypto"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { NodeGroup } from "#actors/ports/NodeGroup.ts"
import { DocumentStore } from "#actors/ports/Stores.ts"

export const layer = Layer.effect(NodeGroup, Effect.gen(function*() {
  const documents = yield* DocumentStore
  return { id: String(yield* documents.putIfAbsent("cluster", "group", Crypto.randomUUID())) }
}))
