/**
 * The skills that report. An operator, and a key whose scopes cover the reading, learn about the whole gateway; any other key learns
 * what it may know of itself.
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { ApiKey } from "#schemas/records/ApiKey.ts"
import { at, entriesAt, type Inner, type Json, listAt, numberAt, textAt, type ToolFailure } from "#src/management/inner/Inner.ts"
import { metadataOf, SkillFailure, type SkillResult } from "./Skill.ts"
import type { SkillServices } from "./SkillServices.ts"

/** What a client may ask of a report. */
export const Options = Schema.Struct({
  range: Schema.optionalKey(Schema.Literals(["1h", "24h", "7d", "30d", "90d", "all"])),
  provider: Schema.optionalKey(Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(200)))
})
export type Options = typeof Options.Type

export interface Reporter {
  readonly services: SkillServices
  /** In the name of the caller. */
  readonly inner: Inner
  /** Null for an operator. */
  readonly key: ApiKey | null
  /** The whole gateway is reported on. */
  readonly isWide: boolean
  readonly options: Options
  /** ms since the epoch. */
  readonly now: number
}

interface Said {
  readonly text: string
  readonly data: Json
}

type Report = (reporter: Reporter) => Effect.Effect<Said, ToolFailure>

const hourMs = 3_600_000
const rangeMs: Readonly<Record<string, number>> = { "1h": hourMs, "24h": 24 * hourMs, "7d": 168 * hourMs, "30d": 720 * hourMs, "90d": 2_160 * hourMs }
/** Models that are named one by one. */
const MOST_MODELS = 500

/** 0 = no limit; every key is listed, with a budget or without. */
const limitFields = ["dailyLimitUsd", "weeklyLimitUsd", "monthlyLimitUsd"]

const dollars = (value: number): string => `${Number(value.toFixed(6))} USD`

const quotas: Report = ({ inner, isWide, options }) => isWide
  ? Effect.gen(function*() {
    const quota = yield* inner.get("/api/usage/quota", { provider: options.provider })
    const budgets = listAt(yield* inner.get("/api/usage/budget"), "budgets")
    const told = listAt(quota, "providers").flatMap((one) => at(one, "percentRemaining") ?? [])
    const used = told.filter((percent) => percent === 0).length
    const limited = budgets.filter((one) => limitFields.some((field) => numberAt(one, field) > 0)).length
    return {
      text: `${told.length} connections reported a quota; ${used} of them have nothing left. ${limited} keys have budgets.`,
      data: { quota, budgets }
    }
  })
  : Effect.map(inner.get("/api/usage/self-usage", { format: "json" }), (own) => ({
    text: `This key spent ${dollars(numberAt(own, "spent", "dailyUsd"))} today and ${dollars(numberAt(own, "spent", "weeklyUsd"))} this week. It has ${listAt(own, "limits").length} budgets and token limits and ${listAt(own, "rates").length} request limits.`,
    data: own
  }))

const providers: Report = ({ inner, isWide, options }) => isWide
  ? Effect.gen(function*() {
    const health = yield* inner.get("/api/monitoring/health")
    const catalog = entriesAt(yield* inner.get("/api/models/catalog"), "catalog")
      .filter(([name, entry]) => options.provider === undefined || options.provider === name || options.provider === textAt(entry, "provider"))
    const active = catalog.filter(([, entry]) => at(entry, "active") === true)
    return {
      text: `${active.length} of ${catalog.length} known providers have a connection: ${active.map(([name]) => name).join(", ") || "none"}.`,
      data: {
        providers: active.map(([name, entry]): Json => ({ provider: name, models: listAt(entry, "models").slice(0, MOST_MODELS).map((model) => at(model, "id")) })),
        counts: at(health, "providers"), breakers: at(health, "breakers") ?? []
      }
    }
  })
  : Effect.map(inner.get("/v1/models"), (answer) => {
    const models = listAt(answer, "data").filter((model) => options.provider === undefined || textAt(model, "owned_by") === options.provider)
    const byProvider = Map.groupBy(models, (model) => textAt(model, "owned_by"))
    return {
      text: `This key may call ${models.length} models of ${byProvider.size} providers: ${[...byProvider.keys()].join(", ") || "none"}.`,
      data: { providers: Array.from(byProvider, ([provider, own]): Json => ({ provider, models: own.slice(0, MOST_MODELS).map((model) => at(model, "id")) })) }
    }
  })

const costs: Report = ({ inner, isWide, key, now, options, services }) => {
  const range = options.range ?? "7d"
  if (isWide) {
    return Effect.map(inner.get("/api/usage/analytics", { range }), (usage) => ({
      text: `In the range ${range} the gateway served ${numberAt(usage, "summary", "requests")} calls for ${dollars(numberAt(usage, "summary", "cost"))}.`,
      data: { range, summary: at(usage, "summary"), byProvider: at(usage, "byProvider"), byModel: at(usage, "byModel") }
    }))
  }
  const window = rangeMs[range]
  return Effect.orDie(services.usage.totals({ apiKeyId: key?.id ?? "", ...(window === undefined ? {} : { since: now - window }) })).pipe(
    Effect.map(({ completionTokens, cost, promptTokens, requests }) => ({
      text: `In the range ${range} this key made ${requests} calls for ${dollars(cost)}.`,
      data: { range, summary: { requests, promptTokens, completionTokens, cost } }
    }))
  )
}

const health: Report = ({ inner, isWide }) => Effect.gen(function*() {
  const state = yield* inner.get("/api/monitoring/health")
  const active = numberAt(state, "providers", "activeCount")
  if (!isWide) {
    return {
      text: `The gateway is ${textAt(state, "status")}, version ${textAt(state, "version")}. ${active} providers are active.`,
      data: { status: at(state, "status"), version: at(state, "version"), providers: at(state, "providers") }
    }
  }
  const limits = yield* inner.get("/api/rate-limits")
  const open = listAt(state, "breakers").filter((one) => textAt(one, "state") === "open").length
  return {
    text: `The gateway is ${textAt(state, "status")}, version ${textAt(state, "version")}. ${active} providers are active; ${open} circuit breakers are open.`,
    data: { health: state, rateLimits: at(limits, "connections") ?? [] }
  }
})

export const reports = { "quota-management": quotas, "provider-discovery": providers, "cost-analysis": costs, "health-report": health } as const

const kinds: Readonly<Record<string, "not_authorized" | "invalid">> = { http_401: "not_authorized", http_403: "not_authorized", AUTH_004: "not_authorized", bad_request: "invalid" }

const explanation = (policy: string, allowed = true) => metadataOf({
  routing_explanation: "The gateway answered from its own records; no provider was called.",
  cost_envelope: { estimated: 0, actual: 0, currency: "USD" }, resilience_trace: [], policy_verdict: { allowed, reason: policy }
})

export const run = (report: Report, reporter: Reporter): Effect.Effect<SkillResult, SkillFailure> => Effect.mapBoth(report(reporter), {
  onSuccess: ({ data, text }) => ({
    artifacts: [{ name: "answer", type: "text" as const, content: text }, { name: "data", type: "data" as const, content: data }],
    metadata: explanation(reporter.isWide ? "The caller may read about the whole gateway." : "The caller may read about its own key.")
  }),
  onFailure: ({ code, message }) => new SkillFailure({ fault: { kind: kinds[code] ?? "internal", message }, metadata: explanation(message, kinds[code] !== "not_authorized") })
})
