/** A process that stood still knows it before it serves again, and looks once before it does. */
import { assert, describe, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { ChangeFeed } from "#actors/ports/ChangeFeed.ts"
import { ClusterStore, type Node } from "#actors/ports/Nodes.ts"
import * as PolledFeed from "#src/platform/cluster/PolledFeed.ts"
import * as InferenceCall from "#src/inference/lane/InferenceCall.ts"
import { HOLD_MS, StandStill, STOOD_MS, TICK_MS } from "#src/platform/cluster/StandStill.ts"

const world = () => {
  const state = { now: 1_000_000, found: 0 }
  const stand = new StandStill(() => state.now, () => {
    state.found++
  })
  return { state, stand }
}

describe("a process that stood still", () => {
  it("is behind from the first request on, whether that or the late tick comes first, until a look that began afterwards has ended", () => {
    for (const tickFirst of [true, false]) {
      const { stand, state } = world()
      const before = stand.look()
      state.now += STOOD_MS + 1
      if (tickFirst) stand.tick()
      assert.isTrue(stand.isBehind())
      assert.isFalse(stand.looked(before))
      assert.isTrue(stand.isBehind())
      const since = stand.look()
      state.now += 20
      stand.tick()
      assert.isTrue(stand.looked(since))
      assert.isFalse(stand.isBehind())
      assert.strictEqual(state.found, 1)
    }
  })

  it("that stood still again meanwhile must look once more", () => {
    const { stand, state } = world()
    state.now += STOOD_MS + 1
    stand.tick()
    const first = stand.look()
    state.now += STOOD_MS + 1
    stand.tick()
    assert.isFalse(stand.looked(first))
    assert.isTrue(stand.isBehind())
    assert.strictEqual(state.found, 2)
  })

  it("serves after a while though nothing answers, and says how long that is", () => {
    const { stand, state } = world()
    state.now += STOOD_MS + 1
    assert.isTrue(stand.isBehind())
    assert.strictEqual(stand.leftMs, HOLD_MS)
    for (let passed = 0; passed < HOLD_MS; passed += TICK_MS) {
      state.now += TICK_MS
      stand.tick()
    }
    assert.isFalse(stand.isBehind())
    assert.strictEqual(stand.leftMs, 0)
  })

  it("is not one that was busy, or whose clock was set back", () => {
    const { stand, state } = world()
    for (const step of [STOOD_MS, 5, -3_600_000, TICK_MS]) {
      state.now += step
      stand.tick()
      assert.isFalse(stand.isBehind())
    }
    assert.strictEqual(state.found, 0)
  })
})

const self: Node = { id: "n", incarnation: "i", host: "h", address: "a", pid: 1, worker: 0, release: "1", startedAt: 0 }

describe("the feed of a process that stood still", () => {
  it.live("looks at once, and whoever waits goes on when what was changed meanwhile has been applied", () => Effect.scoped(Effect.gen(function*() {
    let ahead = 0
    let version = 1
    let slow: Deferred.Deferred<void> | null = null
    let beats = 0
    const heard: Array<number> = []
    const live = yield* Clock.Clock
    const clock: Clock.Clock = Object.assign(Object.create(live) as Clock.Clock, { currentTimeMillisUnsafe: () => live.currentTimeMillisUnsafe() + ahead })
    const feed = Context.get(yield* PolledFeed.make({ self, notifier: null, pollMs: 60_000 }).pipe(
      Effect.provideService(Clock.Clock, clock),
      Effect.provideService(ClusterStore, ClusterStore.of({
        version: Effect.sync(() => version),
        newsAfter: () => Effect.sync(() => ({ version, changes: [{ kind: "key", id: "k" }] })),
        beat: () => Effect.suspend(() => {
          beats++
          return slow === null ? Effect.succeed(version) : Effect.as(Deferred.await(slow), version)
        }),
        nodes: Effect.succeed([]), leave: () => Effect.void, prune: () => Effect.succeed(0)
      }))
    ), ChangeFeed)
    yield* feed.hear((news) => Effect.sync(() => void heard.push(news.version)))
    // The one at the start, and the first look; the next is a minute away.
    while (beats < 2) yield* Effect.yieldNow
    assert.isFalse(feed.isBehind())
    slow = yield* Deferred.make<void>()
    version = 2
    ahead = 60_000
    assert.isTrue(feed.isBehind())
    const waiting = yield* Effect.forkChild(Effect.as(feed.caughtUp, "caught up"))
    yield* Effect.yieldNow
    assert.deepStrictEqual(heard, [])
    yield* Deferred.succeed(slow, undefined)
    assert.strictEqual(yield* Fiber.join(waiting), "caught up")
    assert.deepStrictEqual(heard, [2])
    assert.isFalse(feed.isBehind())
    assert.strictEqual(feed.applied(), 2)
  })))

  it("holds a request back before it looks at its key", () => {
    const order: Array<string> = []
    let go = (): void => {}
    let behind = true
    const services = {
      feed: { isBehind: () => behind, caughtUp: Effect.void },
      keys: {
        hash: () => "h", find: () => Effect.succeed(null), touch: () => {}, forget: () => {}, onForget: () => () => {},
        peek: () => {
          order.push("key")
          return null
        }
      },
      limits: { of: () => null },
      pages: { refusal: () => null }, addresses: { guard: () => false },
      flags: { isOn: () => false, value: () => "", source: () => "default" as const },
      environmentKeys: new Map(), now: Date.now, makeRequestId: () => "r", seen: () => {},
      runLookup: (_lookup: unknown, done: (key: null) => void) => {
        order.push("wait")
        go = () => done(null)
      }
    }
    const head = { query: "", remoteAddress: "", header: (name: string) => name === "authorization" ? "Bearer secret" : undefined }
    const ask = () => InferenceCall.admit(head, "chat", services, () => void order.push("answer"))
    ask()
    assert.deepStrictEqual(order, ["wait"])
    go()
    assert.deepStrictEqual(order, ["wait", "key", "answer"])
    behind = false
    ask()
    assert.deepStrictEqual(order, ["wait", "key", "answer", "key", "answer"])
  })
})
