/** Where sessions are, as nodes tell each other: the contract in memory and on a real Redis, and bytes of strangers. */
import * as Effect from "effect/Effect"
import { describe, expect, it } from "vitest"
import type { CachePlace, SessionPlace } from "#src/inference/ports/SessionPlaces.ts"
import * as RedisSessionPlaces from "#src/features/sessions/RedisSessionPlaces.ts"
import { listen, type Node, place, suite } from "#test/suites/SessionPlaces.suite.ts"
import { eventually } from "#test/support/operator.ts"
import { redisNodes } from "#test/support/redisNodes.ts"

suite("memory", async () => {
  const listeners = new Map<(key: string, at: SessionPlace) => void, string>()
  const caches = new Map<(key: string, at: CachePlace) => void, string>()
  return (name): Node => ({
    keyOf: (session) => session,
    tell: (key, at) => {
      for (const [heard, owner] of listeners) if (owner !== name) heard(key, at)
    },
    hear: (heard) => Effect.asVoid(Effect.acquireRelease(Effect.sync(() => listeners.set(heard, name)), () => Effect.sync(() => listeners.delete(heard)))),
    cachePlaces: {
      tell: (key, at) => {
        for (const [heard, owner] of caches) if (owner !== name) heard(key, at)
      },
      hear: (heard) => Effect.asVoid(Effect.acquireRelease(Effect.sync(() => caches.set(heard, name)), () => Effect.sync(() => caches.delete(heard))))
    }
  })
})

const { open, server } = await redisNodes(RedisSessionPlaces.make)

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
