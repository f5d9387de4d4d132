/** How nodes hear of each other's cooldowns and lockouts: the contract in memory and on a real Redis, and messages that are lost. */
import { describe, expect, it } from "vitest"
import * as RedisCooldownFeed from "#src/features/resilience/redis/RedisCooldownFeed.ts"
import { heardOf, listen, locked, suite } from "#test/suites/CooldownFeed.suite.ts"
import { Bus } from "#test/support/memoryCooldownFeed.ts"
import { eventually } from "#test/support/operator.ts"
import { redisNodes } from "#test/support/redisNodes.ts"

suite("memory", async () => {
  const bus = new Bus(Date.now)
  return (name) => bus.node(name)
})

const { open, server } = await redisNodes(RedisCooldownFeed.make)

if (server !== null) suite("Redis", async () => (await open()).node)

describe.skipIf(server === null)("messages of the feed that are lost", () => {
  /** Everybody who subscribes is cut off; they come back by themselves. */
  const cut = () => server?.client().call("CLIENT", "KILL", "TYPE", "pubsub")

  it("lockouts and their clearing are found by looking, each once", async () => {
    const { node } = await open()
    const [one, two] = [node("one"), node("two")]
    const ears = await listen(two)
    one.lock(locked("heard"))
    await heardOf(ears, "heard")
    await cut()
    one.lock(locked("missed", { failures: 2 }))
    const found = await heardOf(ears, "missed")
    expect([found?.failures, (found?.forMs ?? 0) > 50_000]).toEqual([2, true])
    await cut()
    one.clear({ provider: null, model: "heard", connectionId: null })
    await eventually(async () => ears.cleared.at(-1)?.model, (model) => model === "heard", "the clearing")
    one.lock(locked("last"))
    await heardOf(ears, "last")
    expect(ears.cleared.filter(({ model }) => model === "missed")).toEqual([])
    await ears.close()
  }, 180_000)

  it("a Redis that lost everything clears nothing, and is heard again", async () => {
    const { node } = await open()
    const [one, two] = [node("one"), node("two")]
    const ears = await listen(two)
    one.lock(locked("before"))
    await heardOf(ears, "before")
    await server?.client().flushall()
    for (let i = 0; i < 3; i++) one.lock(locked(`after-${i}`))
    await heardOf(ears, "after-2")
    await eventually(async () => ears.locked.filter(({ model }) => model === "after-2").length, (count) => count > 1, "a look at what the new life keeps")
    expect(ears.cleared).toEqual([])
    one.clear({ provider: null, model: "after-0", connectionId: null })
    await eventually(async () => ears.cleared.length, (count) => count > 0, "the clearing")
    expect(ears.cleared.map(({ model }) => model)).toEqual(["after-0"])
    await ears.close()
  }, 180_000)

  it("bytes of another release are not believed", async () => {
    const { node, prefix } = await open()
    const ears = await listen(node("two"))
    const client = server?.client()
    for (const text of ["", "x", "e:1 {}", `e:2 ${JSON.stringify({ from: "x", news: { locked: locked("m", { forMs: 1e15 }) } })}`, `- ${JSON.stringify({ from: "x", news: { cooled: {} } })}`]) {
      await client?.publish(`${prefix}cooldowns`, text)
    }
    await client?.hset(`${prefix}lockouts`, "[1]", "9999999999999 {}")
    node("one").lock(locked("good"))
    await heardOf(ears, "good")
    const late = await listen(node("three"))
    expect([ears.locked.length, late.locked.map(({ model }) => model)]).toEqual([1, ["good"]])
    await ears.close()
    await late.close()
  }, 180_000)
})
