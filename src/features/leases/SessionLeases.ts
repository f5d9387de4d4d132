/**
 * POST /api/v1/session-leases: acquire, renew, release and status of an exclusive lease. Replies never name the connection;
 * `status` may show its name and provider.
 */
import * as Effect from "effect/Effect"
import { claimOf, Leases } from "#actors/lease/Leases.ts"
import * as Standing from "#actors/lease/standing.ts"
import { Configuration, type Snapshot } from "#actors/ports/Configuration.ts"
import type { LeaseStoreDown } from "#actors/lease/LeaseStore.ts"
import * as Errors from "#schemas/errors.ts"
import { PublicError } from "#schemas/errors.ts"
import type { AcquireReply, LeaseClaim, Lease } from "#schemas/protocols/Lease.ts"
import type { ApiKey } from "#schemas/records/ApiKey.ts"
import * as GatewayHeaders from "#src/inference/lane/gatewayHeaders.ts"
import * as InferenceCall from "#src/inference/lane/InferenceCall.ts"
import * as Intake from "#src/inference/lane/Intake.ts"
import * as LeaseContext from "#src/inference/lane/leaseContext.ts"
import * as LeaseErrors from "#src/inference/lane/leaseErrors.ts"
import { Forks } from "#src/inference/lane/services/Forks.ts"
import * as Endpoint from "#src/inference/lane/services/Endpoint.ts"
import { Inference } from "#src/inference/lane/services/Inference.ts"
import { type LeaseRequest, readLeaseRequest } from "./leaseRequest.ts"
import { connectionView } from "./connectionView.ts"
import { eligibilityOf } from "./eligibility.ts"
import { Replays } from "./Replays.ts"
import type { Router } from "#src/routing/Router.ts"
import type { DirectRoute } from "#src/platform/server/Exchange.ts"
import { errorBody } from "#src/wire/chatCompletions/errors.ts"

export interface LeaseServices extends Pick<Intake.IntakeServices, "admission" | "draining" | "refused"> {
  readonly router: () => Router
  readonly leases: Leases["Service"]
  readonly snapshot: () => Snapshot
  readonly fork: (effect: Effect.Effect<void>) => unknown
}

export const path = "/api/v1/session-leases"
/** Largest body, bytes. */
const maxBody = 16 * 1024
/** What a key's `allowedEndpoints` calls it: a lease serves conversations. */
const category = "chat"

type Replies = Effect.Effect<Reply, LeaseStoreDown>
/** A body to answer 200 with, or why not; `body` beside an error stands instead of its usual one. */
type Reply = { readonly error: null; readonly body: string } | { readonly error: PublicError; readonly body?: string }

const refused = (error: PublicError): Reply => ({ error })
const stale = refused(LeaseErrors.fenceStale)

const timesOf = (state: "ACTIVE" | "RELEASED", { acquiredAt, expiresAt, generation, renewedAt }: Lease) => ({
  state,
  generation,
  acquiredAt: new Date(acquiredAt).toISOString(),
  renewedAt: new Date(renewedAt).toISOString(),
  expiresAt: new Date(expiresAt).toISOString()
})

const told = (lease: Lease): Reply => ({ error: null, body: JSON.stringify(timesOf("ACTIVE", lease)) })

const endpoint = Endpoint.make("POST", path, "leases")

export const endpoints: ReadonlyArray<Endpoint.Endpoint> = [endpoint]

/** The endpoint over the leases of this gateway. */
export const routes = Effect.gen(function*() {
  const configuration = yield* Configuration
  const { fork } = yield* Forks
  const services = { ...yield* Inference, leases: yield* Leases, snapshot: configuration.current, fork }
  return [{ endpoint, route: route(services) }] satisfies ReadonlyArray<Endpoint.Mounted>
})

export const route = (services: LeaseServices): DirectRoute => {
  const { admission, leases } = services
  const replays = new Replays(admission.now)

  const acquire = (owner: string, key: ApiKey, model: string): Replies => {
    const { available, fits, refusal } = eligibilityOf(services.router(), services.snapshot(), model, key, admission.now())
    // No connection can ever be leased for this model: answers routing's own error.
    if (fits.length === 0 && refusal !== null) return Effect.succeed(refused(refusal))
    return Effect.map(leases.acquire(owner, key, fits, available), (reply: Exclude<AcquireReply, { readonly _tag: "Draw" }>): Reply => {
      switch (reply._tag) {
        case "Granted":
          return told(reply.lease)
        case "Capacity":
          return LeaseErrors.capacity({ eligible: available.length, ...reply })
        case "Unavailable":
          return refused(refusal ?? LeaseErrors.eligibilityUnavailable)
        case "Stale":
          return stale
      }
    })
  }

  const release = (claim: LeaseClaim, key: ApiKey, asked: Extract<LeaseRequest, { readonly action: "release" }>, idempotency: string | undefined): Replies => {
    const replayed = replays.recall(claim, asked.reason, idempotency)
    if (replayed !== null) return Effect.succeed({ error: null, body: replayed })
    return Effect.map(leases.release(claim, key, asked.reason), (reply): Reply => {
      if (reply._tag === "Stale") return stale
      const body = JSON.stringify(timesOf("RELEASED", reply.lease))
      replays.remember(claim, asked.reason, idempotency, body)
      return { error: null, body }
    })
  }

  const status = (claim: LeaseClaim, key: ApiKey): Replies => {
    const show = (lease: Lease | null): Reply => {
      const connection = lease === null ? null : connectionView(lease.connection, services.snapshot())
      return lease === null || connection === null ? stale : { error: null, body: JSON.stringify({ ...timesOf("ACTIVE", lease), connection }) }
    }
    const found = leases.find(claim, key)
    return Effect.isEffect(found) ? Effect.map(found, show) : Effect.succeed(show(found))
  }

  const answer = (owner: string, key: ApiKey, asked: LeaseRequest, idempotency: string | undefined): Replies => {
    if (asked.action === "acquire") return acquire(owner, key, asked.model)
    const claim = claimOf(owner, key, asked.generation)
    switch (asked.action) {
      case "renew":
        return Effect.map(leases.renew(claim, key), (reply) => reply._tag === "Stale" ? stale : told(reply.lease))
      case "release":
        return release(claim, key, asked, idempotency)
      case "status":
        return status(claim, key)
    }
  }

  return (exchange) => {
    const tags = InferenceCall.tagsOf(exchange, admission)
    // A client that leaves changes nothing: what it asked for is done, and its owner finds it when it comes again.
    exchange.onAbort(() => undefined)
    const respond = ({ body, error }: Reply): void => {
      if (error !== null) services.refused(path, tags, error)
      if (exchange.closed) return
      if (error === null) {
        exchange.respond(200, ["X-Gateway-Request-Id", tags.requestId, "X-Gateway-Version", GatewayHeaders.version, "Content-Type", "application/json"], body)
      } else exchange.respond(error.status, GatewayHeaders.ofError(tags, error, 0), body ?? errorBody(error))
    }
    const refuse = (error: PublicError): void => respond({ error })
    if (services.draining()) {
      refuse(Errors.make("shutting_down", "The gateway is shutting down; repeat the request.", { retryAfterSeconds: 1 }))
      return
    }
    InferenceCall.admit(exchange, category, admission, (key) => {
      const refusal = refusalOf(key, InferenceCall.presentedKey(exchange) !== null)
      if (refusal !== null) return refuse(refusal)
      if (!isJson(exchange.header("content-type"))) return refuse(LeaseErrors.contentTypeRequired)
      const owner = LeaseContext.ownerOf(exchange) ?? LeaseErrors.contextRequired
      if (owner instanceof PublicError) return refuse(owner)
      const idempotency = exchange.header("idempotency-key") ?? exchange.header("x-request-id")
      exchange.readBody(maxBody, (bytes, failure) => {
        if (bytes === null) {
          if (failure !== null && failure !== "aborted") {
            refuse(failure === "too-large" ? Errors.make("payload_too_large", `The request body is larger than ${maxBody} bytes.`) : Intake.bodyError(failure, maxBody, exchange))
          }
          return
        }
        const asked = readLeaseRequest(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("utf8"), exchange)
        if (asked instanceof PublicError) return refuse(asked)
        services.fork(Effect.match(answer(owner, key as ApiKey, asked, idempotency), {
          onFailure: () => refuse(LeaseErrors.serviceUnavailable),
          onSuccess: respond
        }))
      })
    })
  }
}

/** Why this caller has no leases; null for a managed key. */
const refusalOf = (key: ApiKey | null | PublicError, presented: boolean): PublicError | null => {
  if (key === null) return LeaseErrors.authenticationRequired
  if (key instanceof PublicError) {
    if (key.code !== "invalid_api_key") return key
    return presented ? LeaseErrors.keyInvalid : LeaseErrors.authenticationRequired
  }
  if (!Standing.isManaged(key)) return LeaseErrors.scopeRequired
  return key.policy.allowedConnections.length === 0 ? LeaseErrors.keyConfigurationInvalid : null
}

const isJson = (contentType: string | undefined): boolean => contentType !== undefined && /^application\/json\s*(?:;|$)/i.test(contentType)
