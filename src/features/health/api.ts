import * as Schema from "effect/Schema"
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as HttpApiSchema from "effect/http-api/HttpApiSchema"
import * as OpenApi from "effect/http-api/OpenApi"
import { Access, anyone, governs, reads } from "#schemas/api/Access.ts"
import { Breaker } from "#src/features/resilience/ports/breakerRows.ts"
import { DegradationRow, Fault } from "#schemas/degradation.ts"

/** Why a node that is `outdated` answers by older records than the others, or one that is `refusing` sends no request on. */
const Reason = Schema.optionalKey(Schema.String)

const Ping = Schema.Struct({ status: Schema.Literals(["ok", "starting", "draining", "outdated"]), version: Schema.String, reason: Reason })
const Check = Schema.Struct({ status: Schema.Literals(["ok", "failed"]), latencyMs: Schema.NullOr(Schema.Number) })

export const Readiness = Schema.Struct({
  status: Schema.Literals(["ok", "degraded", "starting", "draining", "outdated", "refusing"]),
  version: Schema.String,
  reason: Reason,
  uptimeSeconds: Schema.Int,
  /** The gateway's clock. */
  time: Schema.String,
  checks: Schema.Struct({
    recordStore: Check,
    migrations: Schema.Struct({ status: Schema.Literals(["ok", "failed"]) }),
    ledger: Schema.Struct({
      status: Schema.Literals(["ok", "failed"]),
      backlog: Schema.Int,
      oldestPendingMs: Schema.Number,
      gap: Schema.Int
    })
  })
})
export interface Readiness extends Schema.Schema.Type<typeof Readiness> {}

const Counts = Schema.Struct({
  catalogCount: Schema.Int,
  configuredCount: Schema.Int,
  activeCount: Schema.Int,
  monitoredCount: Schema.Int
})

/** Liveness, readiness and the process itself. */
export const HealthGroup = HttpApiGroup.make("health").add(
  HttpApiEndpoint.get("ping", "/api/health/ping", { success: [Ping, Ping.pipe(HttpApiSchema.status(503))] })
    .annotate(Access, anyone).annotate(OpenApi.Summary, "200 once requests can be served; 503 before, while draining, and on a node that cannot apply the newest configuration"),
  HttpApiEndpoint.get("readiness", "/api/health", { success: [Readiness, Readiness.pipe(HttpApiSchema.status(503))] })
    .annotate(Access, anyone).annotate(OpenApi.Summary, "The fuller readiness view: 503 also while the usage journal cannot be written, because requests are refused then"),
  HttpApiEndpoint.get("degradation", "/api/health/degradation", {
    success: Schema.Struct({ faults: Schema.Array(Fault), combined: Schema.String, features: Schema.Array(DegradationRow) })
  }).annotate(Access, reads).annotate(OpenApi.Summary, "What each feature does while Redis, Postgres, the disk, the log or another node fails: the contract, not the state"),
  HttpApiEndpoint.get("monitoring", "/api/monitoring/health", {
    success: Schema.Struct({
      status: Schema.String,
      version: Schema.String,
      providers: Counts,
      /** Only with management authentication. */
      credentialHealth: Schema.optionalKey(Schema.Array(Schema.Struct({
        provider: Schema.String,
        total: Schema.Int,
        active: Schema.Int,
        byStatus: Schema.Record(Schema.String, Schema.Int),
        coolingDown: Schema.Int
      }))),
      /** Breakers of this node; only with management authentication. */
      breakers: Schema.optionalKey(Schema.Array(Breaker))
    })
  }).annotate(Access, anyone).annotate(OpenApi.Summary, "Provider summary; with management authentication also credential health and breakers"),
  HttpApiEndpoint.get("init", "/api/init", { success: Schema.Struct({ initialized: Schema.Boolean }) })
    .annotate(Access, anyone).annotate(OpenApi.Summary, "Whether the first-run setup is done"),
  HttpApiEndpoint.get("version", "/api/system/version", {
    success: Schema.Struct({
      current: Schema.String,
      latest: Schema.NullOr(Schema.String),
      updateAvailable: Schema.Boolean,
      channel: Schema.String,
      autoUpdateSupported: Schema.Boolean,
      autoUpdateError: Schema.NullOr(Schema.String),
      news: Schema.Array(Schema.Json)
    })
  }).annotate(Access, reads).annotate(OpenApi.Summary, "Build version; updates are not looked up"),
  HttpApiEndpoint.post("restart", "/api/restart", { success: Schema.Struct({ status: Schema.Literal("restarting") }) })
    .annotate(Access, governs).annotate(OpenApi.Summary, "Drain and start again; poll /api/health/ping"),
  HttpApiEndpoint.post("shutdown", "/api/shutdown", {
    success: Schema.Struct({ success: Schema.Literal(true), message: Schema.String })
  }).annotate(Access, governs).annotate(OpenApi.Summary, "Drain and stop")
).annotateMerge(OpenApi.annotations({ title: "Health and system", description: "Liveness, readiness, version, restart and shutdown." }))
