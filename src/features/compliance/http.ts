import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import * as HttpApiSchema from "effect/http-api/HttpApiSchema"
import { AuditStore } from "#actors/ports/Stores.ts"
import { answer } from "#src/management/answer.ts"
import { redact } from "#src/management/redact.ts"
import { ComplianceGroup } from "./api.ts"
import * as Surface from "#src/management/Surface.ts"

const PAGE = 50

const iso = (time: string | undefined): string | undefined => time === undefined ? undefined : new Date(time).toISOString()

const given = <A extends object>(query: A): { [K in keyof A]: Exclude<A[K], undefined> } =>
  Object.fromEntries(Object.entries(query).filter(([, value]) => value !== undefined)) as { [K in keyof A]: Exclude<A[K], undefined> }

export const layer = HttpApiBuilder.group(Surface.make(ComplianceGroup), "compliance", Effect.fn(function*(handlers) {
  const store = yield* AuditStore
  return handlers.handleAll({
    auditLog: ({ query: { from, limit = PAGE, offset = 0, since, to, until, ...filter } }) => answer(Effect.map(
      store.query({ ...filter, ...given({ from: iso(from ?? since), to: iso(to ?? until) }), limit, offset }),
      ({ entries, total }) => HttpApiSchema.withHeaders({
        body: entries.map((entry) => ({
          id: entry.id,
          timestamp: entry.timestamp,
          action: entry.action,
          actor: entry.actor,
          target: entry.target,
          details: redact(entry.details),
          metadata: {},
          ip_address: entry.ipAddress,
          resource_type: entry.resourceType,
          status: entry.status,
          request_id: entry.requestId
        })),
        headers: { "x-total-count": String(total), "x-page-limit": String(limit), "x-page-offset": String(offset) }
      })
    ))
  })
}))
