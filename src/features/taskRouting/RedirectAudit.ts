/**
 * Writes into the audit log that requests in the background went to another model: the first of two models at once, and from then on at
 * most one entry a minute, with the number of redirects since the last one.
 */
import * as Crypto from "node:crypto"
import * as Effect from "effect/Effect"
import { AuditStore } from "#actors/ports/Stores.ts"
import type { ApiKey } from "#schemas/records/ApiKey.ts"
import { Forks } from "#src/inference/lane/services/Forks.ts"
import type { BackgroundReason } from "#src/routing/tasks/background.ts"

export interface Redirect {
  readonly from: string
  readonly to: string
  readonly reason: BackgroundReason
  readonly key: ApiKey | null
  readonly requestId: string
}

export const ACTION = "routing.background_task_redirect"
const EVERY_MS = 60_000
/** Pairs of models that are told apart; a further one forgets all. */
const PAIRS = 1_000

export const make = Effect.gen(function*() {
  const store = yield* AuditStore
  const { fork, now } = yield* Forks
  const told = new Map<string, { at: number; since: number }>()

  const write = ({ from, key, reason, requestId, to }: Redirect, at: number, count: number) => store.append({
    id: Crypto.randomUUID(), timestamp: new Date(at).toISOString(), action: ACTION, actor: key === null ? "anonymous" : `key:${key.id}`, target: from,
    details: { original_model: from, redirected_to: to, reason, count }, ipAddress: null, resourceType: "model", status: "success", requestId
  }).pipe(Effect.catch((error) => Effect.logError(`audit entry ${ACTION} was not stored: ${error.message}`)))

  return (redirect: Redirect): void => {
    const pair = JSON.stringify([redirect.from, redirect.to])
    const at = now()
    const known = told.get(pair)
    if (known !== undefined && at - known.at < EVERY_MS) {
      known.since++
      return
    }
    const count = (known?.since ?? 0) + 1
    if (known === undefined && told.size >= PAIRS) told.clear()
    told.set(pair, { at, since: 0 })
    fork(write(redirect, at, count))
  }
})
