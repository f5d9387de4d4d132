/**
 * What became of responses that are kept: those that this process makes or has just made, in memory until they are written, and all
 * others in the store.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import { Placement } from "#actors/ports/Placement.ts"
import type { StoreError } from "#actors/ports/StoreError.ts"
import * as Sweeps from "#actors/Sweeps.ts"
import * as Errors from "#schemas/errors.ts"
import * as Splice from "#src/wire/json/splice.ts"
import { ConversationStore } from "./ConversationStore.ts"
import { type BackgroundResponse, ResponseStore, type Run, type Status, type StoredResponse } from "./ResponseStore.ts"

/** A response whose process was silent for so long is made by another one, ms. */
export const LOST_MS = 30_000
/** Bytes of input and response together; what is longer is not kept. */
export const MOST_BYTES = 32 * 1024 * 1024
const dayMs = 86_400_000

export const unknown = (id: string, param?: string): Errors.PublicError =>
  Errors.make("response_not_found", `There is no stored response '${id.slice(0, 100)}' of this key.`, param === undefined ? {} : { extra: { param } })

/** A response before it is dated. */
export type Undated = Omit<StoredResponse, "expiresAt" | "updatedAt" | "run">

export class StoredResponses extends Context.Service<StoredResponses, {
  /** Keeps a finished response; written in the background. */
  readonly keep: (response: Undated) => void
  /** A response is going to be made here, of `request`: it is stored before its client hears of it. */
  readonly begin: (response: Undated, request: string) => Effect.Effect<void, StoreError>
  /** It is being made here now, and `cancel` ends that; null when it is not to be made any more. */
  readonly making: (id: string, cancel: () => void) => StoredResponse | null
  /** How it ended; written in the background. `written` is called once that stands, and never for what is not made here any more. */
  readonly finish: (id: string, status: Status, response: string, written?: () => void) => void
  /** It is not made here any longer, but it is not over: another process makes it. */
  readonly leave: (id: string) => void
  /** Says that what is made here is made, and ends what was cancelled elsewhere. */
  readonly touch: Effect.Effect<void, StoreError>
  /** Responses of processes that died or left; from now on they are this one's. */
  readonly takeOver: (limit: number) => Effect.Effect<ReadonlyArray<BackgroundResponse>, StoreError>
  /** As it stands now; null for an unknown or expired one, and for another caller's. */
  readonly find: (id: string, keyId: string | null) => Effect.Effect<StoredResponse | null, StoreError>
  /** Whether it is kept, but for another caller: its provider knows it by the same id, and must not be asked for it. */
  readonly isAnothers: (id: string, keyId: string | null) => Effect.Effect<boolean, StoreError>
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

/** One that this process makes. */
interface Making {
  readonly response: StoredResponse
  cancel: () => void
}

export const make = (retentionDays: number) => Effect.gen(function*() {
  const store = yield* ResponseStore
  const clock = yield* Clock.Clock
  const now = () => clock.currentTimeMillisUnsafe()
  const run = Effect.runForkWith(yield* Effect.context<never>())
  /** Finished, and not written yet. */
  const unwritten = new Map<string, StoredResponse>()
  const running = new Map<string, Making>()

  /** What is being written, and of which response: a stop and a removal wait for it. */
  const writing = new Map<Fiber.Fiber<unknown>, string>()

  const write = (response: StoredResponse, written: Effect.Effect<unknown, StoreError>): void => {
    unwritten.set(response.id, response)
    const fiber = run(written.pipe(Effect.catchTag("StoreError", (error) => Effect.logWarning(`A response could not be kept: ${error.message}`))))
    writing.set(fiber, response.id)
    fiber.addObserver(() => {
      writing.delete(fiber)
      // A later one may have taken its place.
      if (unwritten.get(response.id) === response) unwritten.delete(response.id)
    })
  }

  const leave = (making: Run) => store.leave(making).pipe(Effect.catchTag("StoreError", (error) => Effect.logWarning(`Another process takes a response over later: ${error.message}`)))

  // What is not finished at a stop is another process's at once.
  yield* Effect.addFinalizer(() => Effect.andThen(
    Effect.forEach([...writing.keys()], Fiber.await, { discard: true }),
    Effect.forEach([...running.values()], ({ response }) => leave(response), { discard: true })
  ))

  const dated = (response: Undated): StoredResponse => ({ ...response, updatedAt: now(), expiresAt: response.createdAt + retentionDays * dayMs, run: 1 })

  const end = (id: string): void => {
    const making = running.get(id)
    running.delete(id)
    making?.cancel()
  }

  const find = (id: string) => Effect.suspend(() => {
    const known = running.get(id)?.response ?? unwritten.get(id)
    return known === undefined ? store.find(id, now()) : Effect.succeed(known)
  })

  const begun = (response: StoredResponse): void => void running.set(response.id, { response, cancel: () => {} })

  return StoredResponses.of({
    keep: (response) => {
      if (response.input.length + response.response.length > MOST_BYTES) return
      const one = dated(response)
      write(one, store.put(one))
    },
    begin: (response, request) => Effect.suspend(() => {
      const one = dated(response)
      begun(one)
      return Effect.tapCause(store.begin({ ...one, request }), () => Effect.sync(() => void running.delete(one.id)))
    }),
    making: (id, cancel) => {
      const making = running.get(id)
      if (making === undefined) return null
      making.cancel = cancel
      return making.response
    },
    finish: (id, status, response, written) => {
      const making = running.get(id)
      if (making === undefined) return
      running.delete(id)
      const one: StoredResponse = making.response.input.length + response.length <= MOST_BYTES
        ? { ...making.response, status, response, updatedAt: now() }
        : { ...making.response, status: "failed", updatedAt: now(), response: withStatus(making.response.response, "failed", { code: "server_error", message: `The response is longer than ${MOST_BYTES} bytes.` }) }
      write(one, Effect.map(store.finish(one), (isOurs) => {
        if (isOurs) written?.()
      }))
    },
    leave: (id) => {
      const making = running.get(id)
      if (making === undefined) return
      running.delete(id)
      run(leave(making.response))
    },
    touch: Effect.suspend(() => Effect.map(store.touch([...running.values()].map(({ response }) => response), now()), (ended) => ended.forEach(end))),
    takeOver: (limit) => Effect.suspend(() => Effect.map(store.takeOver({ silentSince: now() - LOST_MS, now: now(), limit }), (taken) => {
      for (const response of taken) {
        // An older run of it here is over.
        end(response.id)
        begun(response)
      }
      return taken
    })),
    find: (id, keyId) => Effect.map(find(id), (found) => found === null || found.keyId !== keyId ? null : found),
    isAnothers: (id, keyId) => Effect.map(find(id), (found) => found !== null && found.keyId !== keyId),
    remove: (id) => Effect.suspend(() => {
      unwritten.delete(id)
      end(id)
      // A write that ends after the removal would bring it back.
      const own = [...writing].filter(([, of]) => of === id)
      return Effect.andThen(Effect.forEach(own, ([fiber]) => Fiber.await(fiber), { discard: true }), store.remove(id))
    }),
    cancel: (response) => Effect.suspend(() => {
      if (!isRunning(response.status)) return Effect.succeed(response)
      const text = withStatus(response.response, "cancelled")
      const cancelled: StoredResponse = { ...response, status: "cancelled", response: text, updatedAt: now() }
      end(response.id)
      return Effect.flatMap(store.cancel(response.id, text, now()), (isCancelled) => isCancelled
        ? Effect.succeed(cancelled)
        // It was over before.
        : Effect.map(store.find(response.id, now()), (found) => found ?? cancelled))
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
