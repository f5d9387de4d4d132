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
import type * as OAuthClient from "./OAuthClient.ts"
import { RefreshBreaker, type RefreshRule } from "./RefreshBreaker.ts"
import * as Renewal from "./renewal.ts"
import * as ServiceAccount from "./serviceAccount.ts"
import * as Slot from "./Slot.ts"
import * as ControlCalls from "#src/platform/upstream/egress/ControlCalls.ts"
import * as TokenEndpoint from "./tokenEndpoint.ts"
import { TokenSlots } from "./TokenSlots.ts"

export interface Options {
  /** Where client ids and secrets come from. */
  readonly environment: OAuthClient.Environment
  readonly registry?: Registry
}

/** A token this young is not thrown away for one 401 (ms). */
const BRAND_NEW_MS = 60_000

const defaultScope = "https://www.googleapis.com/auth/cloud-platform"

export const make = Effect.fnUntraced(function*(options: Options) {
  const configuration = yield* Configuration
  const store = yield* ConnectionStore
  const endpoint = TokenEndpoint.make(yield* ControlCalls.make, yield* UrlGuard)
  const clock = yield* Clock.Clock
  const fork = yield* FiberSet.makeRuntime<never, void, never>()
  const registry = options.registry ?? builtin
  const flights = new Map<string, Deferred.Deferred<Token, CredentialFailure>>()
  const now = () => clock.currentTimeMillisUnsafe()
  const breaker = new RefreshBreaker()
  const ruleOf = (snapshot: Snapshot): RefreshRule => ResilienceSettings.effective(ResilienceSettings.storedChange(snapshot)).tokenRefreshBreaker
  let rule = ruleOf(configuration.current())
  const rowOf = (provider: string) => registry.byId.get(provider) ?? null
  const slots = new TokenSlots(configuration, rowOf)
  const exchange = (document: Redacted.Redacted<string>, provider: string, connection: Connection | null) =>
    ServiceAccount.exchange(endpoint, document, rowOf(provider)?.serviceAccountScope ?? defaultScope, { provider, connection })
  const renew = Renewal.make({ configuration, store, endpoint, slots, environment: options.environment, rowOf, exchange, breaker, rule: () => rule, now, fork })

  yield* Effect.acquireRelease(
    Effect.sync(() => configuration.onChange((snapshot) => {
      rule = ruleOf(snapshot)
      slots.keep(snapshot.connectionById)
    })),
    (unsubscribe) => Effect.sync(unsubscribe)
  )

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
    fork(Effect.uninterruptible(Effect.matchCauseEffect(renew(id), {
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
      const slot = slots.of(id)
      const at = now()
      if (slot === null || !Slot.isUsable(slot, at)) return null
      if (Slot.isAging(slot, at)) renewSoon(id, at)
      return slot.value
    },
    token: (id) => Effect.suspend(() => {
      const slot = slots.of(id)
      if (slot === null) return Effect.fail(Renewal.unknown)
      const at = now()
      if (Slot.isUsable(slot, at)) {
        if (Slot.isAging(slot, at)) renewSoon(id, at)
        return Effect.succeed(Renewal.tokenOf(slot))
      }
      const failure = slot.final ?? resting(id, at)
      return failure === null ? Deferred.await(fly(id)) : Effect.fail(failure)
    }),
    ahead: (id) => Effect.suspend(() => {
      const slot = slots.of(id)
      const failure = slot === null ? Renewal.unknown : slot.final ?? resting(id, now())
      return failure === null ? Deferred.await(fly(id)) : Effect.fail(failure)
    }),
    renewing: (id) => flights.has(id),
    renew: (id) => Effect.suspend(() => {
      const slot = slots.of(id)
      if (slot === null) return Effect.fail(Renewal.unknown)
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
      exchange(document, provider, null),
      (grant) => ({ value: grant.accessToken, expiresAt: grant.expiresIn === null ? null : now() + grant.expiresIn * 1000 })
    )
  })
})

export const layer = (options: Options) => Layer.effect(Credentials, make(options))
