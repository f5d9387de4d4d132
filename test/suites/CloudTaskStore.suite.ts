import { assert, layer as withLayer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import type { CloudTask } from "#src/features/cloudAgents/ports/CloudTask.ts"
import { CloudTaskStore } from "#src/features/cloudAgents/ports/CloudTaskStore.ts"
import { at, time } from "./records.ts"

const task = (id: string, fields: Partial<CloudTask> = {}): CloudTask => ({
  id, providerId: "jules", externalId: null, status: "queued", prompt: "Fix it.", source: { repoName: "o/r", repoUrl: "https://github.com/o/r" },
  options: { autoCreatePr: true, planApprovalRequired: false }, result: null, activities: [], error: null, conversationUrl: null, createdAt: time,
  updatedAt: time, completedAt: null, ...fields
})

export const suite = (name: string, layer: Layer.Layer<CloudTaskStore>): void => {
  withLayer(layer, { excludeTestServices: true })(`CloudTaskStore on ${name}`, (it) => {
    it.effect("a task comes back as it was put, changes once per reading, and goes", () => Effect.gen(function*() {
      const store = yield* CloudTaskStore
      const given = task("c-1", { source: { repoName: "o/r", repoUrl: "https://github.com/o/r", branch: "dev" } })
      yield* store.insert(given)
      assert.deepStrictEqual(yield* store.get("c-1"), given)
      const changed: CloudTask = {
        ...given, externalId: "e", status: "completed", result: { prUrl: "https://github.com/o/r/pull/1", prNumber: 1, summary: null }, error: "x", conversationUrl: "https://x.test",
        activities: [{ id: "a", type: "plan", content: "1. \"quoted\"", timestamp: null, metadata: { n: 1 } }], updatedAt: at(2), completedAt: at(2)
      }
      assert.isTrue(yield* store.replace(changed, time))
      assert.isFalse(yield* store.replace({ ...changed, status: "failed" }, time))
      assert.deepStrictEqual(yield* store.get("c-1"), changed)
      assert.isFalse(yield* store.replace(task("c-none"), time))
      assert.isTrue(yield* store.remove("c-1"))
      assert.isFalse(yield* store.remove("c-1"))
      assert.isNull(yield* store.get("c-1"))
    }))

    it.effect("lists are newest first, by agent and status; trimming takes the oldest finished ones", () => Effect.gen(function*() {
      const store = yield* CloudTaskStore
      const over = { status: "completed", completedAt: at(9) } as const
      for (const [id, fields] of [["t-1", over], ["t-2", { status: "running" }], ["t-3", over], ["t-4", { providerId: "devin" }], ["t-5", over]] as const) {
        yield* store.insert(task(id, { createdAt: at(Number(id.slice(2))), ...fields }))
      }
      const ids = (query: Parameters<typeof store.list>[0]) => Effect.map(store.list(query), (tasks) => tasks.map(({ id }) => id))
      assert.deepStrictEqual(yield* ids({ limit: 10 }), ["t-5", "t-4", "t-3", "t-2", "t-1"])
      assert.deepStrictEqual(yield* ids({ limit: 2 }), ["t-5", "t-4"])
      assert.deepStrictEqual(yield* ids({ limit: 10, providerId: "devin" }), ["t-4"])
      assert.deepStrictEqual(yield* ids({ limit: 10, providerId: "jules", status: "completed" }), ["t-5", "t-3", "t-1"])
      assert.strictEqual(yield* store.trim(5), 0)
      assert.strictEqual(yield* store.trim(3), 2)
      assert.deepStrictEqual(yield* ids({ limit: 10 }), ["t-5", "t-4", "t-2"])
      assert.strictEqual(yield* store.trim(0), 1)
      assert.deepStrictEqual(yield* ids({ limit: 10 }), ["t-4", "t-2"])
    }))
  })
}
