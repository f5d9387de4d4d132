/** Breakers of several nodes: an opening holds everywhere, one probe at a time runs over all of them, and every block ends. */
import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Schema from "effect/Schema"
import { OwnFailures } from "#actors/request/OwnFailures.ts"
import type { Pass } from "#actors/request/ports/Resilience.ts"
import type { ResilienceControl } from "#src/features/resilience/ports/ResilienceControl.ts"
import { BreakerTable, CLAIM_MS } from "#src/features/resilience/redis/BreakerTable.ts"
import { Tables } from "#src/features/resilience/local/Tables.ts"
import { isPass, target, verdict } from "./support.ts"
import { connection } from "#test/suites/records.ts"

const NODES = 3
const RESET_MS = 3_000
const record = connection({ id: "c-1" })
const to = target(record)
const settings = { resilience: { providerBreaker: { apikey: { degradationThreshold: 2, failureThreshold: 3, resetTimeoutMs: RESET_MS } }, connectionCooldown: { apikey: { baseCooldownMs: 0, rateLimitCooldownMs: 0, useUpstreamRetryHints: false } } } }

interface Held {
  readonly node: number
  readonly pass: Pass
  readonly probe: boolean
}

/** Nodes that hear each other at once, or not at all while `cut`. */
class World {
  now = 0
  cut = false
  /** Claims are answered after 2 ms, as over a network. */
  answersLater = false
  claim: { readonly node: number; readonly until: number } | null = null
  readonly held: Array<Held> = []
  private timers: Array<{ readonly node: number; readonly at: number; readonly run: () => void }> = []
  readonly tables: ReadonlyArray<Tables>
  readonly nodes: ReadonlyArray<BreakerTable>

  constructor(stored: Readonly<Record<string, unknown>> = settings) {
    this.tables = Array.from({ length: NODES }, () => new Tables({
      connections: [record], nodes: [], connectionById: new Map([[record.id, record]]), settings: new Map(Object.entries(stored))
    }, { connection: () => {}, provider: () => {}, rest: () => {}, breaker: () => {}, expired: () => {}, lockout: () => {} }))
    this.nodes = this.tables.map((tables, node) => new BreakerTable(tables, tables as unknown as ResilienceControl["Service"], {
      now: () => this.now,
      tell: (told) => {
        if (!this.cut) for (const [other, table] of this.nodes.entries()) if (other !== node) table.hear(told)
      },
      claim: (_, told) => {
        const answer = (won: boolean): void => {
          if (this.answersLater) this.timers.push({ node, at: this.now + 2, run: () => told(won) })
          else told(won)
        }
        if (this.cut) return answer(true)
        if (this.claim !== null && this.now < this.claim.until) return answer(false)
        this.claim = { node, until: this.now + CLAIM_MS }
        answer(true)
      },
      want: (provider) => {
        if (!this.cut) for (const [other, table] of this.nodes.entries()) if (other !== node) table.wanted(provider)
      },
      after: (ms, run) => void this.timers.push({ node, at: this.now + ms, run }),
      giveUp: () => {
        if (!this.cut && this.claim?.node === node) this.claim = null
      }
    }))
  }

  /** Time passes, and what is due happens in its order. */
  pass(ms: number): void {
    const end = this.now + ms
    for (;;) {
      const next = this.timers.reduce<(typeof this.timers)[number] | null>((first, one) => one.at <= end && (first === null || one.at < first.at) ? one : first, null)
      if (next === null) break
      this.timers.splice(this.timers.indexOf(next), 1)
      this.now = next.at
      next.run()
    }
    this.now = end
  }

  kill(node: number): void {
    this.timers = this.timers.filter((timer) => timer.node !== node)
  }

  isOpen(node: number): boolean {
    return this.nodes[node]?.breakers(this.now).some((view) => view.state === "open" || view.state === "half-open") ?? false
  }

  enter(node: number): Held | null {
    const table = this.nodes[node]
    const checked = table?.check(to, this.now) ?? null
    const probe = this.isOpen(node)
    const given = table?.enter(to, this.now)
    if (given === undefined || !isPass(given)) return null
    assert.isNull(checked, "what may not be called may not be entered")
    const held = { node, pass: given, probe }
    this.held.push(held)
    return held
  }

  release(held: Held | undefined, status: number): void {
    if (held === undefined) return
    this.held.splice(this.held.indexOf(held), 1)
    held.pass.release(status < 0 ? null : verdict(status), this.now)
  }

  /** Failures until the node's own breaker opens. */
  fail(node: number): void {
    for (let i = 0; i < 3; i++) this.release(this.enter(node) ?? undefined, 500)
  }
}

describe("a breaker over nodes", () => {
  it("opened by a rate limit that names its end holds on every node until then", () => {
    const refused = (useUpstream429BreakerHints: boolean) => {
      const { connectionCooldown, providerBreaker } = settings.resilience
      const world = new World({ resilience: { providerBreaker, connectionCooldown: { apikey: { ...connectionCooldown.apikey, useUpstream429BreakerHints } } } })
      for (let i = 0; i < 3; i++) {
        const pass = world.nodes[0]?.enter(to, world.now)
        if (pass !== undefined && isPass(pass)) pass.release(verdict(429, { retryAfterMs: 90_000 }), world.now)
      }
      return world.nodes.map((node) => node.check(to, world.now))
    }
    for (const block of refused(true)) assert.deepInclude(block, { reason: "breaker-open", until: 90_000 })
    assert.deepStrictEqual(refused(false), [null, null, null], "it does not count unless its setting says so")
  })

  it("hears of the request's own failures: they never shut it out of another model", () => {
    const own = new OwnFailures()
    const world = new World()
    const pass = world.nodes[0]?.enter(to, world.now, false, own)
    if (pass !== undefined && isPass(pass)) pass.release(verdict(500), world.now, own)
    assert.isTrue(own.has(to, to.model))
  })
})

const Act = Schema.Union([
  Schema.Struct({ act: Schema.Literal("enter"), node: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: NODES - 1 })), wait: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 2_000 })) }),
  Schema.Struct({ act: Schema.Literal("release"), which: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 20 })), status: Schema.Literals([-1, 0, 200, 400, 500, 503, 503]) })
])

describe("breakers over several nodes", () => {
  it("refuse everywhere once one node's breaker opened, and are closed everywhere by one good probe", () => {
    const world = new World()
    world.fail(0)
    for (const node of world.nodes) assert.strictEqual(node.check(to, world.now)?.reason, "breaker-open")
    world.pass(RESET_MS)
    const probe = world.enter(0)
    assert.isNotNull(probe)
    for (const node of world.nodes) assert.strictEqual(node.check(to, world.now)?.reason, "breaker-probing")
    world.release(probe ?? undefined, 200)
    for (const node of world.nodes) assert.isNull(node.check(to, world.now))
  })

  it("refuse everywhere anew after a bad probe, and let another try after one that says nothing", () => {
    const world = new World()
    world.fail(2)
    world.pass(RESET_MS)
    world.release(world.enter(2) ?? undefined, 503)
    for (const node of world.nodes) assert.strictEqual(node.check(to, world.now)?.reason, "breaker-open")
    world.pass(RESET_MS)
    world.release(world.enter(2) ?? undefined, -1)
    world.pass(1_000)
    assert.strictEqual(world.nodes.filter((_, node) => world.enter(node) !== null).length, 1)
  })

  it("let the same node try again at once after a probe that says nothing", () => {
    const world = new World()
    world.fail(2)
    world.pass(RESET_MS)
    world.release(world.enter(2) ?? undefined, -1)
    assert.isNotNull(world.enter(2))
  })

  it("of one model let every other model in, until that fails as often: then they are of all", () => {
    const world = new World()
    const other = target(record, { model: "other" })
    const refused = () => world.nodes.map((node) => [node.check(to, world.now)?.reason ?? null, node.check(other, world.now)?.reason ?? null])
    world.fail(0)
    assert.deepStrictEqual(refused(), Array.from({ length: NODES }, () => ["breaker-open", null]))
    assert.deepInclude(world.nodes[1]?.breakers(world.now)[0], { model: to.model, state: "open" })
    // At the node whose own breaker is open, too: there the other model's failures count beside it.
    for (let i = 0; i < 3; i++) {
      const pass = world.nodes[0]?.enter(other, world.now)
      if (pass === undefined || !isPass(pass)) return assert.fail("the other model is let in")
      pass.release(verdict(500), world.now)
    }
    assert.deepStrictEqual(refused(), Array.from({ length: NODES }, () => ["breaker-open", "breaker-open"]))
    assert.deepInclude(world.nodes[1]?.breakers(world.now)[0], { model: null, state: "open" })
  })

  it("are shown by every node, with the time that is left, and then as half-open", () => {
    const world = new World()
    world.fail(0)
    const shown = (node: number) => world.nodes[node]?.breakers(world.now).map(({ failures, provider, retryAfterMs, state }) => [provider, state, retryAfterMs, failures])
    world.pass(1_000)
    assert.deepStrictEqual([shown(0), shown(1)], [[[to.provider, "open", 2_000, 3]], [[to.provider, "open", 2_000, 0]]])
    world.pass(1_999)
    assert.deepStrictEqual(shown(1), [[to.provider, "open", 1, 0]])
    world.pass(1)
    assert.deepStrictEqual(shown(1), [[to.provider, "half-open", 0, 0]])
    world.pass(5_000)
    assert.deepStrictEqual([shown(0), shown(1)], [[[to.provider, "half-open", 0, 3]], [[to.provider, "half-open", 0, 0]]])
  })

  it("that an operator closes at the node itself are closed there, and its claim is another's; others stay", () => {
    const world = new World()
    world.fail(0)
    assert.strictEqual(world.nodes[0]?.reset("another", world.now), 0)
    assert.strictEqual(world.nodes[0]?.check(to, world.now)?.reason, "breaker-open")
    world.pass(RESET_MS + 10)
    assert.strictEqual(world.claim?.node, 0)
    assert.strictEqual(world.nodes[0]?.reset(to.provider, world.now), 1)
    assert.isNull(world.claim)
    for (const node of world.nodes) assert.isNull(node.check(to, world.now))
    assert.strictEqual(world.nodes[0]?.reset(null, world.now), 0)
  })

  it("that another node opens anew give back a claim that was not used", () => {
    const world = new World()
    world.fail(0)
    world.pass(RESET_MS + 10)
    assert.strictEqual(world.claim?.node, 0)
    world.nodes[0]?.hear({ provider: to.provider, model: null, forMs: RESET_MS })
    assert.isNull(world.claim)
    assert.strictEqual(world.nodes[0]?.check(to, world.now)?.reason, "breaker-open")
  })

  it("opened anew hear nothing of a probe from before, good or bad", () => {
    for (const status of [200, 503, -1]) {
      const world = new World()
      world.fail(0)
      world.pass(RESET_MS)
      const probe = world.enter(0)
      assert.isNotNull(probe)
      for (const node of world.nodes) node.hear({ provider: to.provider, model: null, forMs: 9 * RESET_MS })
      world.release(probe ?? undefined, status)
      for (const node of world.nodes) assert.deepInclude(node.check(to, world.now), { reason: "breaker-open", until: 10 * RESET_MS }, String(status))
    }
  })

  it("from before a start are the gateway's as well: its first call afterwards needs the claim", () => {
    const world = new World()
    world.fail(0)
    let asked = 0
    const effects = { now: () => world.now, tell: () => {}, want: () => {}, after: () => {}, giveUp: () => {}, claim: (_: string, told: (won: boolean) => void) => {
      asked++
      told(false)
    } }
    const tables = world.tables[0] as Tables
    const again = new BreakerTable(tables, tables as unknown as ResilienceControl["Service"], effects)
    world.pass(RESET_MS + 10)
    assert.strictEqual(again.check(to, world.now)?.reason, "breaker-probing")
    assert.strictEqual(asked, 1)
  })

  it("lets another node probe when the one that had the claim died", () => {
    const world = new World()
    world.fail(0)
    world.pass(RESET_MS)
    assert.isNotNull(world.enter(0))
    assert.isNull(world.enter(1))
    world.kill(0)
    world.pass(CLAIM_MS + 500)
    assert.isNotNull(world.enter(1))
  })

  it("let the first request after the time is up try, at once or minutes later, where the answer to a claim takes its time", () => {
    for (const lateMs of [0, 20_000, 300_000]) {
      const world = new World()
      world.answersLater = true
      world.fail(0)
      world.pass(RESET_MS + 10 + lateMs)
      assert.isNotNull(world.enter(0))
      assert.isNull(world.enter(1))
    }
  })

  it("give an unused claim to the node that has a request to try with", () => {
    const world = new World()
    world.answersLater = true
    world.fail(0)
    world.pass(RESET_MS + 10)
    assert.isNull(world.enter(1))
    world.pass(1_000)
    assert.isNotNull(world.enter(1))
    assert.isNull(world.enter(0))
  })

  it("decide alone while nobody can be asked", () => {
    const world = new World()
    world.cut = true
    world.fail(0)
    assert.isNull(world.nodes[1]?.check(to, world.now))
    assert.strictEqual(world.nodes[0]?.check(to, world.now)?.reason, "breaker-open")
    world.pass(RESET_MS)
    world.release(world.enter(0) ?? undefined, 200)
    assert.isNull(world.nodes[0]?.check(to, world.now))
  })

  it("are closed everywhere by an operator on any node", () => {
    const world = new World()
    world.fail(0)
    assert.strictEqual(world.nodes[1]?.reset(null, world.now), 1)
    for (const node of world.nodes) assert.isNull(node.check(to, world.now))
  })

  it.prop("run one probe at a time in any history, and end", [Arbitrary.schema(Schema.Array(Act).check(Schema.isMaxLength(120)))], ([history]) => {
    const world = new World()
    for (const act of history) {
      if (act.act === "enter") {
        world.pass(act.wait)
        // No history is long enough for a claim to run out, so a second probe would be one too many.
        if (world.now > CLAIM_MS) break
        world.enter(act.node)
      } else world.release(world.held[act.which % Math.max(1, world.held.length)], act.status)
      assert.isAtMost(world.held.filter(({ node, probe }) => probe && world.isOpen(node)).length, 1)
    }
    while (world.held.length > 0) world.release(world.held[0], -1)
    world.pass(RESET_MS + CLAIM_MS)
    // Another node may have the claim; it gives it back because this one wants it.
    for (let round = 0; round < 4 && world.isOpen(1); round++) {
      world.release(world.enter(1) ?? undefined, 200)
      world.pass(500)
    }
    for (const node of world.nodes) assert.isNull(node.check(to, world.now))
  }, { arbitrary: { size: 120 } })
})
