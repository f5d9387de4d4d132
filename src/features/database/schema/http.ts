import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import * as Option from "effect/Option"
import * as Semaphore from "effect/Semaphore"
import type { StoreError } from "#actors/ports/StoreError.ts"
import * as Refusal from "#schemas/api/Refusal.ts"
import { answer } from "#src/management/answer.ts"
import { Audit } from "#src/management/audit/Audit.ts"
import * as Surface from "#src/management/Surface.ts"
import { SchemaGroup } from "./api.ts"
import { type Checked, SchemaCheck } from "./SchemaCheck.ts"

const busy = Refusal.conflict("The schema is checked or repaired here already: repeat the call when it is done", { code: "database_busy" })

const statusOf = ({ drift }: Checked) => drift.length === 0 ? "healthy" as const : "drifted" as const

export const layer = HttpApiBuilder.group(Surface.make(SchemaGroup), "databaseSchema", Effect.fn(function*(handlers) {
  const audit = yield* Audit
  const schema = yield* SchemaCheck
  const working = Semaphore.makeUnsafe(1)

  const alone = <A>(work: Effect.Effect<A, StoreError>): Effect.Effect<A, StoreError | Refusal.Refusal> =>
    Effect.flatMap(Semaphore.withPermitsIfAvailable(working, 1)(work), Option.match({ onNone: () => Effect.fail(busy), onSome: (done) => Effect.succeed(done) }))

  return handlers.handleAll({
    check: () => answer(Effect.map(alone(schema.check), (checked) => ({ status: statusOf(checked), ...checked }))),
    repair: () => answer(Effect.gen(function*() {
      // A caller that leaves stops nothing that has begun: the entry says what was changed.
      const done = yield* Effect.uninterruptible(Effect.tap(alone(schema.repair), ({ failed, repaired }) => audit.note({
        action: "database.repaired", resourceType: "database", status: failed.length === 0 ? "success" : "failure",
        details: { repaired: repaired.map(({ kind, name, table }) => `${kind} ${table === "" ? "" : `${table}.`}${name}`), failed: failed.map(({ name }) => name) }
      })))
      return { status: statusOf(done), ...done }
    }))
  })
}))
