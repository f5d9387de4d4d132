/**
 * Searches that were made before are answered from the response cache, for a time that operators set. Equal searches at the same time share
 * one call: when it fails the next one calls, when its answer is not kept each calls for itself. Every search is counted here.
 */
import * as Crypto from "node:crypto"
import * as Effect from "effect/Effect"
import type { Interceptor } from "#actors/request/ports/Interceptor.ts"
import { headerOf } from "#actors/request/ports/Upstream.ts"
import type { Telemetry } from "#actors/request/ports/Telemetry.ts"
import * as Errors from "#schemas/errors.ts"
import { LARGE_BYTES } from "#schemas/largeBodies.ts"
import type { LedgerRow } from "#schemas/records/LedgerRow.ts"
import * as StatusReason from "#schemas/statusReason.ts"
import type { CachedAnswer, ResponseCache } from "#src/features/cache/ports/ResponseCache.ts"
import * as GatewayHeaders from "#src/inference/lane/gatewayHeaders.ts"
import { CoalescedCall, type CoalescedCallListener, type Spent } from "#src/inference/lane/stages/CoalescedCall.ts"
import type { AdmittedCall, Fork, Stage } from "#src/inference/lane/stages/Stages.ts"
import * as StageAnswers from "#src/inference/lane/stages/stageAnswers.ts"
import { formatCost } from "#src/platform/accounting/cost.ts"
import { type Flight, SingleFlight, type Waiter } from "#src/platform/structures/SingleFlight.ts"
import { type Failure, repeated, type SearchHead } from "#src/wire/search/codec.ts"
import type { SearchStatistics } from "./statistics/SearchStatistics.ts"

export interface Options {
  readonly cache: Pick<ResponseCache["Service"], "peek" | "find" | "put">
  readonly statistics: Pick<SearchStatistics["Service"], "note">
  /** What the search is remembered by; null when it cannot be made. */
  readonly identify: (call: SearchingCall) => string | null
  /** How long the answer of a connection is kept, ms; 0 = not at all. */
  readonly ttlOf: (connectionId: string | null) => number
  /** A provider's id for clients. */
  readonly shown: (provider: string) => string
  /** ms since the epoch. */
  readonly now: () => number
  readonly telemetry: Telemetry["Service"]
  readonly draining: () => boolean
  readonly fork: Fork
}

export interface SearchingCall extends AdmittedCall {
  readonly head: SearchHead
}

/** Longest wait for an equal search, ms; then it is made for itself. */
const maxWaitMs = 15_000
/** Scope of keys whose every call is fenced by a lease: an old answer must not get past the fence. */
const leased = "lease:exclusive"

const isSearch = (call: AdmittedCall): call is SearchingCall => call.format === "search"

const directive = (header: string | undefined, name: string): boolean =>
  header !== undefined && header.toLowerCase().split(",").some((one) => one.trim() === name)

const isBypass = ({ key, request }: AdmittedCall): boolean =>
  request.header("x-gateway-no-cache")?.toLowerCase() === "true" || directive(request.header("cache-control"), "no-cache") ||
  (key !== null && key.policy.cacheDefaultMode === "bypass")

const isKept = ({ key, request }: AdmittedCall): boolean =>
  (key === null || (!key.policy.noLog && !key.policy.scopes.includes(leased))) && !directive(request.header("cache-control"), "no-store")

export class SearchCaching implements Stage {
  readonly name = "search"
  readonly options: Options
  readonly flights = new SingleFlight<CachedAnswer>()

  constructor(options: Options) {
    this.options = options
  }

  applies(call: AdmittedCall): boolean {
    return isSearch(call)
  }

  run(given: AdmittedCall, next: (call: AdmittedCall) => void): void {
    if (!isSearch(given)) {
      next(given)
      return
    }
    const call = this.#counted(given)
    const signature = isKept(call) ? this.options.identify(call) : null
    if (signature === null) {
      next(call)
      return
    }
    const search = new Search(this, call, next, signature)
    const known = isBypass(call) ? null : this.options.cache.peek(signature)
    if (isBypass(call)) search.alone()
    else if (known !== null) search.share(known)
    else {
      const flight = this.flights.enter(signature, search)
      if (flight === null) search.wait()
      else search.lead(flight)
    }
  }

  /** With a recorder of its attempts. */
  #counted(call: SearchingCall): SearchingCall {
    const { shown, statistics } = this.options
    const { failures } = call.head
    const recorder: Interceptor = {
      beforeAttempt: () => null,
      attemptSettled: (row) => {
        statistics.note(sumsOf(row))
        if (!row.final && row.outcome !== "completed") failures.push(failureOf(row, shown(row.provider)))
      },
      closed: () => {}
    }
    return { ...call, interceptors: [...call.interceptors, recorder] }
  }
}

const failureOf = ({ errorCode, outcome, upstreamStatus }: LedgerRow, provider: string): Failure => ({
  provider, code: errorCode ?? outcome,
  message: upstreamStatus === 0 ? "The provider did not answer." : StatusReason.isOk(upstreamStatus) ? "The provider's answer could not be used." : `The provider answered with status ${upstreamStatus}.`
})

const sumsOf = ({ apiKeyId: keyId, connectionId, costUsd, final, latencyMs, outcome, provider }: LedgerRow) => ({
  keyId, provider, connectionId, requests: final ? 1 : 0, attempts: 1, cached: 0, errors: final && outcome !== "completed" && outcome !== "client-abort" ? 1 : 0, costUsd, durationMs: final ? latencyMs : 0
})

/** One search that the cache may answer: it looks, waits, or brings the answer. */
class Search implements Waiter<CachedAnswer>, CoalescedCallListener {
  readonly #stage: SearchCaching
  readonly #call: SearchingCall
  readonly #next: (call: AdmittedCall) => void
  readonly #signature: string
  readonly #cameAt: number
  #flight: Flight<CachedAnswer> | null = null
  #stop: (() => void) | null = null
  #answeredBy: LedgerRow | null = null

  constructor(stage: SearchCaching, call: SearchingCall, next: (call: AdmittedCall) => void, signature: string) {
    this.#stage = stage
    this.#call = call
    this.#next = next
    this.#signature = signature
    this.#cameAt = stage.options.now()
  }

  wait(): void {
    const { flights, options: { fork } } = this.#stage
    const leave = (): void => flights.leave(this.#signature, this)
    this.#stop = fork(Effect.delay(Effect.sync(() => {
      leave()
      this.alone()
    }), maxWaitMs))
    this.#call.passage.onGone(() => {
      this.#waited()
      leave()
    })
  }

  #waited(): void {
    this.#stop?.()
    this.#stop = null
  }

  /** A hit: it cost nothing. */
  readonly share = (answer: CachedAnswer): void => {
    this.#waited()
    const { now, statistics, telemetry } = this.#stage.options
    const ms = Math.max(0, Math.round(now() - this.#cameAt))
    const body = repeated(answer.body, Crypto.randomUUID(), ms)
    if (body === null) {
      this.alone()
      return
    }
    const { client, key } = this.#call
    client.respond(200, hitHeaders(this.#call, answer, ms), body)
    statistics.note({
      keyId: key === null ? null : key.id, provider: providerOf(answer), connectionId: null, requests: 1, attempts: 0, cached: 1, errors: 0, costUsd: 0, durationMs: ms
    })
    StageAnswers.answered(telemetry, this.#call, { cache: "hit", provider: answer.provider, model: answer.model, startedAt: this.#cameAt, now: now(), bytesOut: body.length })
  }

  /** Makes the call without waiters; its answer is still kept. */
  readonly alone = (): void => {
    this.#waited()
    this.#pass()
  }

  readonly lead = (flight: Flight<CachedAnswer>): void => {
    const { cache, draining, fork } = this.#stage.options
    const isFirst = this.#stop === null
    this.#waited()
    this.#flight = flight
    if (!isFirst) {
      if (draining()) {
        this.#call.passage.refuse(Errors.make("shutting_down", "The gateway is shutting down; repeat the request.", { retryAfterSeconds: 1 }))
        flight.failed()
      } else this.#pass()
      return
    }
    // Registered first: the look-up may be over at once.
    let stop: (() => void) | null = null
    this.#call.passage.onGone(() => {
      stop?.()
      flight.failed()
    })
    stop = fork(Effect.map(cache.find(this.#signature), (answer) => {
      if (answer === null) this.#pass()
      else {
        this.share(answer)
        flight.resolve(answer)
      }
    }))
  }

  #pass(): void {
    const recorder: Interceptor = {
      beforeAttempt: () => null,
      attemptSettled: (row) => {
        if (row.final) this.#answeredBy = row
      },
      closed: () => {}
    }
    const call: AdmittedCall = { ...this.#call, interceptors: [...this.#call.interceptors, recorder] }
    this.#next({ ...CoalescedCall.of(call, this), cache: "miss" })
  }

  readonly answered = (status: number, headers: ReadonlyArray<string>, body: Uint8Array | string, spent: Spent): void => {
    if (!StatusReason.isOk(status) || !spent.completed) {
      this.failed()
      return
    }
    const { cache, now, ttlOf } = this.#stage.options
    const bytes = typeof body === "string" ? Buffer.from(body) : body
    const ttlMs = ttlOf(this.#answeredBy?.connectionId ?? null)
    const at = now()
    const { key } = this.#call
    const answer: CachedAnswer = {
      signature: this.#signature, apiKeyId: key === null ? null : key.id, model: headerOf(headers, "X-Gateway-Model") ?? this.#call.head.model,
      provider: headerOf(headers, "X-Gateway-Provider") ?? "", strategy: /strategy=([^;]+)/.exec(headerOf(headers, "X-Gateway-Decision") ?? "")?.[1] ?? "single", format: "search",
      body: bytes, tokensIn: 0, tokensOut: 0, costUsd: spent.costUsd, createdAt: at, expiresAt: at + ttlMs
    }
    if (ttlMs > 0 && bytes.length <= LARGE_BYTES) cache.put(answer)
    // Equal searches that wait share the answer, however long it is kept; a large one is not read on the loop.
    if (bytes.length <= LARGE_BYTES) this.#flight?.resolve(answer)
    else this.#flight?.release()
  }

  readonly streamed = (): void => this.failed()

  readonly chunk = (): void => {}

  readonly failed = (): void => {
    this.#waited()
    this.#flight?.failed()
  }

  readonly keeps = (end: () => void): boolean => {
    const flight = this.#flight
    if (flight === null || flight.waiters === 0) return false
    flight.onAbandoned = end
    return true
  }
}

const providerOf = ({ model }: CachedAnswer): string => model.slice(0, Math.max(0, model.indexOf("/")))

const hitHeaders = ({ tags }: AdmittedCall, answer: CachedAnswer, ms: number): ReadonlyArray<string> => [
  ...GatewayHeaders.common(tags),
  "Content-Type", "application/json",
  "X-Gateway-Decision", `strategy=${answer.strategy}; provider=${answer.provider}; latency_ms=${ms}`,
  "X-Gateway-Model", answer.model,
  "X-Gateway-Provider", answer.provider,
  "X-Gateway-Cache", "HIT",
  "X-Gateway-Cache-Hit", "true",
  "X-Gateway-Cache-Latency", "synthetic",
  "X-Gateway-Latency-Ms", String(ms),
  "X-Gateway-Response-Cost", "0.0000000000",
  "X-Gateway-Cost-Saved", formatCost(answer.costUsd),
  "X-Gateway-Tokens-In", "0",
  "X-Gateway-Tokens-Out", "0"
]
