/**
 * Any history of several nodes at one limit, with answers that are lost or late, nodes that are killed, paused and come back: the limit
 * holds but for the stated overshoot, and at rest nothing is reserved, held or unsettled and every amount is booked exactly once.
 */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { KeyLimits, releaseMs } from "#actors/limits/KeyLimits.ts"
import type { RuleCounter } from "#actors/limits/RuleCounter.ts"
import type { Blocks } from "#actors/limits/Blocks.ts"
import * as Meter from "#actors/limits/Meter.ts"
import type { AmountRule } from "#actors/limits/rules.ts"
import { type LimitStore, LimitStoreDown } from "#actors/limits/ports/LimitStore.ts"
import * as MemoryLimitStore from "#src/features/limits/MemoryLimitStore.ts"
import { chance } from "#test/support/chance.ts"

const nodes = ["a", "b", "c"]
const leaseMs = 10_000
const start = 1_000_000

/** How the answer to an exchange comes back: in time, never, or after the process stood still for so many ms. */
type Road = "good" | "lost" | "lost-before" | number

type Act =
  | { readonly act: "begin"; readonly node: number; readonly amount: number; readonly road: Road }
  /** `part`: percent of the reservation that is really used. */
  | { readonly act: "settle"; readonly which: number; readonly part: number }
  | { readonly act: "release"; readonly which: number }
  | { readonly act: "renew"; readonly node: number; readonly road: Road }
  | { readonly act: "wait"; readonly ms: number }
  | { readonly act: "reconcile" | "deliver" | "pause" | "resume" | "kill" | "restart" | "leave"; readonly node: number }

/** The more often a word stands here, the more often it happens. */
const acts = [
  ..."begin begin begin begin begin settle settle settle settle release renew renew renew renew renew wait wait wait".split(" "),
  ..."reconcile deliver pause resume resume kill restart restart leave".split(" ")
] as ReadonlyArray<Act["act"]>

const historyOf = (seed: number): ReadonlyArray<Act> => {
  const { below, one } = chance(seed)
  // Some histories are of one crowd, others of faults.
  const calm = below(3) === 0
  return Array.from({ length: 20 + below(180) }, (): Act => {
    const act = one(acts)
    const road: Road = calm || below(3) > 0 ? "good" : one(["lost", "lost-before", below(15_000)])
    const node = below(nodes.length)
    switch (act) {
      case "begin":
        return { act, node, amount: 1 + below(40), road }
      case "settle":
        return { act, which: below(20), part: below(101) }
      case "release":
        return { act, which: below(20) }
      case "renew":
        return { act, node, road }
      case "wait":
        return { act, ms: 1 + below(one([300, 3_000, 12_000])) }
      default:
        return calm && (act === "pause" || act === "kill") ? { act: "deliver", node } : { act, node }
    }
  })
}
const histories = 1_500
/** GATEWAY_TEST_SEED repeats the first history. */
const { seed: firstSeed } = chance()

interface Flight {
  readonly node: number
  readonly reservation: Meter.Reservation
}

class World {
  now = start
  readonly limit: number
  readonly state = new MemoryLimitStore.State()
  road: Road = "good"
  /** What each node has used, and how much of it the ledger has. */
  readonly used = nodes.map(() => 0)
  readonly delivered = nodes.map(() => 0)
  /** How much of it stands in the node's journal: the rest is lost when it is killed now. */
  readonly journaled = nodes.map(() => 0)
  readonly status: Array<"up" | "paused" | "down"> = nodes.map(() => "up")
  /** Each life's word that earlier ones are in the ledger. */
  readonly begun: Array<Effect.Effect<void, LimitStoreDown>> = []
  readonly lives: Array<KeyLimits>
  flights: Array<Flight> = []
  /** Largest amount of a request that began on less than it wanted, per node. */
  readonly edge = nodes.map(() => 0)

  constructor(limit: number) {
    this.limit = limit
    this.lives = nodes.map((_, at) => this.live(at))
  }

  private live(at: number): KeyLimits {
    const rule: AmountRule = { id: "r", kind: "tokens", quota: "token_limit", scope: "global", within: null, window: { interval: "monthly", minutes: 0 }, limit: this.limit }
    const name = nodes[at] as string
    const real = MemoryLimitStore.make({ node: name, state: this.state, now: () => this.now, shared: true, leaseMs })
    const store: LimitStore["Service"] = {
      ...real,
      exchange: (draws) => Effect.suspend(() => {
        const down = Effect.fail(new LimitStoreDown({ message: this.road.toString() }))
        if (this.road === "lost-before") return down
        return Effect.flatMap(real.exchange(draws), (answers) => {
          if (this.road === "lost") return down
          if (typeof this.road === "number") this.now += this.road
          return Effect.succeed(answers)
        })
      })
    }
    let hasBegun = false
    this.begun[at] = Effect.suspend(() => {
      if (hasBegun) return Effect.void
      this.now++
      return Effect.map(real.replayed, () => {
        hasBegun = true
        this.now++
      })
    })
    return new KeyLimits({
      store,
      ledger: {
        settled: Effect.void,
        journal: () => this.journal(at),
        used: () => Effect.sync(() => {
          // What is settled on the node that asks is waited for.
          this.deliver(at)
          return nodes.map((nodeId, index) => ({ nodeId, provider: "p", model: "m", tokens: this.delivered[index] ?? 0, costUsd: 0 }))
        }),
        requests: () => Effect.succeed([])
      },
      now: () => this.now, steady: () => this.now, nodeId: name, crossed: () => {},
      begun: this.begun[at]
    }, "k", { amounts: [rule], rates: [], maxSessions: 0 })
  }

  /** The end of a turn of the node's event loop. */
  journal(at: number): void {
    this.journaled[at] = this.used[at] ?? 0
  }

  private deliver(at: number): void {
    this.journal(at)
    this.delivered[at] = this.used[at] ?? 0
  }

  counter(at: number): RuleCounter {
    return (this.lives[at] as KeyLimits).counters[0] as RuleCounter
  }

  private over<A, E>(way: Road, effect: Effect.Effect<A, E>): void {
    this.road = way
    Effect.runSyncExit(effect)
    this.road = "good"
  }

  act(act: Act): void {
    if (act.act === "wait") this.wait(act.ms)
    else if (act.act === "settle" || act.act === "release") this.end(act.which, act.act === "settle" ? act.part : null)
    else if (act.act === "resume") this.status[act.node] = this.status[act.node] === "paused" ? "up" : this.status[act.node] ?? "up"
    else if (act.act === "restart") this.restart(act.node)
    else if (this.status[act.node] === "up") {
      const limits = this.lives[act.node] as KeyLimits
      if (act.act === "begin") this.begin(act.node, act.amount, act.road)
      else if (act.act === "renew") this.over(act.road, limits.renew)
      else if (act.act === "reconcile") this.over("good", limits.reconcile)
      else if (act.act === "deliver") this.deliver(act.node)
      else if (act.act === "pause") this.status[act.node] = "paused"
      else if (act.act === "kill") this.kill(act.node)
      else if (!this.flights.some((flight) => flight.node === act.node)) {
        this.over("good", limits.leave)
        this.deliver(act.node)
        this.kill(act.node)
      }
    }
  }

  private begin(at: number, amount: number, way: Road): void {
    const limits = this.lives[at] as KeyLimits
    const counter = this.counter(at)
    if (limits.lacks(counter, amount, this.now)) this.over(way, limits.supply([[counter, amount]]))
    const free = Meter.available(counter.meter, this.now)
    const { inFlight } = counter.meter
    const reply = limits.apply(counter, { _tag: "Reserve", amount })
    if (reply._tag !== "Reserved") return
    counter.lastUsedAt = this.now
    if (amount > free) {
      assert.strictEqual(inFlight, 0, "an edge request began beside another one")
      this.edge[at] = Math.max(this.edge[at] ?? 0, amount)
    }
    this.flights.push({ node: at, reservation: reply.reservation })
  }

  private end(which: number, part: number | null): void {
    const mine = this.flights.filter((flight) => this.status[flight.node] === "up")
    const flight = mine[which % Math.max(1, mine.length)]
    if (flight === undefined) return
    this.flights = this.flights.filter((one) => one !== flight)
    const { reservation } = flight
    const actual = part === null ? 0 : Math.round(reservation.amount * part / 100)
    this.used[flight.node] = (this.used[flight.node] ?? 0) + actual
    const limits = this.lives[flight.node] as KeyLimits
    limits.apply(this.counter(flight.node), part === null ? { _tag: "Release", reservation } : { _tag: "Settle", reservation, actual })
  }

  /** Time passes, turns end. */
  wait(ms: number): void {
    for (const [at, status] of this.status.entries()) if (status === "up") this.journal(at)
    this.now += ms
  }

  /** Calls in flight die with their process, and so does what was measured and not journaled: their rows say that nothing was. */
  private kill(at: number): void {
    this.status[at] = "down"
    this.used[at] = this.journaled[at] ?? 0
    this.flights = this.flights.filter((flight) => flight.node !== at)
  }

  private restart(at: number): void {
    if (this.status[at] !== "down") return
    this.delivered[at] = this.used[at] ?? 0
    this.lives[at] = this.live(at)
    this.status[at] = "up"
    this.now++
  }

  /** Everybody is back, every call has ended, and some quiet seconds went by. */
  rest(): void {
    for (const [at, status] of this.status.entries()) {
      if (status === "paused") this.status[at] = "up"
      this.restart(at)
    }
    while (this.flights.length > 0) this.end(0, 100)
    for (let round = 0; round < 8; round++) {
      for (const begun of this.begun) Effect.runSync(begun)
      this.now += 2_500
      for (const [at, limits] of this.lives.entries()) {
        // A node that was just started knows nothing of the others' blocks and asks when the key is used.
        if (round === 1) Effect.runSync(limits.supply([[this.counter(at), 1]]))
        Effect.runSync(limits.renew)
      }
    }
  }

  get spent(): number {
    return this.used.reduce((sum, one) => sum + one, 0)
  }

  get reserved(): number {
    return this.flights.reduce((sum, { reservation }) => sum + reservation.amount, 0)
  }

  get shared() {
    return Array.from(this.state.blocks.values(), ({ blocks }) => blocks)[0]
  }
}

const limit = 150
const sum = (blocks: Blocks | undefined, what: "held" | "reported"): number => Array.from(blocks?.values() ?? []).reduce((all, part) => all + part[what], 0)

describe("a limit over nodes that die, pause and come back", () => {
  it("is passed by one request of each node at its edge at most, at any moment", () => {
    let most = 0
    for (let seed = firstSeed; seed < firstSeed + histories; seed++) {
      const world = new World(limit)
      for (const [index, act] of historyOf(seed).entries()) {
        world.act(act)
        assert.isAtMost(world.spent + world.reserved, limit + world.edge.reduce((sum, one) => sum + one, 0), `seed ${seed}, act ${index}: ${JSON.stringify(act)}`)
      }
      most = Math.max(most, world.spent)
    }
    // Histories that never reach the limit prove nothing.
    assert.isAtLeast(most, limit)
  })

  it("at rest nothing is reserved, held or unsettled, and every amount is booked exactly once", () => {
    for (let seed = firstSeed; seed < firstSeed + histories; seed++) {
      const world = new World(limit)
      for (const act of historyOf(seed)) world.act(act)
      world.rest()
      const { shared } = world
      for (const at of nodes.keys()) {
        const { meter, unsettled } = world.counter(at)
        assert.deepStrictEqual([meter.reserved, meter.inFlight, meter.held ?? 0, Meter.unreported(meter), unsettled], [0, 0, 0, 0, []], `seed ${seed}, node ${at}`)
      }
      assert.deepStrictEqual([sum(shared, "held"), sum(shared, "reported")], [0, world.spent], `seed ${seed}`)
    }
  })

  const spend = (world: World, at: number, amount: number) => {
    world.act({ act: "begin", node: at, amount, road: "good" })
    world.act({ act: "settle", which: world.flights.length - 1, part: 100 })
    world.act({ act: "wait", ms: 0 })
  }
  const look = (world: World, at: number) => {
    Effect.runSync((world.lives[at] as KeyLimits).renew)
    return world.counter(at).unsettled.reduce((sum, { amount }) => sum + amount, 0)
  }

  it("a killed node's block stays spent when it expires, until its journal was replayed", () => {
    const world = new World(limit)
    spend(world, 0, 20)
    world.act({ act: "begin", node: 0, amount: 30, road: "good" })
    const held = world.shared?.get("a")?.held ?? 0
    world.act({ act: "kill", node: 0 })
    spend(world, 1, 10)
    world.now += leaseMs
    spend(world, 1, 10)
    assert.isAbove(held, 0)
    assert.strictEqual(look(world, 1), held)
    world.act({ act: "begin", node: 1, amount: limit - 20 - held + 1, road: "good" })
    // An edge request, on less than it wanted: what the dead node held is not there for it.
    assert.isAbove(world.edge[1] ?? 0, 0)
    world.act({ act: "settle", which: 0, part: 0 })
    world.act({ act: "restart", node: 0 })
    // The restarted node is not asked for the key: its word that the journal was replayed is enough.
    Effect.runSync(world.begun[0] ?? Effect.void)
    world.now += 1_000
    assert.strictEqual(look(world, 1), 0)
    assert.strictEqual(sum(world.shared, "reported"), world.spent)
  })

  it("a dead node's block is found though nobody uses the key any more", () => {
    const world = new World(limit)
    spend(world, 0, 20)
    spend(world, 1, 10)
    world.now += 2_500
    look(world, 1)
    world.act({ act: "kill", node: 0 })
    assert.strictEqual(look(world, 1), 0)
    world.now += leaseMs
    assert.isAbove(look(world, 1), 0)
    world.act({ act: "restart", node: 0 })
    Effect.runSync(world.begun[0] ?? Effect.void)
    world.now += 1_000
    assert.strictEqual(look(world, 1), 0)
    assert.strictEqual(sum(world.shared, "reported"), 30)
  })

  it("a node that never comes back is settled by the ledger after a quarter of an hour, and heard if it speaks after all", () => {
    const world = new World(limit)
    spend(world, 0, 20)
    world.act({ act: "deliver", node: 0 })
    spend(world, 0, 5)
    world.act({ act: "pause", node: 0 })
    spend(world, 1, 1)
    world.now += leaseMs + releaseMs - 1_000
    spend(world, 1, 1)
    assert.isAbove(look(world, 1), 0)
    world.now += 2_000
    assert.strictEqual(look(world, 1), 0)
    assert.strictEqual(sum(world.shared, "reported"), 22)
    world.act({ act: "resume", node: 0 })
    assert.strictEqual(Meter.available(world.counter(0).meter, world.now), 0)
    world.rest()
    assert.strictEqual(sum(world.shared, "reported"), 27)
  })

  it("what a node told and then died of is in its journal: nobody counts more than the ledger", () => {
    const world = new World(limit)
    world.act({ act: "begin", node: 0, amount: 20, road: "good" })
    world.act({ act: "settle", which: 0, part: 100 })
    // In the turn of the settle, before the journal's own write.
    world.act({ act: "renew", node: 0, road: "good" })
    world.act({ act: "kill", node: 0 })
    world.rest()
    assert.deepStrictEqual([sum(world.shared, "reported"), world.spent], [20, 20])
  })

  it("an answer that is read after a pause gives no block that expired meanwhile", () => {
    const world = new World(limit)
    world.act({ act: "begin", node: 0, amount: 10, road: leaseMs - 500 })
    assert.strictEqual(Meter.available(world.counter(0).meter, world.now), 0)
    assert.lengthOf(world.flights, 0)
  })

  const heldOf = (world: World, at: number) => world.shared?.get(nodes[at] ?? "")?.held ?? 0

  it("whatever answer is lost, what the store holds for a node is never less than what the node goes on using", () => {
    const world = new World(limit)
    spend(world, 0, 10)
    world.act({ act: "renew", node: 0, road: "good" })
    spend(world, 0, 1)
    world.act({ act: "begin", node: 1, amount: 100, road: "good" })
    // It would get less now than it has.
    world.act({ act: "renew", node: 0, road: "lost" })
    assert.isAbove(Meter.available(world.counter(0).meter, world.now), 0)
    assert.isAtLeast(heldOf(world, 0), Meter.available(world.counter(0).meter, world.now))
    // What is given back is not used any more, whether the answer comes or not.
    world.now += 2_500
    world.act({ act: "renew", node: 0, road: "lost" })
    assert.deepStrictEqual([heldOf(world, 0), Meter.available(world.counter(0).meter, world.now)], [0, 0])
  })

  it("a block whose grant was not heard is given back all the same", () => {
    const world = new World(limit)
    world.act({ act: "begin", node: 0, amount: 10, road: "good" })
    world.act({ act: "release", which: 0 })
    world.now += 2_500
    world.act({ act: "renew", node: 0, road: "good" })
    world.act({ act: "begin", node: 0, amount: 10, road: "lost" })
    assert.isAbove(heldOf(world, 0), 0)
    world.now += 2_500
    world.act({ act: "renew", node: 0, road: "good" })
    assert.strictEqual(heldOf(world, 0), 0)
  })
})
