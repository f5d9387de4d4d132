import { assert, layer as withLayer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import type { Plugin } from "#src/features/plugins/ports/Plugin.ts"
import { PluginStore } from "#src/features/plugins/ports/PluginStore.ts"
import { at, time } from "./records.ts"

const plugin = (name: string, fields: Partial<Plugin> = {}): Plugin => ({
  name, version: "1.0.0",
  manifest: {
    description: "", author: "", license: "MIT", main: "index.js", source: "local", tags: [], hooks: [], configSchema: {}, enabledByDefault: false, hookTimeoutMs: 1_000, failMode: "open"
  },
  code: "export const onRequest = () => null", integrity: "sha256-", status: "installed", config: {}, installedAt: time, activatedAt: null, errorMessage: null, updatedAt: time, ...fields
})

export const suite = (name: string, layer: Layer.Layer<PluginStore>): void => {
  withLayer(layer, { excludeTestServices: true })(`PluginStore on ${name}`, (it) => {
    it.effect("a plugin comes back as it was put, changes, and goes; its name is taken once", () => Effect.gen(function*() {
      const store = yield* PluginStore
      const given = plugin("p-b", {
        version: "2.0.0-beta.1", code: "`\n${'ü'}\\`", config: { text: "a'b\"c", ["__proto__x"]: 1 },
        manifest: {
          ...plugin("p-b").manifest, description: "Says 'so' %_\\", tags: ["a b"], hooks: ["onRequest", "onInstall"], failMode: "closed",
          configSchema: { text: { type: "string", default: "ü" }, level: { type: "select", enum: ["a", 2] } }
        }
      })
      yield* store.insert(given)
      yield* store.insert(plugin("p-a"))
      assert.strictEqual((yield* Effect.flip(store.insert(plugin("p-b")))).reason, "conflict")
      assert.deepStrictEqual(yield* store.get("p-b"), given)
      assert.deepStrictEqual((yield* store.list).map(({ name }) => name).filter((one) => one.startsWith("p-")), ["p-a", "p-b"])
      const changed: Plugin = { ...given, status: "error", activatedAt: at(1), errorMessage: "It failed", updatedAt: at(2) }
      assert.isTrue(yield* store.replace(changed))
      assert.deepStrictEqual(yield* store.get("p-b"), changed)
      assert.isFalse(yield* store.replace(plugin("p-none")))
      assert.isTrue(yield* store.remove("p-b"))
      assert.isFalse(yield* store.remove("p-b"))
      assert.isNull(yield* store.get("p-b"))
    }))
  })
}
