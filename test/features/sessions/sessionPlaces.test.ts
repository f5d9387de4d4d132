/** Where sessions are, as nodes tell each other: the contract in memory and on a real Redis, and bytes of strangers. */
import { randomBytes } from "node:crypto"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Scope from "effect/Scope"
import { afterAll, describe, expect, it } from "vitest"
import type { SessionPlace } from "#src/inference/ports/SessionPlaces.ts"
import * as IoRedisStore from "#src/platform/redis/IoRedisStore.ts"
import * as RedisSessionPlaces from "#src/features/sessions/RedisSessionPlaces.ts"
import { RedisStore } from "#src/platform/redis/RedisStore.ts"
import { listen, type Node, place, suite } from "#test/suites/SessionPlaces.suite.ts"
import { eventually } from "#test/support/operator.ts"
import { canStartRedis, ownRedis } from "#test/support/redis.ts"

suite("memory", async () => {
  const listeners = new Map<(key: string, at: SessionPlace) => void, string>()
  return (name): Node => ({
    keyOf: (session) => session,
    tell: (key, at) => {
      for (const [heard, owner] of listeners) if (owner !== name) heard(key, at)
    },
    hear: (heard) => Effect.asVoid(Effect.acquireRelease(Effect.sync(() => listeners.set(heard, name)), () => Effect.sync(() => listeners.delete(heard))))
  })
})

const server = canStartRedis() ? await ownRedis() : null
const scope = Scope.makeUnsafe()
afterAll(async () => {
  await Effect.runPromise(Scope.close(scope, Exit.void))
  await server?.stop()
})

const open = async () => {
  const prefix = `t${randomBytes(4).toString("hex")}:`
  const made = new Map<string, Node>()
  for (const name of ["one", "two", "three"]) {
    const layer = IoRedisStore.layer({ url: Redacted.make(server?.url ?? ""), prefix, deadlineMs: 2_000 })
    const redis = Context.get(await Effect.runPromise(Layer.buildWithScope(layer, scope)), RedisStore)
    made.set(name, await Effect.runPromise(Effect.provideService(RedisSessionPlaces.make(name), RedisStore, redis)))
  }
  const node = (name: string): Node => {
    const found = made.get(name)
    if (found === undefined) throw new Error(`no node ${name}`)
    return found
  }
  return { node, prefix }
}

if (server !== null) suite("Redis", async () => (await open()).node)

describe.skipIf(server === null)("places of sessions on Redis", () => {
  it("what is no message is passed over, and the client's name of a session does not travel", async () => {
    const { node, prefix } = await open()
    const client = server?.client()
    const texts: Array<string> = []
    await client?.subscribe(`${prefix}session-places`)
    client?.on("message", (_channel, text: string) => texts.push(text))
    const { close, heard } = await listen(node("two"))
    const sender = server?.client()
    for (const text of ["", "{", JSON.stringify({ from: "x", places: [["k", { provider: 1 }]] })]) await sender?.publish(`${prefix}session-places`, text)
    const key = node("one").keyOf("combo-1\nkey-1\ncanary-session")
    node("one").tell(key, place("m"))
    await eventually(async () => heard.length, (length) => length > 0, "the place")
    expect(heard).toEqual([[key, place("m")]])
    await eventually(async () => texts.length, (length) => length === 4, "the message")
    expect(texts.join("\n")).not.toContain("canary")
    await close()
  })
})
