import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Redacted from "effect/Redacted"
import * as TestClock from "effect/testing/TestClock"
import { decodeJwt, decodeProtectedHeader } from "jose"
import { serviceAccount } from "#test/support/oauthServer.ts"
import * as Support from "./support.ts"
import { START, withAccount } from "./support.ts"

const account = (more: Record<string, unknown> = {}) => Support.make({ connections: (server) => [withAccount(server, more)] })
const value = (token: { readonly value: Redacted.Redacted<string> }) => Redacted.value(token.value)

describe("a service account", () => {
  it.effect("is exchanged by an RS256 assertion that the token endpoint verifies", () => Effect.gen(function*() {
    const { credentials, server, store } = yield* account()
    assert.isNull(credentials.peek("c-1"))
    assert.strictEqual(value(yield* credentials.token("c-1")), "canary-access-1")
    const assertion = server.forms[0]?.["assertion"] ?? ""
    assert.strictEqual(server.forms[0]?.["grant_type"], "urn:ietf:params:oauth:grant-type:jwt-bearer")
    assert.deepStrictEqual(decodeProtectedHeader(assertion), { alg: "RS256", typ: "JWT", kid: "key-1" })
    const claims = decodeJwt(assertion)
    assert.deepInclude(claims, { iss: "svc@project.example", sub: "svc@project.example", aud: server.tokenUrl, scope: "models" })
    assert.isAtMost((claims.exp ?? 0) - (claims.iat ?? 0), 3600)
    assert.isNull((yield* store.get("c-1"))?.accessToken)
  }))

  it.effect("its token is kept until 60 s before its end, and shared by 50 callers", () => Effect.gen(function*() {
    const { credentials, server } = yield* account()
    const release = server.hold()
    const callers = yield* Effect.forEach(Array.from({ length: 50 }), () => Effect.forkChild(credentials.token("c-1")))
    yield* Support.untilTrue(() => server.forms.length > 0)
    release()
    yield* Effect.forEach(callers, Fiber.join)
    yield* TestClock.setTime(START + 54 * 60_000)
    assert.strictEqual(credentials.peek("c-1"), "canary-access-1")
    assert.lengthOf(server.forms, 1)
    server.clock = () => START / 1000 + 59 * 60 + 1
    yield* TestClock.setTime(START + (59 * 60 + 1) * 1000)
    assert.isNull(credentials.peek("c-1"))
    assert.strictEqual(value(yield* credentials.token("c-1")), "canary-access-2")
  }))

  it.effect("a refused assertion needs the operator; its text stays here", () => Effect.gen(function*() {
    const { credentials, server, store } = yield* account()
    server.clock = () => START / 1000 + 86_400
    const failure = yield* Effect.flip(credentials.token("c-1"))
    assert.strictEqual(failure.reason, "refused")
    assert.notInclude(failure.message, server.forms[0]?.["assertion"] ?? "-")
    assert.strictEqual((yield* store.get("c-1"))?.testStatus, "expired")
    server.clock = () => START / 1000
    yield* credentials.renew("c-1")
    assert.deepInclude(yield* store.get("c-1"), { testStatus: "active", lastError: null })
  }))

  it.effect("a document or key that cannot be read is the operator's, and costs no call", () => Effect.gen(function*() {
    const wrong = [{ private_key: "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n" }, { client_email: "" }, { token_uri: "nowhere" }]
    for (const more of wrong) {
      const { credentials, server } = yield* account(more)
      const failure = yield* Effect.flip(credentials.token("c-1"))
      assert.deepInclude(failure, { reason: "malformed", source: "operator", retry: "never" })
      assert.notInclude(failure.message, "AAAA")
      assert.lengthOf(server.forms, 0)
    }
  }))

  it.effect("another document forgets the token of the one before", () => Effect.gen(function*() {
    const { configuration, credentials, server, store } = yield* account()
    yield* credentials.token("c-1")
    const known = yield* store.get("c-1")
    if (known === null) return assert.fail("gone")
    yield* configuration.commit(store.replace({ ...known, apiKey: Redacted.make(serviceAccount(server.tokenUrl, { private_key_id: "key-2" })) }))
    assert.isNull(credentials.peek("c-1"))
    yield* credentials.token("c-1")
    assert.strictEqual(decodeProtectedHeader(server.forms[1]?.["assertion"] ?? "").kid, "key-2")
  }))

  it.effect("an offered document is exchanged without being stored", () => Effect.gen(function*() {
    const { credentials, server } = yield* Support.make({ connections: () => [] })
    const token = yield* credentials.exchange("acme", Redacted.make(serviceAccount(server.tokenUrl)))
    assert.strictEqual(value(token), "canary-access-1")
    assert.strictEqual(token.expiresAt, START + 3_600_000)
  }))
})
