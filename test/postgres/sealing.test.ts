/** What is at rest: no secret in any raw row, and a change of the master secret. */
import { afterAll, assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as References from "effect/References"
import * as SqlClient from "effect/sql/SqlClient"
import { Secrets } from "#actors/ports/Secrets.ts"
import { ConnectionStore, DocumentStore, KeyStore, ProxyStore } from "#actors/ports/Stores.ts"
import { ProxySubscriptionStore } from "#src/features/proxies/subscriptions/ProxySubscriptionStore.ts"
import { WebhookStore } from "#actors/webhook/ports/WebhookStore.ts"
import * as A2aTask from "#src/features/a2a/ports/A2aTask.ts"
import { A2aTaskStore } from "#src/features/a2a/ports/A2aTaskStore.ts"
import { McpServerStore } from "#src/features/mcpServers/ports/McpServerStore.ts"
import * as Migrations from "#src/Migrations.ts"
import * as Stores from "#src/Stores.ts"
import * as Sealer from "#src/platform/secrets/Sealer.ts"
import { apiKey, connection } from "#test/suites/records.ts"
import { findServer, freshClient, pgliteClient, withServer } from "#test/support/postgres.ts"

const canary = "canary-4711-never-at-rest"

const keys = (current: string, ...previous: ReadonlyArray<string>) =>
  Layer.sync(Secrets, () => Sealer.make({ current: Redacted.make(current), previous: previous.map((secret) => Redacted.make(secret)) }))

/** Runs with the stores under these master secrets, on the client in scope. */
const under = <A, E, R>(secrets: Layer.Layer<Secrets>, effect: Effect.Effect<A, E, R>) =>
  Effect.provide(effect, Stores.layerUnmigrated().pipe(Layer.provideMerge(secrets)))

const everyRow = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const tables = yield* sql<{ readonly name: string }>`SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public'`
  const rows = yield* Effect.forEach(tables, ({ name }) => sql<{ readonly line: string }>`SELECT t::text AS line FROM ${sql(name)} t`)
  return rows.flat().map((row) => row.line)
})

const plant = Effect.gen(function*() {
  const [connections, apiKeys, documents] = [yield* ConnectionStore, yield* KeyStore, yield* DocumentStore]
  const secret = Redacted.make(canary)
  yield* connections.insert(connection({ id: "planted", apiKey: secret, idToken: secret }))
  yield* connections.renew("planted", { accessToken: secret, refreshToken: secret }, { scope: "models" })
  yield* connections.insert(connection({ id: "planted-2", apiKey: secret }))
  yield* connections.insert(connection({ id: "without", apiKey: null }))
  yield* apiKeys.insert(apiKey({ id: "planted", keyHash: "planted", sealedKey: secret }))
  yield* documents.put("secret", "planted", { token: canary })
  yield* documents.put("setting", "plain", "visible")
  yield* (yield* WebhookStore).insert({
    id: "planted", url: secret, events: ["*"], secret, enabled: false, description: null, kind: "telegram", metadata: secret, failureCount: 0,
    lastTriggeredAt: null, lastStatus: null, createdAt: "", updatedAt: "", enabledAt: ""
  })
  yield* (yield* McpServerStore).insert({
    id: "planted", name: "planted", description: null, transport: "http", address: secret, enabled: false, access: "keys", allowedTools: [], blockedTools: [], scopes: [],
    timeoutMs: 1_000, createdAt: "", updatedAt: ""
  })
  yield* (yield* ProxyStore).insert({
    id: "planted", name: "planted", type: "http", host: "p.test", port: 1, username: secret, password: secret, region: null, notes: null, status: "active", source: "manual", subscriptionId: null, leftAt: null,
    family: "auto", createdAt: "", updatedAt: ""
  })
  yield* (yield* ProxySubscriptionStore).insert({
    id: "planted", name: "planted", url: secret, type: "http", enabled: true, intervalSeconds: 300, entryCount: 0, skippedCount: 0, triedAt: null, refreshedAt: null,
    error: null, createdAt: "", updatedAt: ""
  })
  const tasks = yield* A2aTaskStore
  yield* tasks.insert(A2aTask.submitted({ id: "planted", owner: "key:a", contextId: "c", skill: "s", messages: [], request: {}, isPrivate: false }, 0))
  yield* tasks.putConfig({ taskId: "planted", id: "planted", receiver: secret })
})

const harvest = Effect.gen(function*() {
  const [connections, apiKeys, documents] = [yield* ConnectionStore, yield* KeyStore, yield* DocumentStore]
  const row = yield* connections.get("planted")
  const hook = yield* (yield* WebhookStore).get("planted")
  const open = (value: Redacted.Redacted<string> | null | undefined) => value === null || value === undefined ? null : Redacted.value(value)
  return [
    ...[row?.apiKey, row?.accessToken, row?.refreshToken, row?.idToken].map(open),
    ...[hook?.url, hook?.secret, hook?.metadata].map(open),
    open((yield* apiKeys.get("planted"))?.sealedKey),
    open((yield* (yield* McpServerStore).get("planted"))?.address),
    ...(yield* (yield* ProxyStore).list).flatMap(({ password, username }) => [open(username), open(password)]),
    ...(yield* (yield* ProxySubscriptionStore).list).map(({ url }) => open(url)),
    ...(yield* (yield* A2aTaskStore).configs("planted")).map(({ receiver }) => open(receiver)),
    yield* documents.get("secret", "planted")
  ]
})

const all = [canary, canary, canary, canary, canary, canary, canary, canary, canary, canary, canary, canary, canary, { token: canary }]

const scenario = (client: Layer.Layer<SqlClient.SqlClient>) =>
  Effect.gen(function*() {
    yield* Migrations.run
    const [first, second, third] = ["the first master secret", "the second master secret", "the third master secret"]
    yield* under(keys(first), plant)

    const lines = yield* everyRow
    assert.isTrue(lines.some((line) => line.includes("visible")), "the rows were read")
    assert.isFalse(lines.some((line) => line.includes(canary) || line.includes(Buffer.from(canary).toString("base64url").slice(0, 20))))
    assert.strictEqual(lines.join(" ").match(/v1\.[0-9a-f]{8}\./g)?.length, 15)

    // The next master secret opens what the previous one sealed, and seals it anew once.
    assert.deepStrictEqual(yield* under(keys(second, first), harvest), all)
    const reseal = Effect.flatMap(ConnectionStore, (store) => store.reseal)
    assert.strictEqual(yield* under(keys(second, first), reseal), 9)
    assert.strictEqual(yield* under(keys(second, first), reseal), 0)
    assert.deepStrictEqual(yield* under(keys(second), harvest), all)

    // Without the key it was sealed with nothing opens, the message names the knob, and nothing is changed.
    const wrong = yield* under(keys(third), Effect.flip(Effect.flatMap(ConnectionStore, (store) => store.get("planted"))))
    assert.strictEqual(wrong.reason, "corrupt")
    assert.include(wrong.message, "GATEWAY_SECRET_PREVIOUS")
    assert.strictEqual((yield* under(keys(third), Effect.flip(reseal))).reason, "corrupt")
    assert.deepStrictEqual(yield* under(keys(second), harvest), all)

    // A client's key still authenticates when it can no longer be revealed.
    const key = yield* under(keys(third), Effect.flatMap(KeyStore, (store) => store.findByHash("planted"))).pipe(
      Effect.provideService(References.MinimumLogLevel, "None")
    )
    assert.deepStrictEqual([key?.id, key?.sealedKey], ["planted", null])

    // A reseal that fails in the middle leaves every row as it was.
    const sql = yield* SqlClient.SqlClient
    yield* sql`UPDATE connections SET api_key = 'v1.00000000.a.b.c' WHERE id = 'planted-2'`
    const before = yield* everyRow
    assert.strictEqual((yield* under(keys(third, second), Effect.flip(reseal))).reason, "corrupt")
    assert.deepStrictEqual(yield* everyRow, before)

    // A sealed value moved to another row or column does not open.
    yield* sql`UPDATE connections SET api_key = (SELECT api_key FROM connections WHERE id = 'planted') WHERE id = 'planted-2'`
    const moved = yield* under(keys(second), Effect.flip(Effect.flatMap(ConnectionStore, (store) => store.get("planted-2"))))
    assert.include(moved.message, "altered, or belongs to another record")
    assert.notInclude(moved.message, canary)
  }).pipe(Effect.provide(client))

const server = await findServer()
afterAll(server.stop)

describe("sealed at rest", () => {
  it.live("on PGlite no raw row shows a secret, and a new master secret takes over", () => scenario(pgliteClient))
  withServer(server, "on Postgres", (url) => {
    it.live("no raw row shows a secret, and a new master secret takes over", () => scenario(freshClient(url)))
  })
})
