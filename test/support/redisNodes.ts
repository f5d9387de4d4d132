/** What nodes tell each other over Redis: three nodes under a prefix of their own, each with connections of its own. */
import { randomBytes } from "node:crypto"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Scope from "effect/Scope"
import { afterAll } from "vitest"
import * as IoRedisStore from "#src/platform/redis/IoRedisStore.ts"
import { RedisStore } from "#src/platform/redis/RedisStore.ts"
import { canStartRedis, ownRedis } from "./redis.ts"

/** `make`: what a node of this name tells and hears by. The server is null where there is no program of one; it ends with the file's tests. */
export const redisNodes = async <A>(make: (name: string) => Effect.Effect<A, never, RedisStore>) => {
  const server = canStartRedis() ? await ownRedis() : null
  const scope = Scope.makeUnsafe()
  afterAll(async () => {
    await Effect.runPromise(Scope.close(scope, Exit.void))
    await server?.stop()
  })
  const open = async () => {
    const prefix = `t${randomBytes(4).toString("hex")}:`
    const made = new Map<string, A>()
    for (const name of ["one", "two", "three"]) {
      const layer = IoRedisStore.layer({ url: Redacted.make(server?.url ?? ""), prefix, deadlineMs: 2_000 })
      const redis = Context.get(await Effect.runPromise(Layer.buildWithScope(layer, scope)), RedisStore)
      made.set(name, await Effect.runPromise(Effect.provideService(make(name), RedisStore, redis)))
    }
    const node = (name: string): A => {
      const found = made.get(name)
      if (found === undefined) throw new Error(`no node ${name}`)
      return found
    }
    return { node, prefix }
  }
  return { server, open }
}
