import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { DocumentStore } from "#actors/ports/Stores.ts"
import { StoreError } from "#actors/ports/StoreError.ts"
import * as Management from "#test/support/management.ts"
import { at } from "#test/support/management.ts"

const signedIn = Effect.gen(function*() {
  const surface = yield* Management.make()
  const cookie = yield* surface.login()
  return { ...surface, cookie }
})

describe("error bodies", () => {
  it.effect("a failed schema answers 400 Invalid request and names every field by its dotted path", () => Effect.gen(function*() {
    const { ask, cookie } = yield* signedIn
    const reply = yield* ask("/api/keys", {
      cookie,
      body: { allowedModels: [1], surprise: true, accessSchedule: { enabled: true, from: "25:00", until: "10:00", days: [], tz: "UTC" } }
    })
    assert.strictEqual(reply.status, 400)
    assert.deepInclude(at(reply.json, "error"), { message: "Invalid request", type: "invalid_request", code: "bad_request" })
    const fields = (at(reply.json, "error", "details") as ReadonlyArray<{ field: string }>).map((detail) => detail.field).sort()
    assert.deepStrictEqual(fields, ["accessSchedule.from", "allowedModels.0", "name", "surprise"])
    assert.strictEqual(at(reply.json, "requestId"), reply.headers.get("x-request-id"))
  }))

  it.effect("a body that is no JSON answers 400 invalid_json, field body", () => Effect.gen(function*() {
    const { ask, cookie } = yield* signedIn
    for (const raw of ["{", "name=x", "{\"a\":1}}"]) {
      const reply = yield* ask("/api/keys", { cookie, raw })
      assert.strictEqual(reply.status, 400, raw)
      assert.strictEqual(at(reply.json, "error", "code"), "invalid_json", raw)
      assert.strictEqual(at(reply.json, "error", "details", 0, "field"), "body", raw)
    }
  }))

  it.effect("an empty, null or array body is a wrong body, not a crash", () => Effect.gen(function*() {
    const { ask, cookie } = yield* signedIn
    for (const raw of ["", "null", "[]", "\"text\"", "1"]) {
      const reply = yield* ask("/api/keys", { cookie, raw, method: "POST" })
      assert.strictEqual(reply.status, 400, raw)
      assert.strictEqual(at(reply.json, "error", "details", 0, "field"), "body", raw)
    }
  }))

  it.effect("a wrong query parameter is named", () => Effect.gen(function*() {
    const { ask, cookie } = yield* signedIn
    const reply = yield* ask("/api/keys?limit=0&offset=x", { cookie })
    assert.strictEqual(reply.status, 400)
    const fields = (at(reply.json, "error", "details") as ReadonlyArray<{ field: string }>).map((detail) => detail.field).sort()
    assert.deepStrictEqual(fields, ["limit", "offset"])
  }))

  it.effect("the offending value is never repeated", () => Effect.gen(function*() {
    const { ask, cookie } = yield* signedIn
    const reply = yield* ask("/api/auth/login", { cookie, body: { password: { canary: "sk-canary-value" } } })
    assert.strictEqual(reply.status, 400)
    assert.notInclude(reply.text, "canary")
  }))

  it.effect("a harmless x-request-id is kept, another one is replaced", () => Effect.gen(function*() {
    const { ask } = yield* signedIn
    assert.strictEqual((yield* ask("/api/keys", { headers: { "x-request-id": "trace-1.2:3" } })).headers.get("x-request-id"), "trace-1.2:3")
    const replaced = (yield* ask("/api/keys", { headers: { "x-request-id": "<script>" } })).headers.get("x-request-id")
    assert.match(replaced ?? "", /^[0-9a-f-]{36}$/)
  }))

  it.effect("replies are not cached and carry the build version", () => Effect.gen(function*() {
    const { ask, cookie } = yield* signedIn
    const { headers } = yield* ask("/api/keys", { cookie })
    assert.strictEqual(headers.get("cache-control"), "no-store")
    assert.strictEqual(headers.get("x-gateway-version"), "9.9.9")
  }))
})

describe("body bounds", () => {
  it.effect("a body above 1 MiB answers 413, declared or not", () => Effect.gen(function*() {
    const { ask, cookie } = yield* signedIn
    const raw = JSON.stringify({ name: "x".repeat(1024 * 1024) })
    const declared = yield* ask("/api/keys", { cookie, raw, headers: { "content-length": String(raw.length) } })
    assert.strictEqual(declared.status, 413)
    const undeclared = yield* ask("/api/keys", { cookie, raw })
    assert.strictEqual(undeclared.status, 413)
    assert.strictEqual(at(undeclared.json, "error", "code"), "payload_too_large")
  }))

  it.effect("deep nesting is refused before anything parses it; brackets inside text do not count", () => Effect.gen(function*() {
    const { ask, cookie } = yield* signedIn
    const deep = yield* ask("/api/keys", { cookie, raw: "[".repeat(400_000) })
    assert.strictEqual(deep.status, 400)
    assert.include(at(deep.json, "error", "details", 0, "message") as string, "64")
    assert.strictEqual((yield* ask("/api/keys", { cookie, body: { name: `${"[".repeat(100)}\\"${"{".repeat(90)}` } })).status, 201)
  }))

  it.effect("another content type answers 415", () => Effect.gen(function*() {
    const { ask, cookie } = yield* signedIn
    const reply = yield* ask("/api/keys", { cookie, raw: "name=x", headers: { "content-type": "application/x-www-form-urlencoded" } })
    assert.strictEqual(reply.status, 415)
    assert.strictEqual(at(reply.json, "error", "code"), "unsupported_media_type")
  }))

  it.effect("an unauthenticated caller's body is not even looked at", () => Effect.gen(function*() {
    const { ask } = yield* signedIn
    assert.strictEqual((yield* ask("/api/keys", { raw: "[".repeat(2_000_000) })).status, 401)
  }))
})

describe("what goes wrong inside", () => {
  const breakDocuments = (context: Context.Context<DocumentStore>, failure: Effect.Effect<never, StoreError>) => {
    Object.assign(Context.get(context, DocumentStore), { put: () => failure, get: () => failure })
  }

  it.effect("a store that cannot be reached answers 503 and says that nothing was changed", () => Effect.gen(function*() {
    const { ask, context, cookie } = yield* signedIn
    breakDocuments(context, Effect.fail(new StoreError({ store: "documents", operation: "put", reason: "unavailable", message: "connect ECONNREFUSED 10.0.0.5:5432" })))
    const reply = yield* ask("/api/models/alias", { cookie, body: { alias: "a", model: "b" } })
    assert.strictEqual(reply.status, 503)
    assert.strictEqual(at(reply.json, "error", "code"), "store_unavailable")
    assert.notInclude(reply.text, "10.0.0.5")
  }))

  it.effect("a defect answers 500 with the request id and nothing from inside", () => Effect.gen(function*() {
    const { ask, context, cookie } = yield* signedIn
    breakDocuments(context, Effect.die(new Error("secret detail at /srv/app/db.ts")))
    const reply = yield* ask("/api/models/alias", { cookie, body: { alias: "a", model: "b" } })
    assert.strictEqual(reply.status, 500)
    assert.deepInclude(at(reply.json, "error"), { type: "server_error", code: "internal_server_error" })
    assert.notInclude(reply.text, "secret detail")
    assert.strictEqual(at(reply.json, "requestId"), reply.headers.get("x-request-id"))
  }))
})
