/** One process at a time applies its file, among all nodes on the same records: else two that start together would make everything twice. */
import { randomUUID } from "node:crypto"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type { StoreError } from "#actors/ports/StoreError.ts"
import type { DocumentStore } from "#actors/ports/Stores.ts"

const KIND = "config-file-turn"
const KEY = "turn"
/** A process that has not renewed its turn for so long has died, ms; it renews it before each entry. */
const EXPIRES_MS = 20_000
/** Between two questions for the turn, ms. */
const EVERY_MS = 100
/** Another process that takes an expired turn at the same moment has done so by then, ms. */
const SETTLE_MS = 500

const Turn = Schema.Struct({ holder: Schema.String, until: Schema.Number })
const decode = Schema.decodeUnknownOption(Turn)

const holderOf = (value: unknown): typeof Turn.Type => Option.getOrElse(decode(value), () => ({ holder: "", until: 0 }))

/** Runs `work` in this process's turn, which it renews while it goes on. */
export const within = <A, E, R>(documents: DocumentStore["Service"], work: (renew: Effect.Effect<void, StoreError>) => Effect.Effect<A, E, R>): Effect.Effect<A, E | StoreError, R> => {
  const holder = randomUUID()
  const take = Effect.gen(function*() {
    for (;;) {
      const now = yield* Clock.currentTimeMillis
      const standing = holderOf(yield* documents.putIfAbsent(KIND, KEY, { holder, until: now + EXPIRES_MS }))
      if (standing.holder === holder) return
      if (standing.until >= now) {
        yield* Effect.sleep(EVERY_MS)
        continue
      }
      yield* documents.remove(KIND, KEY)
      yield* documents.putIfAbsent(KIND, KEY, { holder, until: now + EXPIRES_MS })
      yield* Effect.sleep(SETTLE_MS)
      if (holderOf(yield* documents.get(KIND, KEY)).holder === holder) return
    }
  })
  const renew = Effect.flatMap(Clock.currentTimeMillis, (now) => documents.put(KIND, KEY, { holder, until: now + EXPIRES_MS }))
  const give = Effect.gen(function*() {
    if (holderOf(yield* documents.get(KIND, KEY)).holder === holder) yield* documents.remove(KIND, KEY)
  })
  // A turn that cannot be given back ends by itself.
  return Effect.ensuring(Effect.andThen(take, work(renew)), Effect.ignore(give))
}
