/**
 * Marks a connection's health from what its attempts saw: errors and recovery, written off the hot path and never twice for
 * the same state. A terminal status is never overwritten here.
 *
 * An upstream that says that the account is banned is counted on the record, where every node reads it; at the threshold of the
 * setting autoDisableAccounts the connection is banned.
 */
import * as Crypto from "node:crypto"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as FiberSet from "effect/FiberSet"
import * as Layer from "effect/Layer"
import type { AttemptEnd } from "#actors/request/steps/attemptValues.ts"
import { Configuration, shownProvider } from "#actors/ports/Configuration.ts"
import { AuditStore, ConnectionStore } from "#actors/ports/Stores.ts"
import * as AccountSignals from "#actors/resilience/AccountSignals.ts"
import type { Target } from "#actors/request/ports/Target.ts"
import * as StatusReason from "#schemas/statusReason.ts"
import { autoDisableOf } from "#schemas/words/AutoDisable.ts"

export class ConnectionMarks extends Context.Service<ConnectionMarks, {
  readonly report: (target: Target, end: AttemptEnd) => void
}>()("gateway/http/ConnectionMarks") {}

const terminal: ReadonlySet<string> = new Set(["expired", "banned", "credits_exhausted"])

/** The same error of one connection is written again after this time at the earliest (ms). */
const repeatMs = 30_000

const make = Effect.gen(function*() {
  const configuration = yield* Configuration
  const store = yield* ConnectionStore
  const audits = yield* AuditStore
  const clock = yield* Clock.Clock
  const fork = yield* FiberSet.makeRuntime<never, void, never>()
  /** Last written state per connection: null = well. */
  const states = new Map<string, { readonly code: string; readonly at: number } | null>()

  /** The record is read when its turn comes: it may have become terminal since the attempt began, and then it keeps its reason. */
  const write = (id: string, fields: Parameters<typeof store.patch>[1]): void => {
    fork(Effect.ignore(configuration.commit(Effect.gen(function*() {
      const current = yield* store.get(id)
      if (current !== null && !terminal.has(current.testStatus)) yield* store.patch(id, fields)
    }))))
  }

  /** Null while banned accounts stay in use. */
  const read = () => {
    const { settings } = configuration.current()
    const { enabled, threshold } = autoDisableOf(settings)
    return enabled ? { threshold, own: AccountSignals.ownIn(settings.get("customBannedSignals")) } : null
  }
  let rules = read()
  yield* Effect.acquireRelease(
    Effect.sync(() => configuration.onChange(() => {
      rules = read()
    })),
    (quiet) => Effect.sync(quiet)
  )
  /** Connections whose count is being written: calls that fail meanwhile are no further evidence. */
  const counting = new Set<string>()

  const audited = (id: string, provider: string, signal: string, count: number, at: number) => audits.append({
    id: Crypto.randomUUID(), timestamp: new Date(at).toISOString(), action: "connection.banned", actor: "gateway", target: id,
    details: { provider: shownProvider(configuration.current(), provider), signal: signal.slice(0, 200), count }, ipAddress: null, resourceType: "connection", status: "success", requestId: null
  }).pipe(Effect.catch((error) => Effect.logError(`audit entry connection.banned was not stored: ${error.message}`)))

  const count = (id: string, provider: string, end: AttemptEnd, message: string, signal: string, threshold: number): void => {
    if (counting.has(id)) return
    counting.add(id)
    const at = clock.currentTimeMillisUnsafe()
    states.set(id, { code: "account_banned", at })
    fork(configuration.commit(Effect.gen(function*() {
      const current = yield* store.get(id)
      if (current === null || terminal.has(current.testStatus)) return null
      const bannedSignals = current.bannedSignals + 1
      const isBanned = bannedSignals >= threshold
      yield* store.patch(id, {
        bannedSignals, testStatus: isBanned ? "banned" : "error", lastError: message.slice(0, 500), lastErrorType: "account_banned", lastErrorSource: "upstream",
        errorCode: String(end.upstreamStatus), lastErrorAt: new Date(at).toISOString()
      })
      return isBanned ? bannedSignals : null
    })).pipe(
      Effect.flatMap((banned) => banned === null ? Effect.void : Effect.andThen(
        Effect.logWarning(`A connection of provider ${shownProvider(configuration.current(), provider)} is banned: its upstream said '${signal}' ${banned} times in a row.`),
        audited(id, provider, signal, banned, at)
      )),
      Effect.ignore, Effect.ensuring(Effect.sync(() => counting.delete(id)))
    ))
  }

  return ConnectionMarks.of({
    report: (target, end) => {
      const connection = target.connection
      if (connection === null) return
      const known = states.get(connection.id)
      if (end.error === null) {
        if (connection.bannedSignals === 0 && (known === null || (known === undefined && connection.testStatus === "active"))) return
        states.set(connection.id, null)
        write(connection.id, { testStatus: "active", lastError: null, lastErrorType: null, lastErrorSource: null, errorCode: null, bannedSignals: 0 })
        return
      }
      const signal = rules === null ? null : AccountSignals.of(end.error, end.upstreamStatus, target.model, rules.own)
      if (rules !== null && signal !== null) return count(connection.id, connection.provider, end, end.error.message, signal, rules.threshold)
      const at = clock.currentTimeMillisUnsafe()
      const code = end.error.code
      // A request's own fault says nothing about the connection.
      if (StatusReason.isRequests(end.upstreamStatus)) return
      if (known !== null && known !== undefined && known.code === code && at - known.at < repeatMs) return
      const refused = StatusReason.of(end.upstreamStatus) === "credential"
      states.set(connection.id, { code, at })
      write(connection.id, {
        ...(refused ? { testStatus: "error" as const } : {}),
        lastError: end.error.message.slice(0, 500),
        lastErrorType: refused ? "auth_error" : end.error.type,
        lastErrorSource: "upstream",
        errorCode: end.upstreamStatus > 0 ? String(end.upstreamStatus) : code,
        lastErrorAt: new Date(at).toISOString()
      })
    }
  })
})

export const layer = Layer.effect(ConnectionMarks, make)
