import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { AuditStore, KeyStore } from "#actors/ports/Stores.ts"
import * as Management from "#test/support/management.ts"
import { at } from "#test/support/management.ts"

const signedIn = (options: Management.Options = {}) => Effect.gen(function*() {
  const surface = yield* Management.make(options)
  const cookie = yield* surface.login()
  const create = (body: Readonly<Record<string, unknown>>) => surface.ask("/api/keys", { cookie, body: { name: "app", ...body } })
  const patch = (id: unknown, body: unknown) => surface.ask(`/api/keys/${String(id)}`, { method: "PATCH", cookie, body })
  /** Its id. */
  const connection = Effect.map(
    surface.ask("/api/providers", { cookie, body: { provider: "openai", name: "one", apiKey: "sk-openai-000000000000000000000" } }), (reply) => String(at(reply.json, "connection", "id"))
  )
  return { ...surface, connection, cookie, create, patch }
})
const fieldsOf = (reply: Management.Reply) =>
  ((at(reply.json, "error", "details") ?? []) as ReadonlyArray<{ field: string }>).map((detail) => detail.field)

describe("API keys", () => {
  it.effect("the raw value is shown once; afterwards only its first 8 and last 4 characters", () => Effect.gen(function*() {
    const { ask, context, cookie, create } = yield* signedIn()
    const created = yield* create({})
    assert.strictEqual(created.status, 201)
    const raw = String(at(created.json, "key"))
    assert.match(raw, /^sk-[A-Za-z0-9_-]{32}$/)
    assert.strictEqual(at(created.json, "machineId"), Management.MACHINE)
    assert.deepStrictEqual(at(created.json, "scopes"), ["self:usage"])
    const id = String(at(created.json, "id"))
    const one = yield* ask(`/api/keys/${id}`, { cookie })
    assert.strictEqual(at(one.json, "key"), `${raw.slice(0, 8)}****${raw.slice(-4)}`)
    assert.notInclude(one.text, raw)
    const list = yield* ask("/api/keys", { cookie })
    assert.deepInclude(list.json as object, { total: 1, allowKeyReveal: false })
    assert.notInclude(list.text, raw)
    const stored = yield* Context.get(context, KeyStore).get(id)
    assert.match(stored?.keyHash ?? "", /^[0-9a-f]{64}$/)
    assert.isNull(stored?.sealedKey)
  }))

  it.effect("lists newest first, in pages, with the total", () => Effect.gen(function*() {
    const { advance, ask, cookie, create } = yield* signedIn()
    for (const name of ["one", "two", "three"]) {
      yield* create({ name })
      yield* advance("1 second")
    }
    const page = yield* ask("/api/keys?limit=2&offset=1", { cookie })
    assert.deepStrictEqual((at(page.json, "keys") as ReadonlyArray<{ name: string }>).map((key) => key.name), ["two", "one"])
    assert.strictEqual(at(page.json, "total"), 3)
    const found = yield* ask("/api/keys?search=TW", { cookie })
    assert.deepStrictEqual((at(found.json, "keys") as ReadonlyArray<{ name: string }>).map((key) => key.name), ["two"])
    assert.strictEqual(at(found.json, "total"), 1)
  }))

  it.effect("allowedModels must be empty while modelAccessMode is all, and mean restricted when the mode is not said", () => Effect.gen(function*() {
    const { create, patch } = yield* signedIn()
    assert.deepStrictEqual(fieldsOf(yield* create({ modelAccessMode: "all", allowedModels: ["openai/*"] })), ["allowedModels"])
    const implied = yield* create({ allowedModels: ["openai/*"] })
    assert.strictEqual(at(implied.json, "modelAccessMode"), "restricted")
    const back = yield* patch(at(implied.json, "id"), { modelAccessMode: "all" })
    assert.deepStrictEqual(fieldsOf(back), ["allowedModels"])
    assert.strictEqual((yield* patch(at(implied.json, "id"), { modelAccessMode: "all", allowedModels: [] })).status, 200)
    assert.strictEqual((yield* create({ modelAccessMode: "restricted" })).status, 201)
  }))

  it.effect("scope lease:exclusive needs allowedConnections, at creation and through any later patch", () => Effect.gen(function*() {
    const { connection, create, patch } = yield* signedIn()
    const connections = [yield* connection]
    assert.deepStrictEqual(fieldsOf(yield* create({ scopes: ["lease:exclusive"] })), ["allowedConnections"])
    const leased = yield* create({ scopes: ["lease:exclusive"], allowedConnections: connections })
    assert.strictEqual(leased.status, 201)
    assert.deepStrictEqual(fieldsOf(yield* patch(at(leased.json, "id"), { allowedConnections: [] })), ["allowedConnections"])
    const plain = yield* create({})
    assert.deepStrictEqual(fieldsOf(yield* patch(at(plain.json, "id"), { scopes: ["lease:exclusive"] })), ["allowedConnections"])
  }))

  it.effect("preferredConnections are a subset of allowedConnections", () => Effect.gen(function*() {
    const { connection, create } = yield* signedIn()
    const [a, b] = [yield* connection, yield* connection]
    assert.deepStrictEqual(fieldsOf(yield* create({ allowedConnections: [a], preferredConnections: [a, b] })), ["preferredConnections.1"])
    assert.strictEqual((yield* create({ preferredConnections: [b] })).status, 201)
  }))

  it.effect("bounds and forms are checked, and named", () => Effect.gen(function*() {
    const { create } = yield* signedIn()
    const cases: ReadonlyArray<readonly [Readonly<Record<string, unknown>>, string]> = [
      [{ name: "" }, "name"], [{ throttleDelayMs: 300_001 }, "throttleDelayMs"], [{ maxSessions: 1.5 }, "maxSessions"],
      [{ ipAllowlist: ["10.0.0.0/33"] }, "ipAllowlist.0"], [{ dailyUsageLimitUsd: -1 }, "dailyUsageLimitUsd"],
      [{ expiresAt: "tomorrow" }, "expiresAt"], [{ cacheDefaultMode: "always" }, "cacheDefaultMode"],
      [{ scopes: Array.from({ length: 33 }, (_, i) => `s${i}`) }, "scopes"], [{ unknownField: 1 }, "unknownField"],
      [{ accessSchedule: { enabled: true, from: "09:00", until: "17:00", days: [1], tz: "Mars/Olympus" } }, "accessSchedule.tz"],
      [{ rateLimits: [{ limit: 0, window: 60 }] }, "rateLimits.0.limit"]
    ]
    for (const [body, field] of cases) {
      const reply = yield* create(body)
      assert.strictEqual(reply.status, 400, field)
      assert.deepStrictEqual(fieldsOf(reply), [field])
    }
  }))

  it.effect("a patch answers the changed fields; an unknown key 404; an empty patch 400", () => Effect.gen(function*() {
    const { create, patch } = yield* signedIn()
    const id = at((yield* create({})).json, "id")
    const reply = yield* patch(id, { isActive: false, expiresAt: "2030-01-01T00:00:00+02:00" })
    assert.deepStrictEqual(reply.json, { message: "Key updated", isActive: false, expiresAt: "2029-12-31T22:00:00.000Z" })
    const unknown = yield* patch("nobody", { isActive: false })
    assert.strictEqual(unknown.status, 404)
    assert.strictEqual(at(unknown.json, "error", "message"), "Key not found")
    assert.strictEqual((yield* patch(id, {})).status, 400)
  }))

  it.effect("a regenerated key has a new value and the old one is dead at once; so is a deleted one", () => Effect.gen(function*() {
    const { ask, cookie, create } = yield* signedIn()
    const created = yield* create({ scopes: ["manage"] })
    const id = String(at(created.json, "id"))
    const old = String(at(created.json, "key"))
    assert.strictEqual((yield* ask("/api/keys", { bearer: old })).status, 200)
    const again = yield* ask(`/api/keys/${id}/regenerate`, { method: "POST", cookie })
    assert.deepStrictEqual(Object.keys(again.json as object).sort(), ["id", "key"])
    const next = String(at(again.json, "key"))
    assert.strictEqual((yield* ask("/api/keys", { bearer: old })).status, 403)
    assert.strictEqual((yield* ask("/api/keys", { bearer: next })).status, 200)
    assert.strictEqual((yield* ask(`/api/keys/${id}`, { method: "DELETE", cookie })).status, 200)
    assert.strictEqual((yield* ask("/api/keys", { bearer: next })).status, 403)
    assert.strictEqual((yield* ask(`/api/keys/${id}`, { cookie })).status, 404)
  }))

  it.effect("a disabled, banned or expired management key opens nothing", () => Effect.gen(function*() {
    const { advance, ask, create, patch } = yield* signedIn()
    for (const change of [{ isActive: false }, { isBanned: true }, { ipAllowlist: ["192.0.2.0/24"] }]) {
      const created = yield* create({ scopes: ["manage"] })
      const bearer = String(at(created.json, "key"))
      assert.strictEqual((yield* ask("/api/keys", { bearer })).status, 200)
      yield* patch(at(created.json, "id"), change)
      assert.strictEqual((yield* ask("/api/keys", { bearer })).status, 403, JSON.stringify(change))
    }
    const expiring = yield* create({ scopes: ["manage"], expiresAt: "1970-01-01T01:00:00Z" })
    assert.strictEqual((yield* ask("/api/keys", { bearer: String(at(expiring.json, "key")) })).status, 200)
    yield* advance("2 hours")
    assert.strictEqual((yield* ask("/api/keys", { bearer: String(at(expiring.json, "key")) })).status, 403)
  }))

  it.effect("reveal: 403 while the flag is off, 404 for an unknown key, 410 for one made without it", () => Effect.gen(function*() {
    const off = yield* signedIn()
    const hidden = String(at((yield* off.create({})).json, "id"))
    assert.strictEqual((yield* off.ask(`/api/keys/${hidden}/reveal`, { cookie: off.cookie })).status, 403)
    const { ask, cookie } = off
    yield* ask("/api/settings/feature-flags", { method: "PUT", cookie, body: { key: "ALLOW_API_KEY_REVEAL", value: "true" } })
    const gone = yield* ask(`/api/keys/${hidden}/reveal`, { cookie })
    assert.strictEqual(gone.status, 410)
    assert.strictEqual(at(gone.json, "redacted"), true)
    assert.strictEqual((yield* ask("/api/keys/nobody/reveal", { cookie })).status, 404)
    const kept = yield* off.create({})
    const revealed = yield* ask(`/api/keys/${String(at(kept.json, "id"))}/reveal`, { cookie })
    assert.deepStrictEqual(revealed.json, { key: at(kept.json, "key") })
  }))

  it.effect("usage limits are read and set on their own route", () => Effect.gen(function*() {
    const { ask, cookie, create } = yield* signedIn()
    const id = String(at((yield* create({})).json, "id"))
    const set = yield* ask(`/api/keys/${id}/usage-limits`, { method: "PUT", cookie, body: { usageLimitEnabled: true, dailyUsageLimitUsd: 2.5 } })
    const expected = { usageLimitEnabled: true, dailyUsageLimitUsd: 2.5, weeklyUsageLimitUsd: null }
    assert.deepStrictEqual(set.json, expected)
    assert.deepStrictEqual((yield* ask(`/api/keys/${id}/usage-limits`, { cookie })).json, expected)
  }))

  it.effect("devices are what this process has seen, addresses masked", () => Effect.gen(function*() {
    const { ask, context, cookie, create } = yield* signedIn()
    const id = String(at((yield* create({})).json, "id"))
    const { KeyDevices } = yield* Effect.promise(() => import("#src/inference/ports/KeyDevices.ts"))
    const devices = Context.get(context, KeyDevices)
    devices.note(id, "203.0.113.77", "curl/8", 0)
    devices.note(id, "203.0.113.77", "curl/8", 1000)
    devices.note(id, "2001:db8:1:2::9", "openai-node", 2000)
    const reply = yield* ask(`/api/keys/${id}/devices`, { cookie })
    assert.deepStrictEqual(reply.json, {
      keyId: id, name: "app", count: 2, devices: [
        { ip: "2001:db8:***", userAgent: "openai-node", lastSeenAt: "1970-01-01T00:00:02.000Z" },
        { ip: "203.0.113.***", userAgent: "curl/8", lastSeenAt: "1970-01-01T00:00:01.000Z" }
      ]
    })
  }))

  it.effect("nobody mints or touches a key that carries more authority than the caller", () => Effect.gen(function*() {
    const { ask, cookie, create } = yield* signedIn()
    const admin = yield* create({ scopes: ["admin"] })
    const manage = String(at((yield* create({ scopes: ["manage"] })).json, "key"))
    const token = String(at((yield* ask("/api/cli/tokens", { cookie, body: { name: "w", scope: "write" } })).json, "token"))
    const adminId = String(at(admin.json, "id"))
    for (const bearer of [manage, token]) {
      assert.strictEqual((yield* ask("/api/keys", { bearer, body: { name: "k", scopes: ["admin"] } })).status, 403)
      assert.strictEqual((yield* ask(`/api/keys/${adminId}/regenerate`, { method: "POST", bearer })).status, 403)
      assert.strictEqual((yield* ask(`/api/keys/${adminId}`, { method: "DELETE", bearer })).status, 403)
      assert.strictEqual((yield* ask(`/api/keys/${adminId}`, { method: "PATCH", bearer, body: { isActive: false } })).status, 403)
      assert.strictEqual((yield* ask("/api/keys", { bearer, body: { name: "k" } })).status, 201)
    }
    assert.strictEqual((yield* ask("/api/keys", { bearer: token, body: { name: "k", scopes: ["manage"] } })).status, 403)
    assert.strictEqual((yield* ask("/api/keys", { bearer: manage, body: { name: "k", scopes: ["manage"] } })).status, 201)
  }))

  it.effect("every change is in the audit log, no value is", () => Effect.gen(function*() {
    const { ask, context, cookie, create, patch } = yield* signedIn()
    const created = yield* create({})
    const id = String(at(created.json, "id"))
    yield* patch(id, { noLog: true })
    const again = yield* ask(`/api/keys/${id}/regenerate`, { method: "POST", cookie })
    yield* ask(`/api/keys/${id}`, { method: "DELETE", cookie })
    const { entries } = yield* Context.get(context, AuditStore).query({ limit: 50, offset: 0, resourceType: "apikey" })
    assert.deepStrictEqual(entries.map((entry) => entry.action), ["apikey.deleted", "apikey.regenerated", "apikey.updated", "apikey.created"])
    assert.isTrue(entries.every((entry) => entry.target === id && entry.actor === "dashboard"))
    for (const raw of [at(created.json, "key"), at(again.json, "key")]) assert.notInclude(JSON.stringify(entries), String(raw))
  }))
})

describe("access tokens", () => {
  it.effect("connect exchanges the password for an admin token unless asked otherwise", () => Effect.gen(function*() {
    const { ask } = yield* Management.make()
    const reply = yield* ask("/api/cli/connect", { body: { password: Management.PASSWORD } })
    assert.strictEqual(at(reply.json, "scope"), "admin")
    assert.isNull(at(reply.json, "expiresAt"))
    const bearer = String(at(reply.json, "token"))
    assert.deepStrictEqual((yield* ask("/api/cli/whoami", { bearer })).json, { authenticated: true, scope: "admin", name: "command line" })
    assert.strictEqual((yield* ask("/api/cli/connect", { body: { password: "wrong-guess" } })).status, 401)
  }))

  it.effect("ends with its days, and at once when revoked; lists never show its value", () => Effect.gen(function*() {
    const { advance, ask, login } = yield* Management.make()
    const cookie = yield* login()
    const minted = yield* ask("/api/cli/tokens", { cookie, body: { name: "ci", scope: "read", expiresInDays: 1 } })
    const bearer = String(at(minted.json, "token"))
    assert.strictEqual((yield* ask("/api/keys", { bearer })).status, 200)
    const list = yield* ask("/api/cli/tokens", { cookie })
    assert.notInclude(list.text, bearer)
    assert.notInclude(list.text, "tokenHash")
    yield* advance("25 hours")
    assert.strictEqual((yield* ask("/api/keys", { bearer })).status, 403)
    const second = yield* ask("/api/cli/tokens", { cookie, body: { name: "ci" } })
    yield* ask(`/api/cli/tokens/${String(at(second.json, "id"))}`, { method: "DELETE", cookie })
    assert.strictEqual((yield* ask("/api/keys", { bearer: String(at(second.json, "token")) })).status, 403)
  }))
})
