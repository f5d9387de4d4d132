import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { decodeJwt, decodeProtectedHeader } from "jose"
import { AuditStore } from "#actors/ports/Stores.ts"
import * as Management from "#test/support/management.ts"
import { at } from "#test/support/management.ts"

const loopback = { from: "127.0.0.1", headers: { host: "localhost:20128" } }

describe("signing in (supplement 17)", () => {
  it.effect("the right password answers success and an HttpOnly, Lax, 30-day HS256 cookie", () => Effect.gen(function*() {
    const { ask, cookieOf } = yield* Management.make()
    const reply = yield* ask("/api/auth/login", { body: { password: Management.PASSWORD } })
    assert.strictEqual(reply.status, 200)
    assert.deepStrictEqual(reply.json, { success: true })
    const header = reply.headers.get("set-cookie") ?? ""
    for (const part of ["HttpOnly", "SameSite=Lax", "Path=/", "Max-Age=2592000"]) assert.include(header, part)
    assert.notInclude(header, "Secure")
    const token = cookieOf(reply)
    assert.strictEqual(decodeProtectedHeader(token).alg, "HS256")
    assert.strictEqual(decodeJwt(token)["authenticated"], true)
  }))

  it.effect("behind https the cookie is Secure", () => Effect.gen(function*() {
    const { ask } = yield* Management.make()
    const reply = yield* ask("/api/auth/login", { body: { password: Management.PASSWORD }, headers: { "x-forwarded-proto": "https" } })
    assert.include(reply.headers.get("set-cookie") ?? "", "Secure")
  }))

  it.effect("a wrong password answers 401 Invalid password, and is audited without it", () => Effect.gen(function*() {
    const { ask, context } = yield* Management.make()
    const reply = yield* ask("/api/auth/login", { body: { password: "wrong-guess" } })
    assert.strictEqual(reply.status, 401)
    assert.strictEqual(at(reply.json, "error", "message"), "Invalid password")
    const audit = yield* Context.get(context, AuditStore).query({ limit: 10, offset: 0 })
    assert.strictEqual(audit.entries[0]?.action, "auth.login.failed")
    assert.notInclude(JSON.stringify(audit), "wrong-guess")
  }))

  it.effect("without any password login answers 403 with needsSetup", () => Effect.gen(function*() {
    const { ask } = yield* Management.make({ password: null })
    const reply = yield* ask("/api/auth/login", { body: { password: "anything at all" } })
    assert.strictEqual(reply.status, 403)
    assert.strictEqual(at(reply.json, "needsSetup"), true)
  }))

  it.effect("INITIAL_PASSWORD signs in while no hash is stored", () => Effect.gen(function*() {
    const { ask } = yield* Management.make({ password: null, initialPassword: "from the environment" })
    assert.strictEqual((yield* ask("/api/auth/login", { body: { password: "from the environment" } })).status, 200)
    assert.strictEqual((yield* ask("/api/auth/login", { body: { password: "something else" } })).status, 401)
  }))

  it.effect("the flag GATEWAY_OIDC_DISABLE_PASSWORD_LOGIN answers 403", () => Effect.gen(function*() {
    const { ask } = yield* Management.make({ environment: { GATEWAY_OIDC_DISABLE_PASSWORD_LOGIN: "true" } })
    assert.strictEqual((yield* ask("/api/auth/login", { body: { password: Management.PASSWORD } })).status, 403)
  }))
})

describe("the session", () => {
  it.effect("opens management; a sign-out ends it on the server, not only in the browser", () => Effect.gen(function*() {
    const { ask, login } = yield* Management.make()
    const cookie = yield* login()
    assert.strictEqual((yield* ask("/api/keys", { cookie })).status, 200)
    const out = yield* ask("/api/auth/logout", { method: "POST", cookie })
    assert.strictEqual(out.status, 200)
    assert.match(out.headers.get("set-cookie") ?? "", /auth_token=;.*(Max-Age=0|Expires=Thu, 01 Jan 1970)/)
    assert.strictEqual((yield* ask("/api/keys", { cookie })).status, 401)
  }))

  it.effect("status says who is signed in", () => Effect.gen(function*() {
    const { ask, login } = yield* Management.make()
    const cookie = yield* login()
    assert.deepStrictEqual((yield* ask("/api/auth/status", { cookie })).json, {
      authenticated: true, method: "session", requireLogin: true, hasPassword: true, setupComplete: true
    })
    assert.strictEqual(at((yield* ask("/api/auth/status")).json, "authenticated"), false)
  }))

  it.effect("is renewed when less than seven days remain, and not before", () => Effect.gen(function*() {
    const { advance, ask, cookieOf, login } = yield* Management.make()
    const cookie = yield* login()
    yield* advance("22 days")
    assert.strictEqual(cookieOf(yield* ask("/api/keys", { cookie })), "")
    yield* advance("2 days")
    const renewed = cookieOf(yield* ask("/api/keys", { cookie }))
    assert.notStrictEqual(renewed, "")
    assert.notStrictEqual(renewed, cookie)
    yield* advance("10 days")
    assert.strictEqual((yield* ask("/api/keys", { cookie })).status, 401)
    assert.strictEqual((yield* ask("/api/keys", { cookie: renewed })).status, 200)
  }))

  it.effect("ends after 30 days", () => Effect.gen(function*() {
    const { advance, ask, login } = yield* Management.make()
    const cookie = yield* login()
    yield* advance("30 days")
    assert.strictEqual((yield* ask("/api/keys", { cookie })).status, 401)
  }))

  it.effect("a forged, unsigned or foreign token is nobody", () => Effect.gen(function*() {
    const { ask, login } = yield* Management.make()
    const cookie = yield* login()
    const [head, body] = cookie.split(".") as [string, string]
    const none = `${Buffer.from("{\"alg\":\"none\"}").toString("base64url")}.${body}.`
    for (const forged of [`${head}.${body}.AAAA`, none, "x.y.z", "", "a".repeat(5000)]) {
      assert.strictEqual((yield* ask("/api/keys", { cookie: forged })).status, 401)
    }
  }))
})

describe("brute force (supplement 17)", () => {
  const guess = { body: { password: "wrong-guess" } }

  it.effect("five failures in 15 minutes lock the address for 15 minutes: 429 with Retry-After, also for the right password", () =>
    Effect.gen(function*() {
      const { advance, ask, context } = yield* Management.make()
      for (let i = 0; i < 5; i++) assert.strictEqual((yield* ask("/api/auth/login", guess)).status, 401)
      const locked = yield* ask("/api/auth/login", { body: { password: Management.PASSWORD } })
      assert.strictEqual(locked.status, 429)
      assert.strictEqual(locked.headers.get("retry-after"), "900")
      assert.strictEqual((yield* ask("/api/auth/login", { body: { password: Management.PASSWORD }, from: "198.51.100.1" })).status, 200)
      yield* ask("/api/auth/login", guess)
      const audit = yield* Context.get(context, AuditStore).query({ limit: 50, offset: 0, action: "auth.login.locked" })
      assert.strictEqual(audit.total, 1)
      yield* advance("15 minutes")
      assert.strictEqual((yield* ask("/api/auth/login", { body: { password: Management.PASSWORD } })).status, 200)
    }))

  it.effect("failures further apart than the window do not add up; a success forgets them", () => Effect.gen(function*() {
    const { advance, ask } = yield* Management.make()
    for (let i = 0; i < 4; i++) yield* ask("/api/auth/login", guess)
    yield* advance("16 minutes")
    assert.strictEqual((yield* ask("/api/auth/login", guess)).status, 401)
    for (let i = 0; i < 3; i++) yield* ask("/api/auth/login", guess)
    assert.strictEqual((yield* ask("/api/auth/login", { body: { password: Management.PASSWORD } })).status, 200)
    assert.strictEqual((yield* ask("/api/auth/login", guess)).status, 401)
  }))

  it.effect("of many guesses at once only five are looked at", () => Effect.gen(function*() {
    const { ask } = yield* Management.make()
    const replies = yield* Effect.forEach(Array.from({ length: 20 }), () => ask("/api/auth/login", guess), { concurrency: "unbounded" })
    assert.strictEqual(replies.filter((reply) => reply.status === 401).length, 5)
    assert.strictEqual(replies.filter((reply) => reply.status === 429).length, 15)
  }))

  it.effect("guards /api/cli/connect with the same count", () => Effect.gen(function*() {
    const { ask } = yield* Management.make()
    for (let i = 0; i < 5; i++) yield* ask("/api/cli/connect", guess)
    assert.strictEqual((yield* ask("/api/auth/login", { body: { password: Management.PASSWORD } })).status, 429)
  }))

  it.effect("settings.bruteForceProtection off lets everybody try", () => Effect.gen(function*() {
    const { ask } = yield* Management.make({ settings: { bruteForceProtection: false } })
    for (let i = 0; i < 7; i++) assert.strictEqual((yield* ask("/api/auth/login", guess)).status, 401)
  }))
})

describe("requests from other origins", () => {
  it.effect("a mutating cookie request needs our own Origin, else 403 AUTH_CSRF", () => Effect.gen(function*() {
    const { ask, login } = yield* Management.make()
    const cookie = yield* login()
    const create = (headers: Readonly<Record<string, string>>) => ask("/api/keys", { cookie, headers, body: { name: "k" } })
    for (const origin of ["https://evil.test", "null", "http://gateway.test.evil.test", "not a url"]) {
      const refused = yield* create({ origin })
      assert.strictEqual(refused.status, 403, origin)
      assert.strictEqual(at(refused.json, "error", "code"), "AUTH_CSRF")
    }
    assert.strictEqual((yield* create({ referer: "https://evil.test/page" })).status, 403)
    assert.strictEqual((yield* create({ "sec-fetch-site": "cross-site" })).status, 403)
    assert.strictEqual((yield* create({ origin: "http://gateway.test" })).status, 201)
    assert.strictEqual((yield* create({ origin: "https://gateway.test" })).status, 201)
    assert.strictEqual((yield* create({ referer: "https://gateway.test/keys" })).status, 201)
    assert.strictEqual((yield* create({})).status, 201)
  }))

  it.effect("reading is not a mutation, and a Bearer is no ambient authority", () => Effect.gen(function*() {
    const { ask, key, login } = yield* Management.make()
    const cookie = yield* login()
    assert.strictEqual((yield* ask("/api/keys", { cookie, headers: { origin: "https://evil.test" } })).status, 200)
    const manage = yield* key(["manage"])
    assert.strictEqual((yield* ask("/api/keys", { bearer: manage.raw, headers: { origin: "https://evil.test" }, body: { name: "k" } })).status, 201)
  }))

  it.effect("open management does not take orders from other pages", () => Effect.gen(function*() {
    const { ask } = yield* Management.make({ settings: { requireLogin: false } })
    assert.strictEqual((yield* ask("/api/keys", { headers: { origin: "https://evil.test" }, body: { name: "k" } })).status, 403)
    assert.strictEqual((yield* ask("/api/keys", { body: { name: "k" } })).status, 201)
  }))
})

describe("the first password", () => {
  const first = { body: { password: "a brand new one" } }

  it.effect("is set from loopback only, while none exists", () => Effect.gen(function*() {
    const { ask } = yield* Management.make({ password: null })
    assert.strictEqual((yield* ask("/api/settings/require-login", first)).status, 401)
    assert.strictEqual((yield* ask("/api/settings/require-login", { ...first, ...loopback, headers: { ...loopback.headers, "x-forwarded-for": "203.0.113.9" } })).status, 401)
    assert.strictEqual((yield* ask("/api/settings/require-login", { ...first, from: "127.0.0.1", headers: { host: "rebound.evil.test" } })).status, 401)
    assert.strictEqual((yield* ask("/api/settings/require-login", { ...first, ...loopback, headers: { ...loopback.headers, origin: "https://evil.test" } })).status, 403)
    const set = yield* ask("/api/settings/require-login", { ...first, ...loopback })
    assert.strictEqual(set.status, 200)
    assert.deepStrictEqual(set.json, { requireLogin: true, hasPassword: true, setupComplete: true })
    assert.strictEqual((yield* ask("/api/settings/require-login", { body: { password: "another one 123" }, ...loopback })).status, 401)
    assert.strictEqual((yield* ask("/api/auth/login", first)).status, 200)
  }))

  it.effect("must come with the first call, and has at least eight characters", () => Effect.gen(function*() {
    const { ask } = yield* Management.make({ password: null })
    assert.strictEqual((yield* ask("/api/settings/require-login", { method: "PUT", body: { requireLogin: false }, ...loopback })).status, 400)
    const short = yield* ask("/api/settings/require-login", { body: { password: "1234567" }, ...loopback })
    assert.strictEqual(short.status, 400)
    assert.strictEqual(at(short.json, "error", "details", 0, "field"), "password")
  }))

  it.effect("an existing one is replaced by who knows it", () => Effect.gen(function*() {
    const { ask, login } = yield* Management.make()
    const cookie = yield* login()
    const put = (body: unknown) => ask("/api/settings/require-login", { method: "PUT", cookie, body })
    assert.strictEqual((yield* put({ password: "a brand new one" })).status, 400)
    assert.strictEqual((yield* put({ password: "a brand new one", currentPassword: "no" })).status, 401)
    assert.strictEqual((yield* put({ password: "a brand new one", currentPassword: Management.PASSWORD })).status, 200)
    assert.strictEqual((yield* ask("/api/auth/login", { body: { password: "a brand new one" } })).status, 200)
  }))

  it.effect("requireLogin off opens management except what is always protected", () => Effect.gen(function*() {
    const { ask, dials, login } = yield* Management.make()
    const cookie = yield* login()
    assert.strictEqual((yield* ask("/api/settings/require-login", { method: "PUT", cookie, body: { requireLogin: false } })).status, 200)
    assert.strictEqual((yield* ask("/api/keys")).status, 200)
    assert.strictEqual((yield* ask("/api/shutdown", { method: "POST" })).status, 401)
    assert.deepStrictEqual(dials.stops, [])
    assert.strictEqual((yield* ask("/api/shutdown", { method: "POST", cookie })).status, 200)
    assert.deepStrictEqual(dials.stops, ["shutdown"])
  }))
})
