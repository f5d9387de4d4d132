/** Tools that change something, or call a model. */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as SyncedModels from "#schemas/catalogue/SyncedModels.ts"
import { BudgetGuard } from "#src/features/mcp/budgetGuard.ts"
import { comboOf } from "./reading.ts"
import { at, type Inferred, type Inner, type Json, listAt, numberAt, textAt, ToolFailure } from "#src/management/inner/Inner.ts"
import { answerWithin, priceOf, promptTokensOf, usdOf } from "./spending.ts"
import { make, type Tool } from "./Tool.ts"

const text = Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(200))
/** ms for an answer of a model. */
const CALL_MS = 120_000
const MAX_TOKENS = 1_024
/** USD; what the header can say. */
const SMALLEST_BUDGET = 1e-10

const classes = ["oauth", "apikey", "local"] as const

/** What each profile sets: failures before a breaker opens, its pause, and the first cooldown of a connection. */
const profiles = {
  aggressive: { failureThreshold: 3, resetTimeoutMs: 15_000, baseCooldownMs: 1_000 },
  balanced: { failureThreshold: 5, resetTimeoutMs: 30_000, baseCooldownMs: 3_000 },
  conservative: { failureThreshold: 10, resetTimeoutMs: 60_000, baseCooldownMs: 10_000 }
} as const

const brief = (combo: Json): Json => ({ id: at(combo, "id"), name: at(combo, "name"), strategy: at(combo, "strategy"), enabled: at(combo, "isActive") !== false })

type Messages = ReadonlyArray<Readonly<Record<"role" | "content", string>>>

/** The kind of task that task routing knows each role by. */
const taskOfRole = { coding: "coding", review: "coding", planning: "analysis", analysis: "analysis" } as const

const isAutomatic = (model: string): boolean => model === "auto" || model.startsWith("auto/")

/** The tokens of an answer that a budget pays at every target that may be asked. Automatic routing holds a budget itself, by the header. */
const answerTokens = Effect.fn("Mcp.answerTokens")(function*(inner: Inner, model: string, messages: Messages, budget: number | undefined) {
  if (budget === undefined || isAutomatic(model)) return MAX_TOKENS
  const plan = yield* inner.send("POST", "/api/routing/explain", { model })
  const prices = yield* inner.get("/api/pricing")
  const rates = listAt(plan, "targets").filter((target) => at(target, "skipped") === null).flatMap((target) => priceOf(prices, target) ?? [])
  const tokens = answerWithin(budget, promptTokensOf(messages), rates, MAX_TOKENS)
  if (tokens >= 1) return tokens
  return yield* new ToolFailure({ code: "budget_exceeded", message: `budget: ${usdOf(budget)} USD do not pay the prompt and an answer at every target of ${model}; raise it, or name a cheaper model` })
})

/** A chat completion as the caller's own request: its rules, guardrails, limits and rows. */
const chat = (inner: Inner, model: string, messages: Messages, maxTokens: number, headers?: Readonly<Record<string, string>>) =>
  Effect.timeoutOrElse(inner.infer("/v1/chat/completions", { model, messages, max_tokens: maxTokens, stream: false }, headers), {
    duration: CALL_MS, orElse: () => Effect.fail(new ToolFailure({ code: "timeout", message: `${model} did not answer within ${CALL_MS} ms` }))
  })

const contentOf = ({ answer }: Inferred): string => textAt(listAt(answer, "choices")[0] ?? null, "message", "content")

/** A figure that a header says; null without it. */
const figureOf = ({ header }: Inferred, name: string): number | null => {
  const said = header(name)
  return said === null ? null : Number(said)
}

export const changing: ReadonlyArray<Tool> = [
  make({
    name: "gateway_switch_combo", brief: "Switches a combo on or off.", scopes: ["write:combos"], phase: 1, auditLevel: "full",
    description: "Switches a combo on or off.", sourceEndpoints: ["/api/combos/{id}"],
    args: Schema.Struct({ comboId: text, active: Schema.Boolean }),
    run: ({ active, comboId }, inner) => Effect.gen(function*() {
      const combo = yield* comboOf(inner, comboId)
      const changed = yield* inner.send("PUT", `/api/combos/${encodeURIComponent(textAt(combo, "id"))}`, { isActive: active })
      return { success: true, combo: brief(changed) }
    })
  }),
  make({
    name: "gateway_route_request", brief: "Asks a model or combo.", scopes: ["execute:completions"], phase: 1, auditLevel: "full",
    description: "Sends messages to a model or combo through the gateway's routing, with its limits, breakers and accounting. budget is the most USD that the answer may cost by the prices: it shortens the answer, and a call that it cannot pay is refused. role names the kind of task to task routing.",
    sourceEndpoints: ["/v1/chat/completions", "/api/routing/explain", "/api/pricing"],
    args: Schema.Struct({
      model: text,
      messages: Schema.Array(Schema.Struct({ role: Schema.Literals(["system", "user", "assistant"]), content: Schema.String.check(Schema.isMaxLength(200_000)) }))
        .check(Schema.isMinLength(1), Schema.isMaxLength(200)),
      combo: Schema.optionalKey(text), budget: Schema.optionalKey(Schema.Finite.check(Schema.isGreaterThan(0))),
      role: Schema.optionalKey(Schema.Literals(["coding", "review", "planning", "analysis"])), stream: Schema.optionalKey(Schema.Boolean)
    }),
    run: ({ budget, combo, messages, model, role, stream }, inner) => Effect.gen(function*() {
      if (stream === true) return yield* new ToolFailure({ code: "invalid_arguments", message: "stream: a tool answers once; leave it out" })
      const asked = combo === undefined ? model : `combo/${combo}`
      const said = yield* chat(inner, asked, messages, yield* answerTokens(inner, asked, messages, budget), {
        ...(role === undefined ? {} : { "x-gateway-task": taskOfRole[role] }),
        ...(budget === undefined || !isAutomatic(asked) ? {} : { "x-gateway-budget": usdOf(Math.max(budget, SMALLEST_BUDGET)), "x-gateway-budget-fallback": "strict" })
      })
      const answeredBy = said.header("x-gateway-model")
      return {
        response: {
          content: contentOf(said), model: answeredBy, tokens: { prompt: figureOf(said, "x-gateway-tokens-in"), completion: figureOf(said, "x-gateway-tokens-out") }
        },
        routing: {
          provider: said.header("x-gateway-provider"), combo: combo ?? null, fallbacksTriggered: figureOf(said, "x-gateway-fallback-attempts") ?? 0,
          cost: figureOf(said, "x-gateway-response-cost"), latencyMs: figureOf(said, "x-gateway-latency-ms"),
          routingExplanation: `${asked} was answered by ${said.header("x-gateway-cache") === "HIT" ? "the cache" : answeredBy ?? "several models"}`
        }
      }
    })
  }),
  make({
    name: "gateway_set_budget_guard", brief: "Bounds what this session's calls cost.", scopes: ["write:budget"], phase: 2, auditLevel: "full",
    description: "Bounds what the calls of this session cost in USD. Once as much is spent, calls are refused (block), asked of cheap or free models (degrade), or only told (alert).",
    sourceEndpoints: [], args: BudgetGuard, run: (guard, inner) => inner.budget.set(guard)
  }),
  make({
    name: "gateway_set_routing_strategy", brief: "Sets a combo's strategy.", scopes: ["write:combos"], phase: 2, auditLevel: "full",
    description: "Sets the strategy by which a combo chooses among its models.", sourceEndpoints: ["/api/combos/{id}"],
    args: Schema.Struct({ comboId: text, strategy: text, autoRoutingStrategy: Schema.optionalKey(text) }),
    run: ({ autoRoutingStrategy, comboId, strategy }, inner) => Effect.gen(function*() {
      const combo = yield* comboOf(inner, comboId)
      const changed = yield* inner.send("PUT", `/api/combos/${encodeURIComponent(textAt(combo, "id"))}`, {
        strategy, ...(autoRoutingStrategy === undefined ? {} : { config: { ...at(combo, "config") as Record<string, Json>, routerStrategy: autoRoutingStrategy } })
      })
      return { success: true, combo: brief(changed) }
    })
  }),
  make({
    name: "gateway_set_resilience_profile", brief: "Sets breakers and cooldowns.", scopes: ["write:resilience"], phase: 2, auditLevel: "full",
    description: "Sets breakers and cooldowns of all connections: aggressive fails over soon, conservative late.", sourceEndpoints: ["/api/resilience"],
    args: Schema.Struct({ profile: Schema.Literals(["aggressive", "balanced", "conservative"]) }),
    run: ({ profile }, inner) => Effect.gen(function*() {
      const { baseCooldownMs, failureThreshold, resetTimeoutMs } = profiles[profile]
      const each = <A extends Json>(value: A): Json => Object.fromEntries(classes.map((name) => [name, value]))
      yield* inner.send("PATCH", "/api/resilience", {
        providerBreaker: each({ failureThreshold, degradationThreshold: Math.max(1, failureThreshold - 2), resetTimeoutMs }), connectionCooldown: each({ baseCooldownMs })
      })
      return { applied: true, profile, settings: { circuitBreakerThreshold: failureThreshold, retryCount: null, timeoutMs: resetTimeoutMs, fallbackDepth: null } }
    })
  }),
  make({
    name: "gateway_test_combo", brief: "Tests every model of a combo.", scopes: ["execute:completions", "read:combos"], phase: 2, auditLevel: "full",
    description: "Asks every target of a combo once, and reports which of them answered.", sourceEndpoints: ["/api/combos/test"],
    args: Schema.Struct({ comboId: text, testPrompt: Schema.optionalKey(Schema.String.check(Schema.isMaxLength(500))) }),
    run: ({ comboId, testPrompt }, inner) => Effect.gen(function*() {
      const combo = yield* comboOf(inner, comboId)
      if (testPrompt !== undefined) {
        // Each target gets the caller's own text, under the caller's own rights.
        const results = yield* Effect.forEach(listAt(combo, "models"), (step) => {
          const model = textAt(step, "model") || `combo/${textAt(step, "comboName")}`
          const named = textAt(step, "provider") === "" || model.includes("/") ? model : `${textAt(step, "provider")}/${model}`
          return Effect.map(Effect.timed(Effect.result(chat(inner, named, [{ role: "user", content: testPrompt }], 64))), ([took, tried]): Json => ({
            model: named, status: tried._tag === "Failure" ? "error" : "ok", latencyMs: Math.round(Duration.toMillis(took)),
            error: tried._tag === "Failure" ? tried.failure.message : null
          }))
        }, { concurrency: 5 })
        return { results, summary: summaryOf(results) }
      }
      const results = listAt(yield* inner.send("POST", "/api/combos/test", { comboName: textAt(combo, "name") }), "results")
      return { results, summary: summaryOf(results) }
    })
  }),
  make({
    name: "gateway_sync_pricing", brief: "Reads prices from public lists.", scopes: ["pricing:write"], phase: 2, auditLevel: "full",
    description: "Reads the prices of models from public lists (litellm, models.dev) and stores them; prices of the operator's own stay. With dryRun nothing is stored.",
    sourceEndpoints: ["/api/pricing/sync"],
    args: Schema.Struct({
      sources: Schema.optionalKey(Schema.Array(SyncedModels.Source).check(Schema.isMinLength(1), Schema.isMaxLength(SyncedModels.Source.literals.length))),
      dryRun: Schema.optionalKey(Schema.Boolean)
    }),
    run: (given, inner) => Effect.map(inner.send("POST", "/api/pricing/sync", given), (answer): Json => {
      // The prices themselves are too many for a model to read.
      const { data: _data, ...rest } = answer as Record<string, Json>
      return rest
    })
  }),
  make({
    name: "gateway_cache_flush", brief: "Empties the cache.", scopes: ["write:cache"], phase: 2, auditLevel: "full",
    description: "Removes kept answers: those of a model, one by its signature, or all.", sourceEndpoints: ["/api/cache"],
    args: Schema.Struct({ signature: Schema.optionalKey(text), model: Schema.optionalKey(text) }),
    run: ({ model, signature }, inner) => inner.send("DELETE", "/api/cache", undefined, { model, signature })
  })
]

const summaryOf = (results: ReadonlyArray<Json>): Json => {
  const ok = results.filter((one) => textAt(one, "status") === "ok")
  return {
    tested: results.length, ok: ok.length, failed: results.length - ok.length,
    avgLatencyMs: ok.length === 0 ? null : ok.reduce((sum: number, one) => sum + numberAt(one, "latencyMs"), 0) / ok.length
  }
}
