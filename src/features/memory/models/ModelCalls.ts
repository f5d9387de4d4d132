/**
 * Calls of memory to models of the gateway itself, in the name of the API key whose entries they are about: recorded, limited and billed as
 * the key's own calls. Each has a deadline; after one that failed, the key makes no further one for a while.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type { StoreError } from "#actors/ports/StoreError.ts"
import { KeyStore } from "#actors/ports/Stores.ts"
import * as StatusReason from "#schemas/statusReason.ts"
import { EnvironmentKeys } from "#src/inference/ports/EnvironmentKeys.ts"
import type { OwnCalls } from "#src/inference/ports/OwnCalls.ts"

/** After a call that failed, the key makes no further one for this long, ms. */
export const PAUSE_MS = 30_000
/** Keys that pause. */
const KEYS = 10_000
/** Between two lines of the log about failures, ms. */
const LOG_EVERY_MS = 60_000

export type Ask = OwnCalls["Service"]["ask"]

/** In whose name: null = without a key. */
export interface Owner {
  readonly id: string
  readonly keyHash: string | null
}

/** The owner of an API key's entries; null when the key is gone. */
export const owners = Effect.gen(function*() {
  const environmentKeys = yield* EnvironmentKeys
  const keys = yield* KeyStore
  return (id: string): Effect.Effect<Owner | null, StoreError> => {
    if (id === "") return Effect.succeed({ id, keyHash: null })
    for (const [keyHash, key] of environmentKeys) if (key.id === id) return Effect.succeed({ id, keyHash })
    return Effect.map(keys.get(id), (key) => key === null ? null : { id, keyHash: key.keyHash })
  }
})

export interface Question<A> {
  readonly path: string
  readonly body: unknown
  readonly withinMs: number
  /** Of a good answer's body; null where it is not what was asked for. */
  readonly read: (body: string) => A | null
}

/** `said`: the line of the log about a failure, before its cause. `wrong`: the cause where the answer cannot be read. */
export const make = Effect.fnUntraced(function*(said: () => string, wrong: string) {
  const clock = yield* Clock.Clock
  const pausedUntil = new Map<string, number>()
  let ask: Ask | null = null
  let last: "ok" | "failed" | null = null
  let quietUntil = Number.NEGATIVE_INFINITY
  const now = () => clock.currentTimeMillisUnsafe()

  /** The key pauses. */
  const failed = (apiKeyId: string, why: string) => Effect.suspend(() => {
    const at = now()
    last = "failed"
    if (pausedUntil.size >= KEYS) pausedUntil.clear()
    pausedUntil.set(apiKeyId, at + PAUSE_MS)
    if (at < quietUntil) return Effect.void
    quietUntil = at + LOG_EVERY_MS
    return Effect.logWarning(`${said()}: ${why}`)
  })

  return {
    failed,
    /** Calls are made by this from now on. */
    begin: (own: Ask): void => {
      ask = own
    },
    begun: (): boolean => ask !== null,
    isPaused: (apiKeyId: string): boolean => {
      const until = pausedUntil.get(apiKeyId)
      if (until === undefined) return false
      if (until > now()) return true
      pausedUntil.delete(apiKeyId)
      return false
    },
    /** The key makes calls again, whatever failed before. */
    resume: (apiKeyId: string): void => {
      pausedUntil.delete(apiKeyId)
    },
    /** Null where it fails, and then the key pauses. */
    call: <A>(owner: Owner, { body, path, read, withinMs }: Question<A>): Effect.Effect<A | null> => Effect.suspend(() => {
      if (ask === null) return Effect.succeed(null)
      const question = { path, body: JSON.stringify(body), keyHash: owner.keyHash, address: "127.0.0.1" }
      return Effect.flatMap(Effect.timeoutOption(ask(question), withinMs), (answer): Effect.Effect<A | null> => {
        if (answer._tag === "None") return Effect.as(failed(owner.id, `no answer within ${withinMs} ms`), null)
        const isGood = StatusReason.isOk(answer.value.status)
        const found = isGood ? read(answer.value.body) : null
        if (found === null) return Effect.as(failed(owner.id, isGood ? wrong : `status ${answer.value.status}`), null)
        last = "ok"
        return Effect.succeed(found)
      })
    }),
    status: () => ({ paused: [...pausedUntil.values()].filter((until) => until > now()).length, last })
  }
})
