import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Redacted from "effect/Redacted"
import * as TestClock from "effect/testing/TestClock"
import { StoreError } from "#actors/ports/StoreError.ts"
import * as Support from "./support.ts"
import { signedIn, START } from "./support.ts"

const oauth = (more: Parameters<typeof signedIn>[1] = {}) => Support.make({ connections: (server) => [signedIn(server, more)] })
const value = (token: { readonly value: Redacted.Redacted<string> }) => Redacted.value(token.value)
const minutes = (count: number) => TestClock.setTime(START + count * 60_000)
const open = (secret: Redacted.Redacted<string> | null | undefined) => secret === null || secret === undefined ? null : Redacted.value(secret)

describe("a signed-in connection", () => {
  it.effect("uses its stored token while it has life, without a call", () => Effect.gen(function*() {
    const { credentials, server } = yield* oauth()
    assert.strictEqual(credentials.peek("c-1"), "canary-access-first")
    assert.strictEqual(value(yield* credentials.token("c-1")), "canary-access-first")
    assert.lengthOf(server.forms, 0)
  }))

  it.effect("less than 5 minutes before its end the token is renewed behind the callers, who go on with it", () => Effect.gen(function*() {
    const { credentials, server, store } = yield* oauth()
    yield* minutes(56)
    assert.strictEqual(credentials.peek("c-1"), "canary-access-first")
    yield* Support.untilTrue(() => credentials.peek("c-1") === "canary-access-1")
    assert.lengthOf(server.forms, 1)
    const stored = yield* store.get("c-1")
    assert.strictEqual(open(stored?.accessToken), "canary-access-1")
    assert.match(String(open(stored?.refreshToken)), /^canary-refresh-1-/)
    assert.strictEqual(stored?.tokenExpiresAt, new Date(START + 116 * 60_000).toISOString())
    assert.strictEqual(stored?.testStatus, "unknown")
  }))

  it.effect("in its last minute it is not used any more: callers wait for the new one, which rotates on", () => Effect.gen(function*() {
    const { credentials } = yield* oauth()
    yield* minutes(59.5)
    assert.isNull(credentials.peek("c-1"))
    assert.strictEqual(value(yield* credentials.token("c-1")), "canary-access-1")
    yield* minutes(59.5 + 59.5)
    assert.strictEqual(value(yield* credentials.token("c-1")), "canary-access-2")
  }))

  it.effect("50 callers share one renewal, and one who leaves does not cut it", () => Effect.gen(function*() {
    const { credentials, server } = yield* oauth()
    yield* minutes(61)
    const release = server.hold()
    const leaver = yield* Effect.forkChild(credentials.token("c-1"))
    const callers = yield* Effect.forEach(Array.from({ length: 50 }), () => Effect.forkChild(credentials.token("c-1")))
    yield* Support.untilTrue(() => server.forms.length > 0)
    yield* Fiber.interrupt(leaver)
    release()
    const tokens = yield* Effect.forEach(callers, Fiber.join)
    assert.deepStrictEqual(new Set(tokens.map(value)), new Set(["canary-access-1"]))
    assert.lengthOf(server.forms, 1)
  }))

  it.effect("invalid_grant is terminal: status expired, out of every plan, the server is not asked again", () => Effect.gen(function*() {
    const { configuration, credentials, server, store } = yield* oauth()
    server.refreshTokens.clear()
    yield* minutes(61)
    const failure = yield* Effect.flip(credentials.token("c-1"))
    assert.deepInclude(failure, { reason: "refused", source: "operator", retry: "never", code: "invalid_grant" })
    assert.notInclude(failure.message, "canary")
    const stored = yield* store.get("c-1")
    assert.strictEqual(stored?.testStatus, "expired")
    assert.deepInclude(stored, { lastErrorType: "token_refresh_failed", lastErrorSource: "oauth", errorCode: "invalid_grant" })
    assert.isUndefined(configuration.current().activeByProvider.get("acme"))
    yield* Effect.flip(credentials.token("c-1"))
    assert.lengthOf(server.forms, 1)
  }))

  it.effect("a ban or an empty balance is not overwritten by a refused renewal nor by a good one", () => Effect.gen(function*() {
    const refused = yield* oauth({ testStatus: "banned" })
    refused.server.refreshTokens.clear()
    yield* minutes(61)
    yield* Effect.flip(refused.credentials.token("c-1"))
    assert.strictEqual((yield* refused.store.get("c-1"))?.testStatus, "banned")
    const good = yield* oauth({ testStatus: "credits_exhausted" })
    yield* good.credentials.renew("c-1")
    assert.strictEqual((yield* good.store.get("c-1"))?.testStatus, "credits_exhausted")
  }))

  it.effect("an operator's renewal that succeeds ends status expired", () => Effect.gen(function*() {
    const { credentials, store } = yield* oauth({ testStatus: "expired", lastError: "old", lastErrorSource: "oauth" })
    yield* credentials.renew("c-1")
    assert.deepInclude(yield* store.get("c-1"), { testStatus: "active", lastError: null })
  }))

  it.effect("a server that is down is a passing failure without a mark; when it is up again the same token works", () => Effect.gen(function*() {
    const { credentials, server, store } = yield* oauth()
    yield* minutes(61)
    server.next.push("reset", { status: 503, body: "<html>" }, { status: 429, body: "{}" })
    for (let i = 0; i < 3; i++) {
      assert.deepInclude(yield* Effect.flip(credentials.token("c-1")), { reason: "unreachable", source: "upstream", retry: "later" })
    }
    assert.deepInclude(yield* store.get("c-1"), { testStatus: "unknown", lastError: null })
    assert.strictEqual(value(yield* credentials.token("c-1")), "canary-access-1")
  }))

  it.effect("a renewal behind the callers that fails is not repeated at once", () => Effect.gen(function*() {
    const { credentials, server } = yield* oauth()
    yield* minutes(56)
    server.next.push({ status: 503, body: "" })
    const release = server.hold()
    credentials.peek("c-1")
    yield* Support.untilTrue(() => server.forms.length === 1)
    const joined = yield* Effect.forkChild(Effect.flip(credentials.renew("c-1")))
    yield* Effect.yieldNow
    release()
    assert.strictEqual((yield* Fiber.join(joined)).reason, "unreachable")
    for (let i = 0; i < 3; i++) assert.strictEqual(credentials.peek("c-1"), "canary-access-first")
    assert.lengthOf(server.forms, 1)
    yield* TestClock.adjust("5 seconds")
    credentials.peek("c-1")
    yield* Support.untilTrue(() => credentials.peek("c-1") === "canary-access-1")
    assert.lengthOf(server.forms, 2)
  }))

  it.effect("what answers but is no token endpoint is told apart: redirect, page, no token, a token that is no header", () => Effect.gen(function*() {
    const { credentials, server } = yield* oauth()
    yield* minutes(61)
    const answers = [
      { status: 302, body: "", headers: { location: "http://127.0.0.1/elsewhere" } }, { status: 200, body: "<html>" }, { status: 200, body: "{}" },
      { status: 200, body: JSON.stringify({ access_token: "a\r\nx-evil: 1" }) }, { status: 200, body: " ".repeat(300_000) }
    ]
    for (const answer of answers) {
      server.next.push(answer)
      assert.strictEqual((yield* Effect.flip(credentials.token("c-1"))).reason, "protocol")
    }
    assert.lengthOf(server.forms, answers.length)
  }))

  it.effect("an error in a 200 answer is an error; the client's own fault is not the grant's", () => Effect.gen(function*() {
    const { credentials, server, store } = yield* oauth()
    yield* minutes(61)
    server.next.push({ status: 200, body: JSON.stringify({ error: "incorrect_client_credentials" }) })
    assert.deepInclude(yield* Effect.flip(credentials.token("c-1")), { reason: "rejected", source: "operator" })
    assert.deepInclude(yield* store.get("c-1"), { testStatus: "unknown", errorCode: "incorrect_client_credentials" })
  }))

  it.effect("without a client id nothing is called, and the words name the variable", () => Effect.gen(function*() {
    const { credentials, server } = yield* Support.make({ connections: (one) => [signedIn(one)], environment: {} })
    yield* minutes(61)
    const failure = yield* Effect.flip(credentials.token("c-1"))
    assert.strictEqual(failure.reason, "not-configured")
    assert.include(failure.message, "ACME_CLIENT_ID")
    assert.lengthOf(server.forms, 0)
  }))

  it.effect("the URL guard has the word on the token endpoint", () => Effect.gen(function*() {
    const { credentials, server } = yield* Support.make({ connections: (one) => [signedIn(one)], allowLocal: false })
    yield* minutes(61)
    assert.strictEqual((yield* Effect.flip(credentials.token("c-1"))).reason, "blocked-url")
    assert.lengthOf(server.forms, 0)
  }))

  it.effect("a sign-in during a renewal stands: the older grant is not stored over it", () => Effect.gen(function*() {
    const { configuration, credentials, server, store } = yield* oauth()
    yield* minutes(61)
    const release = server.hold()
    const caller = yield* Effect.forkChild(credentials.token("c-1"))
    yield* Support.untilTrue(() => server.forms.length === 1)
    yield* configuration.commit(store.renew("c-1", { accessToken: Redacted.make("canary-relogin"), refreshToken: Redacted.make("r-relogin") }, {
      tokenExpiresAt: new Date(START + 200 * 60_000).toISOString()
    }))
    release()
    yield* Fiber.join(caller)
    assert.strictEqual(open((yield* store.get("c-1"))?.refreshToken), "r-relogin")
    assert.strictEqual(value(yield* credentials.token("c-1")), "canary-relogin")
  }))

  it.effect("a grant that cannot be stored is used from memory and stored later", () => Effect.gen(function*() {
    const { credentials, server, store } = yield* oauth()
    yield* minutes(61)
    const renew = store.renew
    let refusals = 2
    Object.assign(store, {
      renew: (...all: Parameters<typeof renew>) => refusals-- > 0
        ? Effect.fail(new StoreError({ store: "connections", operation: "renew", reason: "unavailable", message: "down" }))
        : renew(...all)
    })
    assert.strictEqual(value(yield* credentials.token("c-1")), "canary-access-1")
    assert.strictEqual(open((yield* store.get("c-1"))?.refreshToken), "canary-refresh-first")
    assert.strictEqual(credentials.peek("c-1"), "canary-access-1")
    yield* TestClock.adjust("1 second")
    yield* TestClock.adjust("2 seconds")
    yield* Support.untilTrue(() => refusals < 0)
    assert.strictEqual(open((yield* store.get("c-1"))?.accessToken), "canary-access-1")
    assert.lengthOf(server.forms, 1)
  }))

  it.effect("a token that an upstream refused is renewed before the next call, a brand-new one is not", () => Effect.gen(function*() {
    const { credentials, server } = yield* oauth()
    credentials.peek("c-1")
    credentials.refused("c-1")
    assert.isNull(credentials.peek("c-1"))
    yield* credentials.token("c-1")
    credentials.refused("c-1")
    assert.strictEqual(credentials.peek("c-1"), "canary-access-1")
    assert.lengthOf(server.forms, 1)
  }))

  it.effect("an API key never comes here", () => Effect.gen(function*() {
    const { credentials } = yield* Support.make({ connections: (server) => [signedIn(server, { authType: "apikey", apiKey: Redacted.make("sk-1") })] })
    assert.isNull(credentials.peek("c-1"))
    assert.strictEqual((yield* Effect.flip(credentials.token("c-1"))).reason, "unknown-connection")
    assert.strictEqual((yield* Effect.flip(credentials.token("nobody"))).reason, "unknown-connection")
  }))
})
