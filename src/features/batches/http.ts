import * as Effect from "effect/Effect"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import { Limits } from "#actors/limits/ports/Limits.ts"
import { Keys } from "#actors/ports/Keys.ts"
import type { StoreError } from "#actors/ports/StoreError.ts"
import { ManagementCall } from "#schemas/api/Management.ts"
import type { BatchRecord } from "#schemas/batches/Batch.ts"
import * as Errors from "#schemas/errors.ts"
import type { PublicError } from "#schemas/errors.ts"
import * as Caller from "#src/features/files/ports/caller.ts"
import { EnvironmentKeys } from "#src/inference/ports/EnvironmentKeys.ts"
import { Audit } from "#src/management/audit/Audit.ts"
import * as Surface from "#src/management/Surface.ts"
import { errorBody } from "#src/wire/chatCompletions/errors.ts"
import { BatchesGroup, type NewBatch } from "./api.ts"
import { Batches } from "./Batches.ts"
import type { BatchScope } from "./ports/BatchStore.ts"
import * as Views from "./views.ts"

const LIMIT = 20

interface Page {
  readonly limit?: number
  readonly after?: string
}

type Response = HttpServerResponse.HttpServerResponse

const away = Errors.make("service_unavailable", "The records of batches cannot be read or written at the moment.", { retryAfterSeconds: 1 })

/** An error in the client's words; what an operator must know of it is logged. */
const answer = <R>(effect: Effect.Effect<Response, PublicError | StoreError, R>): Effect.Effect<Response, never, R> => effect.pipe(
  Effect.catch((failure) => {
    const error = failure._tag === "StoreError" ? away : failure
    const response = HttpServerResponse.text(errorBody(error), {
      status: error.status, contentType: "application/json",
      headers: error.retryAfterSeconds === null ? {} : { "retry-after": String(error.retryAfterSeconds) }
    })
    return failure._tag === "StoreError" ? Effect.as(Effect.logWarning(failure.message), response) : Effect.succeed(response)
  })
)

const ofScope = (scope: BatchScope) => scope === "all" ? Views.ownedViewOf : Views.viewOf

export const layer = HttpApiBuilder.group(Surface.make(BatchesGroup), "batches", Effect.fn(function*(handlers) {
  const audit = yield* Audit
  const batches = yield* Batches
  const environmentKeys = yield* EnvironmentKeys
  const keys = yield* Keys
  const limits = yield* Limits

  const caller = Caller.caller("batches").pipe(
    Effect.provideService(Keys, keys), Effect.provideService(Limits, limits), Effect.provideService(EnvironmentKeys, environmentKeys)
  )
  const own = Effect.map(caller, ({ scope }): BatchScope => scope)
  /** What operators do to batches is audited; a key's own doing is in its ledger. */
  const note = (scope: BatchScope, action: string, target: string) => scope === "all" ? audit.note({ action, target, resourceType: "batch" }) : Effect.void

  const shown = (scope: BatchScope) => (record: BatchRecord): Response => HttpServerResponse.jsonUnsafe(ofScope(scope)(record))

  const create = Effect.fnUntraced(function*(input: NewBatch) {
    const by = yield* caller
    const { ip } = yield* ManagementCall
    return shown(by.scope)(yield* batches.create(input, by, ip ?? ""))
  })

  const list = Effect.fnUntraced(function*(scope: BatchScope, { after, limit = LIMIT }: Page) {
    const records = yield* batches.list(scope, after, limit)
    return HttpServerResponse.jsonUnsafe(Views.pageOf(records.map(ofScope(scope)), limit))
  })

  const find = (id: string, scope: BatchScope) => Effect.map(batches.find(id, scope), shown(scope))
  const cancel = (id: string, scope: BatchScope) => Effect.map(Effect.tap(batches.cancel(id, scope), () => note(scope, "batch.cancelled", id)), shown(scope))
  const remove = (id: string, scope: BatchScope) => Effect.as(
    Effect.tap(batches.remove(id, scope), () => note(scope, "batch.deleted", id)), HttpServerResponse.jsonUnsafe({ id, object: "batch", deleted: true })
  )
  const removeCompleted = (scope: BatchScope) => Effect.map(Effect.tap(batches.removeCompleted(scope), () => note(scope, "batch.completed_deleted", "all")), ({ batches, files }) =>
    HttpServerResponse.jsonUnsafe({ deleted: true, deletedBatches: batches, deletedFiles: files }))

  return handlers.handleAll({
    create: ({ payload }) => answer(create(payload)),
    list: ({ query }) => answer(Effect.flatMap(own, (scope) => list(scope, query))),
    get: ({ params }) => answer(Effect.flatMap(own, (scope) => find(params.id, scope))),
    cancel: ({ params }) => answer(Effect.flatMap(own, (scope) => cancel(params.id, scope))),
    remove: ({ params }) => answer(Effect.flatMap(own, (scope) => remove(params.id, scope))),
    removeCompleted: () => answer(Effect.flatMap(own, removeCompleted)),
    listAll: ({ query }) => answer(list("all", query)),
    getAny: ({ params }) => answer(find(params.id, "all")),
    cancelAny: ({ params }) => answer(cancel(params.id, "all")),
    removeAny: ({ params }) => answer(remove(params.id, "all"))
  })
}))
