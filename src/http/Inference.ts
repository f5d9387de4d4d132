/** Puts the inference endpoints on the front end: assembles what their routes need from the ports, once. */
import * as crypto from "node:crypto"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as FiberSet from "effect/FiberSet"
import * as Layer from "effect/Layer"
import { Accounting } from "#actors/ports/Accounting.ts"
import { Configuration } from "#actors/ports/Configuration.ts"
import { Credentials } from "#actors/ports/Credentials.ts"
import { Flags } from "#actors/ports/Flags.ts"
import { Keys } from "#actors/ports/Keys.ts"
import { KeyDevices } from "#actors/ports/KeyDevices.ts"
import { LiveCalls } from "#actors/ports/LiveCalls.ts"
import { Ledger } from "#actors/ports/Ledger.ts"
import { Lifecycle } from "#actors/ports/Lifecycle.ts"
import { Telemetry } from "#actors/ports/Telemetry.ts"
import { Upstream } from "#actors/ports/Upstream.ts"
import type { AttemptEnd } from "#actors/Attempt.ts"
import type { Limits, Recovery } from "#actors/Request.ts"
import type { Target } from "#actors/ports/Target.ts"
import type { ApiKey } from "#schemas/records/ApiKey.ts"
import * as Conversations from "#src/http/Conversations.ts"
import * as ConversationRoutes from "#src/http/conversationRoutes.ts"
import { ConnectionMarks } from "#src/http/ConnectionMarks.ts"
import * as TokenCounts from "#src/http/TokenCounts.ts"
import * as Registry from "#src/providers/Registry.ts"
import { LiveRequests } from "#src/http/LiveRequests.ts"
import * as Metrics from "#src/http/Metrics.ts"
import { makePricer } from "#src/providers/pricing.ts"
import { ComboMetrics } from "#actors/ports/ComboMetrics.ts"
import { Resilience } from "#actors/ports/Resilience.ts"
import * as RouteReport from "#src/http/RouteReport.ts"
import { Report } from "#src/http/RouteReport.ts"
import { RoutingViews } from "#actors/ports/RoutingViews.ts"
import { makeRouter, type Router, RouterMemory } from "#src/routing/Router.ts"
import { FrontEnd } from "#src/server/FrontEnd.ts"

export interface Options {
  readonly limits: Limits
  readonly maxBodyBytes: number
  /** Time that live streams get after a shutdown began, in ms. */
  readonly graceMs: number
  /** Comment lines are allowed in event streams (GATEWAY_SSE_COMMENTS). */
  readonly sseComments: boolean
  readonly metricsAccess: "loopback" | "all"
  readonly environmentKeys: ReadonlyMap<string, ApiKey>
}

/** 24 characters that no other response has. */
const responseId = (): string => crypto.randomBytes(18).toString("base64url").replace(/[-_]/g, "0")

const noRecovery: Recovery = { holds: false, sibling: false, continues: false, stopsAtEmpty: false }

/** How often silent streams are looked for, ms. */
const beatMs = 500

/** Of so many calls of one key one is noted as a device; the first always. */
const seenEvery = 32
/** Keys whose calls are counted for that. */
const seenKeys = 10_000

export const make = Effect.fnUntraced(function*(options: Options) {
  const frontEnd = yield* FrontEnd
  const accounting = yield* Accounting
  const configuration = yield* Configuration
  const credentials = yield* Credentials
  const flags = yield* Flags
  const keys = yield* Keys
  const ledger = yield* Ledger
  const lifecycle = yield* Lifecycle
  const telemetry = yield* Telemetry
  const upstream = yield* Upstream
  const marks = yield* ConnectionMarks
  const clock = yield* Clock.Clock
  const lookups = yield* FiberSet.makeRuntime<never, void, never>()
  const run = Effect.runForkWith(yield* Effect.context<never>())
  const devices = yield* KeyDevices
  const live = new LiveRequests()
  yield* Effect.addFinalizer(() => live.close)
  const seenCalls = new Map<string, number>()
  // Live streams get their grace; what still runs then ends with an error in its own format (PROMISES 17).
  frontEnd.onDrain(() => {
    lookups(Effect.delay(Effect.sync(live.shutDown), options.graceMs))
  })
  const now = () => clock.currentTimeMillisUnsafe()
  const prefix = `${lifecycle.nodeId}-${lifecycle.startedAt.toString(36)}-`
  let sequence = 0
  const nextId = () => prefix + (++sequence).toString(36)

  const resilience = yield* Resilience
  const report = new Report(yield* ComboMetrics, now)
  const memory = new RouterMemory()
  let router: Router | null = null
  configuration.onChange(() => {
    router = null
  })
  const routerNow = (): Router => router ??= makeRouter({
    resilience,
    memory,
    random: Math.random,
    snapshot: configuration.current(),
    registry: Registry.builtin,
    noThinkingAliases: flags.isOn("NO_THINKING_ALIAS_ENABLED"),
    thinkingLevels: !flags.isOn("GATEWAY_DISABLE_THINKING_LEVEL_VARIANTS"),
    priceOf: makePricer({ registry: Registry.builtin, user: configuration.current().pricing, synced: new Map() })
  })

  const services: Conversations.ConversationServices = {
    admission: {
      keys,
      flags,
      environmentKeys: options.environmentKeys,
      now,
      seen: (key, head) => {
        // Sampled: telling devices apart costs more than the rest of the admission.
        const calls = seenCalls.get(key.id) ?? 0
        if (seenCalls.size >= seenKeys) seenCalls.clear()
        seenCalls.set(key.id, calls + 1)
        if (calls % seenEvery === 0) devices.note(key.id, head.remoteAddress, head.header("user-agent") ?? "", now())
      },
      makeRequestId: () => `req_${nextId()}`,
      runLookup: (lookup, done) => {
        lookups(Effect.match(lookup, { onFailure: done, onSuccess: done }))
      }
    },
    request: {
      ledger,
      upstream,
      resilience,
      accounting,
      telemetry,
      limits: options.limits,
      nodeId: lifecycle.nodeId,
      now,
      makeAttemptId: nextId,
      credentials,
      report: (target: Target, end: AttemptEnd) => {
        if (end.upstreamStatus === 401 && target.tokenFrom !== null && target.tokenFrom !== undefined) credentials.refused(target.tokenFrom)
        marks.report(target, end)
      },
      defect: (requestId, cause) => {
        run(Effect.annotateLogs(Effect.logError("A request failed unexpectedly", cause), { requestId }))
      },
      closed: live.remove
    },
    router: routerNow,
    report,
    maxBodyBytes: () => {
      const megabytes = configuration.current().settings.get("maxBodySizeMb")
      return typeof megabytes === "number" && megabytes > 0 ? megabytes * 1024 * 1024 : options.maxBodyBytes
    },
    previousResponseId: () => {
      const mode = configuration.current().settings.get("responsesPreviousResponseIdMode")
      return mode === "keep" || mode === "strip" ? mode : "auto"
    },
    sseComments: options.sseComments,
    recovery: () => {
      const holds = flags.isOn("STREAM_RECOVERY_ENABLED")
      const sibling = flags.isOn("STREAM_EARLY_EOF_SIBLING_FAILOVER_ENABLED")
      const continues = flags.isOn("STREAM_RECOVERY_MIDSTREAM_ENABLED")
      return holds || sibling || continues
        ? { holds, sibling, continues, stopsAtEmpty: flags.isOn("STREAM_RECOVERY_TOOLCALL_ORDER_FIX") }
        : noRecovery
    },
    makeResponseId: responseId,
    // The live requests are the scope of these fibers: each is enrolled before it starts and interrupted when the layer closes.
    fork: run,
    live,
    draining: lifecycle.draining,
    refused: (endpoint, tags, error) => {
      const at = now()
      telemetry.requestStarted(endpoint, false)
      telemetry.requestSettled({
        requestId: tags.requestId, method: "POST", endpoint, requestedModel: null, provider: null, model: null, apiKeyId: null,
        status: error.status, outcome: "policy", errorCode: error.code, stream: false, attempts: 0, cache: "off",
        startedAt: at, latencyMs: 0, ttftMs: null, bytesOut: 0
      })
    }
  }
  if (options.limits.pulse.heartbeatMs > 0 || options.limits.pulse.earlyMs > 0) {
    lookups(Effect.forever(Effect.delay(Effect.sync(() => live.beat(now())), beatMs)))
  }
  frontEnd.direct("GET", "/metrics", Metrics.route(telemetry, options.metricsAccess))
  const counts = { ...services, accounting, upstream }
  const countContents = TokenCounts.ofGenerateContent(counts)
  for (const { entry, path } of ConversationRoutes.all) {
    const route = Conversations.route(services, entry)
    frontEnd.direct("POST", path, path === ConversationRoutes.generatePath
      ? (exchange) => exchange.path.endsWith(":countTokens") ? countContents(exchange) : route(exchange)
      : route)
  }
  frontEnd.direct("POST", "/v1/messages/count_tokens", TokenCounts.ofMessages(counts))
  return { services, live }
})

/** The assembled inference services, for the routes on the effect lane. */
export class Inference extends Context.Service<Inference, Conversations.ConversationServices>()("gateway/http/Inference") {}

export const layer = (options: Options) =>
  Layer.effectContext(Effect.map(make(options), ({ live, services }) =>
    Context.make(Inference, services).pipe(
      Context.add(LiveCalls, { list: live.list }),
      Context.add(RoutingViews, RouteReport.views(services.report, services.router, services.request.now))
    )))
