/**
 * Marks a connection's health from what its attempts saw: errors and recovery, written off the hot path and never twice for
 * the same state. A terminal status is never overwritten here.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as FiberSet from "effect/FiberSet"
import * as Layer from "effect/Layer"
import type { AttemptEnd } from "#actors/request/Attempt.ts"
import { Configuration } from "#actors/ports/Configuration.ts"
import { ConnectionStore } from "#actors/ports/Stores.ts"
import type { Target } from "#actors/request/ports/Target.ts"
import * as StatusReason from "#schemas/statusReason.ts"

export class ConnectionMarks extends Context.Service<ConnectionMarks, {
  readonly report: (target: Target, end: AttemptEnd) => void
}>()("gateway/http/ConnectionMarks") {}

const terminal: ReadonlySet<string> = new Set(["expired", "banned", "credits_exhausted"])

/** The same error of one connection is written again after this time at the earliest (ms). */
const repeatMs = 30_000

const make = Effect.gen(function*() {
  const configuration = yield* Configuration
  const store = yield* ConnectionStore
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

  return ConnectionMarks.of({
    report: (target, end) => {
      const connection = target.connection
      if (connection === null) return
      const known = states.get(connection.id)
      if (end.error === null) {
        if (known === null || (known === undefined && connection.testStatus === "active")) return
        states.set(connection.id, null)
        write(connection.id, { testStatus: "active", lastError: null, lastErrorType: null, lastErrorSource: null, errorCode: null })
        return
      }
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
