import { assert, layer as withLayer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import type { Skill } from "#src/features/skills/ports/Skill.ts"
import { SkillStore } from "#src/features/skills/ports/SkillStore.ts"
import { at, time } from "./records.ts"

const skill = (id: string, fields: Partial<Skill> = {}): Skill => ({
  id, apiKeyId: null, name: id, version: "1.0.0", description: "", schema: { input: { type: "object" }, output: {} }, handler: "return input", enabled: true, mode: "on",
  tags: [], sourceProvider: "local", installCount: 1, createdAt: time, updatedAt: time, ...fields
})
const all = { limit: 200, offset: 0 }

export const suite = (name: string, layer: Layer.Layer<SkillStore>): void => {
  withLayer(layer, { excludeTestServices: true })(`SkillStore on ${name}`, (it) => {
    it.effect("a skill comes back as it was put, changes, and goes", () => Effect.gen(function*() {
      const store = yield* SkillStore
      const given = skill("s-crud", {
        apiKeyId: "k", version: "2.0.0-beta.1", description: "Says 'so' %_\\", tags: ["a b", "ü"], installCount: 3, handler: "return `\n${input}`",
        schema: { input: { type: "object", properties: { a: { type: "string" } } }, output: { enum: ["x", null, 1] } }
      })
      yield* store.insert(given)
      assert.deepStrictEqual(yield* store.get("s-crud"), given)
      const changed: Skill = { ...given, name: "s-other", enabled: false, mode: "off", updatedAt: at(2) }
      assert.isTrue(yield* store.replace(changed))
      assert.deepStrictEqual(yield* store.get("s-crud"), changed)
      assert.isFalse(yield* store.replace(skill("s-none")))
      assert.isTrue(yield* store.remove("s-crud"))
      assert.isFalse(yield* store.remove("s-crud"))
      assert.isNull(yield* store.get("s-crud"))
    }))

    it.effect("a version of a name is taken once; lists filter, page and count; names count all their installs", () => Effect.gen(function*() {
      const store = yield* SkillStore
      yield* store.insert(skill("l-1", { name: "l-adder", description: "Adds 100% of NUMBERS", installCount: 2 }))
      yield* store.insert(skill("l-2", { name: "l-adder", version: "1.1.0", mode: "off", createdAt: at(1), installCount: 3 }))
      yield* store.insert(skill("l-3", { name: "l-words", tags: ["Text"], sourceProvider: "skillssh", installCount: 4 }))
      for (const failed of [store.insert(skill("l-4", { name: "l-adder" })), store.replace(skill("l-3", { name: "l-adder" }))]) {
        assert.strictEqual((yield* Effect.flip(failed)).reason, "conflict")
      }
      const ids = (filter: Partial<Parameters<typeof store.list>[0]>) => Effect.map(store.list({ ...all, ...filter }), ({ skills, total }) => [skills.map(({ id }) => id), total])
      assert.deepStrictEqual(yield* ids({}), [["l-2", "l-1", "l-3"], 3])
      assert.deepStrictEqual(yield* ids({ limit: 1, offset: 1 }), [["l-1"], 3])
      assert.deepStrictEqual(yield* ids({ q: "100% of num" }), [["l-1"], 1])
      assert.deepStrictEqual(yield* ids({ q: "TEXT" }), [["l-3"], 1])
      assert.deepStrictEqual(yield* ids({ q: "_" }), [[], 0])
      assert.deepStrictEqual(yield* ids({ mode: "off" }), [["l-2"], 1])
      assert.deepStrictEqual(yield* ids({ source: "skillssh" }), [["l-3"], 1])
      assert.deepStrictEqual((yield* store.versions("l-adder")).map(({ version }) => version), ["1.0.0", "1.1.0"])
      assert.deepStrictEqual(yield* store.popular(1), ["l-adder"])
      assert.deepStrictEqual(yield* store.popular(5), ["l-adder", "l-words"])
    }))
  })
}
