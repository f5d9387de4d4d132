import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import { decodeJwt, decodeProtectedHeader } from "jose"
import { Configuration } from "#actors/ports/Configuration.ts"
import { AuditStore, DocumentStore, SessionStore } from "#actors/ports/Stores.ts"
import * as Management from "#test/support/management.ts"
import { at } from "#test/support/management.ts"

const loopback = { from: "127.0.0.1", headers: { host: "localhost:20128" } }

describe("signing in", () => {
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

  it.effect("the password cannot be switched off while nothing else signs anybody in", () => Effect.gen(function*() {
    const { ask, context, login } = yield* Management.make()
    const cookie = yield* login()
    const key = "GATEWAY_OIDC_DISABLE_PASSWORD_LOGIN"
    const set = (value: string) => ask("/api/settings/feature-flags", { method: "PUT", cookie, body: { key, value } })
    const refused = yield* set("true")
    assert.strictEqual(refused.status, 400)
    assert.include(String(at(refused.json, "error", "details", 0, "message")), "Single sign-on is not configured")
    assert.strictEqual((yield* set("false")).status, 200)
    // One that is stored all the same, by a restored database for example, locks nobody out.
    yield* Context.get(context, Configuration).commit(Context.get(context, DocumentStore).put("flag", key, "true"))
    assert.strictEqual((yield* ask("/api/auth/login", { body: { password: Management.PASSWORD } })).status, 200)
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
      authenticated: true, method: "session", singleSignOn: false, passwordLogin: true, requireLogin: true, hasPassword: true, setupComplete: true
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

describe("brute force", () => {
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

  it.effect("open management does not take orders from other pages, and shows them nothing", () => Effect.gen(function*() {
    const { ask } = yield* Management.make({ settings: { requireLogin: false } })
    const webhook = { url: "https://hooks.test/a", events: ["request.completed"] }
    for (const headers of [{ origin: "https://evil.test" }, { origin: "null" }, { "sec-fetch-site": "cross-site" }, { "sec-fetch-site": "same-site" }] as ReadonlyArray<Record<string, string>>) {
      assert.strictEqual(at((yield* ask("/api/webhooks", { headers, body: webhook })).json, "error", "code"), "AUTH_CSRF")
      assert.strictEqual(at((yield* ask("/api/webhooks", { headers })).json, "error", "code"), "AUTH_CSRF")
    }
    assert.strictEqual((yield* ask("/api/webhooks", { headers: { "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate" } })).status, 200)
    assert.strictEqual((yield* ask("/api/webhooks", { headers: { origin: `http://${Management.HOST}` }, body: webhook })).status, 201)
  }))

  it.effect("open management mints, widens and shows no credential, and changes no authentication setting, for any origin", () => Effect.gen(function*() {
    const { ask, context, login } = yield* Management.make({ environment: { ALLOW_API_KEY_REVEAL: "true" } })
    const cookie = yield* login()
    const { id } = (yield* ask("/api/keys", { cookie, body: { name: "k" } })).json as { readonly id: string }
    yield* ask("/api/settings", { method: "PATCH", cookie, body: { requireLogin: false } })
    const calls = [
      ["POST", "/api/keys", { name: "mine", scopes: ["admin"] }], ["PATCH", `/api/keys/${id}`, { scopes: ["admin"] }], ["POST", `/api/keys/${id}/regenerate`, undefined],
      ["GET", `/api/keys/${id}/reveal`, undefined], ["POST", "/api/cli/tokens", { name: "mine" }], ["GET", "/api/cli/tokens", undefined],
      ["POST", "/api/v1/registered-keys", { name: "mine" }], ["PUT", "/api/settings/feature-flags", { key: "ALLOW_API_KEY_REVEAL", value: "true" }],
      ["GET", "/api/settings/feature-flags", undefined], ["PUT", "/api/settings/require-login", { requireLogin: true }],
      ["PATCH", "/api/settings", { corsOrigins: "https://evil.test" }], ["PATCH", "/api/settings", { newPassword: "a brand new one", currentPassword: Management.PASSWORD }]
    ] as const
    for (const [method, path, body] of calls) {
      for (const headers of [{}, { origin: `http://${Management.HOST}` }] as ReadonlyArray<Record<string, string>>) {
        const reply = yield* ask(path, { method, headers, body })
        assert.include([401, 403], reply.status, `${method} ${path}: ${reply.text}`)
      }
    }
    assert.strictEqual((yield* ask("/api/webhooks")).status, 200)
    assert.strictEqual((yield* ask("/api/keys", { cookie, body: { name: "with a session" } })).status, 201)
    const { entries } = yield* Context.get(context, AuditStore).query({ limit: 50, offset: 0, actor: "anonymous" })
    assert.deepStrictEqual(entries.map(({ action }) => action), ["auth.login.success"])
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
    assert.strictEqual((yield* ask("/api/keys", { body: { name: "k" } })).status, 401)
    assert.strictEqual((yield* ask("/api/shutdown", { method: "POST" })).status, 401)
    assert.deepStrictEqual(dials.stops, [])
    assert.strictEqual((yield* ask("/api/shutdown", { method: "POST", cookie })).status, 200)
    assert.deepStrictEqual(dials.stops, ["shutdown"])
  }))
})

describe("a changed password", () => {
  const next = "a brand new one"
  const change = (more: Readonly<Record<string, unknown>> = {}) => ({ currentPassword: Management.PASSWORD, ...more })
  /** A gateway with three sessions, and one token of each way to get one. */
  const peopled = Effect.gen(function*() {
    const surface = yield* Management.make()
    const [own, other] = [yield* surface.login(), yield* surface.login()]
    const admin = yield* surface.key(["admin"])
    const mint = (path: string, request: object) => Effect.map(surface.ask(path, request), ({ json }) => String(at(json, "token")))
    const connected = yield* mint("/api/cli/connect", { body: { password: Management.PASSWORD, name: "connected" } })
    const tokens = {
      connected,
      session: yield* mint("/api/cli/tokens", { cookie: own, body: { name: "session", scope: "admin" } }),
      descendant: yield* mint("/api/cli/tokens", { bearer: connected, body: { name: "descendant" } }),
      key: yield* mint("/api/cli/tokens", { bearer: admin.raw, body: { name: "key" } })
    }
    const works = (credential: object) => Effect.map(surface.ask("/api/webhooks", credential), ({ status }) => status === 200)
    return { ...surface, own, other, tokens, works }
  })

  it.effect("ends every other session and revokes what it had minted; the reply counts both", () => Effect.gen(function*() {
    const { ask, other, own, tokens, works } = yield* peopled
    const reply = yield* ask("/api/settings/require-login", { method: "PUT", cookie: own, body: change({ password: next }) })
    assert.deepStrictEqual(at(reply.json, "passwordChange"), { sessionsEnded: 2, tokensRevoked: 3, tokensKept: 0 })
    assert.deepStrictEqual([yield* works({ cookie: own }), yield* works({ cookie: other })], [true, false])
    for (const [name, stays] of [["connected", false], ["session", false], ["descendant", false], ["key", true]] as const) {
      assert.strictEqual(yield* works({ bearer: tokens[name] }), stays, name)
    }
  }))

  it.effect("keeps the tokens when asked, counts them and says how to revoke them; the same over the settings", () => Effect.gen(function*() {
    const { ask, context, other, own, tokens, works } = yield* peopled
    const reply = yield* ask("/api/settings", { method: "PATCH", cookie: own, body: change({ newPassword: next, keepTokens: true }) })
    assert.deepInclude(at(reply.json, "passwordChange"), { sessionsEnded: 2, tokensRevoked: 0, tokensKept: 3 })
    assert.include(String(at(reply.json, "passwordChange", "revokeTokens")), "DELETE /api/cli/tokens/{id}")
    assert.isFalse(yield* works({ cookie: other }))
    for (const token of Object.values(tokens)) assert.isTrue(yield* works({ bearer: token }))
    const listed = (yield* ask("/api/cli/tokens", { cookie: own })).json as { tokens: ReadonlyArray<{ name: string; byPassword: boolean }> }
    assert.deepStrictEqual(listed.tokens.filter((token) => !token.byPassword).map(({ name }) => name), ["key"])
    const { entries } = yield* Context.get(context, AuditStore).query({ limit: 1, offset: 0, action: "auth.password.changed" })
    assert.deepInclude(entries[0]?.details, { sessionCount: 2, keptTokenCount: 3 })
  }))

  it.effect("by a token ends every session and keeps that token", () => Effect.gen(function*() {
    const { ask, other, own, tokens, works } = yield* peopled
    const reply = yield* ask("/api/settings/require-login", { method: "PUT", bearer: tokens.session, body: change({ password: next }) })
    assert.deepInclude(at(reply.json, "passwordChange"), { sessionsEnded: 3, tokensRevoked: 2, tokensKept: 1 })
    assert.deepStrictEqual([yield* works({ cookie: own }), yield* works({ cookie: other }), yield* works({ bearer: tokens.session })], [false, false, true])
  }))

  it.effect("refused for a wrong one, nothing ends", () => Effect.gen(function*() {
    const { ask, other, own, works } = yield* peopled
    assert.strictEqual((yield* ask("/api/settings", { method: "PATCH", cookie: own, body: { newPassword: next, currentPassword: "no" } })).status, 401)
    assert.isTrue(yield* works({ cookie: other }))
  }))

  it.effect("lets nobody in who was verified against the old one", () => Effect.gen(function*() {
    const { ask, context, own } = yield* peopled
    const documents = Context.get(context, DocumentStore)
    const sessions = Context.get(context, SessionStore)
    // The change lands between the check of the password and the session that it opens.
    const opened = yield* Deferred.make<void>()
    const insert = sessions.insert
    Object.assign(sessions, { insert: (session: Parameters<typeof insert>[0]) => Effect.gen(function*() {
      yield* insert(session)
      yield* documents.put("password", "management", "another hash")
      yield* Deferred.succeed(opened, undefined)
    }) })
    const late = yield* ask("/api/auth/login", { body: { password: Management.PASSWORD } })
    yield* Deferred.await(opened)
    assert.deepStrictEqual([late.status, late.headers.get("set-cookie")], [401, null])
    assert.strictEqual((yield* ask("/api/webhooks", { cookie: own })).status, 200)
  }))
})
