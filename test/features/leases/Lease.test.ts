/** The transitions of leases: in every order of events, one holder per connection and one lease per owner. */
import { assert, describe, it } from "@effect/vitest"
import * as Lease from "#actors/lease/Lease.ts"
import type { AcquireReply, LeaseChange, LeaseClaim, Lease as Record } from "#schemas/protocols/Lease.ts"
import { claimOf, type Act, histories, moveOf, recent, wishOf } from "./histories.ts"

/** What an observer outside wrote down of one granted lease. */
interface Witness {
  lease: Record
  ended: number
}

const textOf = ({ highest, holders, leases }: Lease.State): string => JSON.stringify([[...leases], [...holders], [...highest]])

/** Plays a history; `check` is called after each act. */
class World {
  state = Lease.fresh("life-1")
  now = 1_000_000
  readonly witnesses: Array<Witness> = []
  readonly highest = new Map<string, number>()
  readonly draws = new Map<string, number>()
  /** Each state so far, and what it held when it was new. */
  readonly past: Array<readonly [state: Lease.State, held: string]> = []

  witnessOf({ owner, generation }: Pick<Record, "owner" | "generation">): Witness {
    const found = this.witnesses.find(({ lease }) => lease.owner === owner && lease.generation === generation)
    assert.isDefined(found, `nobody was granted generation ${generation} of ${owner}`)
    return found as Witness
  }

  /** Whether the observer believes that the claim is good. */
  believes(claim: LeaseClaim): Record | null {
    const found = this.witnesses.find(({ lease }) => lease.owner === claim.owner && lease.generation === claim.generation)
    return found !== undefined && found.ended === 0 && found.lease.expiresAt > this.now && found.lease.keyId === claim.keyId && found.lease.keyPrint === claim.keyPrint
      ? found.lease
      : null
  }

  take<Reply>([reply, state, changes]: Lease.LeaseStep<Reply>): Reply {
    this.state = state
    this.past.push([state, textOf(state)])
    for (const change of changes) this.hear(change)
    return reply
  }

  hear({ kind, lease, reason }: LeaseChange): void {
    if (kind === "ACQUIRED") {
      assert.isAbove(lease.generation, this.highest.get(lease.owner) ?? 0, "generations only rise")
      this.highest.set(lease.owner, lease.generation)
      this.witnesses.push({ lease, ended: 0 })
      return
    }
    const witness = this.witnessOf(lease)
    if (kind === "MOVED") {
      witness.lease = lease
      return
    }
    witness.ended++
    assert.strictEqual(witness.ended, 1, "a lease ends once")
    assert.strictEqual(reason === "TTL_EXPIRED", witness.lease.expiresAt <= this.now, "only what expired ends by its time")
  }

  acquire(act: Extract<Act, { act: "acquire" }>): AcquireReply {
    const wish = wishOf(act, [300, 1_000, 5_000, 60_000])
    const others = this.witnesses.filter(({ ended, lease }) => ended === 0 && lease.expiresAt > this.now && lease.owner !== wish.owner).map(({ lease }) => lease)
    const own = this.witnesses.find(({ ended, lease }) => ended === 0 && lease.owner === wish.owner && lease.expiresAt > this.now)?.lease
    let reply = this.take(Lease.acquire(this.state, wish, this.now))
    if (reply._tag === "Draw") {
      // As the durable counter does: above everything, also what the store has forgotten.
      const generation = Math.max(this.draws.get(wish.owner) ?? 0, reply.highest) + 1
      this.draws.set(wish.owner, generation)
      reply = this.take(Lease.acquire(this.state, { ...wish, drawn: { epoch: reply.epoch, generation } }, this.now))
      assert.strictEqual(reply._tag, "Granted", "who drew as it was told is granted")
    }
    const held = new Set(others.map(({ connection }) => connection))
    switch (reply._tag) {
      case "Granted":
        assert.isFalse(held.has(reply.lease.connection), "a connection is never given to two")
        assert.include(wish.fits, reply.lease.connection)
        if (reply.reused) {
          assert.deepStrictEqual([reply.lease.generation, reply.lease.connection], [own?.generation, own?.connection])
          this.witnessOf(reply.lease).lease = reply.lease
        } else assert.strictEqual(reply.lease.connection, wish.available.find((id) => !held.has(id)), "the first free one")
        break
      case "Capacity":
        assert.isTrue(wish.available.length > 0 && wish.available.every((id) => held.has(id)), "full only when every available one is held")
        assert.strictEqual(reply.freeAt, Math.min(...others.filter(({ connection }) => wish.available.includes(connection)).map(({ expiresAt }) => expiresAt)))
        break
      case "Unavailable":
        assert.strictEqual(wish.available.length, 0)
        break
      case "Stale":
        assert.isTrue(own !== undefined && own.keyId !== wish.keyId, "only another key's lease stands in the way")
        break
      case "Draw":
        assert.fail("drawn twice")
    }
    return reply
  }

  play(act: Act): void {
    if (act.act === "wait") {
      this.now += act.ms
      return
    }
    if (act.act === "sweep") {
      const left = this.take(Lease.sweep(this.state, this.now))
      assert.strictEqual(left, Lease.active(this.state, this.now).length)
      assert.strictEqual(this.state.leases.size, left)
      return
    }
    if (act.act === "acquire") {
      this.acquire(act)
      return
    }
    const target = recent(this.witnesses, act.which)
    if (target === undefined) return
    const { lease } = target
    if (act.act === "invalidate") {
      const stands = target.ended === 0
      assert.strictEqual(this.take(Lease.invalidate(this.state, lease, "CONNECTION_INELIGIBLE", this.now)), stands)
      return
    }
    const claim = claimOf(lease, act)
    const believed = this.believes(claim)
    switch (act.act) {
      case "find":
        assert.deepStrictEqual(Lease.find(this.state, claim, this.now), believed)
        return
      case "renew": {
        const reply = this.take(Lease.renew(this.state, claim, 2_000, this.now))
        assert.strictEqual(reply._tag, believed === null ? "Stale" : "Held")
        if (reply._tag !== "Held" || believed === null) return
        assert.deepStrictEqual(reply.lease, { ...believed, renewedAt: this.now, expiresAt: this.now + 2_000 })
        this.witnessOf(believed).lease = reply.lease
        return
      }
      case "release":
        assert.strictEqual(this.take(Lease.release(this.state, claim, "OWNER_EXIT", this.now))._tag, believed === null ? "Stale" : "Held")
        return
      case "move": {
        const { from, to } = moveOf(lease, act)
        const taken = this.witnesses.some((other) => other.ended === 0 && other.lease.expiresAt > this.now && other.lease.connection === to && other.lease.owner !== lease.owner)
        const reply = this.take(Lease.move(this.state, claim, from, to, this.now))
        if (believed === null) assert.strictEqual(reply._tag, "Stale")
        else if (believed.connection !== from) assert.deepStrictEqual(reply, { _tag: "Held", lease: believed })
        else if (taken) assert.strictEqual(reply._tag, "Taken")
        else assert.deepStrictEqual(reply, { _tag: "Held", lease: { ...believed, connection: to } })
        return
      }
    }
  }

  check(): void {
    const active = Lease.active(this.state, this.now)
    assert.strictEqual(new Set(active.map(({ connection }) => connection)).size, active.length, "one holder per connection")
    assert.strictEqual(new Set(active.map(({ owner }) => owner)).size, active.length, "one lease per owner")
    assert.deepStrictEqual(
      [...active].sort((a, b) => a.owner < b.owner ? -1 : 1),
      this.witnesses.filter(({ ended, lease }) => ended === 0 && lease.expiresAt > this.now).map(({ lease }) => lease).sort((a, b) => a.owner < b.owner ? -1 : 1),
      "the leases are those that the observer wrote down"
    )
    assert.deepStrictEqual(
      [...this.state.holders].sort(), [...this.state.leases.values()].map(({ connection, owner }) => [connection, owner] as const).sort(),
      "holders mirror leases"
    )
  }
}

describe("leases, whatever happens", () => {
  it.prop("are those that an observer of the replies and changes believes in", { history: histories }, ({ history }) => {
    const world = new World()
    for (const act of history) {
      world.play(act)
      world.check()
    }
    world.now += 60_001
    world.play({ act: "sweep" })
    for (const { ended, lease } of world.witnesses) assert.strictEqual(ended, 1, `generation ${lease.generation} of ${lease.owner} has one end`)
    for (const [state, held] of world.past) assert.strictEqual(textOf(state), held, "a state never changes")
  }, { arbitrary: { runs: 150 } })

  it.prop("are gone in another life of the store, where no old claim is good and every generation is higher", { history: histories }, ({ history }) => {
    const world = new World()
    const half = Math.floor(history.length / 2)
    for (const act of history.slice(0, half)) world.play(act)
    const old = world.witnesses.map(({ lease }) => lease)
    for (const witness of world.witnesses) witness.ended = 1
    world.state = Lease.fresh("life-2")
    for (const act of history.slice(half)) {
      world.play(act)
      world.check()
      for (const lease of old) assert.isNull(Lease.find(world.state, lease, world.now))
    }
  }, { arbitrary: { runs: 80, size: 120 } })

  it("expiresAt <= now counts as expired", () => {
    const wish = { owner: "o", keyId: "k", keyPrint: "p", fits: ["c"], available: ["c"], ttlMs: 100, drawn: { epoch: "e", generation: 1 } }
    const [, state] = Lease.acquire(Lease.fresh("e"), wish, 1_000)
    const claim = { owner: "o", keyId: "k", keyPrint: "p", generation: 1 }
    assert.deepStrictEqual([1_099, 1_100, 1_101].map((now) => Lease.find(state, claim, now) !== null), [true, false, false])
    assert.deepStrictEqual([1_099, 1_100].map((now) => Lease.renew(state, claim, 100, now)[0]._tag), ["Held", "Stale"])
  })

  it("a generation is drawn anew unless it comes from this life of the store and is above all that the owner had", () => {
    const wish = { owner: "o", keyId: "k", keyPrint: "p", fits: ["c"], available: ["c"], ttlMs: 100 }
    const draw = (state: Lease.State, drawn: { readonly epoch: string; readonly generation: number } | null, now: number) => Lease.acquire(state, { ...wish, drawn }, now)
    const first = Lease.fresh("e")
    for (const drawn of [null, { epoch: "former", generation: 9 }, { epoch: "e", generation: 0 }]) {
      assert.deepStrictEqual(draw(first, drawn, 0)[0], { _tag: "Draw", epoch: "e", highest: 0 })
    }
    const expired = draw(first, { epoch: "e", generation: 5 }, 0)[1]
    for (const drawn of [{ epoch: "e", generation: 4 }, { epoch: "e", generation: 5 }, { epoch: "former", generation: 6 }]) {
      assert.deepStrictEqual(draw(expired, drawn, 200)[0], { _tag: "Draw", epoch: "e", highest: 5 })
    }
    assert.strictEqual(draw(expired, { epoch: "e", generation: 6 }, 200)[0]._tag, "Granted")
  })

  it("an owner's highest generation is forgotten only after many others came", () => {
    let state = Lease.fresh("e")
    for (let i = 0; i <= Lease.rememberedOwners; i++) {
      const wish = { owner: `o-${i}`, keyId: "k", keyPrint: "p", fits: [`c-${i}`], available: [`c-${i}`], ttlMs: 10, drawn: { epoch: "e", generation: 5 } }
      state = Lease.acquire(state, wish, i * 100)[1]
      state = Lease.sweep(state, i * 100 + 50)[1]
    }
    assert.strictEqual(state.highest.size, Lease.rememberedOwners)
    assert.isFalse(state.highest.has("o-0"))
    assert.strictEqual(state.highest.get("o-1"), 5)
  })

  it("an owner that draws again is remembered as long as the newest, and its own lease counts when it is forgotten", () => {
    const wishOf = (owner: string, generation: number, keyPrint = "p") =>
      ({ owner, keyId: "k", keyPrint, fits: [owner], available: [owner], ttlMs: 1e9, drawn: { epoch: "e", generation } })
    const others = (from: Lease.State, count: number) => {
      let state = from
      for (let i = 0; i < count; i++) state = Lease.acquire(state, wishOf(`o-${i}`, 1), 0)[1]
      return state
    }
    const first = Lease.acquire(Lease.fresh("e"), wishOf("own", 5), 0)[1]
    const other = Lease.acquire(first, wishOf("other", 1), 0)[1]
    const again = Lease.acquire(other, wishOf("own", 6, "another"), 0)[1]
    assert.strictEqual(others(again, Lease.rememberedOwners - 1).highest.get("own"), 6)
    const forgotten = others(again, Lease.rememberedOwners)
    assert.isFalse(forgotten.highest.has("own"))
    assert.deepStrictEqual(Lease.acquire(forgotten, wishOf("own", 6, "third"), 0)[0], { _tag: "Draw", epoch: "e", highest: 6 })
  })

  it.each([["OWNER_EXIT", "RELEASED"], ["CLIENT_CANCELLED", "RELEASED"]] as const)("a release for %s is recorded as %s", (reason, kind) => {
    const wish = { owner: "o", keyId: "k", keyPrint: "p", fits: ["c"], available: ["c"], ttlMs: 100, drawn: { epoch: "e", generation: 1 } }
    const [, state] = Lease.acquire(Lease.fresh("e"), wish, 1_000)
    const [, , changes] = Lease.release(state, { owner: "o", keyId: "k", keyPrint: "p", generation: 1 }, reason, 1_001)
    assert.deepStrictEqual(changes.map((change) => [change.kind, change.reason, change.at]), [[kind, reason, 1_001]])
  })
})
