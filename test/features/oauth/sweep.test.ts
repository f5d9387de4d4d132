import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Redacted from "effect/Redacted"
import * as TestClock from "effect/testing/TestClock"
import { RefreshBreaker, type RefreshRule } from "#src/features/oauth/tokens/RefreshBreaker.ts"
import * as RefreshSweep from "#src/features/oauth/tokens/RefreshSweep.ts"
import * as Support from "./support.ts"
import { signedIn, START } from "./support.ts"

type Fields = NonNullable<Parameters<typeof signedIn>[1]>

const minute = 60_000
const iso = (minutes: number): string => new Date(START + minutes * minute).toISOString()

const sweeping = (connections: ReadonlyArray<Fields> = [{}], more: Partial<Support.Options> = {}) => Support.make({
  sweeps: true,
  connections: (server) => connections.map((fields, index) => {
    const id = `c-${index + 1}`
    server.refreshTokens.add(`canary-refresh-${id}`)
    return signedIn(server, { id, refreshToken: Redacted.make(`canary-refresh-${id}`), ...fields })
  }),
  ...more
})

type World = Effect.Success<ReturnType<typeof sweeping>>

/** One minute after another: each has its round, which ends before the next begins. */
const minutes = (world: World, count: number) => Effect.gen(function*() {
  for (let i = 0; i < count; i++) {
    const before = world.health.lastCheckAt()
    yield* TestClock.adjust("60 seconds")
    yield* Support.untilTrue(() => world.health.lastCheckAt() !== before)
  }
})

describe("tokens are renewed ahead of their time", () => {
  it.effect("with less than 5 minutes left, by no request; others are left alone", () => Effect.gen(function*() {
    const world = yield* sweeping([{ tokenExpiresAt: iso(7) }, { tokenExpiresAt: iso(30) }, { isActive: false, tokenExpiresAt: iso(7) }])
    yield* minutes(world, 2)
    assert.lengthOf(world.server.forms, 0)
    yield* minutes(world, 1)
    assert.deepStrictEqual(world.server.forms.map((form) => form["refresh_token"]), ["canary-refresh-c-1"])
    assert.strictEqual(world.credentials.peek("c-1"), "canary-access-1")
    const stored = yield* world.store.get("c-1")
    assert.deepInclude(stored, { tokenExpiresAt: iso(63), lastHealthCheckAt: iso(3) })
    assert.isNull((yield* world.store.get("c-2"))?.lastHealthCheckAt)
    yield* minutes(world, 5)
    assert.lengthOf(world.server.forms, 1)
  }))

  it.effect("a caller who needs the token meanwhile shares the renewal", () => Effect.gen(function*() {
    const world = yield* sweeping([{ tokenExpiresAt: iso(1) }])
    const release = world.server.hold()
    yield* TestClock.adjust("60 seconds")
    yield* Support.untilTrue(() => world.server.forms.length === 1)
    assert.isTrue(world.credentials.renewing("c-1"))
    const caller = yield* Effect.forkChild(world.credentials.token("c-1"))
    yield* Effect.yieldNow
    release()
    assert.strictEqual(Redacted.value((yield* Fiber.join(caller)).value), "canary-access-1")
    assert.lengthOf(world.server.forms, 1)
    assert.isFalse(world.credentials.renewing("c-1"))
  }))

  it.effect("a refused grant is terminal, and no later round asks again", () => Effect.gen(function*() {
    const world = yield* sweeping([{ tokenExpiresAt: iso(4) }, { tokenExpiresAt: iso(60) }])
    world.server.refreshTokens.clear()
    yield* minutes(world, 3)
    assert.lengthOf(world.server.forms, 1)
    assert.deepInclude(yield* world.store.get("c-1"), { testStatus: "expired", errorCode: "invalid_grant" })
  }))

  it.effect("what another node renewed is taken from the store, not asked for with a used-up grant", () => Effect.gen(function*() {
    const world = yield* sweeping([{ tokenExpiresAt: iso(4) }])
    yield* world.store.renew("c-1", { accessToken: Redacted.make("theirs"), refreshToken: Redacted.make("their-next") }, {
      tokenExpiresAt: iso(60), expiresAt: iso(60), expiresIn: 3600
    })
    yield* minutes(world, 1)
    assert.lengthOf(world.server.forms, 0)
    assert.strictEqual(world.credentials.peek("c-1"), "theirs")
  }))

  it.effect("begins with the first connection that has a token to renew", () => Effect.gen(function*() {
    const world = yield* sweeping([])
    yield* TestClock.adjust("10 minutes")
    assert.isNull(world.health.lastCheckAt())
    yield* world.configuration.commit(world.store.insert(signedIn(world.server, { tokenExpiresAt: iso(12), healthCheckInterval: null })))
    yield* minutes(world, 1)
    assert.strictEqual(world.health.lastCheckAt(), START + 11 * minute)
    assert.lengthOf(world.server.forms, 1)
  }))

  it.effect("the flags stop it while they are set", () => Effect.gen(function*() {
    for (const flag of ["GATEWAY_DISABLE_TOKEN_HEALTHCHECK", "GATEWAY_DISABLE_BACKGROUND_SERVICES"]) {
      const world = yield* sweeping([{ tokenExpiresAt: iso(4) }], { environment: { ...Support.environment, [flag]: "true" } })
      yield* TestClock.adjust("3 minutes")
      assert.isFalse(world.health.running())
      assert.isNull(world.health.lastCheckAt())
      assert.lengthOf(world.server.forms, 0)
    }
  }))
})

describe("healthCheckInterval", () => {
  it.effect("looks once per interval, and renews what would not last until the next look", () => Effect.gen(function*() {
    const world = yield* sweeping([
      { tokenExpiresAt: iso(26), healthCheckInterval: 10 }, { tokenExpiresAt: iso(2), healthCheckInterval: 0 }
    ])
    yield* minutes(world, 1)
    assert.strictEqual((yield* world.store.get("c-1"))?.lastHealthCheckAt, iso(1))
    yield* minutes(world, 9)
    assert.strictEqual((yield* world.store.get("c-1"))?.lastHealthCheckAt, iso(1))
    assert.lengthOf(world.server.forms, 0)
    yield* minutes(world, 1)
    assert.lengthOf(world.server.forms, 0)
    yield* minutes(world, 10)
    assert.deepStrictEqual(world.server.forms.map((form) => form["refresh_token"]), ["canary-refresh-c-1"])
    assert.strictEqual((yield* world.store.get("c-1"))?.lastHealthCheckAt, iso(21))
  }))

  it("a short-lived token keeps most of its life; one without an end is renewed only where a check is asked for", () => {
    const token = (left: number, expiresIn: number | null, healthCheckInterval: number | null = null) =>
      RefreshSweep.isAging({ tokenExpiresAt: iso(left), expiresAt: null, expiresIn, healthCheckInterval }, START)
    assert.deepStrictEqual([token(2, 240), token(0.9, 240), token(4.9, 3600), token(5, 3600), token(4.9, null)], [false, true, true, false, true])
    const endless = (healthCheckInterval: number | null) =>
      RefreshSweep.isAging({ tokenExpiresAt: null, expiresAt: null, expiresIn: null, healthCheckInterval }, START)
    assert.deepStrictEqual([endless(null), endless(60)], [false, true])
  })
})

describe("tokenRefreshBreaker", () => {
  const rule = (fields: Partial<RefreshRule> = {}) => ({ settings: { resilience: { tokenRefreshBreaker: { failureThreshold: 2, cooldownMs: 600_000, ...fields } } } })
  const down = { status: 503, body: "" } as const

  it.effect("after so many failures nobody asks for the time that is set, then one decides", () => Effect.gen(function*() {
    const world = yield* sweeping([{ tokenExpiresAt: iso(2) }], rule())
    world.server.next.push(down, down, down)
    yield* minutes(world, 8)
    assert.lengthOf(world.server.forms, 2)
    const failure = yield* Effect.flip(world.credentials.token("c-1"))
    assert.deepInclude(failure, { reason: "unreachable", retry: "later", retryAfterSeconds: 240 })
    assert.include(failure.message, "tokenRefreshBreaker")
    assert.lengthOf(world.server.forms, 2)
    // The renewal after the pause fails, too: it rests again at once.
    yield* minutes(world, 9)
    assert.lengthOf(world.server.forms, 3)
    assert.deepInclude(yield* world.store.get("c-1"), { testStatus: "unknown", lastError: null })
    yield* minutes(world, 5)
    assert.lengthOf(world.server.forms, 4)
    assert.strictEqual(world.credentials.peek("c-1"), "canary-access-1")
  }))

  it.effect("an operator's renewal passes it", () => Effect.gen(function*() {
    const world = yield* sweeping([{ tokenExpiresAt: iso(2) }], rule())
    world.server.next.push(down, down)
    yield* minutes(world, 3)
    assert.strictEqual(Redacted.value((yield* world.credentials.renew("c-1")).value), "canary-access-1")
  }))

  it.effect("with scope provider one connection's failures spare the endpoint the others", () => Effect.gen(function*() {
    const two = [{ tokenExpiresAt: iso(3) }, { tokenExpiresAt: iso(20) }]
    for (const [scope, expected] of [["provider", 2], ["connection", 3]] as const) {
      const world = yield* sweeping(two, rule({ scope }))
      world.server.next.push(down, down)
      yield* minutes(world, 4)
      yield* Effect.exit(world.credentials.ahead("c-2"))
      assert.lengthOf(world.server.forms, expected, scope)
    }
  }))

  it.effect("a renewal that succeeds forgets the failures before it", () => Effect.gen(function*() {
    const world = yield* sweeping([{ tokenExpiresAt: iso(3) }], rule())
    for (const answers of [[down], [], [down], []]) {
      world.server.next.push(...answers)
      yield* Effect.exit(world.credentials.ahead("c-1"))
    }
    assert.lengthOf(world.server.forms, 4)
    assert.strictEqual(world.credentials.peek("c-1"), "canary-access-2")
  }))

  it("counts failures in a row: a success forgets them", () => {
    const breaker = new RefreshBreaker()
    const one: RefreshRule = { scope: "connection", failureThreshold: 2, cooldownMs: 60_000 }
    assert.isFalse(breaker.failed(one, "p", "c", 0))
    breaker.succeeded(one, "p", "c")
    assert.isFalse(breaker.failed(one, "p", "c", 1))
    assert.isNull(breaker.openUntil(one, "p", "c", 1))
    assert.isTrue(breaker.failed(one, "p", "c", 2))
    assert.strictEqual(breaker.openUntil(one, "p", "c", 60_001), 60_002)
    assert.isNull(breaker.openUntil(one, "p", "c", 60_002))
  })
})
