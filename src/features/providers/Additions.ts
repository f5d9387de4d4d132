/** Adding many credentials at once: every row succeeds or fails on its own. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Configuration, shownProvider } from "#actors/ports/Configuration.ts"
import type { StoreError } from "#actors/ports/StoreError.ts"
import type { ManagementCall } from "#schemas/api/Management.ts"
import type { RowResult } from "./api.ts"
import * as Refusal from "#schemas/api/Refusal.ts"
import { Connections, type NewConnection } from "#src/features/providers/ports/Connections.ts"
import { ConnectionTests } from "./ConnectionTests.ts"

/** Keys that are validated at once. */
const PARALLEL = 5

export interface AdditionReport {
  readonly total: number
  readonly created: number
  readonly failed: number
  readonly results: ReadonlyArray<RowResult>
}

export class Additions extends Context.Service<Additions, {
  readonly add: (rows: ReadonlyArray<NewConnection>, validateKeys: boolean) => Effect.Effect<AdditionReport, never, ManagementCall>
}>()("gateway/http/Additions") {}

const reasonOf = (error: Refusal.Refusal | StoreError): string => error instanceof Refusal.Refusal
  ? error.error.details?.map(({ field, message }) => `${field}: ${message}`).join("; ") ?? error.error.message
  : "The record store cannot take the row"

export const make = Effect.gen(function*() {
  const configuration = yield* Configuration
  const connections = yield* Connections
  const tests = yield* ConnectionTests

  const addOne = Effect.fnUntraced(function*(row: NewConnection, validateKeys: boolean) {
    const prepared = yield* connections.prepare(row)
    const probed = validateKeys ? yield* tests.probe(prepared) : null
    if (probed !== null && !probed.valid) {
      return yield* Effect.fail(Refusal.badRequest(probed.diagnosis?.message ?? "The credential was refused"))
    }
    const connection = probed === null ? prepared : { ...prepared, testStatus: "active" as const }
    yield* connections.store(connection)
    return connection.id
  })

  return Additions.of({
    add: Effect.fn("Additions.add")(function*(rows, validateKeys) {
      const results = yield* Effect.forEach(rows, (row, index) => {
        const named = { index, name: row.name, provider: shownProvider(configuration.current(), row.provider) }
        return Effect.match(addOne(row, validateKeys), {
          onSuccess: (id): RowResult => ({ ...named, success: true, id }),
          onFailure: (error): RowResult => ({ ...named, success: false, error: reasonOf(error) })
        })
      }, { concurrency: validateKeys ? PARALLEL : 1 })
      const created = results.filter((row) => row.success).length
      return { total: rows.length, created, failed: rows.length - created, results }
    })
  })
})

export const layer = Layer.effect(Additions, make)
