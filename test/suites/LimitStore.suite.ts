import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type { BlockDraw, LimitStore } from "#actors/limits/ports/LimitStore.ts"

type Store = LimitStore["Service"]

/** Nodes on one state; `forget` empties it. */
export interface Nodes {
  readonly node: (name: string) => Store
  readonly forget: Effect.Effect<void>
  /** Lets so many ms of the blocks' clock go by. */
  readonly lapse: (ms: number) => Effect.Effect<void>
}

let number = 0
/** Ids that no other test has. */
const fresh = (): string => `suite-${process.pid}-${Date.now()}-${++number}`

const draw = (id: string, fields: Partial<BlockDraw> = {}): BlockDraw => ({
  id, end: Date.now() + 3_600_000, limit: 100, total: 0, reserved: 0, need: 0, want: 0, seen: null, settled: [], ...fields
})
const none: ReadonlyMap<string, number> = new Map()

/** What every limit store of several nodes does. */
export const suite = (name: string, open: () => Promise<Nodes>): void => {
  describe(`LimitStore on ${name}`, () => {
    const run = <A>(test: (nodes: Nodes) => Effect.Effect<A, unknown>) => async () => {
      const nodes = await open()
      await Effect.runPromise(Effect.orDie(test(nodes)))
    }
    const one = (store: Store, asked: BlockDraw) => Effect.map(store.exchange([asked]), ([answer]) => {
      assert.isDefined(answer)
      return answer as NonNullable<typeof answer>
    })

    it("a meter that nobody knows is unknown, and what the ledger says begins it", run(Effect.fnUntraced(function*({ node }) {
      const id = fresh()
      assert.isFalse((yield* one(node("a"), draw(id, { need: 5, want: 5 }))).known)
      assert.deepInclude(yield* one(node("a"), draw(id, { need: 5, want: 5, seen: new Map([["a", 10], ["b", 20]]) })), { known: true, booked: 30, reported: 10, held: 5 })
      assert.deepInclude(yield* one(node("b"), draw(id)), { known: true, booked: 30, reported: 20, held: 0 })
      assert.deepInclude(yield* one(node("c"), draw(id)), { known: true, booked: 30, reported: 0, held: 0 })
      const empty = fresh()
      assert.deepInclude(yield* one(node("a"), draw(empty, { seen: none })), { known: true, booked: 0 })
      assert.deepInclude(yield* one(node("b"), draw(empty)), { known: true, booked: 0 })
    })))

    it("blocks of all nodes together are never more than what is left", run(Effect.fnUntraced(function*({ node }) {
      const id = fresh()
      const held = [(yield* one(node("a"), draw(id, { need: 60, want: 60, seen: none }))).held]
      for (const name of ["b", "c"]) held.push((yield* one(node(name), draw(id, { need: 60, want: 60 }))).held)
      assert.deepStrictEqual(held, [60, 40, 0])
      assert.strictEqual((yield* one(node("a"), draw(id, { total: 50, need: 1, want: 1 }))).held, 1)
      assert.deepInclude(yield* one(node("c"), draw(id, { need: 60, want: 60 })), { booked: 50, held: 9 })
      assert.strictEqual((yield* one(node("b"), draw(id))).held, 0)
      assert.strictEqual((yield* one(node("c"), draw(id, { need: 60, want: 60 }))).held, 49)
    })))

    it("ahead of need a node gets a quarter of what is left at most", run(Effect.fnUntraced(function*({ node }) {
      const id = fresh()
      assert.strictEqual((yield* one(node("a"), draw(id, { need: 1, want: 1_000, seen: new Map([["a", 20]]) }))).held, 20)
    })))

    it("what is reserved counts against the others, whatever is left", run(Effect.fnUntraced(function*({ node }) {
      const id = fresh()
      assert.strictEqual((yield* one(node("a"), draw(id, { reserved: 70, need: 71, want: 71, seen: new Map([["b", 50]]) }))).held, 50)
      assert.strictEqual((yield* one(node("b"), draw(id, { total: 50, limit: 130, need: 20, want: 20 }))).held, 10)
      assert.strictEqual((yield* one(node("a"), draw(id, { limit: 130 }))).held, 0)
      assert.strictEqual((yield* one(node("b"), draw(id, { total: 50, limit: 130, need: 80, want: 80 }))).held, 80)
    })))

    it("an amount is booked once, however often and by whomever it is told; large amounts stay exact", run(Effect.fnUntraced(function*({ node }) {
      const id = fresh()
      yield* one(node("a"), draw(id, { seen: none }))
      const asked = draw(id, { total: 7 })
      yield* one(node("a"), asked)
      assert.strictEqual((yield* one(node("a"), asked)).booked, 7)
      assert.strictEqual((yield* one(node("b"), draw(id, { total: 1, seen: new Map([["a", 9]]) }))).booked, 10)
      assert.deepInclude(yield* one(node("a"), asked), { booked: 10, reported: 9 })
      assert.deepInclude(yield* one(node("a"), draw(id, { total: 12, seen: new Map([["a", 3]]) })), { booked: 13, reported: 12 })
      const large = 4_503_599_627_370_497
      assert.strictEqual((yield* one(node("a"), draw(id, { total: large }))).booked, large + 1)
      assert.strictEqual((yield* one(node("b"), draw(id, { total: 3 }))).booked, large + 3)
    })))

    it("a store that was flushed knows nothing and says so; what nodes spent before is booked once more, not twice", run(Effect.fnUntraced(function*({ forget, node }) {
      const id = fresh()
      yield* one(node("a"), draw(id, { total: 3, seen: none }))
      yield* node("a").replayed
      yield* forget
      assert.isFalse((yield* one(node("a"), draw(id, { need: 1 }))).known)
      assert.isFalse((yield* node("a").permits(id, 60_000, 5, 1)).known)
      assert.deepStrictEqual(yield* node("b").replays(["a"]), [null])
      // Both have spent 40, of which the ledger knows 35 of each.
      assert.strictEqual((yield* one(node("a"), draw(id, { total: 40, seen: new Map([["a", 35], ["b", 35]]) }))).booked, 75)
      assert.strictEqual((yield* one(node("b"), draw(id, { total: 40 }))).booked, 80)
    })))

    it("the word that a node's journals were replayed is younger than the blocks of its life before, and older than its own", run(Effect.fnUntraced(function*({ lapse, node }) {
      const id = fresh()
      yield* one(node("a"), draw(id, { need: 10, want: 10, seen: none }))
      yield* lapse(1)
      yield* node("a").replayed
      const [at] = yield* node("b").replays(["a", "nobody"])
      yield* lapse(20_000)
      const { held, unsettled } = yield* one(node("b"), draw(id, { need: 100, want: 100 }))
      assert.deepStrictEqual([held, unsettled.map(({ amount, node }) => [node, amount])], [90, [["a", 10]]])
      assert.isBelow(unsettled[0]?.grantedAt ?? Infinity, at ?? 0)
      assert.isAtLeast(unsettled[0]?.forMs ?? 0, 5_000)
      assert.deepInclude(yield* one(node("b"), draw(id, { need: 100, want: 100, seen: new Map([["a", 4]]), settled: ["a"] })), { booked: 4, held: 96, unsettled: [] })
      yield* lapse(1)
      yield* one(node("a"), draw(id, { total: 4, reserved: 2 }))
      yield* lapse(20_000)
      const [again] = (yield* one(node("b"), draw(id))).unsettled
      assert.isAbove(again?.grantedAt ?? 0, at ?? Infinity)
    })))

    it("a rate gives its places to all nodes together, seeded with what the ledger knows", run(Effect.fnUntraced(function*({ node }) {
      const id = fresh()
      assert.isFalse((yield* node("a").permits(id, 600_000, 5, 1)).known)
      yield* node("a").seedPermits(id, 600_000, 5, [[0, 1], [100_000, 1]])
      yield* node("b").seedPermits(id, 600_000, 5, [[0, 4]])
      assert.deepInclude(yield* node("a").permits(id, 600_000, 5, 2), { known: true, granted: 2, used: 4, waitMs: 0 })
      assert.strictEqual((yield* node("b").permits(id, 600_000, 5, 9)).granted, 1)
      const refused = yield* node("a").permits(id, 600_000, 5, 1)
      assert.deepInclude(refused, { known: true, granted: 0, used: 5 })
      // The oldest place was seeded with an age of 100 s; a little of that time has gone by.
      assert.isAbove(refused.waitMs, 480_000)
      assert.isAtMost(refused.waitMs, 500_000)
    })))

    it("the wait for a place is never longer than the window, also in the slot in which all were taken, and after it there is one", run(Effect.fnUntraced(function*({ node }) {
      for (const [windowMs, wants] of [[60_000, [1, 1]], [86_400_000, [1, 1]], [86_400_000, [2]]] as const) {
        const id = fresh()
        yield* node("a").seedPermits(id, windowMs, 2, [])
        for (const want of wants) assert.strictEqual((yield* node("a").permits(id, windowMs, 2, want)).granted, want)
        const { granted, waitMs } = yield* node("b").permits(id, windowMs, 2, 1)
        assert.strictEqual(granted, 0)
        assert.isAbove(waitMs, windowMs - 10_000)
        assert.isAtMost(waitMs, windowMs)
      }
      const short = fresh()
      yield* node("a").seedPermits(short, 1_000, 3, [])
      yield* node("a").permits(short, 1_000, 3, 3)
      const { waitMs } = yield* node("a").permits(short, 1_000, 3, 1)
      const free = performance.now() + waitMs
      while (performance.now() <= free + 1) yield* Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
      assert.strictEqual((yield* node("b").permits(short, 1_000, 3, 1)).granted, 1)
    })))

    it("a place that is given back is free for every node at once", run(Effect.fnUntraced(function*({ node }) {
      const id = fresh()
      yield* node("a").seedPermits(id, 600_000, 1, [])
      const { slot } = yield* node("a").permits(id, 600_000, 1, 1)
      assert.strictEqual((yield* node("b").permits(id, 600_000, 1, 1)).granted, 0)
      yield* node("a").giveBack(id, 600_000, slot)
      yield* node("a").giveBack(id, 600_000, slot)
      yield* node("a").giveBack(fresh(), 600_000, slot)
      assert.deepInclude(yield* node("b").permits(id, 600_000, 1, 5), { granted: 1, used: 1 })
      assert.strictEqual((yield* node("a").permits(id, 600_000, 1, 1)).granted, 0)
    })))

    it("of several places of one slot one is given back at a time, and the others stay", run(Effect.fnUntraced(function*({ node }) {
      const id = fresh()
      const windowMs = 864_000_000
      yield* node("a").seedPermits(id, windowMs, 3, [])
      const taken = yield* Effect.forEach([1, 1, 1], (want) => node("a").permits(id, windowMs, 3, want))
      assert.deepStrictEqual(taken.map(({ granted, used }) => [granted, used]), [[1, 1], [1, 2], [1, 3]])
      for (const { forMs, slot } of taken) {
        const over = slot + windowMs / 60 - Date.now()
        assert.isAtMost(Math.abs(forMs - over), 5_000, "they may be used until the end of their slot")
        assert.isAbove(forMs, 0)
      }
      yield* node("b").giveBack(id, windowMs, taken[0]?.slot ?? 0)
      assert.deepInclude(yield* node("b").permits(id, windowMs, 3, 3), { granted: 1, used: 3 })
      assert.strictEqual((yield* node("a").permits(id, windowMs, 3, 1)).granted, 0)
    })))

    it("the wait is until enough places are free for the limit that holds now, and what is older than the window is none", run(Effect.fnUntraced(function*({ node }) {
      const id = fresh()
      const ask = (limit: number) => node("a").permits(id, 600_000, limit, 1)
      yield* node("a").seedPermits(id, 600_000, 4, [[599_000_000, 9], [500_000, 1], [100_000, 3]])
      for (const [limit, wait] of [[4, 100_000], [3, 500_000], [1, 500_000]] as const) {
        const { granted, used, waitMs } = yield* ask(limit)
        assert.deepStrictEqual([granted, used], [0, 4])
        assert.isAtMost(waitMs, wait)
        assert.isAbove(waitMs, wait - 20_000)
      }
      assert.deepInclude(yield* ask(5), { granted: 1, used: 5 })
    })))

    it("sessions are counted over all nodes, and known ones stay", run(Effect.fnUntraced(function*({ node }) {
      const id = fresh()
      const answers: Array<boolean> = []
      for (const [at, session] of [["a", "one"], ["b", "two"], ["a", "three"], ["b", "one"], ["a", "two"]] as const) {
        answers.push(yield* node(at).session(id, session, 2, 60_000))
      }
      assert.deepStrictEqual(answers, [true, true, false, true, true])
    })))

    it("a session that was idle for so long is over, and its place is another's", run(Effect.fnUntraced(function*({ node }) {
      const id = fresh()
      assert.isTrue(yield* node("a").session(id, "one", 1, 60_000))
      assert.isFalse(yield* node("b").session(id, "two", 1, 60_000))
      const over = performance.now() + 20
      while (performance.now() <= over) yield* Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
      assert.isTrue(yield* node("b").session(id, "two", 1, 10))
      assert.isFalse(yield* node("a").session(id, "one", 1, 60_000))
    })))
  })
}
