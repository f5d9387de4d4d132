import * as Schema from "effect/Schema"
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as OpenApi from "effect/http-api/OpenApi"
import { Access, administers } from "#schemas/api/Access.ts"

/** How many records went. */
const Deleted = Schema.Struct({ deleted: Schema.Int })

/** Removal of what is recorded of requests. */
export const PurgesGroup = HttpApiGroup.make("purges").add(
  HttpApiEndpoint.post("requestHistory", "/api/settings/purge-request-history", { success: Deleted })
    .annotate(Access, administers).annotate(OpenApi.Summary, "Remove the calls of the ledger, and the bodies that are kept of them")
    .annotate(OpenApi.Description, "Calls that a limit of their key still counts stay. `deleted` counts calls"),
  HttpApiEndpoint.post("callLogs", "/api/settings/purge-call-logs", { success: Deleted })
    .annotate(Access, administers).annotate(OpenApi.Summary, "Remove the calls of the ledger; those that a limit of their key still counts stay"),
  HttpApiEndpoint.post("detailedLogs", "/api/settings/purge-detailed-logs", { success: Deleted })
    .annotate(Access, administers).annotate(OpenApi.Summary, "Remove the bodies that are kept of calls"),
  HttpApiEndpoint.post("expired", "/api/settings/purge-logs", { success: Deleted })
    .annotate(Access, administers).annotate(OpenApi.Summary, "Remove what is older than it is kept: calls, bodies, quota snapshots, audit entries"),
  HttpApiEndpoint.post("quotaSnapshots", "/api/settings/purge-quota-snapshots", { success: Deleted })
    .annotate(Access, administers).annotate(OpenApi.Summary, "Remove quota snapshots; the newest of each window stays")
).annotateMerge(OpenApi.annotations({ title: "Purges", description: "Removal of what is recorded of requests, before its time is over." }))
