/** The fence of one request under a lease: which calls may leave, when the lease moves, and what a store that is away means. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { LeaseStoreDown } from "#actors/lease/LeaseStore.ts"
import type { Leases } from "#actors/lease/Leases.ts"
import type { CallRefusal } from "#actors/request/ports/Interceptor.ts"
import type { Unavailable } from "#actors/request/ports/Resilience.ts"
import type { Target } from "#actors/request/ports/Target.ts"
import { PublicError } from "#schemas/errors.ts"
import type { Lease, LeaseClaim, MoveReply } from "#schemas/protocols/Lease.ts"
import { LeaseFence } from "#src/features/leases/LeaseFence.ts"
import type { Route } from "#src/routing/Router.ts"
import { target as targetOf } from "#test/features/resilience/support.ts"
import { apiKey, connection, ledgerRow } from "#test/suites/records.ts"

const key = apiKey({ id: "k" })
const claim: LeaseClaim = { owner: "o", keyId: "k", keyPrint: "p", generation: 1 }
const lease = (at: string): Lease => ({ owner: "o", keyId: "k", keyPrint: "p", connection: at, generation: 1, acquiredAt: 0, renewedAt: 0, expiresAt: 1_000 })
const at = (id: string): Target => targetOf(connection({ id }), { model: "m" })
const [a, b, c] = [at("a"), at("b"), at("c")]
const bare: Target = { ...a, connection: null }

type Found = Lease | null | "down"

/** A session whose lease is at `a`; `isLate`: the store is asked over a network. */
const world = (isLate = false) => {
  const state = { stored: lease("a") as Found, moved: null as MoveReply | "down" | null, asked: 0 }
  const moves: Array<string> = []
  const ended: Array<string> = []
  const down = new LeaseStoreDown({ message: "away" })
  const leases = {
    find: (given: LeaseClaim, by: unknown) => {
      assert.deepStrictEqual([given, by], [claim, key])
      state.asked++
      const { stored } = state
      if (stored === "down") return Effect.fail(down)
      return isLate ? Effect.succeed(stored) : stored
    },
    move: (given: LeaseClaim, from: string, to: string) => Effect.suspend(() => {
      assert.strictEqual(given, claim)
      moves.push(`${from} ${to}`)
      if (state.moved === "down") return Effect.fail(down)
      if (state.moved !== null) return Effect.succeed(state.moved)
      state.stored = lease(to)
      return Effect.succeed({ _tag: "Held" as const, lease: lease(to) })
    }),
    end: ({ connection: where }: Lease, reason: string) => void ended.push(`${where} ${reason}`)
  } as unknown as Leases["Service"]
  const fence = new LeaseFence(leases, claim, key, lease("a"), () => 0)
  const call = (to: Target): CallRefusal | null => {
    const leave = fence.beforeAttempt(to)
    return Effect.isEffect(leave) ? Effect.runSync(leave) : leave
  }
  const said = (to: Target): string => {
    const refusal = call(to)
    return refusal === null ? "goes" : `${refusal.error.code}${refusal.final ? ", final" : ""}`
  }
  return { fence, state, moves, ended, call, said, settle: () => fence.attemptSettled(ledgerRow({})) }
}
const routeOf = (targets: ReadonlyArray<Target>, skipped: ReadonlyArray<readonly [Target, Unavailable]> = []): Route =>
  ({ targets, order: { order: targets.map((target) => ({ target })), skipped: skipped.map(([target, unavailable]) => ({ candidate: { target }, unavailable })) } }) as unknown as Route
const rest = (until: number | null, reason: Unavailable["reason"] = "connection-cooldown"): Unavailable => ({ reason, until, detail: "rests" })
const orderOf = (route: Route | PublicError) => route instanceof PublicError ? route.code : route.targets.map(({ connection: one }) => one?.id)

describe.each([["in this process", false], ["elsewhere", true]] as const)("the fence of a lease that is kept %s", (_, isLate) => {
  it("lets calls to the leased connection out, and no other, without asking where the answer is known", () => {
    const { said, state, moves } = world(isLate)
    assert.deepStrictEqual([said(b), said(bare), state.asked], ["LEASE_CONNECTION_MISMATCH", "LEASE_CONNECTION_MISMATCH", 0])
    assert.deepStrictEqual([said(a), said(a), state.asked, moves], ["goes", "goes", 2, []])
  })

  it("ends the request with its lease, and while the store is away", () => {
    const { said, state } = world(isLate)
    assert.strictEqual(said(a), "goes")
    state.stored = null
    assert.strictEqual(said(a), "LEASE_FENCE_STALE, final")
    state.stored = "down"
    assert.strictEqual(said(a), "LEASE_SERVICE_UNAVAILABLE, final")
  })

  it("moves the lease after a call that failed, never beside one that runs", () => {
    const { moves, said, settle } = world(isLate)
    assert.deepStrictEqual([said(a), said(b)], ["goes", "LEASE_CONNECTION_MISMATCH"])
    settle()
    assert.deepStrictEqual([said(b), moves], ["goes", ["a b"]])
    assert.strictEqual(said(c), "LEASE_CONNECTION_MISMATCH")
    settle()
    assert.deepStrictEqual([said(c), moves], ["goes", ["a b", "b c"]])
    settle()
    // A row more than there were calls changes nothing.
    settle()
    assert.deepStrictEqual([said(c), said(a)], ["goes", "LEASE_CONNECTION_MISMATCH"])
  })

  it("moves it after a call that was not made", () => {
    const { fence, moves, said } = world(isLate)
    assert.strictEqual(said(a), "goes")
    fence.unused(a)
    assert.deepStrictEqual([said(b), moves], ["goes", ["a b"]])
  })

  it("moves it nowhere that is taken, ended or not sure", () => {
    const { moves, said, settle, state } = world(isLate)
    said(a)
    settle()
    state.moved = { _tag: "Taken" }
    assert.strictEqual(said(b), "LEASE_CONNECTION_MISMATCH")
    state.moved = { _tag: "Held", lease: lease("c") }
    assert.strictEqual(said(b), "LEASE_CONNECTION_MISMATCH")
    state.stored = lease("c")
    assert.strictEqual(said(b), "LEASE_CONNECTION_MISMATCH", "another request moved it, and it may have its turn there")
    assert.strictEqual(said(c), "goes")
    settle()
    state.moved = { _tag: "Stale" }
    assert.strictEqual(said(b), "LEASE_FENCE_STALE, final")
    state.moved = "down"
    assert.strictEqual(said(b), "LEASE_SERVICE_UNAVAILABLE, final")
    assert.deepStrictEqual(moves, ["a b", "a b", "c b", "c b"])
  })

  it("leaves a lease alone that another request moved meanwhile: it may have its turn there", () => {
    const { moves, said, settle, state } = world(isLate)
    said(a)
    settle()
    state.stored = lease("c")
    assert.deepStrictEqual([said(b), moves], ["LEASE_CONNECTION_MISMATCH", []])
    assert.strictEqual(said(c), "goes")
    settle()
    assert.deepStrictEqual([said(b), moves], ["goes", ["c b"]])
  })

  it("follows a lease that another request moved", () => {
    const { moves, said, settle, state } = world(isLate)
    said(a)
    settle()
    state.stored = lease("b")
    assert.deepStrictEqual([said(b), moves], ["goes", []])
    settle()
    assert.deepStrictEqual([said(c), moves], ["goes", ["b c"]])
  })
})

describe("the order of targets under a lease", () => {
  it("begins with the leased connection; where it does not serve the model there is none", () => {
    const { fence } = world()
    assert.deepStrictEqual([orderOf(fence.arrange(routeOf([b, c, a]))), orderOf(fence.arrange(routeOf([b, c])))], [["a", "b", "c"], "LEASE_CONNECTION_MISMATCH"])
  })

  it("has the lease move at once where its connection is left out", () => {
    const { fence, moves, said } = world()
    assert.deepStrictEqual(orderOf(fence.arrange(routeOf([b, c], [[a, rest(500)]]))), ["b", "c"])
    assert.deepStrictEqual([said(b), moves], ["goes", ["a b"]])
  })

  it.each<readonly [string, Unavailable, ReadonlyArray<string>]>([
    ["stays where its connection is back before its end", rest(999), []],
    ["ends where it is not", rest(1_000), ["a HEALTH_OR_COOLDOWN"]],
    ["ends where the quota is not back before", rest(2_000, "quota-exhausted"), ["a QUOTA_UNAVAILABLE"]],
    ["stays where nobody knows", rest(null), []]
  ])("tells why it was left out where all others are taken; the lease %s", (_, unavailable, ends) => {
    const { call, ended, fence, state } = world()
    fence.arrange(routeOf([b], [[a, unavailable]]))
    state.moved = { _tag: "Taken" }
    const refusal = call(b)
    assert.notInclude(refusal?.error.code, "LEASE")
    assert.deepStrictEqual([refusal?.final, ended], [false, ends])
  })
})
