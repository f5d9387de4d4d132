/** Who asks for registered keys. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { ManagementCall } from "#schemas/api/Management.ts"
import * as Refusal from "#schemas/api/Refusal.ts"
import type { ApiKey } from "#schemas/records/ApiKey.ts"
import * as BearerKey from "#src/inference/lane/bearerKey.ts"

/** The key that issues, and whose end is the end of what it issued; null for an operator without a key. */
export type Issuer = ApiKey | null

/** The caller. */
export interface Holder {
  readonly key: Issuer
  /** Sees what others issued, too. */
  readonly isOperator: boolean
}

/** Only an operator, a key that manages, or any valid API key. */
export const holder = Effect.gen(function*() {
  const { caller } = yield* ManagementCall
  if (caller.kind !== "anonymous") return { key: caller.kind === "key" ? caller.key : null, isOperator: true } as Holder
  const presented = yield* BearerKey.presented("registered-keys", yield* Clock.currentTimeMillis)
  if (presented === null) return yield* Effect.fail(Refusal.unauthorized())
  if ("refused" in presented) {
    return yield* Effect.fail(presented.error === null || presented.error.reason === "credential"
      ? Refusal.unauthorized("The API key is not valid")
      : Refusal.forbidden(presented.error.message))
  }
  return { key: presented.key, isOperator: false } as Holder
})
