import { stripVTControlCharacters as plain } from "node:util"
import * as Effect from "effect/Effect"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import { Configuration } from "#actors/ports/Configuration.ts"
import { Lifecycle } from "#actors/ports/Lifecycle.ts"
import { ProxyStore } from "#actors/ports/Stores.ts"
import { UsageStore } from "#actors/ports/UsageStore.ts"
import type { LiveRequest } from "#actors/request/LiveRequest.ts"
import { databaseSettingsOf, settingKey } from "#schemas/upkeep/DatabaseSettings.ts"
import { LiveWatch } from "#src/inference/ports/LiveWatch.ts"
import { answer } from "#src/management/answer.ts"
import * as Surface from "#src/management/Surface.ts"
import { LogOutput } from "#src/platform/telemetry/Log.ts"
import * as Redact from "#src/platform/telemetry/redact.ts"
import * as CallSearches from "#src/features/usage/calls/CallSearches.ts"
import * as ProxyLogs from "#src/features/usage/calls/ProxyLogs.ts"
import { UsageReads } from "#src/features/usage/UsageReads.ts"
import { type ActiveRequest, EXPORT_MAX, LogsGroup } from "./api.ts"
import * as Exported from "./exported.ts"

/** Requests that one answer lists. */
const ACTIVE_MAX = 1_000
const CONSOLE_LINES = 200
/** Rows that an export reads at once. */
const PAGE = 500

type ExportQuery = CallSearches.Query & { readonly format?: Exported.Format; readonly limit?: number }

export const layer = HttpApiBuilder.group(Surface.make(LogsGroup), "logs", Effect.fn(function*(handlers) {
  const configuration = yield* Configuration
  const { nodeId: node } = yield* Lifecycle
  const live = yield* LiveWatch
  const { sink } = yield* LogOutput
  const reads = yield* UsageReads
  const store = yield* UsageStore
  const calls = CallSearches.make(store, configuration, reads)
  const proxyLogs = ProxyLogs.make(store, configuration, yield* ProxyStore, reads)

  const remember = (): void => sink.remember(databaseSettingsOf(configuration.current().settings.get(settingKey)).logs.ring)
  remember()
  yield* Effect.acquireRelease(Effect.sync(() => configuration.onChange(remember)), (quiet) => Effect.sync(quiet))

  const activeOf = ({ attempts, inbound, startedAt, target }: LiveRequest): ActiveRequest => ({
    id: inbound.requestId, requestedModel: inbound.requestedModel, provider: target === null ? null : reads.providerOf(target.provider), model: target?.model ?? null,
    connectionId: target?.connection?.id ?? null, comboName: inbound.route.combo, path: inbound.endpoint, stream: inbound.stream, attempts,
    apiKeyId: inbound.key?.id ?? null, apiKeyName: inbound.key?.name ?? null, startedAt: new Date(startedAt).toISOString()
  })

  const active = Effect.sync(() => {
    // Calls that one request makes beside each other are requests of their own with its id.
    const byId = new Map<string, LiveRequest>()
    for (const request of live.running()) if (!byId.has(request.inbound.requestId)) byId.set(request.inbound.requestId, request)
    const requests = [...byId.values()].sort((a, b) => a.startedAt - b.startedAt).slice(0, ACTIVE_MAX)
    return { node, total: byId.size, requests: requests.map(activeOf) }
  })

  const consoleLines = ({ limit = CONSOLE_LINES, search }: { readonly limit?: number; readonly search?: string }) => Effect.sync(() => {
    const part = search?.toLowerCase()
    const all = sink.recent(Number.MAX_SAFE_INTEGER).map((line) => Redact.text(plain(line)))
    const found = part === undefined ? all : all.filter((line) => line.toLowerCase().includes(part))
    return { node, lines: found.slice(0, limit).reverse() }
  })

  const exported = Effect.fnUntraced(function*({ format = "jsonl", limit = EXPORT_MAX, ...query }: ExportQuery) {
    const pageAfter = calls.pages(query)
    type Page = Effect.Success<ReturnType<typeof pageAfter>>
    // The first page is read before the head is sent: what cannot be read is an error, and not a download that breaks off.
    const first = yield* pageAfter(null, Math.min(PAGE, limit))
    const text = ({ calls: rows }: Page): string => rows.map((call) => Exported.line(format, call)).join("")
    const rest = Stream.paginate({ page: first, left: limit - first.calls.length }, ({ left, page }) => {
      if (page.next === null || left <= 0) return Effect.succeed([[] as ReadonlyArray<string>, Option.none()] as const)
      return Effect.map(pageAfter(page.next, Math.min(PAGE, left)), (next) => [[text(next)], Option.some({ page: next, left: left - next.calls.length })] as const)
    })
    return HttpServerResponse.stream(Stream.encodeText(Stream.concat(Stream.succeed(Exported.head(format) + text(first)), rest)), {
      contentType: Exported.contentType(format), headers: { "content-disposition": `attachment; filename="calls.${format}"` }
    })
  })

  return handlers.handleAll({
    active: () => active,
    proxyLogs: ({ query }) => answer(proxyLogs(query)),
    console: ({ query }) => consoleLines(query),
    detail: ({ query }) => answer(calls.detail(query.id)),
    export: ({ query }) => answer(exported(query))
  })
}))
