/** Lines under any history of arrivals, departures and freed places: fair, also between lanes, bounded by the caps, and nobody waits for ever. */
import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Schema from "effect/Schema"
import { type QueueEntry, WaitQueue } from "#actors/resilience/WaitQueue.ts"

const between = (minimum: number, maximum: number) => Schema.Int.check(Schema.isBetween({ minimum, maximum }))
const Act = Schema.Union([
  Schema.Struct({ act: Schema.Literal("ask"), places: Schema.Array(between(0, 2)).check(Schema.isMinLength(1), Schema.isMaxLength(3)), patience: between(1, 400) }),
  Schema.Struct({ act: Schema.Literal("end"), which: between(0, 30) }),
  Schema.Struct({ act: Schema.Literal("leave"), which: between(0, 30) }),
  Schema.Struct({ act: Schema.Literal("rest"), place: between(0, 2), ms: between(1, 300) }),
  Schema.Struct({ act: Schema.Literal("time"), ms: between(0, 120) })
])
const histories = Arbitrary.schema(Schema.Array(Act).check(Schema.isMaxLength(120)))

interface Caller {
  readonly name: number
  readonly lane: string
  readonly places: ReadonlyArray<number>
  readonly deadline: number
}

/** A turn, and who still waited for its place. */
interface Going {
  readonly caller: Caller
  readonly place: number
  readonly beside: ReadonlyArray<Caller>
}

/** Those of its own lane who had come before. */
const overtookOf = ({ beside, caller }: Going): ReadonlyArray<number> => beside.filter(({ lane, name }) => lane === caller.lane && name < caller.name).map(({ name }) => name)

/** A world of three places with caps, which may rest until a time; what the callers see of it is written down. */
class World {
  now = 1_000
  readonly caps = [1, 2, 3]
  readonly running: Array<{ readonly caller: Caller; readonly place: number }> = []
  readonly restsUntil = [0, 0, 0]
  readonly waiting = new Map<number, { readonly caller: Caller; readonly entry: QueueEntry<Caller> }>()
  readonly went: Array<Going> = []
  readonly late: Array<{ readonly caller: Caller; readonly at: number }> = []
  private names = 0
  private readonly lanes: number

  constructor(lanes = 1) {
    this.lanes = lanes
  }

  readonly turns = new WaitQueue<Caller>((caller, choice, now) => this.block(caller.places[choice] ?? 0, now))

  block(place: number, now: number) {
    const rests = this.restsUntil[place] ?? 0
    if (now < rests) return { line: `place ${place}`, until: rests }
    return this.running.filter((one) => one.place === place).length < (this.caps[place] ?? 0) ? null : { line: `place ${place}`, until: null }
  }

  ask(places: ReadonlyArray<number>, patience: number): void {
    const caller: Caller = { name: ++this.names, lane: `lane ${this.names % this.lanes}`, places, deadline: this.now + patience }
    const blocks = places.map((place) => this.block(place, this.now) ?? (this.turns.sizeOf(`place ${place}`) > 0 ? { line: `place ${place}`, until: null } : null))
    const free = blocks.findIndex((block) => block === null)
    if (free >= 0) this.running.push({ caller, place: places[free] ?? 0 })
    else this.waiting.set(caller.name, { caller, entry: this.turns.join(caller, blocks.filter((block) => block !== null), caller.deadline, caller.lane) })
  }

  end(which: number): void {
    const [ended] = this.running.splice(which % Math.max(1, this.running.length), 1)
    if (ended !== undefined) this.turns.freed(`place ${ended.place}`)
  }

  leave(which: number): void {
    const names = [...this.waiting.keys()]
    const name = names[which % Math.max(1, names.length)]
    const one = name === undefined ? undefined : this.waiting.get(name)
    if (one === undefined || name === undefined) return
    assert.isTrue(this.turns.leave(one.entry))
    assert.isFalse(this.turns.leave(one.entry))
    this.waiting.delete(name)
  }

  serve(): void {
    for (let turn = this.turns.next(this.now); turn !== null; turn = this.turns.next(this.now)) {
      const { end, waiter } = turn
      assert.isTrue(this.waiting.delete(waiter.name), "a turn comes once, and not to those who left")
      if (end === "late") this.late.push({ caller: waiter, at: this.now })
      else {
        const place = waiter.places.find((one) => this.block(one, this.now) === null)
        if (place === undefined) throw new Error("let go without a place")
        const beside = [...this.waiting.values()].filter(({ caller }) => caller.places.includes(place)).map(({ caller }) => caller)
        this.went.push({ caller: waiter, place, beside })
        this.running.push({ caller: waiter, place })
      }
    }
  }

  pass(ms: number): void {
    const end = this.now + ms
    for (let at = this.turns.wakeAt(); at !== null && at <= end; at = this.turns.wakeAt()) {
      this.now = Math.max(this.now, at)
      this.serve()
    }
    this.now = end
  }

  play(history: ReadonlyArray<typeof Act.Type>, each: () => void): void {
    for (const act of history) {
      if (act.act === "ask") this.ask(act.places, act.patience)
      else if (act.act === "end") this.end(act.which)
      else if (act.act === "leave") this.leave(act.which)
      else if (act.act === "rest") this.restsUntil[act.place] = Math.max(this.restsUntil[act.place] ?? 0, this.now + act.ms)
      else this.pass(act.ms)
      this.serve()
      each()
    }
  }
}

describe("any history of a line", () => {
  it.prop("keeps every place within its cap, and every waiter in exactly one state", { history: histories }, ({ history }) => {
    const world = new World()
    world.play(history, () => {
      for (const [place, cap] of world.caps.entries()) assert.isAtMost(world.running.filter((one) => one.place === place).length, cap)
      assert.strictEqual(world.turns.size, world.waiting.size)
    })
  }, { arbitrary: { size: 120 } })

  it.prop("lets nobody overtake at a place", { history: histories }, ({ history }) => {
    const world = new World()
    world.play(history, () => {})
    for (const going of world.went) assert.deepStrictEqual(overtookOf(going), [], `${going.caller.name} at ${going.place}`)
  }, { arbitrary: { size: 120 } })

  it.prop("lets nobody overtake in a lane, and no lane have two turns while another waits for the same", { history: histories }, ({ history }) => {
    const world = new World(3)
    world.play(history, () => {
      assert.strictEqual(world.turns.size, world.waiting.size)
      const standing = [...world.waiting.values()].flatMap(({ caller }) => [...new Set(caller.places)].map((place) => `place ${place} ${caller.lane}`))
      for (const place of [0, 1, 2]) {
        for (const lane of ["lane 0", "lane 1", "lane 2"]) {
          assert.strictEqual(world.turns.laneSizeOf(`place ${place}`, lane), standing.filter((one) => one === `place ${place} ${lane}`).length)
        }
      }
    })
    for (const going of world.went) assert.deepStrictEqual(overtookOf(going), [], `${going.caller.name} at ${going.place}`)
    for (const place of [0, 1, 2]) {
      const there = world.went.filter((going) => going.place === place)
      for (const [at, { beside, caller }] of there.entries()) {
        const again = there.findIndex((later, i) => i > at && later.caller.lane === caller.lane)
        const between = there.slice(at + 1, again < 0 ? at + 1 : again).map((going) => going.caller.lane)
        const still = again < 0 ? [] : (there[again]?.beside ?? []).filter((one) => beside.includes(one) && one.lane !== caller.lane)
        for (const { lane, name } of still) assert.include(between, lane, `${name} waited at ${place} while ${caller.lane} had two turns`)
      }
    }
  }, { arbitrary: { size: 120 } })

  it.prop("leaves no place free beside somebody who waits for it", { history: histories }, ({ history }) => {
    const world = new World()
    world.play(history, () => {
      for (const { caller } of world.waiting.values()) {
        for (const place of caller.places) assert.isNotNull(world.block(place, world.now), `place ${place} is free and ${caller.name} waits`)
      }
    })
  }, { arbitrary: { size: 120 } })

  it.prop("nobody waits longer than its deadline, however the others behave", { history: histories }, ({ history }) => {
    const world = new World()
    world.play(history, () => {
      for (const { caller } of world.waiting.values()) assert.isAbove(caller.deadline, world.now)
    })
    for (const { at, caller } of world.late) assert.isAtMost(at, caller.deadline)
    world.pass(10_000)
    assert.deepStrictEqual([world.turns.size, world.waiting.size], [0, 0])
    world.serve()
    assert.deepStrictEqual([world.turns.wakeAt(), world.turns.sizes(), world.turns.lineCount], [null, [], 0])
  }, { arbitrary: { size: 120 } })

  it.prop("when everything ends, everybody who still waits goes in the order of arrival", { history: histories }, ({ history }) => {
    const world = new World()
    world.play(history.filter(({ act }) => act !== "time" && act !== "rest"), () => {})
    const before = world.went.length
    while (world.running.length > 0) {
      world.end(0)
      world.serve()
    }
    assert.strictEqual(world.waiting.size, 0)
    for (const place of [0, 1, 2]) {
      const names = world.went.slice(before).filter((one) => one.place === place && one.caller.places.length === 1).map(({ caller }) => caller.name)
      assert.deepStrictEqual(names, [...names].sort((a, b) => a - b))
    }
  }, { arbitrary: { size: 120 } })
})

describe("a line", () => {
  const Move = Schema.Struct({ kind: Schema.Literals(["join", "join", "leave", "free"]), which: between(0, 30), twice: Schema.Boolean })
  it.prop("is a list: who joins stands last, who leaves is not missed, and the first goes", { moves: Arbitrary.schema(Schema.Array(Move).check(Schema.isMaxLength(80))) }, ({ moves }) => {
    let free = 0
    const turns = new WaitQueue<number>(() => free > 0 ? null : { line: "x", until: null })
    const line: Array<{ readonly name: number; readonly entry: QueueEntry<number> }> = []
    for (const [name, { kind, twice, which }] of moves.entries()) {
      const block = { line: "x", until: null }
      if (kind === "join") line.push({ name, entry: turns.join(name, twice ? [block, block] : [block], 1e9, "") })
      else if (kind === "leave") {
        const [left] = line.splice(which % Math.max(1, line.length), 1)
        if (left !== undefined) assert.isTrue(turns.leave(left.entry))
      } else {
        free = 1
        turns.freed("x")
        const turn = turns.next(0)
        free = 0
        assert.deepStrictEqual(turn, line.length === 0 ? null : { waiter: line.shift()?.name, end: "go" })
        assert.isNull(turns.next(0))
      }
      assert.deepStrictEqual([turns.size, turns.sizeOf("x"), turns.lineCount], [line.length, line.length, line.length > 0 ? 1 : 0])
      assert.deepStrictEqual(turns.entries().map(({ waiter }) => waiter), line.map(({ name: waiting }) => waiting))
    }
  }, { arbitrary: { size: 80, runs: 200 } })

  it("takes who comes from another line between those who came before and after, and looks again when that says", () => {
    const lines = new Map([["a", "x"], ["b", "gate"], ["c", "x"], ["d", "gate"]])
    let until: number | null = 50
    const turns = new WaitQueue<string>((name) => {
      const line = lines.get(name)
      return line === undefined ? null : { line, until: line === "y" ? until : null }
    })
    for (const [name, line] of lines) turns.join(name, [{ line, until: null }], 1_000, "")
    for (const name of lines.keys()) lines.set(name, "y")
    turns.freed("gate")
    assert.deepStrictEqual([turns.next(0), turns.sizes(), turns.wakeAt()], [null, [["x", 2], ["y", 2]], 50])
    turns.freed("x")
    assert.deepStrictEqual([turns.next(0), turns.sizes()], [null, [["y", 4]]])
    assert.deepStrictEqual(turns.entries().map(({ waiter }) => waiter), ["a", "b", "c", "d"])
    until = null
    lines.delete("a")
    lines.delete("b")
    assert.deepStrictEqual([turns.next(50)?.waiter, turns.next(50)?.waiter, turns.next(50), turns.wakeAt()], ["a", "b", null, 1_000])
  })

  it("who is held up by something else moves to the line before that, at the place of its arrival", () => {
    const blocks = new Map<string, string>([["a", "gate"], ["b", "connection"]])
    const turns = new WaitQueue<string>((name) => {
      const line = blocks.get(name)
      return line === undefined ? null : { line, until: null }
    })
    turns.join("a", [{ line: "gate", until: null }], 100, "")
    turns.join("b", [{ line: "connection", until: null }], 100, "")
    blocks.set("a", "connection")
    turns.freed("gate")
    assert.isNull(turns.next(0))
    assert.deepStrictEqual(turns.sizes(), [["connection", 2]])
    blocks.clear()
    turns.freed("connection")
    assert.deepStrictEqual([turns.next(0)?.waiter, turns.next(0)?.waiter, turns.next(0)], ["a", "b", null])
  })

  it("what is too far away for the first does not hide its end from the next", () => {
    let rests = 10
    const until = (name: string) => name === "impatient" && rests > 20 ? Number.POSITIVE_INFINITY : rests
    const turns = new WaitQueue<string>((name, choice) => choice === 1 ? { line: "other", until: null } : { line: "x", until: until(name) })
    turns.join("impatient", [{ line: "x", until: 10 }, { line: "other", until: null }], 1_000, "")
    turns.join("calm", [{ line: "x", until: 10 }], 1_000, "")
    rests = 50
    assert.isNull(turns.next(10))
    assert.strictEqual(turns.wakeAt(), 50)
  })

  it("leaves nothing behind when its last waiter left", () => {
    const turns = new WaitQueue<string>(() => ({ line: "x", until: 50 }))
    turns.leave(turns.join("a", [{ line: "x", until: 50 }], 100, ""))
    assert.deepStrictEqual([turns.lineCount, turns.wakeAt()], [0, null])
  })

  it("who can only be late is told at once", () => {
    let until = 50
    const turns = new WaitQueue<string>(() => ({ line: "x", until }))
    turns.join("a", [{ line: "x", until }], 100, "")
    assert.strictEqual(turns.wakeAt(), 50)
    until = 500
    assert.deepStrictEqual(turns.next(50), { waiter: "a", end: "late" })
    assert.isNull(turns.wakeAt())
  })
})
