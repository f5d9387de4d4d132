/** Audit entries of what the command line does to the stores itself. */
import { randomUUID } from "node:crypto"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { AuditStore } from "#actors/ports/Stores.ts"
import type { AuditEntry } from "#schemas/records/AuditEntry.ts"

export const actor = "local-cli"

export const note = Effect.fnUntraced(function*(entry: Pick<AuditEntry, "action" | "target" | "resourceType" | "details">) {
  const store = yield* AuditStore
  const now = yield* Clock.currentTimeMillis
  yield* store.append({
    id: randomUUID(), timestamp: new Date(now).toISOString(), actor, ipAddress: null, status: "success", requestId: null, ...entry
  })
})
