/** Puts the inference endpoints on the front end: assembles what their routes need from the ports, once. */
import * as crypto from "node:crypto"
import { getHeapStatistics } from "node:v8"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as FiberSet from "effect/FiberSet"
import * as Layer from "effect/Layer"
import { Accounting } from "#actors/request/ports/Accounting.ts"
import { ChangeFeed } from "#actors/ports/ChangeFeed.ts"
import { Configuration, type Snapshot } from "#actors/ports/Configuration.ts"
import { Credentials } from "#actors/request/ports/Credentials.ts"
import { EvalCalls } from "#src/inference/ports/EvalCalls.ts"
import { EvalScores } from "#src/routing/ports/EvalScores.ts"
import { Flags } from "#actors/ports/Flags.ts"
import { Keys } from "#actors/ports/Keys.ts"
import { KeyDevices } from "#src/inference/ports/KeyDevices.ts"
import { LiveCalls } from "#src/inference/ports/LiveCalls.ts"
import { Limits as KeyLimits } from "#actors/limits/ports/Limits.ts"
import { Ledger } from "#actors/request/ports/Ledger.ts"
import { Leases } from "#actors/lease/Leases.ts"
import { Lifecycle } from "#actors/ports/Lifecycle.ts"
import { NodeGroup } from "#actors/ports/NodeGroup.ts"
import { SessionPlaces } from "#src/inference/ports/SessionPlaces.ts"
import { ThoughtSignatures } from "#src/inference/ports/ThoughtSignatures.ts"
import { Telemetry } from "#actors/request/ports/Telemetry.ts"
import { Upstream } from "#actors/request/ports/Upstream.ts"
import type { AttemptEnd } from "#actors/request/Attempt.ts"
import type { Limits, Recovery } from "#actors/request/Request.ts"
import type { Target } from "#actors/request/ports/Target.ts"
import { PublicError } from "#schemas/errors.ts"
import type { ApiKey } from "#schemas/records/ApiKey.ts"
import * as Hops from "#src/platform/gate/hops.ts"
import * as Pages from "#src/platform/gate/pages.ts"
import * as LeaseStage from "#src/features/leases/stage.ts"
import * as SessionLeases from "#src/features/leases/SessionLeases.ts"
import { BodyWorkers } from "#src/inference/lane/bodies/BodyWorkers.ts"
import * as Conversations from "#src/inference/conversations/Conversations.ts"
import * as ConversationRoutes from "#src/inference/conversations/conversationRoutes.ts"
import { ConnectionMarks } from "#src/inference/lane/ConnectionMarks.ts"
import * as TokenCounts from "#src/inference/conversations/counts/TokenCounts.ts"
import * as Registry from "#src/providers/Registry.ts"
import { Handoffs } from "#src/inference/conversations/ensembles/Handoffs.ts"
import * as TargetTestsOver from "#src/inference/conversations/ensembles/targetTests.ts"
import { Shadows } from "#src/inference/conversations/ensembles/Shadows.ts"
import { LiveRequests } from "#src/inference/lane/live/LiveRequests.ts"
import { LiveSessions } from "#src/inference/lane/live/LiveSessions.ts"
import * as Metrics from "#src/features/metrics/http.ts"
import { makePricer } from "#src/providers/pricing.ts"
import { ComboMetrics } from "#src/inference/ports/ComboMetrics.ts"
import { Quotas } from "#src/routing/ports/Quotas.ts"
import { Resilience } from "#actors/request/ports/Resilience.ts"
import { Turns } from "#actors/request/ports/Turns.ts"
import * as LimitStage from "#src/features/limits/stage.ts"
import * as UsageCommand from "#src/features/usage/own/stage.ts"
import * as SelfUsage from "#src/features/usage/own/report.ts"
import { freeModelsOf } from "#src/features/limits/freeModel.ts"
import * as Waits from "#src/inference/lane/stages/Waits.ts"
import * as RouteReport from "#src/inference/lane/RouteReport.ts"
import type * as Stages from "#src/inference/lane/stages/Stage.ts"
import { Report } from "#src/inference/lane/RouteReport.ts"
import { TargetTests } from "#src/inference/ports/TargetTests.ts"
import { RoutingViews } from "#src/inference/ports/RoutingViews.ts"
import { DocumentStore } from "#actors/ports/Stores.ts"
import * as EvalCallsOver from "#src/inference/conversations/evalCalls.ts"
import * as Scoreboard from "#src/features/evals/Scoreboard.ts"
import { makeRouter, type Router, RouterMemory } from "#src/routing/Router.ts"
import { Blocked } from "#src/routing/unavailable.ts"
import * as Repeats from "#src/features/cache/repeats.ts"
import { IdempotencyView } from "#src/features/cache/ports/Idempotency.ts"
import { FrontEnd } from "#src/platform/server/FrontEnd.ts"
import type { PromptCacheRules } from "#src/wire/promptCache.ts"

export interface Options {
  readonly limits: Limits
  readonly maxBodyBytes: number
  /** Time that live streams get after a shutdown began, in ms. */
  readonly graceMs: number
  /** Comment lines are allowed in event streams (GATEWAY_SSE_COMMENTS). */
  readonly sseComments: boolean
  readonly metricsAccess: "loopback" | "all"
  readonly environmentKeys: ReadonlyMap<string, ApiKey>
  /** How often a call may come back to this gateway (GATEWAY_OWN_HOPS). */
  readonly ownHops: number
  /** Model for requests whose budget is used up (GATEWAY_EMERGENCY_FALLBACK_MODEL); null = a free one is looked for. */
  readonly emergencyModel: string | null
}

/** 24 characters that no other response has. */
const responseId = (): string => crypto.randomBytes(18).toString("base64url").replace(/[-_]/g, "0")

const promptCacheRules = (settings: Snapshot["settings"]): PromptCacheRules => {
  const [strategy, preserve] = [settings.get("promptCacheStrategy"), settings.get("alwaysPreserveClientCache")]
  return {
    strategy: settings.get("promptCacheEnabled") === false ? "manual" : strategy === "system-only" || strategy === "manual" ? strategy : "auto",
    preserve: preserve === "always" || preserve === "never" ? preserve : "auto"
  }
}

/** A second thread that reads bodies where there is memory for it, and a heap that the worst body within the bounds fits in. */
const threadsOf = () => {
  const heapMb = getHeapStatistics().heap_size_limit / 1024 / 1024
  return { threads: heapMb > 1_024 ? 2 : 1, heapMb: Math.max(384, Math.min(1_024, Math.floor(heapMb / 2))) }
}

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
  const feed = yield* ChangeFeed
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
  const bodies = yield* Effect.acquireRelease(
    Effect.sync(() => new BodyWorkers({ ...threadsOf(), onDefect: (text) => void run(Effect.logError(text)) })),
    (workers) => Effect.sync(() => workers.close())
  )
  const live = new LiveRequests()
  const sessions = new LiveSessions()
  yield* Effect.addFinalizer(() => live.close)
  const seenCalls = new Map<string, number>()
  // Live streams get the grace period; those that still run then end with an error in their own format.
  frontEnd.onDrain(() => {
    lookups(Effect.delay(Effect.sync(live.shutDown), options.graceMs))
  })
  const now = () => clock.currentTimeMillisUnsafe()
  const prefix = `${lifecycle.nodeId}-${lifecycle.startedAt.toString(36)}-`
  let sequence = 0
  const nextId = () => prefix + (++sequence).toString(36)

  const places = yield* SessionPlaces
  const handoffs = new Handoffs(() => flags.isOn("UNIVERSAL_CONTEXT_HANDOFF_ENABLED"), places)
  yield* places.hear(handoffs.heard)
  const quotas = yield* Quotas
  const resilience = yield* Resilience
  const turns = yield* Turns
  // Who waits has no upstream yet: another node serves it sooner than this one's grace ends.
  frontEnd.onDrain(turns.close)
  const report = new Report(yield* ComboMetrics, now, () => ({
    infra502: flags.isOn("PROTECTED_PRIORITY_INFRA_502_ENABLED"), provenance: flags.isOn("RETRY_AFTER_PROVENANCE_ENABLED")
  }), RouteReport.automaticOver(() => routerNow(), now))
  const leases = yield* Leases
  const fork: Stages.Fork = (effect) => {
    const fiber = lookups(effect)
    return () => fiber.interruptUnsafe()
  }
  const memory = new RouterMemory()
  const evals = Scoreboard.make({ documents: yield* DocumentStore, fork: (effect) => void lookups(effect) })
  let router: Router | null = null
  configuration.onChange(() => {
    router = null
  })
  const routerNow = (): Router => router ??= makeRouter({
    resilience,
    quotas,
    memory,
    evals,
    random: Math.random,
    snapshot: configuration.current(),
    registry: Registry.builtin,
    noThinkingAliases: flags.isOn("NO_THINKING_ALIAS_ENABLED"),
    thinkingLevels: !flags.isOn("GATEWAY_DISABLE_THINKING_LEVEL_VARIANTS"),
    priceOf: makePricer({ registry: Registry.builtin, user: configuration.current().pricing, synced: new Map() })
  })

  const repeats = yield* Repeats.make({
    router: routerNow,
    telemetry,
    now,
    draining: lifecycle.draining,
    fork,
    makeId: responseId,
    drainMs: options.limits.drainForUsageMs
  })

  const limits = yield* KeyLimits
  let freeModels: ReadonlyArray<string> | null = null
  configuration.onChange(() => {
    freeModels = null
  })
  const freeModel = (key: ApiKey): string | null =>
    (freeModels ??= freeModelsOf(configuration.current(), Registry.builtin, options.emergencyModel)).find((id) => routerNow().admits(key, id)) ?? null
  let promptCache: PromptCacheRules | null = null
  configuration.onChange(() => {
    promptCache = null
  })
  const usageCommand = UsageCommand.make({
    text: (key) => Effect.map(
      SelfUsage.read({ limits, quotas: () => ({ quotas, registry: Registry.builtin, snapshot: configuration.current() }) }, key, now()), SelfUsage.text
    ),
    telemetry, now, makeId: responseId, fork
  })
  const limiting = LimitStage.make({
    limits,
    fork,
    refusalOf: ({ codec, head, key }) => {
      const known = routerNow().identify({ model: head.model, key, face: codec.name })
      return known instanceof PublicError ? known : null
    },
    freeModel: (key) => flags.isOn("GATEWAY_EMERGENCY_FALLBACK") ? freeModel(key) : null
  })

  const pages = Pages.make(() => configuration.current().settings.get("corsOrigins"))
  frontEnd.guard(pages.guard)
  frontEnd.guard(Hops.guard({ own: (yield* NodeGroup).id, ownHops: options.ownHops }))

  const services: Conversations.ConversationServices = {
    admission: {
      feed,
      keys,
      limits,
      flags,
      pages,
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
      turns,
      accounting,
      telemetry,
      limits: options.limits,
      nodeId: lifecycle.nodeId,
      now,
      makeAttemptId: nextId,
      credentials,
      report: (target: Target, end: AttemptEnd) => {
        if (end.upstreamStatus === 401 && target.tokenFrom !== null && target.tokenFrom !== undefined) credentials.refused(target.tokenFrom)
        // The headers came when the stream began, or just now.
        quotas.note(target, end.headers, end.firstContentAt ?? now())
        marks.report(target, end)
      },
      defect: (requestId, cause) => {
        run(Effect.annotateLogs(Effect.logError("A request failed unexpectedly", cause), { requestId }))
      },
      closed: live.remove
    },
    router: routerNow,
    waits: { turns, totalMs: options.limits.timeouts.total, now },
    // What was answered before costs nothing, so it neither waits nor counts.
    stages: [usageCommand, LeaseStage.make({ leases, now, fork }), ...repeats.stages, limiting, Waits.throttle(turns), LeaseStage.fence],
    report,
    sessions,
    held: frontEnd.heldBodies,
    bodies,
    shadows: new Shadows(Math.random),
    handoffs,
    signatures: yield* ThoughtSignatures,
    maxBodyBytes: () => {
      const megabytes = configuration.current().settings.get("maxBodySizeMb")
      return typeof megabytes === "number" && megabytes > 0 ? megabytes * 1024 * 1024 : options.maxBodyBytes
    },
    previousResponseId: () => {
      const mode = configuration.current().settings.get("responsesPreviousResponseIdMode")
      return mode === "keep" || mode === "strip" ? mode : "auto"
    },
    promptCache: () => promptCache ??= promptCacheRules(configuration.current().settings),
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
        status: error.status, clientStatus: error.status, outcome: "policy", errorCode: error.code, stream: false, attempts: 0, cache: "off",
        startedAt: at, latencyMs: 0, ttftMs: null, bytesOut: 0, ...(error instanceof Blocked ? { route: RouteReport.lineOfBlocked(error) } : {})
      })
    }
  }
  if (options.limits.pulse.heartbeatMs > 0 || options.limits.pulse.earlyMs > 0) {
    lookups(Effect.forever(Effect.delay(Effect.sync(() => live.beat(now())), beatMs)))
  }
  frontEnd.direct("GET", "/metrics", Metrics.route(telemetry, options.metricsAccess))
  const counts = { ...services, accounting }
  const countContents = TokenCounts.ofGenerateContent(counts)
  for (const { entry, path } of ConversationRoutes.all) {
    const route = Conversations.route(services, entry)
    frontEnd.direct("POST", path, ConversationRoutes.generatePaths.includes(path)
      ? (exchange) => exchange.path.endsWith(":countTokens") ? countContents(exchange) : route(exchange)
      : route)
  }
  frontEnd.direct("POST", "/v1/messages/count_tokens", TokenCounts.ofMessages(counts))
  frontEnd.direct("POST", SessionLeases.path, SessionLeases.route({
    ...services, leases, snapshot: configuration.current, fork: (effect) => void lookups(effect)
  }))
  return { services, live, evals, idempotency: repeats.view }
})

/** The assembled inference services, for the routes on the effect lane. */
export class Inference extends Context.Service<Inference, Conversations.ConversationServices>()("gateway/http/Inference") {}

export const layer = (options: Options) =>
  Layer.effectContext(Effect.map(make(options), ({ evals, idempotency, live, services }) =>
    Context.make(Inference, services).pipe(
      Context.add(IdempotencyView, idempotency),
      Context.add(LiveCalls, { list: live.list, sessions: services.sessions.list }),
      Context.add(TargetTests, TargetTestsOver.make(services)),
      Context.add(EvalCalls, EvalCallsOver.make(services)),
      Context.add(EvalScores, evals),
      Context.add(RoutingViews, RouteReport.views(services.report, services.router, services.request.now))
    )))
