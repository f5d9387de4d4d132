import { assert, layer as withLayer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import type { McpServer } from "#src/features/mcpServers/ports/McpServer.ts"
import { McpServerStore } from "#src/features/mcpServers/ports/McpServerStore.ts"
import { at, time } from "./records.ts"

const server = (id: string, fields: Partial<McpServer> = {}): McpServer => ({
  id, name: id, description: null, transport: "http", address: Redacted.make(`{"url":"https://tools.test/${id}","headers":{"authorization":"secret"}}`), enabled: true,
  access: "keys", allowedTools: ["read_*"], blockedTools: [], scopes: ["read:models"], timeoutMs: 60_000, createdAt: time, updatedAt: time, ...fields
})

const revealed = (one: McpServer | null) => one === null ? null : { ...one, address: Redacted.value(one.address) }

export const suite = (name: string, layer: Layer.Layer<McpServerStore>): void => {
  withLayer(layer, { excludeTestServices: true })(`McpServerStore on ${name}`, (it) => {
    it.effect("a server comes back as it was put, changes, and goes; lists are by name", () => Effect.gen(function*() {
      const store = yield* McpServerStore
      const given = server("m-crud", { description: "x", transport: "stdio", blockedTools: ["a", "b"] })
      yield* store.insert(given)
      yield* store.insert(server("m-before", { name: "a-first" }))
      assert.deepStrictEqual(revealed(yield* store.get("m-crud")), revealed(given))
      assert.deepStrictEqual((yield* store.list).map(({ id }) => id).filter((id) => id.startsWith("m-")), ["m-before", "m-crud"])
      const changed = { ...given, name: "m-other", enabled: false, address: Redacted.make("{}"), allowedTools: [], updatedAt: at(2) }
      assert.isTrue(yield* store.replace(changed))
      assert.deepStrictEqual(revealed(yield* store.get("m-crud")), revealed(changed))
      assert.isFalse(yield* store.replace(server("m-none")))
      assert.isTrue(yield* store.remove("m-crud"))
      assert.isFalse(yield* store.remove("m-crud"))
      assert.isNull(yield* store.get("m-crud"))
    }))

    it.effect("a name that is taken is a conflict, for a new server and for a change", () => Effect.gen(function*() {
      const store = yield* McpServerStore
      yield* store.insert(server("m-one"))
      yield* store.insert(server("m-two"))
      for (const failed of [store.insert(server("m-three", { name: "m-one" })), store.replace(server("m-two", { name: "m-one" }))]) {
        assert.strictEqual((yield* Effect.flip(failed)).reason, "conflict")
      }
    }))
  })
}
