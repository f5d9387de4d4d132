/** Signatures of tool calls as nodes tell each other: the contract on a real Redis, and bytes of strangers. */
import { randomBytes } from "node:crypto"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Scope from "effect/Scope"
import { afterAll, describe, expect, it } from "vitest"
import * as IoRedisStore from "#src/platform/redis/IoRedisStore.ts"
import * as RedisThoughtSignatures from "#src/features/signatures/RedisThoughtSignatures.ts"
import { RedisStore } from "#src/platform/redis/RedisStore.ts"
import { type Node, signature, suite } from "#test/suites/ThoughtSignatures.suite.ts"
import { eventually } from "#test/support/operator.ts"
import { canStartRedis, ownRedis } from "#test/support/redis.ts"

const server = canStartRedis() ? await ownRedis() : null
const scope = Scope.makeUnsafe()
afterAll(async () => {
  await Effect.runPromise(Scope.close(scope, Exit.void))
  await server?.stop()
})

const freshPrefix = (): string => `t${randomBytes(4).toString("hex")}:`
const open = async (name: string, prefix: string): Promise<Node> => {
  const layer = IoRedisStore.layer({ url: Redacted.make(server?.url ?? ""), prefix, deadlineMs: 2_000 })
  const redis = Context.get(await Effect.runPromise(Layer.buildWithScope(layer, scope)), RedisStore)
  return Effect.runPromise(RedisThoughtSignatures.make(name).pipe(Effect.provideService(RedisStore, redis), Effect.provideService(Scope.Scope, scope)))
}

if (server !== null) suite("Redis", () => open("one", freshPrefix()))

describe.skipIf(server === null)("signatures of tool calls on Redis", () => {
  it("reach every node; what is no message is passed over, and neither caller nor call id travels", async () => {
    const prefix = freshPrefix()
    const [one, two] = [await open("one", prefix), await open("two", prefix)]
    const listener = server?.client()
    const texts: Array<string> = []
    await listener?.subscribe(`${prefix}thought-signatures`)
    listener?.on("message", (_channel, text: string) => texts.push(text))
    const stranger = server?.client()
    for (const text of ["", "{", JSON.stringify({ from: "x", key: 1 }), JSON.stringify({ from: "x", key: "k", family: "none", value: "v" })]) {
      await stranger?.publish(`${prefix}thought-signatures`, text)
    }
    await eventually(async () => {
      one.remember("canary-key", "canary-call", signature("mine"))
      return two.recall("canary-key", "canary-call")
    }, (found) => found !== null, "the signature on the other node")
    expect([two.recall("canary-key", "canary-call"), two.recall("other", "canary-call")]).toEqual([signature("mine"), null])
    await eventually(async () => texts.length, (length) => length >= 5, "the message")
    expect(texts.join("\n")).not.toContain("canary")
  })
})
