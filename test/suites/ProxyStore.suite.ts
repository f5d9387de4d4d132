import { assert, layer as withLayer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { ProxyStore } from "#actors/ports/Stores.ts"
import type { Proxy, ProxyAssignment } from "#schemas/egress/Proxy.ts"
import { at, time } from "./records.ts"

const proxy = (id: string, fields: Partial<Proxy> = {}): Proxy => ({
  id, name: id, type: "http", host: "proxy.test", port: 8080, username: Redacted.make("user"), password: Redacted.make("secret"), region: null, notes: null,
  status: "active", source: "manual", subscriptionId: null, leftAt: null, family: "auto", createdAt: time, updatedAt: time, ...fields
})
const assignment = (scope: ProxyAssignment["scope"], scopeId: string, proxyId: string): ProxyAssignment => ({ scope, scopeId, proxyId, assignedAt: time })

const revealed = ({ password, username, ...rest }: Proxy) => ({
  ...rest, username: username === null ? null : Redacted.value(username), password: password === null ? null : Redacted.value(password)
})

export const suite = (name: string, layer: Layer.Layer<ProxyStore>): void => {
  withLayer(layer, { excludeTestServices: true })(`ProxyStore on ${name}`, (it) => {
    const mine = (tag: string) => Effect.map(Effect.flatMap(ProxyStore, ({ list }) => list), (all) => all.filter(({ id }) => id.startsWith(tag)).map(revealed))

    it.effect("a proxy comes back as it was put, changes, and goes; lists are by name, then id", () => Effect.gen(function*() {
      const store = yield* ProxyStore
      const given = proxy("crud-b", { type: "socks5", region: "eu", notes: "x", family: "ipv6", status: "inactive", source: "subscription", subscriptionId: "list", leftAt: at(1) })
      yield* store.insert(given)
      yield* store.insert(proxy("crud-a", { name: "crud-b", username: null, password: null }))
      yield* store.insert(proxy("crud-z", { name: "a-first" }))
      assert.deepStrictEqual((yield* mine("crud-")).map(({ id }) => id), ["crud-z", "crud-a", "crud-b"])
      assert.deepStrictEqual((yield* mine("crud-b"))[0], revealed(given))
      const changed = { ...given, host: "::1", port: 1, username: null, password: Redacted.make("other"), updatedAt: at(2) }
      assert.isTrue(yield* store.replace(changed))
      assert.deepStrictEqual((yield* mine("crud-b"))[0], revealed(changed))
      assert.isFalse(yield* store.replace(proxy("crud-none")))
      assert.isTrue(yield* store.remove("crud-b"))
      assert.isFalse(yield* store.remove("crud-b"))
      assert.deepStrictEqual((yield* mine("crud-b")), [])
    }))

    it.effect("a scope's id has one assignment, which goes with its proxy", () => Effect.gen(function*() {
      const store = yield* ProxyStore
      const assigned = Effect.map(store.assignments, (all) => all.filter(({ proxyId }) => proxyId.startsWith("as-")).map(({ proxyId, scope, scopeId }) => `${scope} ${scopeId} ${proxyId}`))
      yield* store.insert(proxy("as-one"))
      yield* store.insert(proxy("as-two"))
      yield* store.assign(assignment("provider", "as-openai", "as-one"))
      yield* store.assign(assignment("global", "", "as-one"))
      yield* store.assign(assignment("key", "as-k", "as-one"))
      yield* store.assign(assignment("key", "as-k", "as-two"))
      assert.deepStrictEqual(yield* assigned, ["global  as-one", "key as-k as-two", "provider as-openai as-one"])
      assert.strictEqual((yield* Effect.flip(store.assign(assignment("key", "as-k", "as-none")))).reason, "corrupt")
      assert.isTrue(yield* store.unassign("global", ""))
      assert.isFalse(yield* store.unassign("global", ""))
      assert.isTrue(yield* store.remove("as-one"))
      assert.deepStrictEqual(yield* assigned, ["key as-k as-two"])
    }))
  })
}
