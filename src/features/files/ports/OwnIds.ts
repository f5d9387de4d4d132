/**
 * How this gateway's records tell the ids of their files from those of another gateway that stores its bytes in the same place: all ids
 * that they make begin alike. A sweep knows by it which bytes without a record are its own.
 */
import { randomBytes } from "node:crypto"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import type { StoreError } from "#actors/ports/StoreError.ts"
import { DocumentStore } from "#actors/ports/Stores.ts"
import { MARK_DIGITS } from "./fileId.ts"

const Own = Schema.Struct({
  /** The first digits of each id: eight, hexadecimal. */
  mark: Schema.String,
  /** ms since the epoch: ids of files that were written before may begin otherwise. */
  since: Schema.Number
})
export type Own = typeof Own.Type

export class OwnIds extends Context.Service<OwnIds, {
  /** Asked anew each time: the restore of a backup brings the mark of its records. */
  readonly own: Effect.Effect<Own, StoreError>
}>()("gateway/features/files/OwnIds") {}

/** The mark is kept beside the records, so that all nodes of one database have the same. */
export const layer = Layer.effect(OwnIds, Effect.gen(function*() {
  const documents = yield* DocumentStore
  const decode = Schema.decodeUnknownEffect(Own)
  return {
    own: Effect.gen(function*() {
      const made: Own = { mark: randomBytes(MARK_DIGITS / 2).toString("hex"), since: yield* Clock.currentTimeMillis }
      return yield* Effect.orDie(decode(yield* documents.putIfAbsent("files", "ownIds", made)))
    })
  }
}))
