/** One renewal of a connection's token: the vendor is asked, the grant is stored, and a failure is noted on the record. */
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import type { Configuration } from "#actors/ports/Configuration.ts"
import type { ConnectionStore } from "#actors/ports/Stores.ts"
import { CredentialFailure, type Token } from "#actors/request/ports/Credentials.ts"
import type { Connection } from "#schemas/records/Connection.ts"
import type { Provider } from "#schemas/Provider.ts"
import * as OAuthClient from "./OAuthClient.ts"
import type { RefreshBreaker, RefreshRule } from "./RefreshBreaker.ts"
import * as Slot from "./Slot.ts"
import type * as TokenEndpoint from "./tokenEndpoint.ts"
import * as TokenRecord from "./tokenRecord.ts"
import type { TokenSlots } from "./TokenSlots.ts"

export interface Parts {
  readonly configuration: Configuration["Service"]
  readonly store: ConnectionStore["Service"]
  readonly endpoint: TokenEndpoint.TokenEndpoint
  readonly slots: TokenSlots
  /** Where client ids and secrets come from. */
  readonly environment: OAuthClient.Environment
  readonly rowOf: (provider: string) => Provider | null
  /** A token for the document of a service account. */
  readonly exchange: (document: Redacted.Redacted<string>, provider: string, connection: Connection | null) => Effect.Effect<TokenEndpoint.Grant, CredentialFailure>
  readonly breaker: RefreshBreaker
  readonly rule: () => RefreshRule
  /** ms since the epoch. */
  readonly now: () => number
  /** Runs what outlives the renewal. */
  readonly fork: (effect: Effect.Effect<void>) => unknown
}

/** Between two renewals behind the callers of which the first failed (ms). */
const RETRY_MS = 5_000
/** Between two tries to store a grant; doubled up to the second figure (ms). */
const SAVE_MS = [1_000, 60_000] as const

/** Failures that a retry cannot fix, so the vendor is not called again. */
const hopeless: ReadonlySet<CredentialFailure["reason"]> = new Set(["refused", "rejected", "malformed"])

export const unknown = new CredentialFailure({
  reason: "unknown-connection", source: "gateway", retry: "never", code: null, message: "The connection is gone, or needs no token exchange"
})

export const tokenOf = (slot: Slot.Slot): Token => ({ value: Redacted.make(slot.value ?? ""), expiresAt: slot.expiresAt })

/** Answers the renewal of a connection by its id; `Parts.slots` knows the token afterwards. */
export const make = ({ breaker, configuration, endpoint, environment, exchange, fork, now, rowOf, rule, slots, store }: Parts) => {
  const refresh = Effect.fnUntraced(function*(connection: Connection, slot: Slot.Slot) {
    const row = rowOf(connection.provider)
    if (row?.oauth === undefined) return yield* unknown
    const client = OAuthClient.of(row, row.oauth, environment)
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
      slots.forget(id)
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
        slots.forget(id)
        return
      }
      yield* store.patch(id, TokenRecord.failed(current, failure, now()))
    }))
  }, Effect.catch((error) => Effect.logError(`the failed token renewal was not recorded: ${error.message}`)))

  /** Another node may have renewed the same grant, which is good once: then its successor stands in the store. */
  const newest = Effect.fnUntraced(function*(id: string) {
    const slot = slots.of(id)
    if (slot === null || slot.kind !== "refresh" || slot.written !== slot.read) return slot
    const stored = yield* Effect.orElseSucceed(store.get(id), () => null)
    if (stored === null || Slot.secretsOf(stored) === slot.read) return slot
    yield* Effect.ignore(configuration.reload)
    const successor = slots.of(id)
    if (successor !== null && slot.byOperator) successor.byOperator = true
    return successor
  })

  return Effect.fnUntraced(function*(id: string) {
    const known = slots.of(id)
    const slot = yield* newest(id)
    const connection = configuration.current().connectionById.get(id)
    if (slot === null || connection === undefined) return yield* unknown
    if (slot !== known && !slot.byOperator && Slot.isUsable(slot, now()) && !Slot.isAging(slot, now())) return tokenOf(slot)
    const { provider } = connection
    const asked = slot.kind === "refresh"
      ? refresh(connection, slot)
      : exchange(Redacted.make(slot.basis), provider, connection)
    const grant = yield* Effect.tapError(asked, (failure) => {
      // A refusal is about this grant, an unreachable proxy about its connections; an endpoint that does not answer affects every connection.
      if (failure.retry === "later" && failure.source === "upstream") breaker.failed(rule(), provider, id, now())
      return note(id, slot, failure)
    })
    breaker.succeeded(rule(), provider, id)
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
}
