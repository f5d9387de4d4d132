/** Writes what a plan says to the stores. It runs inside one commit, so that all of it is kept or nothing. */
import * as Effect from "effect/Effect"
import { StoreError } from "#actors/ports/StoreError.ts"
import { ComboMappingStore, ComboStore, ConnectionStore, CustomModelStore, DocumentStore, NodeStore } from "#actors/ports/Stores.ts"
import type { Connection } from "#schemas/records/Connection.ts"
import { connectionFields } from "./document.ts"
import type { Write } from "./plan/Draft.ts"

/** Health marks of running requests are written between the plan and now: they stay, and so do credentials. */
const settable = (connection: Connection): Partial<Connection> =>
  Object.fromEntries(["name", "updatedAt", ...connectionFields].map((field) => [field, connection[field as keyof Connection]]))

const gone = (name: string): StoreError => new StoreError({ store: "Transfer", operation: "import", reason: "conflict", message: `${name} was removed while the document was imported: send it again` })

export const make = Effect.gen(function*() {
  const combos = yield* ComboStore
  const connections = yield* ConnectionStore
  const documents = yield* DocumentStore
  const mappings = yield* ComboMappingStore
  const models = yield* CustomModelStore
  const nodes = yield* NodeStore

  const stands = (name: string, replaced: Effect.Effect<boolean, StoreError>): Effect.Effect<unknown, StoreError> =>
    Effect.flatMap(replaced, (isThere) => isThere ? Effect.void : Effect.fail(gone(name)))

  const one = (write: Write): Effect.Effect<unknown, StoreError> => {
    switch (write.record) {
      case "document":
        return write.value === null ? documents.remove(write.kind, write.key) : documents.put(write.kind, write.key, write.value)
      case "node":
        return write.isNew ? nodes.insert(write.node) : stands(`The node ${write.node.prefix}`, nodes.replace(write.node))
      case "connection":
        return write.isNew ? connections.insert(write.connection) : stands(`The connection ${write.connection.name}`, connections.patch(write.connection.id, settable(write.connection)))
      case "model":
        return models.upsert(write.model)
      case "combo":
        return write.isNew ? combos.insert(write.combo) : stands(`The combo ${write.combo.name}`, combos.replace(write.combo))
      case "mapping":
        return write.isNew ? mappings.insert(write.mapping) : stands(`The mapping of ${write.mapping.pattern}`, mappings.replace(write.mapping))
    }
  }

  return (writes: ReadonlyArray<Write>): Effect.Effect<void, StoreError> => Effect.forEach(writes, one, { discard: true })
})
