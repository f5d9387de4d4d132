import { assert, layer as withLayer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import type { ProxySubscription } from "#src/features/proxies/subscriptions/ProxySubscription.ts"
import { ProxySubscriptionStore } from "#src/features/proxies/subscriptions/ProxySubscriptionStore.ts"
import { at, time } from "./records.ts"

const subscription = (id: string, fields: Partial<ProxySubscription> = {}): ProxySubscription => ({
  id, name: id, url: Redacted.make(`https://lists.test/${id}?token=secret`), type: "http", enabled: true, intervalSeconds: 3_600, entryCount: 0, skippedCount: 0,
  triedAt: null, refreshedAt: null, error: null, createdAt: time, updatedAt: time, ...fields
})
const revealed = ({ url, ...rest }: ProxySubscription) => ({ ...rest, url: Redacted.value(url) })

export const suite = (name: string, layer: Layer.Layer<ProxySubscriptionStore>): void => {
  withLayer(layer, { excludeTestServices: true })(`ProxySubscriptionStore on ${name}`, (it) => {
    it.effect("a list comes back as it was put, by name, then id; a change keeps what tries left, and tries what operators say", () => Effect.gen(function*() {
      const store = yield* ProxySubscriptionStore
      const mine = Effect.map(store.list, (all) => all.map(revealed))
      const given = subscription("b", { type: "socks5", enabled: false })
      yield* store.insert(given)
      yield* store.insert(subscription("a", { name: "b" }))
      assert.deepStrictEqual((yield* mine).map(({ id }) => id), ["a", "b"])
      assert.deepStrictEqual((yield* mine)[1], revealed(given))
      const tried = { triedAt: at(2), refreshedAt: at(2), error: null, entryCount: 7, skippedCount: 1 }
      yield* store.tried("b", tried)
      const changed = { ...given, name: "c", url: Redacted.make("https://other.test/"), enabled: true, intervalSeconds: 300, type: "https", updatedAt: at(3) } as const
      assert.isTrue(yield* store.change(changed))
      assert.deepStrictEqual((yield* mine)[1], revealed({ ...changed, ...tried }))
      yield* store.tried("b", { triedAt: at(4), error: "away" })
      assert.deepStrictEqual((yield* mine)[1], revealed({ ...changed, ...tried, triedAt: at(4), error: "away" }))
      assert.isFalse(yield* store.change(subscription("none")))
      yield* store.tried("none", { triedAt: at(4), error: null })
      assert.deepStrictEqual([yield* store.remove("b"), yield* store.remove("b"), yield* store.remove("a")], [true, false, true])
      assert.deepStrictEqual(yield* mine, [])
    }))
  })
}
