import * as Schema from "effect/Schema"
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as HttpApiSchema from "effect/http-api/HttpApiSchema"
import * as OpenApi from "effect/http-api/OpenApi"
import { Access, reads, writes } from "#schemas/api/Access.ts"
import { SentBack, sentBack } from "#schemas/api/SentBack.ts"
import { clearable, integer, listOf, queryInteger, Success, text } from "#schemas/api/fields.ts"
import { Proxy, ProxyFamily, ProxyScope, ProxyType } from "#schemas/egress/Proxy.ts"

const opt = Schema.optionalKey
const id = text(1, 200)

const common = {
  username: clearable(text(0, 2_000)),
  password: clearable(text(0, 2_000)),
  region: clearable(text(0, 64)),
  notes: clearable(text(0, 1_000)),
  status: opt(Proxy.fields.status),
  family: opt(ProxyFamily)
}
export const host = text(1, 255)
export const port = integer(1, 65_535)

/** A username or password `[redacted]` keeps what is stored. */
export const NewProxy = Schema.Struct({ name: text(1, 120), type: opt(ProxyType), host, port, ...common }).annotate({ identifier: "NewOutboundProxy" })
export type NewProxy = typeof NewProxy.Type
export const ProxyChange = Schema.Struct({ id, name: opt(text(1, 120)), type: opt(ProxyType), host: opt(host), port: opt(port), ...common })
export type ProxyChange = typeof ProxyChange.Type

const masked = Schema.NullOr(Schema.Literal("[redacted]"))

export const ProxyView = Schema.Struct({ ...Proxy.fields, username: masked, password: masked }).annotate({ identifier: "OutboundProxy" })
export type ProxyView = typeof ProxyView.Type

/** `connection` is another word for `account`. */
const scope = Schema.Literals([...ProxyScope.literals, "connection"])

const AssignmentView = Schema.Struct({
  scope: ProxyScope,
  /** A node's prefix for a provider node; null for `global`. */
  scopeId: Schema.NullOr(Schema.String),
  proxyId: Schema.String,
  assignedAt: Schema.String
}).annotate({ identifier: "ProxyAssignment" })
export type AssignmentView = typeof AssignmentView.Type

const listOfAll = <S extends Schema.Top>(item: S) => Schema.Struct({ items: Schema.Array(item), total: Schema.Int })

/** What a connection's calls leave by, for a caller without a key's or combo's proxy. */
const Resolution = Schema.Struct({
  connectionId: Schema.String,
  /** `auto`: nothing is assigned, and each call leaves by the first working proxy; `proxy` is the one that comes first now. */
  level: Schema.Literals([...ProxyScope.literals, "auto", "direct"]),
  levelId: Schema.NullOr(Schema.String),
  proxy: Schema.NullOr(ProxyView)
})

const Assignment = { scope, scopeId: clearable(id), proxyId: clearable(id) }
export type AssignmentInput = typeof AssignmentInput.Type
export const AssignmentInput = Schema.Struct(Assignment)
const BulkInput = Schema.Struct({ scope, scopeIds: listOf(id, 1_000), proxyId: clearable(id) })

/** Proxies of one import. */
export const IMPORT_MAX = 100

const Imported = Schema.Struct({
  ...Success.fields,
  requested: Schema.Int,
  created: Schema.Int,
  /** Those that were there before, or stand in the list twice. */
  skipped: Schema.Int,
  /** By their place in the list, from 0. */
  failed: Schema.Array(Schema.Struct({ index: Schema.Int, reason: Schema.String }))
})
export type Imported = typeof Imported.Type

/** A success is a tunnel that was made for a call, a failure a call that got none. */
const Health = Schema.Struct({
  proxyId: Schema.String,
  name: Schema.String,
  successCount: Schema.Int,
  failureCount: Schema.Int,
  /** 0 to 1; null without a call. */
  successRate: Schema.NullOr(Schema.Number),
  /** Until a tunnel stood, ms; null without one. */
  avgLatencyMs: Schema.NullOr(Schema.Number),
  /** Of the newest hour with a failure. */
  lastError: Schema.NullOr(Schema.String),
  /** Failures in a row for which the process that answers has set it aside; 0 = it is not. */
  failuresInARow: Schema.Int,
  /** Until when, ISO 8601; null = it is not set aside. */
  setAsideUntil: Schema.NullOr(Schema.String)
})

const flag = Schema.Literals(["0", "1", "true", "false"])

/** Outbound proxies: which there are, and what leaves by them. */
export const ProxiesGroup = HttpApiGroup.make("proxies").add(
  HttpApiEndpoint.get("list", "/api/v1/management/proxies", {
    query: { id: opt(id), where_used: opt(flag) },
    success: Schema.Union([listOfAll(ProxyView), ProxyView, Schema.Struct({ id: Schema.String, count: Schema.Int, assignments: Schema.Array(AssignmentView) })])
  }).annotate(Access, reads).annotate(OpenApi.Summary, "All proxies; with id one of them; with where_used=1 what leaves by it"),
  HttpApiEndpoint.post("create", "/api/v1/management/proxies", { payload: NewProxy, success: ProxyView.pipe(HttpApiSchema.status(201)) })
    .annotate(Access, writes).annotate(OpenApi.Summary, "Add a proxy; nothing leaves by it until it is assigned"),
  HttpApiEndpoint.patch("update", "/api/v1/management/proxies", { payload: ProxyChange, success: ProxyView })
    .annotate(SentBack, sentBack({ by: ["id"], asked: ["id"] })).annotate(Access, writes).annotate(OpenApi.Summary, "Change the proxy that id names; a credential [redacted] keeps what is stored"),
  HttpApiEndpoint.delete("remove", "/api/v1/management/proxies", { query: { id, force: opt(flag) }, success: Success })
    .annotate(Access, writes).annotate(OpenApi.Summary, "Remove a proxy; 409 while something is assigned to it, unless force=1 removes that, too"),
  HttpApiEndpoint.get("assignments", "/api/v1/management/proxies/assignments", {
    query: { proxy_id: opt(id), scope: opt(scope), scope_id: opt(id), resolve_connection_id: opt(id) },
    success: Schema.Union([listOfAll(AssignmentView), Resolution])
  }).annotate(Access, reads).annotate(OpenApi.Summary, "What is assigned; with resolve_connection_id what the connection's calls leave by"),
  HttpApiEndpoint.put("assign", "/api/v1/management/proxies/assignments", {
    payload: AssignmentInput, success: Schema.Struct({ ...Success.fields, assignment: Schema.NullOr(AssignmentView) })
  }).annotate(SentBack, sentBack({ by: ["scope", "scopeId"] })).annotate(Access, writes).annotate(OpenApi.Summary, "Assign a proxy; without proxyId remove the assignment"),
  HttpApiEndpoint.put("bulkAssign", "/api/v1/management/proxies/bulk-assign", {
    payload: BulkInput,
    success: Schema.Struct({
      ...Success.fields, requested: Schema.Int, updated: Schema.Int, failed: Schema.Array(Schema.Struct({ scopeId: Schema.String, reason: Schema.String }))
    })
  }).annotate(Access, writes).annotate(OpenApi.Summary, "The same assignment for several ids of one scope; unknown ids are listed and the others assigned"),
  HttpApiEndpoint.post("bulkImport", "/api/v1/management/proxies/bulk-import", { payload: Schema.Struct({ items: listOf(NewProxy, IMPORT_MAX) }), success: Imported })
    .annotate(Access, writes).annotate(OpenApi.Summary, "Add several proxies; those that cannot be added are listed and the others added"),
  HttpApiEndpoint.post("migrate", "/api/v1/management/proxies/migrate", { success: Schema.Struct({ ...Success.fields, migrated: Schema.Int }) })
    .annotate(Access, writes).annotate(OpenApi.Summary, "Keep the proxies that PUT /api/settings/proxy made, also after their last assignment"),
  HttpApiEndpoint.get("health", "/api/v1/management/proxies/health", {
    query: { hours: opt(queryInteger(1, 720)) },
    success: Schema.Struct({ ...listOfAll(Health).fields, windowHours: Schema.Int })
  }).annotate(Access, reads).annotate(OpenApi.Summary, "Tunnels of each proxy over some hours: made, failed, and how long they took")
).annotateMerge(OpenApi.annotations({ title: "Outbound proxies", description: "Proxies that calls of upstreams leave by. The same paths are served below `/api/settings/proxies`." }))
