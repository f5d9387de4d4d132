/** Tools that read. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { at, entriesAt, type Inner, type Json, listAt, numberAt, textAt, ToolFailure } from "#src/management/inner/Inner.ts"
import { costOf, dearestOf, priceOf, usdOf } from "./spending.ts"
import { make, noArguments, type Tool } from "./Tool.ts"

const text = Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(200))
const atLeastZero = Schema.Finite.check(Schema.isGreaterThanOrEqualTo(0))

/** A combo by its id or name. */
export const comboOf = (inner: Inner, given: string) => Effect.flatMap(inner.get("/api/combos"), (answer) => {
  const combo = listAt(answer, "combos").find((one) => textAt(one, "id") === given || textAt(one, "name") === given)
  return combo === undefined ? Effect.fail(new ToolFailure({ code: "not_found", message: `No combo has the id or the name '${given}'` })) : Effect.succeed(combo)
})

const providerOf = (step: Json): string => textAt(step, "provider") || textAt(step, "model").split("/")[0] || ""

const comboView = (combo: Json, metrics?: Json): Json => ({
  id: at(combo, "id"), name: at(combo, "name"), strategy: at(combo, "strategy"), enabled: at(combo, "isActive") !== false,
  models: listAt(combo, "models").map((step, place) => ({
    provider: providerOf(step), model: textAt(step, "model") || `combo/${textAt(step, "comboName")}`, priority: place + 1
  })),
  ...(metrics === undefined ? {} : { metrics })
})

/** USD of a prompt at a target; null without a price. */
const promptCost = (prices: Json, target: Json, tokens: number): number | null => {
  const price = priceOf(prices, target)
  return price === null ? null : costOf(price, tokens, 0)
}

const ranges: Readonly<Record<string, string>> = { session: "1d", day: "1d", week: "7d", month: "30d" }

/** The call that budgets of recommendations are compared with, tokens. */
const usualCall = { prompt: 1_000, answer: 1_000 }

const tasks = ["coding", "review", "planning", "analysis", "debugging", "documentation"] as const

export const reading: ReadonlyArray<Tool> = [
  make({
    name: "gateway_get_health", brief: "Health of the gateway.", scopes: ["read:health"], phase: 1, auditLevel: "basic",
    description: "Shows the gateway's uptime, version and memory, the circuit breakers of its providers and the state of rate limits.",
    sourceEndpoints: ["/api/monitoring/health", "/api/rate-limits", "/api/cache"], args: noArguments,
    run: (_args, inner) => Effect.gen(function*() {
      const health = yield* inner.get("/api/monitoring/health")
      const limits = yield* inner.get("/api/rate-limits")
      const cache = yield* inner.get("/api/cache")
      const { heapTotal, heapUsed, rss } = process.memoryUsage()
      return {
        status: at(health, "status"), uptime: Math.round(process.uptime()), version: at(health, "version"), memoryUsage: { rss, heapTotal, heapUsed },
        circuitBreakers: at(health, "breakers") ?? [],
        rateLimits: listAt(limits, "connections").map((one) => ({
          provider: at(one, "provider"), connectionId: at(one, "connectionId"), rpm: null, currentUsage: numberAt(one, "running"),
          isLimited: at(one, "rateLimitedUntil") !== null
        })),
        cacheStats: at(cache, "semanticCache")
      }
    })
  }),
  make({
    name: "gateway_list_combos", brief: "Lists combos.", scopes: ["read:combos"], phase: 1, auditLevel: "basic",
    description: "Lists the combos: named chains of models with a strategy. With includeMetrics their figures come along.",
    sourceEndpoints: ["/api/combos", "/api/combos/metrics"], args: Schema.Struct({ includeMetrics: Schema.optionalKey(Schema.Boolean) }),
    run: ({ includeMetrics }, inner) => Effect.gen(function*() {
      const combos = listAt(yield* inner.get("/api/combos"), "combos")
      if (includeMetrics !== true) return { combos: combos.map((combo) => comboView(combo)) }
      const metrics = yield* inner.get("/api/combos/metrics")
      return { combos: combos.map((combo) => comboView(combo, at(metrics, "metrics", textAt(combo, "name")))) }
    })
  }),
  make({
    name: "gateway_get_combo_metrics", brief: "Figures of a combo.", scopes: ["read:combos"], phase: 1, auditLevel: "basic",
    description: "Shows how a combo did: requests, successes, latency, fallbacks, the cost of its newest 500 calls, and the same of each of its targets.",
    sourceEndpoints: ["/api/combos/metrics", "/api/usage/call-logs"], args: Schema.Struct({ comboId: text }),
    run: ({ comboId }, inner) => Effect.gen(function*() {
      const combo = yield* comboOf(inner, comboId)
      const metrics = at(yield* inner.get("/api/combos/metrics", { combo: textAt(combo, "name") }), "metrics")
      const logs = yield* inner.get("/api/usage/call-logs", { combo: textAt(combo, "name"), exact: "true", limit: 500 })
      const requests = numberAt(metrics, "requests")
      return {
        comboId: at(combo, "id"), name: at(combo, "name"), requests, successRate: requests === 0 ? null : numberAt(metrics, "successes") / requests,
        avgLatency: at(metrics, "avgLatencyMs"), fallbackCount: numberAt(metrics, "fallbacks"),
        costTotal: (Array.isArray(logs) ? logs : []).reduce((sum: number, row: Json) => sum + numberAt(row, "cost"), 0),
        byProvider: entriesAt(metrics, "targets").map(([, target]) => target)
      }
    })
  }),
  make({
    name: "gateway_check_quota", brief: "Quota that is left.", scopes: ["read:quota"], phase: 1, auditLevel: "basic",
    description: "Shows what is left of the quotas that providers reported, for all connections or for one.",
    sourceEndpoints: ["/api/usage/quota"], args: Schema.Struct({ provider: Schema.optionalKey(text), connectionId: Schema.optionalKey(text) }),
    run: ({ connectionId, provider }, inner) => inner.get("/api/usage/quota", { provider, connectionId })
  }),
  make({
    name: "gateway_cost_report", brief: "Costs of a period.", scopes: ["read:usage"], phase: 1, auditLevel: "basic",
    description: "Sums costs, requests and tokens of a period, by provider and by model, with the budgets of keys.",
    sourceEndpoints: ["/api/usage/analytics", "/api/usage/budget"],
    args: Schema.Struct({ period: Schema.optionalKey(Schema.Literals(["session", "day", "week", "month"])) }),
    run: ({ period = "session" }, inner) => Effect.gen(function*() {
      const usage = yield* inner.get("/api/usage/analytics", { range: ranges[period] })
      const budget = yield* inner.get("/api/usage/budget")
      return {
        period, totalCost: numberAt(usage, "summary", "cost"), requestCount: numberAt(usage, "summary", "requests"),
        tokenCount: { prompt: numberAt(usage, "summary", "promptTokens"), completion: numberAt(usage, "summary", "completionTokens") },
        byProvider: at(usage, "byProvider"), byModel: at(usage, "byModel"), budget: at(budget, "budgets")
      }
    })
  }),
  make({
    name: "gateway_list_models_catalog", brief: "Lists models.", scopes: ["read:models"], phase: 1, auditLevel: "none",
    description: "Lists the models that the gateway knows, with provider, kind and whether a connection serves them now.",
    sourceEndpoints: ["/api/models/catalog"],
    args: Schema.Struct({
      provider: Schema.optionalKey(text),
      capability: Schema.optionalKey(Schema.Literals(["chat", "embedding", "image", "audio", "video", "rerank", "moderation"]))
    }),
    run: ({ capability, provider }, inner) => Effect.map(inner.get("/api/models/catalog"), (answer) => ({
      models: entriesAt(answer, "catalog").flatMap(([name, entry]) =>
        provider !== undefined && provider !== name && provider !== textAt(entry, "provider") ? [] : listAt(entry, "models")
          .filter((model) => capability === undefined || textAt(model, "type").includes(capability))
          .map((model): Json => ({
            id: at(model, "id"), provider: name, capabilities: [at(model, "type")], status: at(entry, "active") === true ? "available" : "unavailable"
          })))
    }))
  }),
  make({
    name: "gateway_simulate_route", brief: "Plans a route without a call.", scopes: ["read:health", "read:combos"], phase: 2, auditLevel: "basic",
    description: "Plans a request for a model or combo and calls no upstream: which targets come in which order, which are skipped and why, and what the prompt would cost at each.",
    sourceEndpoints: ["/api/routing/explain", "/api/pricing"],
    args: Schema.Struct({ model: text, promptTokenEstimate: Schema.optionalKey(Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))), combo: Schema.optionalKey(text) }),
    run: ({ combo, model, promptTokenEstimate }, inner) => Effect.gen(function*() {
      const plan = yield* inner.send("POST", "/api/routing/explain", { model: combo === undefined ? model : `combo/${combo}` })
      const prices = promptTokenEstimate === undefined ? null : yield* inner.get("/api/pricing")
      const targets = listAt(plan, "targets")
      const usable = targets.filter((target) => at(target, "skipped") === null)
      return {
        simulatedPath: targets.map((target): Json => ({
          provider: at(target, "provider"), model: at(target, "model"), probability: target === usable[0] ? 1 : 0,
          estimatedCost: promptTokenEstimate === undefined ? null : promptCost(prices, target, promptTokenEstimate),
          healthStatus: at(target, "skipped") === null ? "available" : textAt(target, "skipped", "reason"),
          quotaAvailable: textAt(target, "skipped", "reason") !== "quota-exhausted"
        })),
        fallbackTree: { primary: usable[0] ?? null, fallbacks: usable.slice(1) }, strategy: at(plan, "strategy"), error: at(plan, "error")
      }
    })
  }),
  make({
    name: "gateway_get_provider_metrics", brief: "Figures of a provider.", scopes: ["read:health"], phase: 2, auditLevel: "basic",
    description: "Shows success rate and latencies of a provider in the last 24 hours, its circuit breaker and its quota.",
    sourceEndpoints: ["/api/provider-metrics", "/api/monitoring/health", "/api/usage/quota"], args: Schema.Struct({ provider: text }),
    run: ({ provider }, inner) => Effect.gen(function*() {
      const metrics = at(yield* inner.get("/api/provider-metrics", { windowHours: 24 }), "providers", provider)
      const breakers = listAt(yield* inner.get("/api/monitoring/health"), "breakers").filter((one) => textAt(one, "provider") === provider)
      const quota = yield* inner.get("/api/usage/quota", { provider })
      const rate = at(metrics, "successRate")
      const failed = breakers.find((one) => at(one, "lastFailure") !== null)
      return {
        provider, requests: numberAt(metrics, "requests"), successRate: rate, errorRate: typeof rate === "number" ? 1 - rate : null,
        latency: { avg: at(metrics, "avgLatencyMs"), p50: at(metrics, "p50LatencyMs"), p95: at(metrics, "p95LatencyMs"), p99: at(metrics, "p99LatencyMs") },
        lastError: failed === undefined ? null : at(failed, "lastFailure"), circuitBreakerState: breakers[0] === undefined ? "closed" : at(breakers[0], "state"),
        quotaInfo: at(quota, "providers")
      }
    })
  }),
  make({
    name: "gateway_best_combo_for_task", brief: "Recommends a combo.", scopes: ["read:combos", "read:health"], phase: 2, auditLevel: "basic",
    description: "Recommends the active combo with the best record: success rate first, then latency. Figures decide; the task is named in the reason. budgetConstraint is the most USD that a call of 1,000 tokens of prompt and 1,000 of answer may cost at any model of the combo, latencyConstraint the highest mean latency in ms.",
    sourceEndpoints: ["/api/combos", "/api/combos/metrics", "/api/pricing"],
    args: Schema.Struct({
      taskType: Schema.Literals(tasks), budgetConstraint: Schema.optionalKey(atLeastZero), latencyConstraint: Schema.optionalKey(atLeastZero)
    }),
    run: ({ budgetConstraint, latencyConstraint, taskType }, inner) => Effect.gen(function*() {
      const metrics = yield* inner.get("/api/combos/metrics")
      const prices = yield* inner.get("/api/pricing")
      const combos = listAt(yield* inner.get("/api/combos"), "combos")
      const ranked = combos.filter((combo) => at(combo, "isActive") !== false).map((combo) => {
        const own = at(metrics, "metrics", textAt(combo, "name"))
        const requests = numberAt(own, "requests")
        return {
          combo, cost: dearestOf(combo, combos, prices, usualCall), latency: numberAt(own, "avgLatencyMs"),
          rate: requests === 0 ? 0.5 : numberAt(own, "successes") / requests
        }
      }).filter(({ cost, latency }) => (latencyConstraint === undefined || latency <= latencyConstraint) && (budgetConstraint === undefined || (cost !== null && cost <= budgetConstraint)))
        .sort((a, b) => b.rate - a.rate || a.latency - b.latency)
      const view = ({ combo, cost, latency, rate }: typeof ranked[number]): Json => ({
        id: at(combo, "id"), name: at(combo, "name"), estimatedCost: cost,
        reason: `${taskType}: success rate ${rate.toFixed(2)}, mean latency ${Math.round(latency)} ms, ${cost === null ? "price unknown" : `at most ${usdOf(cost)} USD for a call`}`
      })
      const [best, ...others] = ranked
      return {
        recommendedCombo: best === undefined ? null : view(best), alternatives: others.slice(0, 3).map(view),
        freeAlternative: ranked.filter(({ cost }) => cost === 0).map(({ combo }) => at(combo, "name"))[0] ?? null
      }
    })
  }),
  make({
    name: "gateway_explain_route", brief: "Explains a request's route.", scopes: ["read:health", "read:usage"], phase: 2, auditLevel: "basic",
    description: "Explains how a request was routed, by its request id: the decision, each attempt, what it cost and how long it took.",
    sourceEndpoints: ["/api/routing/decisions/{requestId}", "/api/usage/call-logs"], args: Schema.Struct({ requestId: text }),
    run: ({ requestId }, inner) => Effect.gen(function*() {
      // Decisions are kept for a while; attempts stay in the ledger.
      const kept = yield* Effect.catchTag(inner.get(`/api/routing/decisions/${encodeURIComponent(requestId)}`), "ToolFailure", () => Effect.succeed(null))
      const logs = yield* inner.get("/api/usage/call-logs", { search: requestId, limit: 100 })
      const attempts = (Array.isArray(logs) ? logs : []).filter((row: Json) => textAt(row, "requestId") === requestId)
      const decision = at(kept, "decision")
      if (decision === null && attempts.length === 0) return yield* new ToolFailure({ code: "not_found", message: `No request has the id '${requestId}'` })
      const last = attempts[0] ?? null
      return {
        requestId,
        decision: {
          comboUsed: at(last, "comboName"), providerSelected: at(last, "provider"), modelUsed: at(last, "model"), score: null, factors: decision === null ? [] : [decision],
          fallbacksTriggered: attempts.slice(1).map((row: Json) => ({ provider: at(row, "provider"), model: at(row, "model"), error: at(row, "error") })),
          costActual: attempts.reduce((sum: number, row: Json) => sum + numberAt(row, "cost"), 0), latencyActual: at(last, "duration")
        }
      }
    })
  }),
  make({
    name: "gateway_get_session_snapshot", brief: "Today's activity.", scopes: ["read:usage"], phase: 2, auditLevel: "none",
    description: "Sums up the last day: requests, costs, the most used models and providers, and errors.",
    sourceEndpoints: ["/api/usage/analytics", "/api/usage/call-logs"], args: noArguments,
    run: (_args, inner) => Effect.gen(function*() {
      const usage = yield* inner.get("/api/usage/analytics", { range: "1d" })
      const failed = yield* inner.get("/api/usage/call-logs", { status: "error", limit: 20 })
      const seconds = process.uptime()
      return {
        sessionStart: new Date((yield* Clock.currentTimeMillis) - seconds * 1_000).toISOString(), duration: Math.round(seconds), summary: at(usage, "summary"),
        topModels: listAt(usage, "byModel").slice(0, 5), topProviders: listAt(usage, "byProvider").slice(0, 5),
        errors: (Array.isArray(failed) ? failed : []).map((row: Json) => ({ requestId: at(row, "requestId"), model: at(row, "model"), error: at(row, "error") })),
        fallbacks: null, budgetGuard: yield* inner.budget.state
      }
    })
  }),
  make({
    name: "gateway_cache_stats", brief: "Figures of the cache.", scopes: ["read:cache"], phase: 2, auditLevel: "basic",
    description: "Shows entries, hits and savings of the caches of answers and prompts.",
    sourceEndpoints: ["/api/cache"], args: noArguments,
    run: (_args, inner) => inner.get("/api/cache")
  })
]
