/**
 * What became of responses that are kept: those that this process makes or has just made, in memory until they are written, and all
 * others in the store.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Supervisor from "#actors/Supervisor.ts"
import { Placement } from "#actors/ports/Placement.ts"
import type { StoreError } from "#actors/ports/StoreError.ts"
import * as Sweeps from "#actors/Sweeps.ts"
import * as Splice from "#src/wire/json/splice.ts"
import { ConversationStore } from "./ConversationStore.ts"
import { ResponseStore, type Status, type StoredResponse } from "./ResponseStore.ts"

/** How often a process says that it still makes its responses, and hears which were cancelled elsewhere, ms. */
const TOUCH_MS = 5_000
/** A response whose process was silent for so long is not made any more, ms. */
export const LOST_MS = 60_000
/** Bytes of input and response together; what is longer is not kept. */
export const MOST_BYTES = 32 * 1024 * 1024
const dayMs = 86_400_000

export class StoredResponses extends Context.Service<StoredResponses, {
  /** Keeps a response; written in the background. */
  readonly keep: (response: Omit<StoredResponse, "expiresAt" | "updatedAt">) => void
  /** A response is being made here until `keep` says more; `cancel` ends it. */
  readonly making: (response: Omit<StoredResponse, "expiresAt" | "updatedAt">, cancel: () => void) => void
  /** As it stands now; null for an unknown or expired one, and for another caller's. */
  readonly find: (id: string, keyId: string | null) => Effect.Effect<StoredResponse | null, StoreError>
  readonly remove: (id: string) => Effect.Effect<void, StoreError>
  /** Answers how it stands then. */
  readonly cancel: (response: StoredResponse) => Effect.Effect<StoredResponse, StoreError>
}>()("gateway/features/responses/StoredResponses") {}

const isRunning = (status: Status): boolean => status === "queued" || status === "in_progress"

/** A response object with another status. */
export const withStatus = (response: string, status: Status, error: { readonly code: string; readonly message: string } | null = null): string => {
  const body = Buffer.from(response)
  const edits = [{ key: "status", value: JSON.stringify(status) }, ...(error === null ? [] : [{ key: "error", value: JSON.stringify(error) }])]
  return (Splice.edit(body, JSON.parse(response) as Record<string, unknown>, edits) ?? body).toString("utf8")
}

export const make = (retentionDays: number) => Effect.gen(function*() {
  const store = yield* ResponseStore
  const clock = yield* Clock.Clock
  const now = () => clock.currentTimeMillisUnsafe()
  const run = Effect.runForkWith(yield* Effect.context<never>())
  /** Not written yet, or being made. */
  const here = new Map<string, StoredResponse>()
  const running = new Map<string, () => void>()

  const write = (response: StoredResponse): void => {
    here.set(response.id, response)
    run(store.put(response).pipe(Effect.catchTag("StoreError", (error) => Effect.logWarning(`A response could not be kept: ${error.message}`)))).addObserver(() => {
      // A later one may have taken its place.
      if (here.get(response.id) === response && !isRunning(response.status)) here.delete(response.id)
    })
  }

  const dated = (response: Omit<StoredResponse, "expiresAt" | "updatedAt">): StoredResponse =>
    ({ ...response, updatedAt: now(), expiresAt: response.createdAt + retentionDays * dayMs })

  const stands = (response: StoredResponse): StoredResponse =>
    isRunning(response.status) && !running.has(response.id) && now() - response.updatedAt > LOST_MS
      ? { ...response, status: "failed", response: withStatus(response.response, "failed", { code: "server_error", message: "The gateway stopped while it made this response." }) }
      : response

  const end = (id: string): void => {
    const cancel = running.get(id)
    running.delete(id)
    cancel?.()
  }

  yield* Supervisor.loop("background responses", Effect.delay(Effect.suspend(() =>
    store.touch([...running.keys()], now()).pipe(
      Effect.map((cancelled) => cancelled.forEach(end)),
      Effect.catchTag("StoreError", (error) => Effect.logWarning(`Background responses could not be noted: ${error.message}`))
    )), TOUCH_MS))

  return StoredResponses.of({
    keep: (response) => {
      running.delete(response.id)
      if (response.input.length + response.response.length <= MOST_BYTES) write(dated(response))
      else here.delete(response.id)
    },
    making: (response, cancel) => {
      running.set(response.id, cancel)
      write(dated(response))
    },
    find: (id, keyId) => {
      const known = here.get(id)
      return Effect.map(known === undefined ? store.find(id, now()) : Effect.succeed(known), (found) => found === null || found.keyId !== keyId ? null : stands(found))
    },
    remove: (id) => Effect.suspend(() => {
      here.delete(id)
      end(id)
      return store.remove(id)
    }),
    cancel: (response) => Effect.suspend(() => {
      if (!isRunning(response.status)) return Effect.succeed(response)
      const text = withStatus(response.response, "cancelled")
      const cancelled: StoredResponse = { ...response, status: "cancelled", response: text, updatedAt: now() }
      if (here.has(response.id)) here.set(response.id, cancelled)
      end(response.id)
      return Effect.map(store.cancel(response.id, text, now()), () => {
        here.delete(response.id)
        return cancelled
      })
    })
  })
})

/** `retentionDays`: how long a response is kept. */
export const layer = (retentionDays: number) => Layer.effect(StoredResponses, make(retentionDays))

/** Removes expired responses and conversations, on one node for all. */
export const sweep = Layer.effectDiscard(Effect.gen(function*() {
  const store = yield* ResponseStore
  const conversations = yield* ConversationStore
  const placement = yield* Placement
  yield* placement.place("sweep/responses", Sweeps.loop({
    loop: "sweep/responses", name: "stored responses", everyMs: 3_600_000,
    run: Effect.flatMap(Clock.currentTimeMillis, (now) => Effect.zipWith(store.removeExpired(now), conversations.removeExpired(now), (one, other) => one + other))
  }, 30_000))
}))
