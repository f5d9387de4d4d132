/** The plugins in force: what becomes of code that is not the one that was installed, and of nodes that run none. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Integrity from "#src/features/plugins/integrity.ts"
import * as Plugins from "#src/features/plugins/Plugins.ts"
import type { Plugin } from "#src/features/plugins/ports/Plugin.ts"
import { PluginStore } from "#src/features/plugins/ports/PluginStore.ts"
import * as AloneFeed from "#src/platform/cluster/AloneFeed.ts"
import * as LocalRecordLocks from "#src/platform/cluster/LocalRecordLocks.ts"
import * as Management from "#test/support/management.ts"
import * as MemoryPlugins from "#test/support/memoryPlugins.ts"

const code = "export const onRequest = () => null"
const time = "2026-01-01T00:00:00.000Z"
const plugin = (name: string, fields: Partial<Plugin> = {}, manifest: Partial<Plugin["manifest"]> = {}): Plugin => ({
  name, version: "1.0.0",
  manifest: {
    description: "", author: "", license: "MIT", main: "index.js", source: "local", tags: [], hooks: ["onRequest"], configSchema: {}, enabledByDefault: false, hookTimeoutMs: 1_000,
    failMode: "open", ...manifest
  },
  code, integrity: Integrity.of(code), status: "active", config: {}, installedAt: time, activatedAt: time, errorMessage: null, updatedAt: time, ...fields
})

const layer = (isOn: boolean) => Plugins.layer({ isOn, folder: null }).pipe(
  Layer.provideMerge(Layer.mergeAll(MemoryPlugins.storeLayer, AloneFeed.layerFeed, LocalRecordLocks.layer))
)

describe("plugins in force", () => {
  it.effect("whose code has another hash run no more: an open one is left out, a closed one lets nothing pass until it is deactivated", () => Effect.gen(function*() {
    const { inForce, reload } = yield* Plugins.Plugins
    const store = yield* PluginStore
    const changed = { code: "export const onRequest = () => ({ refuse: { message: 'taken over' } })" }
    yield* store.insert(plugin("open", changed))
    yield* store.insert(plugin("closed", changed, { failMode: "closed" }))
    yield* store.insert(plugin("failed", { status: "error", activatedAt: null }, { failMode: "closed" }))
    yield* reload
    yield* reload
    const why = "Its code does not have the hash with which it was installed"
    for (const name of ["open", "closed"]) {
      const { errorMessage, status } = (yield* store.get(name)) ?? plugin("none")
      assert.deepStrictEqual([status, errorMessage], ["error", why])
    }
    const hooks = inForce()?.onRequest ?? []
    assert.deepStrictEqual(hooks.map(({ failMode, name }) => [name, failMode]), [["closed", "closed"]])
    assert.deepStrictEqual(yield* (hooks[0] ?? assert.fail("no hook")).ask("onRequest", "{}"), { _tag: "Failed", reason: why })
    yield* store.replace(plugin("closed", { ...changed, status: "inactive", activatedAt: null, updatedAt: "later" }, { failMode: "closed" }))
    yield* reload
    assert.isNull(inForce())
  }).pipe(Effect.provide(layer(true))))

  it.effect("are none on a node that was not told to run them", () => Effect.gen(function*() {
    const { inForce, reload } = yield* Plugins.Plugins
    yield* (yield* PluginStore).insert(plugin("one", {}, { failMode: "closed" }))
    yield* reload
    assert.isNull(inForce())
  }).pipe(Effect.provide(layer(false))))
})

describe("a gateway as it is by default", () => {
  it.effect("installs and activates none, and removes what another node installed", () => Effect.gen(function*() {
    const { ask, context, key, login } = yield* Management.make()
    const cookie = yield* login()
    const body = { manifest: { name: "one", version: "1.0.0" }, code }
    const codeOf = (reply: Management.Reply) => [reply.status, Management.at(reply.json, "error", "code")]
    assert.deepStrictEqual(codeOf(yield* ask("/api/plugins", { cookie, body })), [503, "PLUGINS_DISABLED"])
    yield* (yield* Effect.provide(PluginStore, context)).insert(plugin("one", { status: "installed", activatedAt: null }))
    assert.deepStrictEqual(codeOf(yield* ask("/api/plugins/one/activate", { cookie, body: {} })), [503, "PLUGINS_DISABLED"])
    assert.strictEqual((yield* ask("/api/plugins/one/config", { cookie, method: "PUT", body: { config: {} } })).status, 200)
    const inference = yield* key([])
    assert.strictEqual((yield* ask("/api/plugins/one", { method: "DELETE" })).status, 401)
    assert.strictEqual((yield* ask("/api/plugins/one", { method: "DELETE", bearer: inference.raw })).status, 403)
    assert.strictEqual((yield* ask("/api/plugins/one", { cookie, method: "DELETE" })).status, 200)
    assert.deepStrictEqual(Management.at((yield* ask("/api/plugins", { cookie })).json, "plugins"), [])
  }))
})
