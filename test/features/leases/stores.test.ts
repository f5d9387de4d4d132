import { afterAll, describe } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as MemoryLeaseStore from "#src/features/leases/MemoryLeaseStore.ts"
import * as IoRedisStore from "#src/platform/redis/IoRedisStore.ts"
import * as RedisLeaseStore from "#src/features/leases/RedisLeaseStore.ts"
import * as LeaseStore from "#test/suites/LeaseStore.suite.ts"
import { canStartRedis, type OwnRedis, ownRedis } from "#test/support/redis.ts"

LeaseStore.suite("memory", MemoryLeaseStore.layer)

describe.skipIf(!canStartRedis())("with a Redis server", () => {
  let server: OwnRedis | null = null
  const redis = Layer.unwrap(Effect.promise(async () => {
    server = await ownRedis()
    return IoRedisStore.layer({ url: Redacted.make(server.url), prefix: "leases-suite:", deadlineMs: 2_000 })
  }))
  LeaseStore.suite("Redis", Layer.provide(RedisLeaseStore.layer, redis))
  afterAll(() => server?.stop())
})
