/**
 * Every route of the management router with every kind of credential: who passes follows from the route's declared rule alone. What
 * reaches the handlers of the client surface is tested beside it: which key may issue, and whose end ends what it issued.
 */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type { RouteRule } from "#schemas/api/RouteTable.ts"
import { routes as managementRoutes } from "#src/Management.ts"
import * as Management from "#test/support/management.ts"
import { at } from "#test/support/management.ts"

const routes = managementRoutes()

type Kind = "nothing" | "wrong" | "session" | "token" | "key"
interface Credential {
  readonly name: string
  readonly kind: Kind
  /** Rank of a token's scope, or what a key's scopes make of it: 0 = no management, 2 = manage, 3 = admin. */
  readonly rank: number
  readonly with: Pick<Management.Ask, "bearer" | "cookie">
}

/** Bodies that pass the schemas of the client surface; elsewhere an empty one is refused after the rights were asked. */
const bodies: Readonly<Record<string, unknown>> = {
  "POST /api/v1/registered-keys": { name: "x" }, "POST /v1/issues/report": { title: "x" },
  "POST /api/cloud/model/resolve": { alias: "no/such-model" },
  "POST /v1/batches": { input_file_id: "file-none", endpoint: "/v1/chat/completions", completion_window: "24h" }
}
/** Their own words decide, or they would end the test's own session or process. */
const apart = new Set(["/api/auth/logout", "/api/auth/login", "/api/cli/connect", "/api/usage/self-usage", "/api/sync/bundle", "/docs"])
const ending = new Set(["/api/shutdown", "/api/restart"])

const tokenRank = { read: 1, write: 2, admin: 3 } as const

/** The status of a refusal; null = the route is served. */
const expected = ({ access }: RouteRule, { kind, name, rank }: Credential): number | null => {
  if (access === null) return 403
  const { adminKey, sessionOnly, tier, token } = access
  if (tier === "PUBLIC") return null
  // The calls come from another machine: only keys may make some of them.
  if (tier === "LOCAL_ONLY") {
    if (access.clientKey && kind === "wrong") return 401
    return kind === "key" && (rank >= 2 || (access.clientKey && name === "scope mcp:connect")) ? null : 403
  }
  if (kind === "session") return null
  if (kind === "nothing") return 401
  if (tier === "CLIENT_API") return kind === "wrong" ? 401 : kind === "token" && rank < tokenRank[token] ? 403 : null
  if (kind === "wrong" || (kind === "key" && rank === 0)) return 403
  if (sessionOnly) return 401
  return (kind === "token" ? rank < tokenRank[token] : adminKey && rank < 3) ? 403 : null
}

/** A JSON-RPC frame holds the code beside its own. */
const codeOf = (reply: Management.Reply): unknown => at(reply.json, "error", "data", "code") ?? at(reply.json, "error", "code")

const refusalOf = (reply: Management.Reply): number | null =>
  reply.status === 401 || (reply.status === 403 && String(codeOf(reply)).startsWith("AUTH_")) || codeOf(reply) === "LOCAL_ONLY" ? reply.status : null

const world = Effect.gen(function*() {
  const made = yield* Management.make()
  const { ask, key, login } = made
  const cookie = yield* login()
  const token = (scope: string) => Effect.map(ask("/api/cli/tokens", { cookie, body: { name: scope, scope } }), (reply) => String(at(reply.json, "token")))
  const plain = yield* key([])
  const issued = yield* ask("/api/v1/registered-keys", { bearer: plain.raw, body: { name: "issued" } })
  const leasable = yield* ask("/api/providers", { cookie, body: { provider: "openai", name: "leasable", apiKey: "sk-leasable-0000000000000000000000" } })
  const managed = yield* key(["lease:exclusive"], { allowedConnections: [String(at(leasable.json, "connection", "id"))] })
  const of = (kind: Kind, name: string, rank: number, credential: Credential["with"]): Credential => ({ name, kind, rank, with: credential })
  const credentials = [
    of("nothing", "no credential", 0, {}), of("wrong", "a wrong key", 0, { bearer: "sk-nobody-knows-this-key-at-all-0000" }),
    of("session", "a session", 3, { cookie }),
    of("token", "a read token", 1, { bearer: yield* token("read") }), of("token", "a write token", 2, { bearer: yield* token("write") }),
    of("token", "an admin token", 3, { bearer: yield* token("admin") }),
    of("key", "a plain key", 0, { bearer: plain.raw }), of("key", "an issued key", 0, { bearer: String(at(issued.json, "key")) }),
    of("key", "a managed key", 0, { bearer: managed.raw }),
    ...(yield* Effect.forEach(["self:usage", "self:account-quota", "cache:isolated", "mcp:connect", "policy:bypass-provider-quota"], (scope) =>
      Effect.map(key([scope]), ({ raw }) => of("key", `scope ${scope}`, 0, { bearer: raw })))),
    of("key", "scope manage", 2, { bearer: (yield* key(["manage"])).raw }), of("key", "scope admin", 3, { bearer: (yield* key(["admin"])).raw })
  ]
  return { ...made, cookie, token, credentials }
})

describe("the rights at every route of the management router", () => {
  it("no route that changes something is open to a token that only reads", () => {
    for (const { access, method, path } of routes) {
      if (access === null || access.tier === "PUBLIC" || method === "GET") continue
      assert.notStrictEqual(access.token, "read", `${method} ${path}`)
    }
  })

  it.effect("follow from the declared rule for every credential", () => Effect.gen(function*() {
    const { ask, credentials } = yield* world
    let served = 0
    for (const route of routes) {
      if (apart.has(route.path)) continue
      const name = `${route.method} ${route.path}`
      const path = route.path.replaceAll(/:(\w+)/g, "no-such-record")
      const body = route.method === "GET" || route.method === "DELETE" ? {} : { body: bodies[name] ?? {} }
      for (const credential of credentials) {
        const refusal = expected(route, credential)
        if (refusal === null && ending.has(route.path)) continue
        const reply = yield* ask(path, { method: route.method, ...body, ...credential.with })
        const own = name in bodies && credential.kind === "key" && ["an issued key", "a managed key"].includes(credential.name) && reply.status === 403 && refusalOf(reply) !== 401
        assert.strictEqual(own ? null : refusalOf(reply), refusal, `${name} with ${credential.name}: ${reply.status} ${reply.text.slice(0, 300)}`)
        if (refusal === null) served++
      }
    }
    assert.isAbove(served, 500)
  }), 180_000)

  it.effect("a token that only reads issues and revokes nothing and changes no limit", () => Effect.gen(function*() {
    const { ask, cookie, token } = yield* world
    const bearer = yield* token("read")
    const made = yield* ask("/api/v1/registered-keys", { cookie, body: { name: "stands" } })
    const id = String(at(made.json, "keyId"))
    for (const [method, path, body] of [
      ["POST", "/api/v1/registered-keys", { name: "x" }], ["DELETE", `/api/v1/registered-keys/${id}`, undefined], ["POST", `/api/v1/registered-keys/${id}/revoke`, {}],
      ["PUT", "/v1/providers/openai/limits", { maxActiveKeys: 9 }], ["PUT", "/v1/accounts/a/limits", { maxActiveKeys: 9 }], ["POST", "/v1/issues/report", { title: "x" }]
    ] as const) {
      const reply = yield* ask(path, { method, bearer, ...(body === undefined ? {} : { body }) })
      assert.deepStrictEqual([reply.status, at(reply.json, "error", "code")], [403, "AUTH_004"], `${method} ${path}: ${reply.text}`)
    }
    assert.strictEqual(at((yield* ask(`/api/v1/registered-keys/${id}`, { bearer })).json, "isActive"), true)
    assert.strictEqual(at((yield* ask("/v1/providers/openai/limits", { bearer })).json, "maxActiveKeys"), 0)
    assert.strictEqual((yield* ask("/api/v1/registered-keys", { bearer: yield* token("write"), body: { name: "written" } })).status, 201)
  }))

  it.effect("a key that manages is the issuer of what it issues: its end is theirs", () => Effect.gen(function*() {
    const { ask, cookie, key } = yield* world
    const manager = yield* key(["manage"])
    const issued = yield* ask("/api/v1/registered-keys", { bearer: manager.raw, body: { name: "child" } })
    const child = String(at(issued.json, "key"))
    const seen = () => Effect.map(ask("/api/v1/registered-keys", { bearer: child }), ({ status }) => status)
    assert.strictEqual(at((yield* ask(`/api/keys/${String(at(issued.json, "keyId"))}`, { cookie })).json, "issuerId"), manager.id)
    assert.strictEqual(yield* seen(), 200)
    for (const worse of [{ isActive: false }, { isBanned: true }, { expiresAt: "1969-01-01T00:00:00Z" }, { allowedEndpoints: ["chat"] }, { ipAllowlist: ["10.1.2.3"] }]) {
      yield* ask(`/api/keys/${manager.id}`, { cookie, method: "PATCH", body: worse })
      assert.strictEqual(yield* seen(), 403, JSON.stringify(worse))
      yield* ask(`/api/keys/${manager.id}`, { cookie, method: "PATCH", body: { isActive: true, isBanned: false, expiresAt: null, allowedEndpoints: [], ipAllowlist: [] } })
      assert.strictEqual(yield* seen(), 200, JSON.stringify(worse))
    }
    yield* ask(`/api/keys/${manager.id}`, { cookie, method: "DELETE" })
    assert.strictEqual(yield* seen(), 401)
  }))
})
