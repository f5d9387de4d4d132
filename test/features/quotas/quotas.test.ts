import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/testing/TestClock"
import { Configuration } from "#actors/ports/Configuration.ts"
import { ConnectionStore } from "#actors/ports/Stores.ts"
import type { Connection } from "#schemas/records/Connection.ts"
import { due } from "#src/features/providers/ConnectionSweep.ts"
import * as Registry from "#src/providers/Registry.ts"
import * as HttpUpstream from "#src/platform/upstream/HttpUpstream.ts"
import { acme, environment, signedIn, START, untilTrue } from "#test/features/oauth/support.ts"
import * as Management from "#test/support/management.ts"
import { at } from "#test/support/management.ts"
import * as OAuthServer from "#test/support/oauthServer.ts"
import { connection } from "#test/suites/records.ts"

const iso = (minutes: number): string => new Date(START + minutes * 60_000).toISOString()

/** The management surface over these connections, with a token endpoint of its own. */
const surface = (connections: ReadonlyArray<Partial<Connection>>, more: Management.Options = {}) => Effect.gen(function*() {
  yield* TestClock.setTime(START)
  const server = yield* Effect.acquireRelease(Effect.promise(() => OAuthServer.start()), (one) => Effect.promise(one.close))
  const made = yield* Management.make({ environment, registry: Registry.make([acme(server)]), upstream: HttpUpstream.layer({ keepAliveMs: 1 }), ...more })
  const cookie = yield* made.login()
  const store = Context.get(made.context, ConnectionStore)
  yield* Effect.forEach(connections, (fields, index) => store.insert(fields.authType === "apikey"
    ? connection({ id: `c-${index + 1}`, name: `n-${index + 1}`, ...fields })
    : signedIn(server, { id: `c-${index + 1}`, name: `n-${index + 1}`, ...fields })))
  yield* Context.get(made.context, Configuration).reload
  const patch = (path: string, body: unknown) => made.ask(path, { method: "PATCH", cookie, body })
  return { ...made, patch, server, store, get: (path: string) => Effect.map(made.ask(path, { cookie }), (reply) => reply.json) }
})

const statuses = (json: unknown) => Object.fromEntries(
  (at(json, "providers") as ReadonlyArray<{ readonly connectionId: string; readonly tokenStatus: string }>).map((row) => [row.connectionId, row.tokenStatus])
)

describe("token status in the quota view", () => {
  it.effect("is valid, expiring from 15 minutes on, expired, or refreshing", () => Effect.gen(function*() {
    const { get, server, advance } = yield* surface([
      { tokenExpiresAt: iso(16) }, { tokenExpiresAt: iso(15) }, { tokenExpiresAt: iso(-1), isActive: false }, { testStatus: "expired", tokenExpiresAt: iso(60) },
      { authType: "apikey" }, { tokenExpiresAt: iso(1) }
    ])
    const release = server.hold()
    yield* advance("60 seconds")
    yield* untilTrue(() => server.forms.length > 0)
    assert.deepStrictEqual(statuses(yield* get("/api/usage/quota")), {
      "c-1": "expiring", "c-2": "expiring", "c-3": "expired", "c-4": "expired", "c-5": "valid", "c-6": "refreshing"
    })
    release()
  }))
})

describe("GET /api/usage/{connectionId}", () => {
  it.effect("says when nothing is known; an unknown connection is 404", () => Effect.gen(function*() {
    const { get } = yield* surface([{ providerSpecificData: { plan: "max" } }])
    assert.deepStrictEqual(yield* get("/api/usage/c-1"), { plan: "max", quotas: {}, message: "No quota data for this connection" })
    assert.strictEqual(at(yield* get("/api/usage/nobody"), "error", "message"), "Connection not found")
  }))
})

describe("GET /api/token-health", () => {
  it.effect("counts the active signed-in connections: healthy, about to end or failing, and over", () => Effect.gen(function*() {
    const { get, advance } = yield* surface([
      { tokenExpiresAt: iso(60) }, { tokenExpiresAt: iso(10) }, { tokenExpiresAt: iso(60), lastErrorSource: "oauth", lastError: "x" },
      { testStatus: "expired" }, { tokenExpiresAt: iso(-5), isActive: false }, { authType: "apikey" }
    ])
    assert.deepStrictEqual(yield* get("/api/token-health"), { total: 4, healthy: 1, errored: 1, warning: 2, lastCheckAt: null, status: "error" })
    yield* advance("60 seconds")
    yield* Effect.yieldNow
    assert.strictEqual(at(yield* get("/api/token-health"), "lastCheckAt"), iso(1))
  }))

  it.effect("is healthy without any, and says when the check is switched off", () => Effect.gen(function*() {
    const well = yield* surface([])
    assert.deepStrictEqual(yield* well.get("/api/token-health"), { total: 0, healthy: 0, errored: 0, warning: 0, lastCheckAt: null, status: "healthy" })
    const off = yield* surface([{ tokenExpiresAt: iso(60) }], { environment: { ...environment, GATEWAY_DISABLE_TOKEN_HEALTHCHECK: "true" } })
    assert.deepInclude(yield* off.get("/api/token-health"), { total: 1, healthy: 1, status: "disabled" })
  }))
})

describe("credentialHealthCheck", () => {
  const every = (intervalMinutes: number) => ({ settings: { resilience: { credentialHealthCheck: { intervalMinutes } } } })
  const keyed: ReadonlyArray<Partial<Connection>> = [
    { authType: "apikey" }, { authType: "apikey", isActive: false }, { authType: "apikey", testStatus: "banned" }, { authType: "apikey", lastTested: iso(-5) }
  ]

  it.effect("is off until an interval is set, and again when it is taken away", () => Effect.gen(function*() {
    const { advance, dials, patch } = yield* surface(keyed)
    yield* advance("10 minutes")
    assert.lengthOf(dials.probed, 0)
    yield* patch("/api/resilience", { credentialHealthCheck: { intervalMinutes: 1 } })
    yield* advance("60 seconds")
    assert.lengthOf(dials.probed, 2)
    yield* patch("/api/resilience", { credentialHealthCheck: { intervalMinutes: 0 } })
    yield* advance("10 minutes")
    assert.lengthOf(dials.probed, 2)
  }))

  it.effect("tests what may be used once per interval, and records the outcome", () => Effect.gen(function*() {
    const { advance, dials, store } = yield* surface(keyed, every(10))
    dials.probe = () => ({ ...Management.probeOk, valid: false, statusCode: 401, diagnosis: { type: "upstream_auth_error", source: "upstream", code: "401", message: "no" } })
    yield* advance("60 seconds")
    assert.lengthOf(dials.probed, 1)
    assert.deepInclude(yield* store.get("c-1"), { testStatus: "error", lastTested: iso(1), lastErrorType: "upstream_auth_error" })
    dials.probe = () => Management.probeOk
    for (let i = 0; i < 4; i++) yield* advance("60 seconds")
    assert.lengthOf(dials.probed, 2)
    for (let i = 0; i < 6; i++) yield* advance("60 seconds")
    assert.lengthOf(dials.probed, 3)
    assert.deepInclude(yield* store.get("c-1"), { testStatus: "active", lastError: null, lastTested: iso(11) })
    assert.strictEqual((yield* store.get("c-3"))?.testStatus, "banned")
  }))

  it.effect("stops with the background services", () => Effect.gen(function*() {
    const { advance, dials } = yield* surface(keyed, { ...every(1), environment: { ...environment, GATEWAY_DISABLE_BACKGROUND_SERVICES: "true" } })
    yield* advance("10 minutes")
    assert.lengthOf(dials.probed, 0)
  }))

  it("takes those that were tested longest ago first, a bounded number per round", () => {
    const many = Array.from({ length: 150 }, (_, index) => connection({ id: `c-${index}`, lastTested: index === 120 ? null : iso(-1_000 + index) }))
    const turn = due(many, 5, START)
    assert.deepStrictEqual([turn.length, turn[0]?.id, turn[1]?.id], [100, "c-120", "c-0"])
    assert.deepStrictEqual(due(many, 0, START), [])
  })
})

