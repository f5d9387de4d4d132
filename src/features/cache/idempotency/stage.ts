/**
 * A request that comes twice within its window is served once. `Idempotency-Key`, else `X-Request-Id`, scoped by the
 * API key; anonymous callers are one tenant.
 *
 * While the first one runs, repeats wait for it; when it succeeds they get the same bytes with `X-Gateway-Idempotent: true`, and so
 * do later repeats in the window. When it fails, its own caller gets the error and the next repeat makes the call itself. A caller
 * that leaves ends the call only if no other one waits for it. Streams pass: they are neither replayed nor shared. A file that is sent
 * while it is made is no stream: its own caller hears it as it comes, and repeats get it whole.
 *
 * An Idempotency-Key with another body is a client's mistake (409); X-Request-Id is a correlation id that clients may reuse, so there
 * another body is another request.
 */
import * as Crypto from "node:crypto"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import * as Supervisor from "#actors/Supervisor.ts"
import type { IdempotencyClaim, IdempotencyStore, KeptReply } from "#src/features/cache/ports/Idempotency.ts"
import type { StoreError } from "#actors/ports/StoreError.ts"
import type { Telemetry } from "#actors/request/ports/Telemetry.ts"
import * as Errors from "#schemas/errors.ts"
import { PublicError } from "#schemas/errors.ts"
import { RecentReplies } from "./RecentReplies.ts"
import * as Identity from "#src/inference/lane/bodies/identity.ts"
import * as GatewayHeaders from "#src/inference/lane/gatewayHeaders.ts"
import { CoalescedCall, type CoalescedCallListener } from "#src/inference/lane/stages/CoalescedCall.ts"
import * as StageAnswers from "#src/inference/lane/stages/stageAnswers.ts"
import type { AdmittedCall, Fork, Stage } from "#src/inference/lane/stages/Stages.ts"
import { type Flight, type Waiter, SingleFlight } from "#src/platform/structures/SingleFlight.ts"
import * as StatusReason from "#schemas/statusReason.ts"

export interface Options {
  /** ms; 0 = off. */
  readonly windowMs: () => number
  /** Bytes of files in the making that are kept for repeats, of all calls together. */
  readonly filesBytes: number
  /** ms since the epoch. */
  readonly now: () => number
  readonly telemetry: Telemetry["Service"]
  readonly draining: () => boolean
  /** The claims that nodes share; null = this node is alone. */
  readonly store: IdempotencyStore["Service"] | null
  readonly fork: Fork
  /** A name that no other claim has. */
  readonly makeOwner: () => string
}

/** Bytes and number of replies that are kept for repeats. */
const maxKeptBytes = 16 * 1024 * 1024
/** Bytes of a file that repeats are given; who repeats the request for a larger one, or one for which there was no room, makes a call. */
const maxFileBytes = maxKeptBytes / 2
const maxKept = 10_000
/** A claim expires after this time without a renewal, ms: a node's death is unnoticed for as long. */
export const leaseMs = 6_000
/** Between two looks at another node's claim, ms. */
const firstLookMs = 25
const longestLookMs = 250

/**
 * The end of a claim is sent again when the store did not answer, for longer than the interval of the store's probes: a repeat on
 * another node waits for it.
 */
const again = { times: 5, schedule: Schedule.spaced(250) } as const

/** A request that names itself. */
interface Named {
  readonly key: string
  /** Of what was asked. */
  readonly digest: string
}

export class Idempotency implements Stage {
  readonly name = "idempotency"
  readonly options: Options
  readonly flights = new SingleFlight<KeptReply>()
  readonly recent = new RecentReplies(maxKeptBytes, maxKept)
  /** Bytes of files in the making. */
  filesHeld = 0

  constructor(options: Options) {
    this.options = options
  }

  applies(call: AdmittedCall): boolean {
    if ((call.head.stream && call.head.isFile !== true) || this.options.windowMs() === 0) return false
    // Only another node could ask it, too.
    if (this.options.store === null && call.request.actsAs?.asksOnce === true) return false
    return Identity.isNamed(call.request)
  }

  run(call: AdmittedCall, next: (call: AdmittedCall) => void): void {
    const named = nameOf(call)
    const now = this.options.now()
    const known = this.recent.get(named.key, now)
    if (known !== null) {
      if (known.digest === named.digest) new Repeat(this, call, next, named).share(known.reply)
      else call.passage.refuse(reused())
      return
    }
    const running = this.flights.get(named.key)
    if (running !== null && running.mark !== named.digest) {
      call.passage.refuse(reused())
      return
    }
    const repeat = new Repeat(this, call, next, named)
    const flight = this.flights.enter(named.key, repeat, named.digest)
    if (flight === null) call.passage.onGone(() => this.flights.leave(named.key, repeat))
    else repeat.lead(flight)
  }

  /** Keys in flight or within their window. */
  activeKeys(): number {
    return this.flights.size + this.recent.size(this.options.now())
  }
}

const isNamed = (value: string | undefined): boolean => value !== undefined && value !== ""

const nameOf = (call: AdmittedCall): Named => {
  const { body, endpoint, form, head, key, large, request } = call
  const given = request.header("idempotency-key")
  const digest = Crypto.hash("sha256", `${endpoint}\n${head.model}\n${large?.digest ?? form?.digest ?? Crypto.hash("sha256", body, "hex")}`, "hex")
  const tenant = key === null ? "anonymous" : key.id
  const parts = isNamed(given) ? [tenant, "key", given] : [tenant, "request", request.header("x-request-id"), digest]
  return { key: Crypto.hash("sha256", JSON.stringify(parts), "hex"), digest }
}

const reused = (): PublicError =>
  new PublicError(
    "idempotency_key_reused", 409, "invalid_request_error",
    "This Idempotency-Key was sent with another request a moment ago: use a new key for a new request, or repeat the same body.", null, { param: "Idempotency-Key" }
  )

/** Response headers of the reply that are not repeated: each repeat has its own ids, and costs nothing. */
const ownHeaders: ReadonlySet<string> = new Set(["x-gateway-request-id", "x-gateway-version", "x-gateway-session-id", "x-gateway-response-cost"])

const keptHeaders = (headers: ReadonlyArray<string>): ReadonlyArray<string> => {
  const kept: Array<string> = []
  for (let i = 0; i + 1 < headers.length; i += 2) {
    if (!ownHeaders.has((headers[i] as string).toLowerCase())) kept.push(headers[i] as string, headers[i + 1] as string)
  }
  return kept
}

const bytesOf = (body: Uint8Array | string): Uint8Array => typeof body === "string" ? Buffer.from(body) : body

/** One caller of a named request: the leader, or a waiter. */
class Repeat implements Waiter<KeptReply>, CoalescedCallListener {
  private readonly stage: Idempotency
  private readonly call: AdmittedCall
  private readonly next: (call: AdmittedCall) => void
  private readonly named: Named
  private readonly cameAt: number
  private flight: Flight<KeptReply> | null = null
  /** Set while the nodes' claim is this call's. */
  private owner: string | null = null
  private stopLooking: (() => void) | null = null
  private stopRenewing: (() => void) | null = null
  /** What came of a file; null = the answer is none, or it is too large. */
  private parts: Array<Uint8Array> | null
  private partsBytes = 0

  constructor(stage: Idempotency, call: AdmittedCall, next: (call: AdmittedCall) => void, named: Named) {
    this.stage = stage
    this.call = call
    this.next = next
    this.named = named
    this.cameAt = stage.options.now()
    this.parts = call.head.isFile === true ? [] : null
  }

  // ---- waiting ---------------------------------------------------------------------------------------------------------------------

  readonly share = (reply: KeptReply): void => {
    const { call } = this
    const { now, telemetry } = this.stage.options
    const headers = GatewayHeaders.common(call.tags)
    headers.push(...reply.headers, "X-Gateway-Response-Cost", "0.0000000000", "X-Gateway-Idempotent", "true")
    call.client.respond(reply.status, headers, reply.body)
    StageAnswers.answered(telemetry, call, { cache: "off", provider: null, model: null, startedAt: this.cameAt, now: now(), bytesOut: reply.body.length })
  }

  readonly alone = (): void => this.next(this.call)

  readonly lead = (flight: Flight<KeptReply>): void => {
    this.flight = flight
    const { draining, store } = this.stage.options
    if (draining()) {
      this.call.passage.refuse(Errors.make("shutting_down", "The gateway is shutting down; repeat the request.", { retryAfterSeconds: 1 }))
      flight.failed()
    } else if (store === null) this.callAsLeader()
    else this.claim(store)
  }

  // ---- the claim that nodes share --------------------------------------------------------------------------------------------------

  private claim(store: IdempotencyStore["Service"]): void {
    const { fork, makeOwner } = this.stage.options
    const owner = makeOwner()
    const { digest, key } = this.named
    const look = (waitMs: number): Effect.Effect<void> =>
      Effect.matchEffect(store.claim(key, digest, owner, leaseMs), {
        onFailure: () => Effect.sync(() => {
          // The claim may have succeeded, and only its answer was late.
          this.owner = owner
          this.callAsLeader()
        }),
        onSuccess: (claim) => claim._tag === "Running"
          ? Effect.delay(Effect.suspend(() => look(Math.min(waitMs * 2, longestLookMs))), waitMs)
          : Effect.sync(() => this.decided(claim, owner, store))
      })
    this.call.passage.onGone(() => {
      this.stopLooking?.()
      this.flight?.failed()
    })
    this.stopLooking = fork(look(firstLookMs))
  }

  private decided(claim: Exclude<IdempotencyClaim, { readonly _tag: "Running" }>, owner: string, store: IdempotencyStore["Service"]): void {
    switch (claim._tag) {
      case "Mine": {
        this.owner = owner
        const renew: Effect.Effect<void, StoreError> = Effect.delay(Effect.asVoid(store.renew(this.named.key, owner, leaseMs)), leaseMs / 3)
        this.stopRenewing = this.stage.options.fork(Supervisor.supervised("idempotency claims", Effect.ignore(renew)))
        this.callAsLeader()
        return
      }
      case "Finished":
        this.share(claim.reply)
        this.flight?.resolve(claim.reply)
        return
      case "Reused":
        this.call.passage.refuse(reused())
        this.flight?.failed()
    }
  }

  /** Tells the nodes how it ended. */
  private settleClaim(reply: KeptReply | null): void {
    const { fork, store, windowMs } = this.stage.options
    const { owner } = this
    if (owner === null || store === null) return
    this.owner = null
    this.stopRenewing?.()
    const { key } = this.named
    const told = reply === null ? store.abandon(key, owner) : Effect.asVoid(store.finish(key, owner, reply, Math.max(1, windowMs())))
    fork(Effect.ignore(Effect.retry(told, again)))
  }

  // ---- flying ----------------------------------------------------------------------------------------------------------------------

  private callAsLeader(): void {
    this.next(CoalescedCall.of(this.call, this))
  }

  readonly answered = (status: number, headers: ReadonlyArray<string>, body: Uint8Array | string): void => {
    if (!StatusReason.isOk(status)) {
      this.failed()
      return
    }
    const reply: KeptReply = { status, headers: keptHeaders(headers), body: bytesOf(body) }
    const { now, windowMs } = this.stage.options
    const at = now()
    const window = windowMs()
    this.stage.recent.put(this.named.key, { digest: this.named.digest, reply, until: at + window }, at, window)
    this.settleClaim(reply)
    this.flight?.resolve(reply)
  }

  readonly streamed = (headers: ReadonlyArray<string>): void => {
    const { parts, partsBytes } = this
    if (parts === null) return this.failed()
    this.drop()
    this.answered(200, headers, Buffer.concat(parts, partsBytes))
  }

  readonly chunk = (bytes: Uint8Array): void => {
    const { stage } = this
    if (this.parts === null) return
    if (this.partsBytes + bytes.length > maxFileBytes || stage.filesHeld + bytes.length > stage.options.filesBytes) return this.drop()
    this.partsBytes += bytes.length
    stage.filesHeld += bytes.length
    // A copy: `slice` of a Buffer is the same, borrowed memory.
    this.parts.push(Buffer.from(bytes))
  }

  /** Gives back the room of the file. */
  private drop(): void {
    this.stage.filesHeld -= this.partsBytes
    this.partsBytes = 0
    this.parts = null
  }

  readonly failed = (): void => {
    this.drop()
    this.settleClaim(null)
    this.flight?.failed()
  }

  readonly keeps = (end: () => void): boolean => {
    const { flight } = this
    if (flight === null || flight.waiters === 0) return false
    flight.onAbandoned = end
    return true
  }
}
