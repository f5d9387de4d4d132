/**
 * The response cache. A request with `temperature: 0` that was answered before gets the stored answer: whole as it was, or as a
 * stream of the client's format.
 *
 * Equal requests that miss at the same time share one upstream call for a bounded time; streams wait for the whole answer, too, but briefly. When
 * that call fails, the next waiting request calls; when its answer must not be stored, or another model gives it, every request calls
 * for itself. A bypass (`X-Gateway-No-Cache: true`, `Cache-Control: no-cache`, the key's cacheDefaultMode) is not looked up, but its
 * answer is stored.
 */
import * as Effect from "effect/Effect"
import type { CachedAnswer, ResponseCache } from "#src/features/cache/ports/ResponseCache.ts"
import type { Telemetry } from "#actors/request/ports/Telemetry.ts"
import { headerOf } from "#actors/request/ports/Upstream.ts"
import * as Errors from "#schemas/errors.ts"
import { LARGE_BYTES } from "#schemas/largeBodies.ts"
import type { Answer } from "#schemas/wire/conversation.ts"
import { formatCost } from "#src/platform/accounting/cost.ts"
import * as Identity from "#src/inference/lane/bodies/identity.ts"
import * as Storable from "./storable.ts"
import * as GatewayHeaders from "#src/inference/lane/gatewayHeaders.ts"
import { CoalescedCall, type CoalescedCallListener, type Spent } from "#src/inference/lane/stages/CoalescedCall.ts"
import * as StageAnswers from "#src/inference/lane/stages/stageAnswers.ts"
import type { AdmittedCall, ConversationCall, Fork, Stage } from "#src/inference/lane/stages/Stages.ts"
import * as PreviousResponses from "#src/inference/ports/PreviousResponses.ts"
import { type Flight, type Waiter, SingleFlight } from "#src/platform/structures/SingleFlight.ts"
import * as Formats from "#src/wire/formats.ts"
import type { EncoderOptions } from "#src/wire/stream/StreamSink.ts"
import * as StatusReason from "#schemas/statusReason.ts"

export interface Options {
  readonly cache: ResponseCache["Service"]
  /** What the request is remembered by; null when it has no answer that could be remembered. */
  readonly identify: (call: ConversationCall) => string | null
  /** ms since the epoch. */
  readonly now: () => number
  readonly telemetry: Telemetry["Service"]
  readonly draining: () => boolean
  readonly fork: Fork
  /** Makes the unique part of response ids. */
  readonly makeId: () => string
  /** How long a call whose client left continues for the cache (disconnectPolicy drain-to-cache), ms. */
  readonly drainMs: number
}

/** Longest wait for an equal request, ms; then the request is called on its own. */
export const maxWaitMs = 30_000
/** A stream waits only this long for an equal answer, ms: its client wants the first content soon. */
const maxStreamWaitMs = 1_000
const noBytes = Buffer.alloc(0)
/** Bytes of a streamed answer that is read for the cache: many times those of the whole answer that is kept of it. */
const maxStreamBytes = 4 * 1024 * 1024
/** Bytes of an answer that is kept: it is read on the loop, and once more for each stream that it is given as. */
const maxKeptBytes = LARGE_BYTES
/** Scope of keys whose every call is fenced by a lease: an old answer must not get past the fence. */
const leased = "lease:exclusive"

export class ResponseCaching implements Stage {
  readonly name = "cache"
  readonly options: Options
  readonly flights = new SingleFlight<CachedAnswer>()

  constructor(options: Options) {
    this.options = options
  }

  applies(call: AdmittedCall): boolean {
    if (!isConversation(call) || !this.options.cache.config().enabled || !Identity.isCacheable(call.codec.name, call.parsed)) return false
    const { asked, key, request } = call
    // Its answer names what it goes on with, and that is not in the body.
    if (PreviousResponses.namesOf(asked) !== null) return false
    if (key !== null && (key.policy.noLog || key.policy.scopes.includes(leased))) return false
    // What a tool says is true now.
    return !directive(request.header("cache-control"), "no-store") && request.header("x-gateway-tools") === undefined
  }

  run(call: AdmittedCall, next: (call: AdmittedCall) => void): void {
    if (!isConversation(call)) {
      next(call)
      return
    }
    const signature = this.options.identify(call)
    if (signature === null) {
      next(call)
      return
    }
    const miss = new Miss(this, call, next, signature)
    if (isBypass(call)) {
      miss.pass()
      return
    }
    const known = this.options.cache.peek(signature)
    if (known !== null) {
      miss.share(known)
      return
    }
    const flight = this.flights.enter(signature, miss)
    if (flight === null) miss.wait()
    else miss.lead(flight)
  }
}

const isConversation = (call: AdmittedCall): call is ConversationCall => call.codec !== null

const directive = (header: string | undefined, name: string): boolean =>
  header !== undefined && header.toLowerCase().split(",").some((one) => one.trim() === name)

const isBypass = ({ key, request }: AdmittedCall): boolean =>
  request.header("x-gateway-no-cache")?.toLowerCase() === "true" ||
  directive(request.header("cache-control"), "no-cache") ||
  (key !== null && key.policy.cacheDefaultMode === "bypass")

/** One request that the cache may answer: it looks, waits, or brings the answer. */
class Miss implements Waiter<CachedAnswer>, CoalescedCallListener {
  private readonly stage: ResponseCaching
  private call: ConversationCall
  private readonly next: (call: AdmittedCall) => void
  private readonly signature: string
  private readonly cameAt: number
  private flight: Flight<CachedAnswer> | null = null
  private assembler: Storable.Assembler | null = null
  private stop: (() => void) | null = null
  /** Another model answers: its answer is none to this request. */
  private isReplaced = false

  constructor(stage: ResponseCaching, call: ConversationCall, next: (call: AdmittedCall) => void, signature: string) {
    this.stage = stage
    this.call = call
    this.next = next
    this.signature = signature
    this.cameAt = stage.options.now()
  }

  // ---- waiting ---------------------------------------------------------------------------------------------------------------------

  wait(): void {
    const { flights, options: { fork } } = this.stage
    const leave = (): void => flights.leave(this.signature, this)
    this.stop = fork(Effect.delay(Effect.sync(() => {
      leave()
      this.alone()
    }), this.call.head.stream ? maxStreamWaitMs : maxWaitMs))
    this.call.passage.onGone(() => {
      this.waited()
      leave()
    })
  }

  private waited(): void {
    this.stop?.()
    this.stop = null
  }

  /** A hit. */
  readonly share = (answer: CachedAnswer): void => {
    this.waited()
    const { call, cameAt } = this
    const { cache, now, telemetry } = this.stage.options
    const body = call.head.stream ? Storable.replay(call.codec, answer.body, this.encoding(answer.model)) : answer.body
    if (body === null) {
      this.alone()
      return
    }
    cache.noteHit(answer)
    const headers = hitHeaders(call, answer, now() - cameAt)
    if (call.head.stream) {
      call.client.start(200, headers)
      call.client.end(body)
    } else call.client.respond(200, headers, body)
    StageAnswers.answered(telemetry, call, { cache: "hit", provider: answer.provider, model: answer.model, startedAt: cameAt, now: now(), bytesOut: body.length })
  }

  /** Makes the call without a look-up; its answer is still stored. */
  pass(): void {
    this.callAsLeader()
  }

  /** Makes the call without waiters. */
  readonly alone = (): void => {
    this.waited()
    this.miss()
  }

  readonly lead = (flight: Flight<CachedAnswer>): void => {
    const { cache, draining, fork } = this.stage.options
    const isFirst = this.stop === null
    this.waited()
    this.flight = flight
    if (!isFirst) {
      if (draining()) {
        this.call.passage.refuse(Errors.make("shutting_down", "The gateway is shutting down; repeat the request.", { retryAfterSeconds: 1 }))
        flight.failed()
      } else this.miss()
      return
    }
    // Registered first: the look-up may be over at once.
    let stop: (() => void) | null = null
    this.call.passage.onGone(() => {
      stop?.()
      flight.failed()
    })
    stop = fork(Effect.map(cache.find(this.signature), (answer) => {
      if (answer === null) this.miss()
      else {
        this.share(answer)
        flight.resolve(answer)
      }
    }))
  }

  // ---- flying ----------------------------------------------------------------------------------------------------------------------

  private miss(): void {
    this.stage.options.cache.noteMiss()
    this.callAsLeader()
  }

  private callAsLeader(): void {
    const { call } = this
    // Progress frames are no part of an answer.
    if (call.head.stream && call.request.header("x-gateway-progress") !== "true") this.assembler = new Storable.Assembler(call.codec.name, maxStreamBytes)
    const passed = CoalescedCall.of(call, this)
    // This lives as long as its stream, and the body need not.
    this.call = { ...call, body: noBytes, parsed: { ...Formats.repeatedOf(call.codec.name, call.parsed) } }
    this.next({ ...passed, cache: "miss", replaced: this.replaced })
  }

  private readonly replaced = (): void => {
    this.isReplaced = true
    this.assembler = null
    this.flight?.release()
  }

  readonly answered = (status: number, headers: ReadonlyArray<string>, body: Uint8Array | string, spent: Spent): void => {
    if (!StatusReason.isOk(status) || !spent.completed) {
      this.failed()
      return
    }
    const bytes = typeof body === "string" ? Buffer.from(body) : body
    const answer = this.isReplaced || bytes.length > maxKeptBytes ? null : Storable.read(this.call.codec.name, bytes)
    this.finish(answer, () => bytes, headers, spent)
  }

  readonly streamed = (headers: ReadonlyArray<string>, spent: Spent): void => {
    const answer = this.assembler === null ? null : this.assembler.end()
    this.finish(answer, (whole) => Storable.wholeOf(this.call.codec, whole, spent.usage, this.encoding(whole.model ?? "")), headers, spent)
  }

  readonly chunk = (bytes: Uint8Array): void => this.assembler?.push(bytes)

  readonly failed = (): void => {
    this.waited()
    this.flight?.failed()
  }

  readonly keeps = (end: () => void): boolean => {
    const { call, flight } = this
    const { drainMs, fork } = this.stage.options
    if (this.isReplaced) return false
    const drains = call.key !== null && call.key.policy.disconnectPolicy === "drain-to-cache"
    const deserted = (): void => {
      if (drains) this.stop = fork(Effect.delay(Effect.sync(end), drainMs))
      else end()
    }
    if (flight !== null && flight.waiters > 0) flight.onAbandoned = deserted
    else if (drains) deserted()
    else return false
    return true
  }

  /** Stores what may be stored, and shares it with the waiters. */
  private finish(answer: Answer | null, bodyOf: (answer: Answer) => Uint8Array, headers: ReadonlyArray<string>, spent: Spent): void {
    this.waited()
    const body = answer === null || !Storable.isStorable(answer) ? null : bodyOf(answer)
    if (body === null || body.length > maxKeptBytes) {
      this.flight?.release()
      return
    }
    const { cache, now } = this.stage.options
    const at = now()
    const { key } = this.call
    const cached: CachedAnswer = {
      signature: this.signature,
      apiKeyId: key === null ? null : key.id,
      model: headerOf(headers, "X-Gateway-Model") ?? this.call.head.model,
      provider: headerOf(headers, "X-Gateway-Provider") ?? "",
      strategy: /strategy=([^;]+)/.exec(headerOf(headers, "X-Gateway-Decision") ?? "")?.[1] ?? "single",
      format: this.call.codec.name,
      body,
      tokensIn: spent.usage.input,
      tokensOut: spent.usage.output,
      costUsd: spent.costUsd,
      createdAt: at,
      expiresAt: at + cache.config().ttlMs
    }
    cache.put(cached)
    this.flight?.resolve(cached)
  }

  private encoding(model: string): EncoderOptions {
    const { call } = this
    const { makeId, now } = this.stage.options
    return { model, includeUsage: call.head.wantsUsage, request: Formats.repeatedOf(call.codec.name, call.parsed), makeId, now: () => Math.floor(now() / 1000) }
  }
}

/** Headers of a hit: no upstream call was made, so it cost nothing. */
const hitHeaders = (call: ConversationCall, answer: CachedAnswer, latencyMs: number): ReadonlyArray<string> => {
  const ms = String(Math.max(0, Math.round(latencyMs)))
  const headers = GatewayHeaders.common(call.tags)
  if (call.head.stream) headers.push("Content-Type", call.codec.streamType, "Cache-Control", "no-cache, no-transform", "X-Accel-Buffering", "no")
  else headers.push("Content-Type", "application/json")
  headers.push(
    "X-Gateway-Decision", `strategy=${answer.strategy}; provider=${answer.provider}; latency_ms=${ms}`,
    "X-Gateway-Model", answer.model,
    "X-Gateway-Provider", answer.provider,
    "X-Gateway-Compression", "off; source=off",
    "X-Gateway-Cache", "HIT",
    "X-Gateway-Cache-Hit", "true",
    "X-Gateway-Cache-Latency", "synthetic",
    "X-Gateway-Latency-Ms", ms,
    "X-Gateway-Response-Cost", "0.0000000000",
    "X-Gateway-Cost-Saved", formatCost(answer.costUsd),
    "X-Gateway-Tokens-In", String(answer.tokensIn),
    "X-Gateway-Tokens-Out", String(answer.tokensOut)
  )
  return headers
}
