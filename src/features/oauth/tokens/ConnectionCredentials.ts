/**
 * The Credentials port over the configuration snapshot, the connection store and the providers' token endpoints.
 *
 * One renewal per connection runs at a time, in the layer's own scope: a client that leaves does not cut it, because a refresh
 * token that was used and whose successor was not stored is lost for good. For the same reason a renewal is not interruptible.
 */
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FiberSet from "effect/FiberSet"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { Configuration, type Snapshot } from "#actors/ports/Configuration.ts"
import { CredentialFailure, Credentials, type Token } from "#actors/request/ports/Credentials.ts"
import { ConnectionStore } from "#actors/ports/Stores.ts"
import { UrlGuard } from "#actors/ports/UrlGuard.ts"
import type { Connection } from "#schemas/records/Connection.ts"
import { builtin, type Registry } from "#src/providers/Registry.ts"
import * as ResilienceSettings from "#src/features/resilience/ports/resilienceSettings.ts"
import * as OAuthClient from "./OAuthClient.ts"
import { RefreshBreaker, type RefreshRule } from "./RefreshBreaker.ts"
import * as ServiceAccount from "./serviceAccount.ts"
import * as Slot from "./Slot.ts"
import * as ControlCalls from "#src/platform/upstream/egress/ControlCalls.ts"
import * as TokenEndpoint from "./tokenEndpoint.ts"
import * as TokenRecord from "./tokenRecord.ts"

export interface Options {
  /** Where client ids and secrets come from. */
  readonly environment: OAuthClient.Environment
  readonly registry?: Registry
}

/** A token this young is not thrown away for one 401 (ms). */
const BRAND_NEW_MS = 60_000
/** Between two renewals behind the callers of which the first failed (ms). */
const RETRY_MS = 5_000
/** Between two tries to store a grant; doubled up to the second figure (ms). */
const SAVE_MS = [1_000, 60_000] as const

/** Failures that a retry cannot fix, so the vendor is not called again. */
const hopeless: ReadonlySet<CredentialFailure["reason"]> = new Set(["refused", "rejected", "malformed"])

const defaultScope = "https://www.googleapis.com/auth/cloud-platform"

const unknown = new CredentialFailure({
  reason: "unknown-connection", source: "gateway", retry: "never", code: null, message: "The connection is gone, or needs no token exchange"
})

const tokenOf = (slot: Slot.Slot): Token => ({ value: Redacted.make(slot.value ?? ""), expiresAt: slot.expiresAt })

export const make = Effect.fnUntraced(function*(options: Options) {
  const configuration = yield* Configuration
  const store = yield* ConnectionStore
  const endpoint = TokenEndpoint.make(yield* ControlCalls.make, yield* UrlGuard)
  const clock = yield* Clock.Clock
  const fork = yield* FiberSet.makeRuntime<never, void, never>()
  const registry = options.registry ?? builtin
  const slots = new Map<string, Slot.Slot>()
  const flights = new Map<string, Deferred.Deferred<Token, CredentialFailure>>()
  const now = () => clock.currentTimeMillisUnsafe()
  const breaker = new RefreshBreaker()
  const ruleOf = (snapshot: Snapshot): RefreshRule => ResilienceSettings.effective(ResilienceSettings.storedChange(snapshot)).tokenRefreshBreaker
  let rule = ruleOf(configuration.current())
  const rowOf = (provider: string) => registry.byId.get(provider) ?? null

  yield* Effect.acquireRelease(
    Effect.sync(() => configuration.onChange((snapshot) => {
      rule = ruleOf(snapshot)
      for (const id of slots.keys()) if (!snapshot.connectionById.has(id)) slots.delete(id)
    })),
    (unsubscribe) => Effect.sync(unsubscribe)
  )

  /** What is known of a connection, brought in line with the newest snapshot. */
  const slotOf = (id: string): Slot.Slot | null => {
    const snapshot = configuration.current()
    const known = slots.get(id)
    if (known !== undefined && known.version === snapshot.version) return known
    const connection = snapshot.connectionById.get(id)
    if (connection === undefined) {
      slots.delete(id)
      return null
    }
    const secrets = Slot.secretsOf(connection)
    if (known !== undefined && (secrets === known.read || secrets === known.written)) {
      known.version = snapshot.version
      known.read = secrets
      return known
    }
    // Stored or signed in again by another caller: what was known belongs to another credential.
    const fresh = Slot.of(connection, rowOf(connection.provider), snapshot.version)
    if (fresh === null) slots.delete(id)
    else slots.set(id, fresh)
    return fresh
  }

  const refresh = Effect.fnUntraced(function*(connection: Connection, slot: Slot.Slot) {
    const row = rowOf(connection.provider)
    if (row?.oauth === undefined) return yield* unknown
    const client = OAuthClient.of(row, row.oauth, options.environment)
    if (client === null) {
      return yield* new CredentialFailure({
        reason: "not-configured", source: "operator", retry: "never", code: null, message: `The sign-in of ${row.id} is not configured: set ${row.oauth.clientId}`
      })
    }
    const url = client.url(row.oauth.tokenUrl, connection.providerSpecificData)
    if (url === null) {
      return yield* new CredentialFailure({
        reason: "malformed", source: "operator", retry: "never", code: null,
        message: `The connection lacks a providerSpecificData value of ${row.oauth.tokenUrl}`
      })
    }
    return yield* endpoint.grant(url, OAuthClient.refreshForm(client, slot.basis), { provider: connection.provider, connection })
  })

  /** Stores a grant unless another caller changed the secrets in the meantime: then the other secrets stand. */
  const save = (id: string, slot: Slot.Slot, grant: TokenEndpoint.Grant, byOperator: boolean) => configuration.commit(Effect.gen(function*() {
    const current = yield* store.get(id)
    if (current === null) return
    const secrets = Slot.secretsOf(current)
    if (secrets === slot.written) return
    if (secrets !== slot.read) {
      slots.delete(id)
      return
    }
    yield* store.renew(id, TokenRecord.secrets(grant), TokenRecord.renewed(current, grant, now(), byOperator))
  }))

  const keepSaving = (id: string, slot: Slot.Slot, grant: TokenEndpoint.Grant, wait: number): Effect.Effect<void> =>
    Effect.delay(Effect.suspend(() => slots.get(id) !== slot || slot.written === slot.read
      ? Effect.void
      : save(id, slot, grant, false).pipe(Effect.catch(() => keepSaving(id, slot, grant, Math.min(wait * 2, SAVE_MS[1]))))), wait)

  /** Writes a failure to the record, once per failure; a terminal status stands. */
  const note = Effect.fnUntraced(function*(id: string, slot: Slot.Slot, failure: CredentialFailure) {
    slot.retryAt = now() + RETRY_MS
    if (hopeless.has(failure.reason)) slot.final = failure
    if (slot.noted === failure.message) return
    slot.noted = failure.message
    yield* Effect.annotateLogs(Effect.logWarning(`token renewal failed: ${failure.message}`), { connectionId: id, reason: failure.reason })
    // What passes by itself leaves no mark.
    if (failure.retry === "later") return
    yield* configuration.commit(Effect.gen(function*() {
      const current = yield* store.get(id)
      if (current === null || Slot.secretsOf(current) !== slot.read) {
        slots.delete(id)
        return
      }
      yield* store.patch(id, TokenRecord.failed(current, failure, now()))
    }))
  }, Effect.catch((error) => Effect.logError(`the failed token renewal was not recorded: ${error.message}`)))

  /** Another node may have renewed the same grant, which is good once: then its successor stands in the store. */
  const newest = Effect.fnUntraced(function*(id: string) {
    const slot = slotOf(id)
    if (slot === null || slot.kind !== "refresh" || slot.written !== slot.read) return slot
    const stored = yield* Effect.orElseSucceed(store.get(id), () => null)
    if (stored === null || Slot.secretsOf(stored) === slot.read) return slot
    yield* Effect.ignore(configuration.reload)
    const successor = slotOf(id)
    if (successor !== null && slot.byOperator) successor.byOperator = true
    return successor
  })

  const run = Effect.fnUntraced(function*(id: string) {
    const known = slotOf(id)
    const slot = yield* newest(id)
    const connection = configuration.current().connectionById.get(id)
    if (slot === null || connection === undefined) return yield* unknown
    if (slot !== known && !slot.byOperator && Slot.isUsable(slot, now()) && !Slot.isAging(slot, now())) return tokenOf(slot)
    const { provider } = connection
    const asked = slot.kind === "refresh"
      ? refresh(connection, slot)
      : ServiceAccount.exchange(endpoint, Redacted.make(slot.basis), rowOf(provider)?.serviceAccountScope ?? defaultScope, { provider, connection })
    const grant = yield* Effect.tapError(asked, (failure) => {
      // A refusal is about this grant, an unreachable proxy about its connections; an endpoint that does not answer affects every connection.
      if (failure.retry === "later" && failure.source === "upstream") breaker.failed(rule, provider, id, now())
      return note(id, slot, failure)
    })
    breaker.succeeded(rule, provider, id)
    Slot.adopt(slot, grant, now())
    // Read now, not before: an operator may have joined a renewal that was running.
    const byOperator = slot.byOperator
    slot.byOperator = false
    const token = tokenOf(slot)
    if (slot.kind === "refresh") {
      yield* save(id, slot, grant, byOperator).pipe(Effect.catch((error) => Effect.andThen(
        Effect.logError(`a renewed token was not stored yet: ${error.message}`),
        Effect.sync(() => { fork(keepSaving(id, slot, grant, SAVE_MS[0])) })
      )))
    } else if (byOperator && connection.testStatus === "expired") {
      yield* Effect.ignore(configuration.commit(store.patch(id, TokenRecord.cleared(now()))))
    }
    return token
  })

  /** The callers' error for a renewal that did not finish. */
  const cut = (exit: Exit.Exit<Token, CredentialFailure>): Exit.Exit<Token, CredentialFailure> => {
    if (Exit.isSuccess(exit) || Cause.hasFails(exit.cause)) return exit
    return Exit.fail(new CredentialFailure({
      reason: "unreachable", source: "gateway", retry: "later", code: null,
      message: Cause.hasInterrupts(exit.cause) ? "The gateway is shutting down" : "The token could not be renewed: the log holds the cause"
    }))
  }

  const fly = (id: string): Deferred.Deferred<Token, CredentialFailure> => {
    const running = flights.get(id)
    if (running !== undefined) return running
    const flight = Deferred.makeUnsafe<Token, CredentialFailure>()
    flights.set(id, flight)
    fork(Effect.uninterruptible(Effect.matchCauseEffect(run(id), {
      onSuccess: (token) => Effect.sync(() => { land(id, flight, Exit.succeed(token)) }),
      onFailure: (cause) => Effect.andThen(
        Cause.hasDies(cause) ? Effect.logError("token renewal failed unexpectedly", cause) : Effect.void,
        Effect.sync(() => { land(id, flight, Exit.failCause(cause)) })
      )
    })))
    return flight
  }

  const land = (id: string, flight: Deferred.Deferred<Token, CredentialFailure>, exit: Exit.Exit<Token, CredentialFailure>): void => {
    flights.delete(id)
    Deferred.doneUnsafe(flight, cut(exit))
  }

  /** Why no renewal may start now; null when one may, or already runs. */
  const resting = (id: string, at: number): CredentialFailure | null => {
    const provider = configuration.current().connectionById.get(id)?.provider
    const until = provider === undefined || flights.has(id) ? null : breaker.openUntil(rule, provider, id, at)
    return until === null ? null : new CredentialFailure({
      reason: "unreachable", source: "upstream", retry: "later", code: null, retryAfterSeconds: Math.max(1, Math.ceil((until - at) / 1000)),
      message: `Renewals failed ${rule.failureThreshold} times or more and rest until ${new Date(until).toISOString()} (resilience.tokenRefreshBreaker)`
    })
  }

  /** Renews behind the caller's back. */
  const renewSoon = (id: string, at: number): void => {
    if (resting(id, at) === null) fly(id)
  }

  return Credentials.of({
    peek: (id) => {
      const slot = slotOf(id)
      const at = now()
      if (slot === null || !Slot.isUsable(slot, at)) return null
      if (Slot.isAging(slot, at)) renewSoon(id, at)
      return slot.value
    },
    token: (id) => Effect.suspend(() => {
      const slot = slotOf(id)
      if (slot === null) return Effect.fail(unknown)
      const at = now()
      if (Slot.isUsable(slot, at)) {
        if (Slot.isAging(slot, at)) renewSoon(id, at)
        return Effect.succeed(tokenOf(slot))
      }
      const failure = slot.final ?? resting(id, at)
      return failure === null ? Deferred.await(fly(id)) : Effect.fail(failure)
    }),
    ahead: (id) => Effect.suspend(() => {
      const slot = slotOf(id)
      const failure = slot === null ? unknown : slot.final ?? resting(id, now())
      return failure === null ? Deferred.await(fly(id)) : Effect.fail(failure)
    }),
    renewing: (id) => flights.has(id),
    renew: (id) => Effect.suspend(() => {
      const slot = slotOf(id)
      if (slot === null) return Effect.fail(unknown)
      slot.final = null
      slot.noted = null
      slot.byOperator = true
      return Deferred.await(fly(id))
    }),
    refused: (id) => {
      const slot = slots.get(id)
      if (slot !== undefined && now() - slot.obtainedAt >= BRAND_NEW_MS) slot.hardAt = 0
    },
    exchange: (provider, document) => Effect.map(
      ServiceAccount.exchange(endpoint, document, rowOf(provider)?.serviceAccountScope ?? defaultScope, { provider, connection: null }),
      (grant) => ({ value: grant.accessToken, expiresAt: grant.expiresIn === null ? null : now() + grant.expiresIn * 1000 })
    )
  })
})

export const layer = (options: Options) => Layer.effect(Credentials, make(options))
