import { assert, layer as withLayer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import type { SkillExecution } from "#src/features/skills/ports/Skill.ts"
import { SkillExecutionStore } from "#src/features/skills/ports/SkillExecutionStore.ts"
import { at } from "./records.ts"

const execution = (id: string, second: number, fields: Partial<SkillExecution> = {}): SkillExecution => ({
  id, skillId: "s", apiKeyId: "k", sessionId: null, input: {}, output: null, status: "pending", errorMessage: null, durationMs: null, createdAt: at(second), ...fields
})

export const suite = (name: string, layer: Layer.Layer<SkillExecutionStore>): void => {
  withLayer(layer, { excludeTestServices: true })(`SkillExecutionStore on ${name}`, (it) => {
    it.effect("an execution begins and ends once, whatever JSON goes in and out, and the newest are kept", () => Effect.gen(function*() {
      const store = yield* SkillExecutionStore
      const list = (apiKeyId?: string) => Effect.map(store.list({ apiKeyId, limit: 50, offset: 0 }), ({ executions }) => executions)
      const states = Effect.map(list(), (found) => found.map(({ id, status }) => `${id} ${status}`))
      const given = execution("e-1", 1, { sessionId: "s", input: ["nul \0", { a: null }] })
      yield* store.insert(given)
      yield* store.insert(execution("e-2", 2, { apiKeyId: "other", input: "text" }))
      yield* store.insert(execution("e-3", 3))
      assert.deepStrictEqual((yield* list()).map(({ id }) => id), ["e-3", "e-2", "e-1"])
      assert.deepStrictEqual((yield* list("k"))[1], given)
      yield* store.begin("e-1")
      assert.deepStrictEqual(yield* states, ["e-3 pending", "e-2 pending", "e-1 running"])
      const end = { status: "success", output: "a text \0", errorMessage: null, durationMs: 12 } as const
      yield* store.end("e-1", end)
      yield* store.end("e-1", { status: "error", output: null, errorMessage: "late", durationMs: 99 })
      yield* store.begin("e-1")
      assert.deepStrictEqual((yield* list("k"))[1], { ...given, ...end })
      yield* store.abandon(at(3), "lost")
      assert.deepStrictEqual(yield* states, ["e-3 pending", "e-2 error", "e-1 success"])
      assert.deepStrictEqual((yield* list("other")).map(({ errorMessage }) => errorMessage), ["lost"])
      yield* store.trim(2)
      const { executions, total } = yield* store.list({ limit: 1, offset: 1 })
      assert.deepStrictEqual([executions.map(({ id }) => id), total], [["e-2"], 2])
    }))
  })
}
