/** Responses that are kept, over a store whose writes take their time. */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { expect } from "vitest"
import { it } from "@effect/vitest"
import { ResponseStore, type StoredResponse } from "#src/features/responses/ResponseStore.ts"
import * as StoredResponses from "#src/features/responses/StoredResponses.ts"

const response = { id: "resp_1", keyId: "key", createdAt: 0, status: "completed", input: "[]", response: "{}" } as const

it.effect("a response that is deleted while it is written is deleted behind its write", () => Effect.gen(function*() {
  const rows = new Map<string, StoredResponse>()
  const began = yield* Deferred.make<void>()
  const may = yield* Deferred.make<void>()
  const store: Partial<ResponseStore["Service"]> = {
    put: (one) => Effect.gen(function*() {
      yield* Deferred.succeed(began, undefined)
      yield* Deferred.await(may)
      rows.set(one.id, one)
    }),
    find: (id) => Effect.sync(() => rows.get(id) ?? null),
    remove: (id) => Effect.sync(() => void rows.delete(id))
  }
  const stored = yield* Effect.provideService(StoredResponses.make(30), ResponseStore, store as ResponseStore["Service"])
  stored.keep(response)
  expect(yield* stored.find("resp_1", "key")).toMatchObject(response)
  yield* Deferred.await(began)
  const removal = yield* Effect.forkChild(stored.remove("resp_1"), { startImmediately: true })
  expect(yield* stored.find("resp_1", "key")).toBeNull()
  yield* Deferred.succeed(may, undefined)
  yield* Fiber.join(removal)
  expect(yield* stored.find("resp_1", "key")).toBeNull()
  expect(rows.size).toBe(0)
}))
