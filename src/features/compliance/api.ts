import * as Schema from "effect/Schema"
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as HttpApiSchema from "effect/http-api/HttpApiSchema"
import * as OpenApi from "effect/http-api/OpenApi"
import { Access, reads } from "#schemas/api/Access.ts"
import { Document, isoTime, queryInteger, text } from "#schemas/api/fields.ts"

const opt = Schema.optionalKey

const AuditRow = Schema.Struct({
  id: Schema.String,
  timestamp: Schema.String,
  action: Schema.String,
  actor: Schema.String,
  target: Schema.NullOr(Schema.String),
  details: Document,
  metadata: Document,
  ip_address: Schema.NullOr(Schema.String),
  resource_type: Schema.NullOr(Schema.String),
  status: Schema.String,
  request_id: Schema.NullOr(Schema.String)
})

/** The audit log. */
export const ComplianceGroup = HttpApiGroup.make("compliance").add(
  HttpApiEndpoint.get("auditLog", "/api/compliance/audit-log", {
    query: {
      action: opt(text(1, 200)),
      actor: opt(text(1, 200)),
      target: opt(text(1, 200)),
      resourceType: opt(text(1, 200)),
      status: opt(text(1, 60)),
      requestId: opt(text(1, 200)),
      from: opt(isoTime),
      since: opt(isoTime),
      to: opt(isoTime),
      until: opt(isoTime),
      limit: opt(queryInteger(1, 500)),
      offset: opt(queryInteger(0, 10_000))
    },
    success: [HttpApiSchema.WithHeaders(Schema.Array(AuditRow), {
      "x-total-count": Schema.String, "x-page-limit": Schema.String, "x-page-offset": Schema.String
    })]
  }).annotate(Access, reads).annotate(OpenApi.Summary, "Audit entries, newest first; secrets read [redacted]")
).annotateMerge(OpenApi.annotations({ title: "Compliance", description: "Who changed what." }))
