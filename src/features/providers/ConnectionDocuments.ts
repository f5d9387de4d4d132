/** Documents of one connection: its parameter filters and its interception rules. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { Configuration } from "#actors/ports/Configuration.ts"
import { DocumentStore } from "#actors/ports/Stores.ts"
import * as InterceptionRules from "#schemas/tools/InterceptionRules.ts"
import * as ParamFilters from "#schemas/words/ParamFilters.ts"
import { Connections } from "#src/features/providers/ports/Connections.ts"
import { refuseInert } from "#src/management/acting.ts"
import type { Table } from "#src/management/acting/ActingTable.ts"
import { refuseOwned } from "#src/management/ownership/ownership.ts"
import { Audit } from "#src/management/audit/Audit.ts"
import * as Acting from "./acting.ts"

export const make = Effect.gen(function*() {
  const audit = yield* Audit
  const configuration = yield* Configuration
  const connections = yield* Connections
  const documents = yield* DocumentStore

  const kept = <A extends object>(kind: string, table: Table, schema: Schema.Codec<A, A>, fallback: A) => {
    const read = Schema.decodeUnknownOption(schema)
    const get = Effect.fnUntraced(function*(id: string) {
      yield* connections.get(id)
      const stored = read(yield* documents.get(kind, id))
      return stored._tag === "Some" ? stored.value : fallback
    })
    const put = Effect.fnUntraced(function*(id: string, change: Partial<A>) {
      yield* refuseOwned(configuration.current(), "connection", id)
      yield* connections.get(id)
      yield* refuseInert(table, change)
      const next: A = { ...fallback, ...change }
      yield* configuration.commit(documents.put(kind, id, next))
      yield* audit.note({ action: "provider.credentials.updated", target: id, resourceType: "provider", details: { changed: [kind] } })
      return next
    })
    return { get, put }
  }
  return {
    filters: kept(ParamFilters.documentKind, Acting.paramFilters, ParamFilters.ParamFilters, ParamFilters.paramFiltersDefaults),
    rules: kept(InterceptionRules.documentKind, Acting.interceptionRules, InterceptionRules.InterceptionRules, InterceptionRules.interceptionDefaults)
  }
})
