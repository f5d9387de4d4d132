import * as Schema from "effect/Schema"
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as HttpApiSchema from "effect/http-api/HttpApiSchema"
import * as OpenApi from "effect/http-api/OpenApi"
import { Access, governs, reads } from "#schemas/api/Access.ts"
import { queryInteger, text } from "#schemas/api/fields.ts"
import { RING_MAX } from "#schemas/upkeep/DatabaseSettings.ts"
import { CallDetail, callFilters, page } from "#src/features/usage/api.ts"

const opt = Schema.optionalKey

/** Rows of one export at most. */
export const EXPORT_MAX = 1_000_000

export const ActiveRequest = Schema.Struct({
  /** Of the request, as in the call log. */
  id: Schema.String,
  requestedModel: Schema.String,
  /** Of the running or newest attempt; null before the first. */
  provider: Schema.NullOr(Schema.String),
  model: Schema.NullOr(Schema.String),
  connectionId: Schema.NullOr(Schema.String),
  comboName: Schema.NullOr(Schema.String),
  path: Schema.String,
  stream: Schema.Boolean,
  /** Upstream calls that were begun. */
  attempts: Schema.Int,
  apiKeyId: Schema.NullOr(Schema.String),
  apiKeyName: Schema.NullOr(Schema.String),
  /** ISO 8601; its waiting for a turn counts. */
  startedAt: Schema.String
}).annotate({ identifier: "ActiveRequest" })
export interface ActiveRequest extends Schema.Schema.Type<typeof ActiveRequest> {}

const { account, apiKey, combo, from, model, provider, search, status, to } = callFilters
const proxyFilters = { account, apiKey, combo, from, model, provider, search, status, to }

/** One call that left, or was to leave, by an outbound proxy. */
export const ProxyLog = Schema.Struct({
  id: Schema.String,
  requestId: Schema.String,
  timestamp: Schema.String,
  proxyId: Schema.String,
  /** Null once the proxy is removed. */
  proxyName: Schema.NullOr(Schema.String),
  provider: Schema.String,
  model: Schema.String,
  account: Schema.NullOr(Schema.String),
  connectionId: Schema.NullOr(Schema.String),
  apiKeyName: Schema.NullOr(Schema.String),
  comboName: Schema.NullOr(Schema.String),
  status: Schema.Int,
  outcome: Schema.String,
  latencyMs: Schema.Number,
  /** `PROXY_001` where the proxy made no tunnel. */
  error: Schema.NullOr(Schema.String)
}).annotate({ identifier: "ProxyLog" })
export interface ProxyLog extends Schema.Schema.Type<typeof ProxyLog> {}

/** Requests that run, calls by proxies, the process log, and downloads of the call log. */
export const LogsGroup = HttpApiGroup.make("logs").add(
  HttpApiEndpoint.get("active", "/api/logs/active", {
    success: Schema.Struct({
      /** The process that answers: its requests are listed. */
      node: Schema.String,
      total: Schema.Int,
      /** At most 1,000, oldest first. */
      requests: Schema.Array(ActiveRequest)
    })
  }).annotate(Access, reads).annotate(OpenApi.Summary, "Requests that run in this process"),
  HttpApiEndpoint.get("proxyLogs", "/api/usage/proxy-logs", {
    query: {
      ...proxyFilters,
      /** A part of the proxy's name, or its id. */
      proxy: opt(text(1, 240)),
      ...page
    },
    success: [HttpApiSchema.WithHeaders(Schema.Array(ProxyLog), { "x-next-cursor": opt(Schema.String) })]
  }).annotate(Access, reads).annotate(OpenApi.Summary, "Calls that left by an outbound proxy, newest first")
    .annotate(OpenApi.Description, "Pages as the call log does. Its rows are those of the ledger, and are removed with them."),
  HttpApiEndpoint.get("console", "/api/logs/console", {
    query: {
      /** Lines, the newest; default 200. */
      limit: opt(queryInteger(1, RING_MAX)),
      /** A part of the line, in any case. */
      search: opt(text(1, 240))
    },
    success: Schema.Struct({ node: Schema.String, lines: Schema.Array(Schema.String) })
  }).annotate(Access, governs).annotate(OpenApi.Summary, "The last lines of this process's log, oldest first"),
  HttpApiEndpoint.get("detail", "/api/logs/detail", { query: { id: text(1, 240) }, success: CallDetail })
    .annotate(Access, reads).annotate(OpenApi.Summary, "As /api/usage/call-logs/{id}"),
  HttpApiEndpoint.get("export", "/api/logs/export", {
    query: {
      ...callFilters,
      /** Default: jsonl. */
      format: opt(Schema.Literals(["jsonl", "csv"])),
      /** Rows at most. */
      limit: opt(queryInteger(1, EXPORT_MAX))
    },
    success: Schema.Uint8Array.pipe(HttpApiSchema.asUint8Array({ contentType: "application/octet-stream" }))
  }).annotate(Access, reads).annotate(OpenApi.Summary, "Download calls, newest first, as lines of JSON or as CSV")
    .annotate(OpenApi.Description, "Takes the filters of the call log. A download that breaks off before its end failed.")
).annotateMerge(OpenApi.annotations({ title: "Logs", description: "Requests that run, calls by proxies, the process log, and downloads of the call log." }))
