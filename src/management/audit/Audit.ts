/** Writes audit entries; one that a store does not take in time is logged and never stops the call. */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as SecureRandom from "effect/crypto/SecureRandom"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Schema from "effect/Schema"
import { AuditStore } from "#actors/ports/Stores.ts"
import { ManagementCall } from "#schemas/api/Management.ts"
import { ManagementOptions } from "#src/management/ManagementOptions.ts"
import { redact } from "#src/management/redact.ts"
import { actorOf } from "#src/management/authentication/rights.ts"
import * as LookUps from "#src/platform/structures/LookUps.ts"

export interface AuditEvent {
  readonly action: string
  readonly target?: string | null
  readonly resourceType?: string
  readonly status?: "success" | "failure" | "blocked"
  readonly details?: Readonly<Record<string, Schema.Json>>
}

export class Audit extends Context.Service<Audit, {
  readonly note: (event: AuditEvent) => Effect.Effect<void, never, ManagementCall>
}>()("gateway/http/Audit") {}

export const make = Effect.gen(function*() {
  const store = yield* AuditStore
  const random = yield* SecureRandom.SecureRandom
  const { lookUpMs } = yield* ManagementOptions
  // The call waits for its entry but for a moment; a store that is only slow has it later.
  const entries = yield* LookUps.make<void>({ name: "Audit", withinMs: lookUpMs })
  return Audit.of({
    note: Effect.fn("Audit.note")(function*(event) {
      const call = yield* ManagementCall
      const now = yield* Clock.currentTimeMillis
      const id = yield* random.uuidV4()
      yield* entries.ask(id, store.append({
        id,
        timestamp: new Date(now).toISOString(),
        action: event.action,
        actor: actorOf(call.caller),
        target: event.target ?? null,
        details: redact(event.details ?? {}),
        ipAddress: call.ip,
        resourceType: event.resourceType ?? null,
        status: event.status ?? "success",
        requestId: call.requestId
      })).pipe(Effect.catch((error) => Effect.logError(`audit entry ${event.action} was not stored in time: ${error.message}`)))
    })
  })
})

export const layer = Layer.effect(Audit, make)
