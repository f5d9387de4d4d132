/** The durable side of the ledger: batched idempotent inserts and the reads of the usage endpoints. */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { LedgerRow } from "#schemas/records/LedgerRow.ts"
import type { Units } from "#schemas/records/Units.ts"
import type { StoreError } from "#actors/ports/StoreError.ts"

export interface UsageTotals {
  readonly requests: number
  readonly promptTokens: number
  readonly completionTokens: number
  /** What was used beside tokens; null = nothing that is counted. */
  readonly units: Units | null
  readonly cost: number
}

export interface UsageGroup extends UsageTotals {
  readonly provider: string | null
  readonly model: string | null
  readonly connectionId: string | null
  readonly apiKeyId: string | null
  readonly apiKeyName: string | null
  /** ms since the epoch of the newest row. */
  readonly lastUsed: number
}

export interface UsageFilter {
  readonly since?: number
  readonly until?: number
  readonly provider?: string
  readonly model?: string
  readonly connectionId?: string
  readonly apiKeyId?: string
  readonly status?: number
  readonly requestId?: string
  readonly attemptId?: string
  /** Only rows whose attempt answered the client. */
  readonly finalOnly?: boolean
  readonly limit?: number
}

/** What a search of calls may compare. */
export type CallField =
  | "attemptId" | "requestId" | "sessionTag" | "model" | "requestedModel" | "provider" | "connectionId" | "apiKeyId" | "apiKeyName" | "combo" | "outcome"
  | "errorCode" | "endpoint" | "nodeId" | "proxyId"

/** One comparison with one field. A field without a value never fits. */
export type CallTerm =
  | { readonly field: CallField; readonly is: ReadonlyArray<string> }
  /** A part of it, in any case; `except`: whole values that do not count. */
  | { readonly field: CallField; readonly has: string; readonly except?: ReadonlyArray<string> }
  /** Both ends belong to it. */
  | { readonly field: "status" | "latencyMs"; readonly from: number; readonly to: number }

/** One of the terms must fit. */
export interface CallCondition {
  /** What it restricts: the counts of a facet do without the conditions of its name. */
  readonly name: string
  readonly anyOf: ReadonlyArray<CallTerm>
}

/** Attempts that started in [since, until) and fit every condition. */
export interface CallSearch {
  readonly since?: number
  readonly until?: number
  /** Only attempts that left by an outbound proxy; a look reads no others. */
  readonly proxied?: true
  readonly conditions: ReadonlyArray<CallCondition>
}

/** A place in the ledger, newest first: behind this attempt. */
export interface CallPlace {
  readonly startedAt: number
  readonly attemptId: string
}

export interface CallPage {
  readonly rows: ReadonlyArray<LedgerRow>
  /** Where the search goes on; null at its end. A page may be short, or empty, and still go on: each looks at a bounded number of rows. */
  readonly next: CallPlace | null
}

export const callFacets = ["provider", "model", "apiKey", "connection", "combo", "outcome", "status", "error"] as const
export type CallFacet = typeof callFacets[number]

export interface FacetCount {
  readonly facet: CallFacet
  readonly value: string
  /** Name of a key as its newest row has it; null for others. */
  readonly label: string | null
  readonly count: number
}

/** Attempts that started in a stretch of time. */
export interface CallBucket {
  /** ms since the epoch of its beginning. */
  readonly start: number
  readonly count: number
  /** Those that failed for the client or the upstream: status 400 and above. */
  readonly errors: number
}

export interface CallFacets {
  /** Attempts that fit, of those that were looked at. */
  readonly count: number
  /** Most first, within a facet. */
  readonly values: ReadonlyArray<FacetCount>
  /** Those with attempts, oldest first. */
  readonly buckets: ReadonlyArray<CallBucket>
  /** Attempts in the range: up to the bound of one look. */
  readonly looked: number
}

/** What one key used at one model through one node. */
export interface KeyUse {
  readonly nodeId: string
  readonly provider: string
  readonly model: string
  /** Input and output. */
  readonly tokens: number
  readonly costUsd: number
}

/** What one connection used in one stretch of time, on all nodes. */
export interface ConnectionUse {
  readonly connectionId: string
  /** Begin of the stretch and the newest start in it, ms since the epoch. */
  readonly begin: number
  readonly last: number
  readonly requests: number
  /** Input and output. */
  readonly tokens: number
}

/** What a statistic looks at: attempts that started in [since, until]. */
export interface UsageWindow {
  readonly since: number
  readonly until?: number
}

export interface LatencyFilter extends UsageWindow {
  readonly provider?: string
  readonly model?: string
  /** Groups with fewer attempts are left out, and below so many successes a group's latency is that of all its attempts; default 1. */
  readonly minSamples?: number
  /** Newest attempts that are looked at; default all of the window. */
  readonly maxRows?: number
}

/** Attempts of one provider or model. Latencies are those of successes, or of all attempts while there are too few successes. */
export interface LatencyStatistics {
  readonly provider: string
  /** Null when grouped by provider. */
  readonly model: string | null
  readonly requests: number
  /** Outcome `completed`. */
  readonly successes: number
  /** Outcomes that count against the upstream: a client that left is in neither count. */
  readonly failures: number
  /** Attempts that the latencies are of. */
  readonly samples: number
  readonly avgMs: number
  readonly p50Ms: number
  readonly p95Ms: number
  readonly p99Ms: number
  /** Of the population. */
  readonly deviationMs: number
  /** ms since the epoch of the newest attempt. */
  readonly lastUsed: number
}

/** Attempts of one combo at one target. */
export interface ComboTargetStatistics {
  readonly combo: string
  readonly provider: string
  readonly model: string
  readonly connectionId: string | null
  readonly requests: number
  readonly successes: number
  readonly failures: number
  /** Of successes; null without any. */
  readonly avgMs: number | null
  /** HTTP status of the newest attempt. */
  readonly lastStatus: number
  readonly lastUsed: number
}

/** Requests of one combo that one provider answered, be it with an error. */
export interface ComboCalls {
  readonly combo: string
  readonly provider: string
  readonly calls: number
  readonly avgMs: number
}

/** What the vendors' prompt caches did for some attempts. */
interface PromptCacheCounts {
  readonly requests: number
  /** Attempts that read or wrote a cache. */
  readonly cachedRequests: number
  readonly inputTokens: number
  readonly cachedTokens: number
  readonly cacheCreationTokens: number
}

export interface PromptCacheUse extends PromptCacheCounts {
  readonly provider: string
  readonly model: string
}

export interface PromptCacheHour extends PromptCacheCounts {
  /** ms since the epoch of the hour's beginning, UTC. */
  readonly hour: number
}

/** Uses of one vendor's prompt cache, and how large its writes were. */
export interface PromptCacheWrites extends PromptCacheCounts {
  /** Null in the row of all models together. */
  readonly target: { readonly provider: string; readonly model: string } | null
  /** Attempts that wrote to the cache. */
  readonly writes: number
  /** Tokens of the 50th, 90th, 95th, 99th and 100th percentile of those writes; null without one. */
  readonly sizes: readonly [number, number, number, number, number] | null
}

/** Durations of some attempts, ms. */
export interface Percentiles {
  readonly p50: number
  readonly p95: number
  readonly p99: number
}

/** Attempts of a stretch of time. */
export interface UsageSlice extends UsageTotals {
  /** Outcome `completed`. */
  readonly successes: number
  /** Outcomes that count against the upstream. */
  readonly failures: number
  /** Attempts whose tokens are an estimate. */
  readonly estimated: number
  /** Attempts without a known price. */
  readonly unpriced: number
  /** Mean duration of all attempts; null without any. */
  readonly avgMs: number | null
  /** Of successes; null without any. */
  readonly latencyMs: Percentiles | null
  /** To the first of the answer; null while none was measured. */
  readonly firstTokenMs: Percentiles | null
  /** What the gateway itself took: waiting, limits and settling; null while none was measured. */
  readonly ownMs: Percentiles | null
}

/** Attempts that started in [since, until). */
export interface TrendFilter {
  readonly since: number
  readonly until: number
  readonly provider?: string
  readonly model?: string
  readonly connectionId?: string
  readonly apiKeyId?: string
}

export interface UsageTrend {
  readonly total: UsageSlice
  /** By place in `starts`; those without an attempt are absent. */
  readonly slices: ReadonlyMap<number, UsageSlice>
}

/** A key whose limits count what it used since a time, ms since the epoch. */
export interface CountedKey {
  readonly apiKeyId: string
  readonly since: number
}

export class UsageStore extends Context.Service<UsageStore, {
  /** Inserts what is not there yet, keyed by attemptId; answers how many rows were new. All or nothing. Keep rows, not the list: it may be emptied after the answer. */
  readonly insert: (rows: ReadonlyArray<LedgerRow>) => Effect.Effect<number, StoreError>
  /** Newest first; limit at most 10000. */
  readonly rows: (filter: UsageFilter) => Effect.Effect<ReadonlyArray<LedgerRow>, StoreError>
  /** Newest first, behind `after`; looks at `look` rows at most. */
  readonly calls: (search: CallSearch, page: { readonly after: CallPlace | null; readonly limit: number; readonly look: number }) => Effect.Effect<CallPage, StoreError>
  /** Of the newest `look` attempts in the range; `bucketMs`: the length of a bucket, `most`: values of a facet. */
  readonly facets: (search: CallSearch, bounds: { readonly look: number; readonly most: number; readonly bucketMs: number }) => Effect.Effect<CallFacets, StoreError>
  readonly totals: (filter: UsageFilter) => Effect.Effect<UsageTotals, StoreError>
  readonly groupBy: (
    dimension: "provider" | "model" | "connection" | "apiKey",
    filter: UsageFilter
  ) => Effect.Effect<ReadonlyArray<UsageGroup>, StoreError>
  /** What a key used in attempts that started at `since` or later, by node and model. */
  readonly usedBy: (apiKeyId: string, since: number) => Effect.Effect<ReadonlyArray<KeyUse>, StoreError>
  /** Attempts that started at `since` or later, in stretches of `slotMs` that begin at multiples of it; the oldest first. */
  readonly connectionUse: (connectionIds: ReadonlyArray<string>, since: number, slotMs: number) => Effect.Effect<ReadonlyArray<ConnectionUse>, StoreError>
  /** Ten one-minute buckets that end at `now`, oldest first. */
  readonly lastMinutes: (now: number) => Effect.Effect<ReadonlyArray<UsageTotals>, StoreError>
  /** `starts`: beginnings of the slices, ms since the epoch, rising, the first at `since` or before. */
  readonly trend: (filter: TrendFilter, starts: ReadonlyArray<number>) => Effect.Effect<UsageTrend, StoreError>
  /** Rows of one node, for reconciliation: how many, per outcome. */
  readonly count: (nodeId?: string) => Effect.Effect<ReadonlyMap<string, number>, StoreError>
  /** Percentiles, continuous (between two values when none stands there), most requests first. */
  readonly latencies: (
    dimension: "provider" | "model",
    filter: LatencyFilter
  ) => Effect.Effect<ReadonlyArray<LatencyStatistics>, StoreError>
  /** By combo name, then most requests first. */
  readonly comboTargets: (window: UsageWindow & { readonly combo?: string }) => Effect.Effect<ReadonlyArray<ComboTargetStatistics>, StoreError>
  /** Most calls first. */
  readonly comboCalls: (window: UsageWindow) => Effect.Effect<ReadonlyArray<ComboCalls>, StoreError>
  /** Most requests first. */
  readonly promptCache: (window: UsageWindow) => Effect.Effect<ReadonlyArray<PromptCacheUse>, StoreError>
  /** All models together, then each model, most requests first. `model`: only attempts on models of this name. */
  readonly promptCacheWrites: (query: UsageWindow & { readonly model?: string }) => Effect.Effect<ReadonlyArray<PromptCacheWrites>, StoreError>
  /** Hours with attempts, oldest first. */
  readonly promptCacheHours: (window: UsageWindow) => Effect.Effect<ReadonlyArray<PromptCacheHour>, StoreError>
  readonly removeBefore: (time: number) => Effect.Effect<number, StoreError>
  /** Removes attempts that started before `time`, but for those of a key from its `since` on; answers how many went. */
  readonly removeBut: (time: number, kept: ReadonlyArray<CountedKey>) => Effect.Effect<number, StoreError>
}>()("gateway/ports/UsageStore") {}
