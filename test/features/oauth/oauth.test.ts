import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as TestClock from "effect/testing/TestClock"
import { Configuration } from "#actors/ports/Configuration.ts"
import { AuditStore, ConnectionStore } from "#actors/ports/Stores.ts"
import * as Registry from "#src/providers/Registry.ts"
import * as HttpUpstream from "#src/platform/upstream/HttpUpstream.ts"
import { acme, environment, START } from "./support.ts"
import * as Management from "#test/support/management.ts"
import { at } from "#test/support/management.ts"
import * as OAuthServer from "#test/support/oauthServer.ts"

const surface = Effect.fnUntraced(function*(options: Management.Options = {}) {
  yield* TestClock.setTime(START)
  const server = yield* Effect.acquireRelease(Effect.promise(() => OAuthServer.start()), (one) => Effect.promise(one.close))
  server.clock = () => START / 1000
  const made = yield* Management.make({
    environment, registry: Registry.make([acme(server), acme(server, { id: "other", alias: "ot" }), ...Registry.builtin.all]),
    upstream: HttpUpstream.layer({ keepAliveMs: 1 }), ...options
  })
  const cookie = yield* made.login()
  const post = (path: string, body: unknown = {}) => made.ask(path, { method: "POST", cookie, body })
  const ask = (path: string, asked: Management.Ask = {}) => made.ask(path, { cookie, ...asked })
  const store = Context.get(made.context, ConnectionStore)
  const start = (body: unknown = {}) => Effect.map(post("/api/oauth/acme/start", body), (reply) => ({
    reply, state: String(at(reply.json, "state")), url: String(at(reply.json, "authorizeUrl"))
  }))
  return { ...made, ask, anonymous: made.ask, cookie, post, server, start, store }
})

const codeOf = (reply: Management.Reply) => at(reply.json, "error", "code")
const back = (url: URL) => url.pathname + url.search
const open = (secret: Redacted.Redacted<string> | null | undefined) => secret === null || secret === undefined ? null : Redacted.value(secret)

describe("signing in by authorization code", () => {
  it.effect("start, consent, callback: a connection with sealed tokens, none of them in a reply", () => Effect.gen(function*() {
    const { ask, context, cookie, server, start, store } = yield* surface()
    const begun = yield* start({ name: "Mine", providerSpecificData: { project: "p-1" } })
    assert.deepInclude(begun.reply.json, { configured: true, flow: "authorization-code", redirectUri: server.redirectUri })
    const asked = new URL(begun.url)
    assert.deepInclude(Object.fromEntries(asked.searchParams), { audience: "models", prompt: "consent", scope: "models offline", code_challenge_method: "S256" })
    assert.notInclude(begun.reply.text, OAuthServer.CLIENT_SECRET)
    const done = yield* ask(back(server.consent(begun.url)))
    assert.strictEqual(done.status, 200)
    assert.notInclude(done.text, "canary")
    const id = String(at(done.json, "connectionId"))
    const stored = yield* store.get(id)
    assert.deepInclude(stored, {
      provider: "acme", authType: "oauth", name: "Mine", email: "user@acme.example", displayName: "A User", testStatus: "active", scope: "models",
      expiresIn: 3600, tokenExpiresAt: new Date(START + 3_600_000).toISOString(), apiKey: null
    })
    assert.strictEqual(open(stored?.accessToken), "canary-access-1")
    assert.deepStrictEqual(stored?.providerSpecificData, { project: "p-1" })
    const shown = yield* ask(`/api/providers/${id}`, { cookie })
    assert.deepInclude(at(shown.json, "connection"), { hasAccessToken: true, hasRefreshToken: true })
    assert.notInclude(shown.text, "canary")
    const { entries } = yield* Context.get(context, AuditStore).query({ limit: 10, offset: 0 })
    assert.include(entries.map((entry) => entry.action), "provider.credentials.created")
    assert.notInclude(JSON.stringify(entries), "canary")
  }))

  it.effect("a state is good once, for its own provider, and for ten minutes", () => Effect.gen(function*() {
    const { ask, server, start, store } = yield* surface()
    const first = yield* start()
    const url = server.consent(first.url)
    const foreign = yield* ask(back(url).replace("/acme/", "/other/"))
    assert.strictEqual(codeOf(foreign), "oauth_state_invalid")
    assert.strictEqual((yield* ask(back(url))).status, 200)
    const again = yield* ask(back(server.consent(first.url)))
    assert.strictEqual(again.status, 400)
    assert.strictEqual(codeOf(again), "oauth_state_invalid")
    assert.strictEqual(codeOf(yield* ask("/api/oauth/acme/callback?code=x&state=never-given-never-given")), "oauth_state_invalid")
    const late = yield* start()
    yield* TestClock.adjust("11 minutes")
    const expired = yield* ask(back(server.consent(late.url)))
    assert.deepStrictEqual([expired.status, codeOf(expired)], [410, "oauth_expired"])
    assert.lengthOf(yield* store.list, 1)
  }))

  it.effect("a code that was issued for another verifier is refused (PKCE), and the state is used up", () => Effect.gen(function*() {
    const { ask, server, start, store } = yield* surface()
    const mine = yield* start()
    const theirs = yield* start()
    const mixed = server.consent(theirs.url)
    mixed.searchParams.set("state", mine.state)
    const reply = yield* ask(back(mixed))
    assert.deepStrictEqual([reply.status, codeOf(reply)], [400, "oauth_refused"])
    assert.notInclude(reply.text, "canary")
    assert.strictEqual(codeOf(yield* ask(back(server.consent(mine.url)))), "oauth_state_invalid")
    assert.lengthOf(yield* store.list, 0)
  }))

  it.effect("what the user or the vendor refuses is an error; nothing is reflected, nothing redirects", () => Effect.gen(function*() {
    const { ask, start } = yield* surface()
    const denied = yield* start()
    const reply = yield* ask(`/api/oauth/acme/callback?error=access_denied&error_description=%3Cscript%3E&state=${denied.state}&redirect_uri=https://evil.example`)
    assert.deepStrictEqual([reply.status, codeOf(reply)], [400, "oauth_denied"])
    assert.notInclude(reply.text, "script")
    assert.isNull(reply.headers.get("location"))
    assert.strictEqual((yield* ask("/api/oauth/acme/callback?code=x")).status, 400)
    assert.strictEqual((yield* ask(`/api/oauth/acme/callback?state=${denied.state}`)).status, 400)
  }))

  it.effect("a pasted code finishes as well; a sign-in for a known connection renews it and clears status expired", () => Effect.gen(function*() {
    const { context, post, server, start, store } = yield* surface()
    const first = yield* start()
    const done = yield* post("/api/oauth/acme/exchange", { state: first.state, code: server.consent(first.url).searchParams.get("code") })
    const connectionId = String(at(done.json, "connectionId"))
    yield* store.patch(connectionId, { testStatus: "expired", lastError: "old", priority: 7 })
    const second = yield* start({ connectionId })
    yield* post("/api/oauth/acme/exchange", { state: second.state, code: server.consent(second.url).searchParams.get("code") })
    const stored = yield* store.get(connectionId)
    assert.deepInclude(stored, { testStatus: "active", lastError: null, priority: 7 })
    assert.strictEqual(open(stored?.accessToken), "canary-access-2")
    assert.lengthOf(Context.get(context, Configuration).current().activeByProvider.get("acme") ?? [], 1)
    assert.strictEqual((yield* start({ connectionId: "nobody" })).reply.status, 404)
  }))

  it.effect("without a client id the reply says so and nothing is pending; unknown providers and rows without sign-in are told apart", () => Effect.gen(function*() {
    const { ask, cookie, post } = yield* surface({ environment: {} })
    const reply = yield* post("/api/oauth/acme/start")
    assert.strictEqual(reply.status, 200)
    assert.deepInclude(reply.json, { configured: false, missing: ["ACME_CLIENT_ID"], flows: ["authorization-code", "device-code"] })
    assert.isUndefined(at(reply.json, "state"))
    assert.strictEqual(at((yield* ask("/api/oauth/acme", { cookie })).json, "configured"), false)
    assert.strictEqual((yield* post("/api/oauth/nobody/start")).status, 404)
    assert.strictEqual(codeOf(yield* post("/api/oauth/openai/start")), "oauth_unsupported")
  }))

  it.effect("only administrators may begin and finish: a state without a session is not enough", () => Effect.gen(function*() {
    const { anonymous: ask, server, start, store } = yield* surface()
    const begun = yield* start()
    assert.strictEqual((yield* ask(back(server.consent(begun.url)))).status, 401)
    assert.lengthOf(yield* store.list, 0)
    for (const path of ["start", "exchange", "poll", "import"]) {
      assert.strictEqual((yield* ask(`/api/oauth/acme/${path}`, { method: "POST", body: {} })).status, 401, path)
    }
    assert.strictEqual((yield* ask("/api/oauth/acme")).status, 401)
  }))
})

describe("signing in by device code (RFC 8628)", () => {
  const begun = Effect.fnUntraced(function*() {
    const made = yield* surface()
    const { reply, state } = yield* made.start({ flow: "device-code" })
    const poll = made.post("/api/oauth/acme/poll", { state })
    const next = (wait: number) => Effect.andThen(TestClock.adjust(wait), poll)
    return { ...made, next, poll, reply, state }
  })

  it.effect("pending, slow down, approved: the vendor is asked once per interval", () => Effect.gen(function*() {
    const { next, poll, reply, server, store } = yield* begun()
    assert.deepInclude(reply.json, { flow: "device-code", userCode: "ABCD-EFGH", verificationUri: "https://acme.example/device", intervalMs: 5000 })
    assert.notInclude(reply.text, "canary")
    assert.deepInclude((yield* poll).json, { status: "pending" })
    assert.lengthOf(server.forms, 0)
    assert.deepInclude((yield* next(5_000)).json, { status: "pending", intervalMs: 5000 })
    assert.lengthOf(server.forms, 1)
    yield* poll
    assert.lengthOf(server.forms, 1)
    server.device.slowDown = true
    assert.deepInclude((yield* next(5_000)).json, { status: "pending", intervalMs: 10_000 })
    server.device.state = "approved"
    yield* next(5_000)
    assert.lengthOf(server.forms, 2)
    const done = yield* next(5_000)
    assert.strictEqual(at(done.json, "status"), "complete")
    assert.notInclude(done.text, "canary")
    assert.strictEqual((yield* store.get(String(at(done.json, "connectionId"))))?.authType, "oauth")
    assert.strictEqual(codeOf(yield* poll), "oauth_state_invalid")
  }))

  it.effect("denied and expired end it; a server that is down for a moment does not", () => Effect.gen(function*() {
    const one = yield* begun()
    one.server.next.push({ status: 503, body: "" })
    assert.strictEqual((yield* one.next(5_000)).status, 502)
    one.server.device.state = "denied"
    assert.strictEqual(codeOf(yield* one.next(5_000)), "oauth_denied")
    assert.strictEqual(codeOf(yield* one.next(5_000)), "oauth_state_invalid")
    const two = yield* begun()
    two.server.device.state = "expired"
    assert.strictEqual(codeOf(yield* two.next(5_000)), "oauth_expired")
    const three = yield* begun()
    assert.strictEqual(codeOf(yield* three.next(601_000)), "oauth_expired")
  }))
})

describe("imported tokens, and renewal on demand", () => {
  it.effect("an access token alone is a credential; what is no header is refused; keys-only providers take none", () => Effect.gen(function*() {
    const { post, store } = yield* surface()
    const reply = yield* post("/api/oauth/anthropic/import", { accessToken: "canary-imported", expiresIn: 60, name: "Imported" })
    assert.strictEqual(reply.status, 201)
    assert.notInclude(reply.text, "canary")
    const stored = yield* store.get(String(at(reply.json, "connectionId")))
    assert.deepInclude(stored, { provider: "anthropic", authType: "oauth", name: "Imported", refreshToken: null, tokenExpiresAt: new Date(START + 60_000).toISOString() })
    assert.strictEqual((yield* post("/api/oauth/anthropic/import", { accessToken: "a\r\nb: c" })).status, 400)
    assert.strictEqual(codeOf(yield* post("/api/oauth/openai/import", { accessToken: "t" })), "oauth_unsupported")
  }))

  it.effect("POST /api/providers/{id}/refresh renews now and says until when", () => Effect.gen(function*() {
    const { post, server, start, store } = yield* surface()
    const first = yield* start()
    const done = yield* post("/api/oauth/acme/exchange", { state: first.state, code: server.consent(first.url).searchParams.get("code") })
    const id = String(at(done.json, "connectionId"))
    const reply = yield* post(`/api/providers/${id}/refresh`)
    assert.deepStrictEqual(reply.json, { success: true, expiresAt: new Date(START + 3_600_000).toISOString() })
    assert.strictEqual(open((yield* store.get(id))?.accessToken), "canary-access-2")
    server.refreshTokens.clear()
    const refused = yield* post(`/api/providers/${id}/refresh`)
    assert.deepStrictEqual([refused.status, codeOf(refused)], [400, "token_refresh_failed"])
    assert.notInclude(refused.text, "canary")
    assert.strictEqual((yield* store.get(id))?.testStatus, "expired")
    const key = yield* post("/api/providers", { provider: "openai", name: "Key", apiKey: "sk-1" })
    assert.strictEqual((yield* post(`/api/providers/${String(at(key.json, "connection", "id"))}/refresh`)).status, 400)
  }))

  it.effect("a test of a service account asks the upstream with an exchanged token, and the project its document names", () => Effect.gen(function*() {
    const { dials, post, server, store } = yield* surface()
    const document = OAuthServer.serviceAccount(server.tokenUrl)
    const made = yield* post("/api/providers", { provider: "vertex", name: "Cloud", apiKey: document })
    assert.notInclude(made.text, "PRIVATE")
    const id = String(at(made.json, "connection", "id"))
    assert.strictEqual(at((yield* post(`/api/providers/${id}/test`)).json, "valid"), true)
    const [candidate] = dials.probed
    assert.strictEqual(open(candidate?.credential), "canary-access-1")
    assert.deepInclude(candidate, { authType: "oauth", providerSpecificData: { project: "project-of-the-account" } })
    yield* post("/api/providers/validate", { provider: "vertex", apiKey: document })
    assert.strictEqual(open(dials.probed[1]?.credential), "canary-access-2")
    const other = yield* post("/api/providers", { provider: "vertex", name: "Broken", apiKey: "{\"type\":\"service_account\"}" })
    const broken = yield* post(`/api/providers/${String(at(other.json, "connection", "id"))}/test`)
    assert.deepInclude(at(broken.json, "diagnosis"), { type: "token_refresh_failed", source: "oauth" })
    assert.strictEqual((yield* store.get(id))?.testStatus, "active")
  }))
})
