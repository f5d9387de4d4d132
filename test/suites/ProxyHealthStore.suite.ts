import { assert, layer as withLayer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import { ProxyStore } from "#actors/ports/Stores.ts"
import { ProxyHealthStore } from "#src/features/proxies/health/ProxyHealthStore.ts"
import { time } from "./records.ts"

const HOUR = 3_600_000

export const suite = (name: string, layer: Layer.Layer<ProxyHealthStore | ProxyStore>): void => {
  withLayer(layer, { excludeTestServices: true })(`ProxyHealthStore on ${name}`, (it) => {
    it.effect("sums of nodes add up by hour, and go with their proxy", () => Effect.gen(function*() {
      const [proxies, store] = [yield* ProxyStore, yield* ProxyHealthStore]
      const count = (proxyId: string, made: number, failed: number, latencyMs: number, lastError: string | null) => ({ proxyId, made, failed, latencyMs, lastError })
      for (const id of ["h-one", "h-two"]) {
        yield* proxies.insert({
          id, name: id, type: "http", host: "p.test", port: 1, username: null, password: null, region: null, notes: null, status: "active", source: "manual", subscriptionId: null, leftAt: null,
          family: "auto", createdAt: time, updatedAt: time
        })
      }
      yield* store.add(10 * HOUR, [count("h-one", 2, 1, 30.5, "older"), count("h-gone", 1, 0, 1, null)])
      yield* store.add(12 * HOUR, [count("h-one", 1, 1, 10, "newer"), count("h-two", 1, 0, 7, null)])
      yield* store.add(12 * HOUR, [count("h-one", 3, 0, 20, null)])
      assert.deepStrictEqual(yield* store.since(10 * HOUR), [count("h-one", 6, 2, 60.5, "newer"), count("h-two", 1, 0, 7, null)])
      assert.deepStrictEqual(yield* store.since(12 * HOUR), [count("h-one", 4, 1, 30, "newer"), count("h-two", 1, 0, 7, null)])
      assert.strictEqual(yield* store.removeBefore(12 * HOUR), 1)
      assert.deepStrictEqual(yield* store.since(0), [count("h-one", 4, 1, 30, "newer"), count("h-two", 1, 0, 7, null)])
      yield* proxies.remove("h-one")
      assert.deepStrictEqual((yield* store.since(0)).map(({ proxyId }) => proxyId), ["h-two"])
    }))
  })
}
