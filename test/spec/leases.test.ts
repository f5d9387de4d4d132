/** Exclusive session leases over HTTP: their life, their errors, and inference with a managed key. */
import { version } from "#schemas/version.ts"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { changesOf, codeOf, credentialsOf, hashOf, managedKey, newOwner, poolsOf, Session } from "#test/features/leases/support.ts"
import * as Http from "#test/support/http.ts"
import { type Lab, startLab } from "#test/support/lab.ts"
import { eventually } from "#test/support/operator.ts"

let lab: Lab
beforeAll(async () => {
  lab = await startLab()
})
afterAll(() => lab.close())

const pool = poolsOf(() => lab, "lease")

const stale = { error: { message: "There is no such active lease; acquire a new one.", type: "lease_error", code: "LEASE_FENCE_STALE" } }

describe("the life of a lease", () => {
  it("acquire gives a free connection: times, state and generation, never the connection", async () => {
    const { model, session } = await pool(1)
    const reply = await session().ask({ action: "acquire", model })
    expect(reply.status).toBe(200)
    const lease = JSON.parse(reply.text) as Record<string, string>
    expect(Object.keys(lease)).toEqual(["state", "generation", "acquiredAt", "renewedAt", "expiresAt"])
    expect(lease).toMatchObject({ state: "ACTIVE", generation: 1, renewedAt: lease["acquiredAt"] })
    expect(Date.parse(lease["expiresAt"] ?? "") - Date.parse(lease["acquiredAt"] ?? "")).toBe(120_000)
    expect(reply.headers["x-gateway-version"]).toBe(version)
  })

  it("the owner who acquires again keeps lease and generation; another owner gets another connection; then it is full: 429 with the wait", async () => {
    const { credentials, prefix, session } = await pool(2)
    const model = `${prefix}/full-1`
    const [one, two, three] = [session(), session(), session()]
    const first = await one.acquire(model)
    const again = await one.acquire(model)
    expect(again).toMatchObject({ generation: 1, acquiredAt: first.acquiredAt })
    expect(Date.parse(again.expiresAt)).toBeGreaterThanOrEqual(Date.parse(first.expiresAt))
    expect((await two.acquire(model)).generation).toBe(1)
    const full = await three.ask({ action: "acquire", model })
    expect(full.status).toBe(429)
    const body = JSON.parse(full.text) as { retryAfter: number }
    expect(body).toEqual({
      state: "WAITING_FOR_CAPACITY",
      error: { message: expect.any(String), type: "lease_error", code: "LEASE_CAPACITY_UNAVAILABLE" },
      reason: "NO_FREE_ELIGIBLE_CONNECTION", retryAfter: body.retryAfter, eligibleCount: 2, freeCount: 0
    })
    expect(body.retryAfter).toBeGreaterThan(100)
    expect(body.retryAfter).toBeLessThanOrEqual(120)
    expect(full.headers["retry-after"]).toBe(String(body.retryAfter))
    await one.ask({ action: "release", generation: 1 })
    await three.acquire(model)
    const chats = await Promise.all([two.chat(lab, model, 1), three.chat(lab, model, 1), one.chat(lab, model, 1)])
    expect(chats.map(({ status }) => status)).toEqual([200, 200, 409])
    expect([...await credentialsOf(lab, "full-1")].sort()).toEqual(credentials)
  })

  it("renew extends to now + TTL and changes nothing else; status shows the name and the provider's label", async () => {
    const { model, prefix, session } = await pool(1)
    const client = session()
    const lease = await client.acquire(model)
    const reply = await client.ask({ action: "renew", generation: 1 })
    const renewed = JSON.parse(reply.text) as typeof lease
    expect([reply.status, renewed.state, renewed.generation, renewed.acquiredAt]).toEqual([200, "ACTIVE", 1, lease.acquiredAt])
    expect(Date.parse(renewed.expiresAt) - Date.parse(renewed.renewedAt)).toBe(120_000)
    expect(Date.parse(renewed.renewedAt)).toBeGreaterThanOrEqual(Date.parse(lease.renewedAt))
    expect(JSON.parse((await client.status(1)).text)).toEqual({ ...renewed, connection: { displayName: `${prefix}-0`, provider: prefix } })
  })

  it.each([
    ["  Team account  ", "Team account"], ["someone@example.com", null], ["6f1c2b1e-3d4a-4f5b-8c6d-7e8f90a1b2c3", null]
  ])("status shows the configured name %j as %j", async (name, shown) => {
    const { connections, model, session } = await pool(1)
    await lab.gateway.operator.changeConnection(connections[0] ?? "", { name })
    const client = session()
    await client.acquire(model)
    expect(JSON.parse((await client.status(1)).text)).toMatchObject({ connection: { displayName: shown } })
  })

  it("release ends it; the next generation is one higher, and no generation before it is good for anything", async () => {
    const { model, session } = await pool(1)
    const client = session()
    const lease = await client.acquire(model)
    const reply = await client.ask({ action: "release", generation: 1, reason: "CLIENT_CANCELLED" })
    expect([reply.status, JSON.parse(reply.text)]).toEqual([200, { ...lease, state: "RELEASED" }])
    expect((await client.acquire(model)).generation).toBe(2)
    for (const action of ["renew", "release", "status"]) expect(JSON.parse((await client.ask({ action, generation: 1 })).text)).toEqual(stale)
    expect((await client.chat(lab, model, 1)).status).toBe(409)
    expect((await client.chat(lab, model, 2)).status).toBe(200)
  })

  it("a release sent again with the same idempotency key is answered as before; any other one is stale", async () => {
    const { model, session } = await pool(1)
    const client = session()
    await client.acquire(model)
    const once = { "idempotency-key": "release-1" }
    const first = await client.ask({ action: "release", generation: 1 }, once)
    expect([first.status, (await client.ask({ action: "release", generation: 1 }, once)).text]).toEqual([200, first.text])
    for (const [body, headers] of [
      [{ action: "release", generation: 1 }, {}], [{ action: "release", generation: 1 }, { "idempotency-key": "release-2" }],
      [{ action: "release", generation: 1, reason: "CLIENT_CANCELLED" }, once], [{ action: "status", generation: 1 }, once]
    ] as const) expect((await client.ask(body, headers)).status).toBe(409)
  })

  it("leases do not survive a restart without Redis, and no generation comes again", async () => {
    const { model, session } = await pool(1)
    const client = session()
    await client.acquire(model)
    await client.ask({ action: "release", generation: 1 })
    expect((await client.acquire(model)).generation).toBe(2)
    await lab.gateway.restart()
    await lab.gateway.operator.login()
    expect(JSON.parse((await client.status(2)).text)).toEqual(stale)
    expect((await client.chat(lab, model, 2)).status).toBe(409)
    expect((await client.acquire(model)).generation).toBe(3)
  })
})

describe("what every failed lookup answers", () => {
  it("is the same bytes: wrong key, wrong owner, stale, future, missing, released or invalidated", async () => {
    const { connections, model, session } = await pool(2)
    const client = session()
    const { generation } = await client.acquire(model)
    const other = await managedKey(lab.gateway, "other", connections)
    const gone = session()
    await gone.acquire(model)
    await gone.ask({ action: "release", generation: 1 })
    const replies = await Promise.all([
      new Session(lab.gateway, other.key, client.owner).status(generation),
      session().status(generation), client.status(generation + 1), client.status(9_007_199_254_740_991),
      gone.status(1), gone.ask({ action: "release", generation: 1 }), gone.ask({ action: "renew", generation: 1 }),
      new Session(lab.gateway, other.key, client.owner).ask({ action: "acquire", model }),
      new Session(lab.gateway, other.key, client.owner).chat(lab, model, generation),
      session().chat(lab, model, 1), client.chat(lab, model, generation + 1), gone.chat(lab, model, 1)
    ])
    for (const reply of replies) {
      expect([reply.status, reply.text]).toEqual([409, JSON.stringify(stale)])
      expect(Object.keys(reply.headers).sort()).toEqual(Object.keys(replies[0]?.headers ?? {}).sort())
    }
    expect((await client.status(generation)).status).toBe(200)
  })
})

describe("refusals of the endpoint", () => {
  it.each([
    [400, "LEASE_CONTEXT_REQUIRED", { action: "acquire", model: "x" }, { "x-gateway-lease-owner": "" }],
    [400, "LEASE_CONTEXT_INVALID", { action: "acquire", model: "x" }, { "x-gateway-lease-owner": "vlo_short" }],
    [400, "LEASE_CONTEXT_INVALID", { action: "acquire", model: "x" }, { "x-gateway-lease-owner": `${newOwner()}x` }],
    [400, "LEASE_ACTION_INVALID", { action: "steal" }, {}],
    [400, "LEASE_ACTION_INVALID", {}, {}],
    [400, "LEASE_ACTION_INVALID", "[1]", {}],
    [400, "LEASE_ACTION_INVALID", "{", {}],
    [400, "LEASE_ACTION_INVALID", { action: "release", generation: 1, reason: "TTL_EXPIRED" }, {}],
    [400, "LEASE_MODEL_INVALID", { action: "acquire" }, {}],
    [400, "LEASE_MODEL_INVALID", { action: "acquire", model: "  " }, {}],
    [400, "LEASE_CONTEXT_REQUIRED", { action: "renew" }, {}],
    [400, "LEASE_CONTEXT_INVALID", { action: "renew", generation: "1" }, {}],
    [400, "LEASE_CONTEXT_INVALID", { action: "status", generation: 0 }, {}],
    [400, "LEASE_CONTEXT_INVALID", { action: "status", generation: 1.5 }, {}],
    [400, "LEASE_CONTEXT_INVALID", { action: "status", generation: 9_007_199_254_740_992 }, {}],
    [415, "LEASE_CONTENT_TYPE_REQUIRED", { action: "status", generation: 1 }, { "content-type": "text/plain" }],
    [401, "LEASE_API_KEY_INVALID", { action: "status", generation: 1 }, { authorization: "Bearer sk-nobody" }],
    [401, "LEASE_AUTHENTICATION_REQUIRED", { action: "status", generation: 1 }, { authorization: "" }]
  ])("%i %s for %j", async (status, code, body, headers) => {
    const { session } = await pool(1)
    const given = Object.entries(headers).filter(([name, value]) => value !== "" || name !== "authorization")
    const client = session()
    const reply = "authorization" in headers && headers.authorization === ""
      ? await Http.send(lab.gateway.url, { path: "/api/v1/session-leases", body, headers: { "x-gateway-lease-owner": client.owner } })
      : await client.ask(body, Object.fromEntries(given) as Record<string, string>)
    expect([reply.status, codeOf(reply)]).toEqual([status, code])
    expect(JSON.parse(reply.text)).toMatchObject({ error: { type: "lease_error" } })
    expect(reply.text).not.toContain(client.owner)
  })

  it("403 LEASE_SCOPE_REQUIRED without the scope; 400 LEASE_KEY_POLICY_INVALID for the scope without connections, at creation and patch", async () => {
    const { operator } = lab.gateway
    const plain = await operator.createKey("plain")
    expect(codeOf(await new Session(lab.gateway, plain.key).status(1))).toBe("LEASE_SCOPE_REQUIRED")
    const { connections, key } = await pool(1)
    for (const reply of [
      await operator.raw("POST", "/api/keys", { name: "x", scopes: ["lease:exclusive"] }),
      await operator.raw("PATCH", `/api/keys/${key.id}`, { allowedConnections: [] }),
      await operator.raw("PATCH", `/api/keys/${plain.id}`, { scopes: ["lease:exclusive"] })
    ]) {
      expect([reply.status, codeOf(reply)]).toEqual([400, "LEASE_KEY_POLICY_INVALID"])
      expect(JSON.parse(reply.text)).toMatchObject({ error: { type: "lease_error", details: [{ field: "allowedConnections" }] } })
    }
    expect((await operator.raw("PATCH", `/api/keys/${plain.id}`, { scopes: ["lease:exclusive"], allowedConnections: connections })).status).toBe(200)
  })

  it("a model that is unknown, or that the key's connections do not serve, keeps the ordinary reply", async () => {
    const { session } = await pool(1)
    const unknown = await session().ask({ action: "acquire", model: "no-such-model-anywhere" })
    const foreign = await session().ask({ action: "acquire", model: "lab/tokens-2" })
    expect([unknown.status, codeOf(unknown)]).toEqual([404, "model_not_found"])
    expect([foreign.status, codeOf(foreign)]).toEqual([403, "insufficient_permissions"])
  })
})

describe("inference with a managed key", () => {
  it("needs both headers; without a lease nothing reaches the upstream", async () => {
    const { key, prefix, session } = await pool(1)
    const model = `${prefix}/fenced-1`
    const client = session()
    const bearer = { authorization: `Bearer ${key.key}` }
    const owner = { "x-gateway-lease-owner": client.owner }
    for (const [status, code, headers] of [
      [409, "LEASE_REQUIRED", bearer],
      [400, "LEASE_CONTEXT_REQUIRED", { ...bearer, ...owner }],
      [400, "LEASE_CONTEXT_REQUIRED", { ...bearer, "x-gateway-lease-generation": "1" }],
      [400, "LEASE_CONTEXT_INVALID", { ...bearer, ...owner, "x-gateway-lease-generation": "01" }],
      [400, "LEASE_CONTEXT_INVALID", { ...bearer, "x-gateway-lease-owner": "vlo_x", "x-gateway-lease-generation": "1" }],
      [409, "LEASE_FENCE_STALE", { ...bearer, ...owner, "x-gateway-lease-generation": "1" }]
    ] as const) {
      const reply = await lab.chat({ model }, headers)
      expect([reply.status, codeOf(reply)]).toEqual([status, code])
    }
    expect(await credentialsOf(lab, "fenced-1")).toEqual([])
  })

  it("goes to the leased connection only, whatever the order of the others, streamed or not and in every format", async () => {
    const { credentials, prefix, session } = await pool(3)
    const model = `${prefix}/pinned-1`
    const clients = [session(), session(), session()]
    for (const [i, client] of clients.entries()) {
      await client.acquire(model)
      const headers = client.headers(1)
      expect((await lab.chat({ model }, headers)).status).toBe(200)
      expect((await lab.stream({ model }, headers)).status).toBe(200)
      const messages = await Http.send(lab.gateway.url, {
        path: "/v1/messages", headers, body: { model, max_tokens: 10, messages: [{ role: "user", content: "hello" }] }
      })
      expect(messages.status).toBe(200)
      await eventually(() => credentialsOf(lab, "pinned-1"), (seen) => seen.length === 3 * (i + 1), "the calls")
    }
    expect(await credentialsOf(lab, "pinned-1")).toEqual(credentials.flatMap((credential) => [credential, credential, credential]))
  })

  it("neither the owner nor the generation goes upstream, into the audit or into the log", async () => {
    const { prefix, session } = await pool(1)
    const model = `${prefix}/canary-1`
    const client = session()
    await client.acquire(model)
    await client.chat(lab, model, 1)
    await client.status(7)
    const [entry] = (await lab.sim.entries()).filter((one) => one.model === "canary-1")
    // The number of gateways on the way says nothing of the session.
    expect(Object.keys(entry?.headers ?? {}).filter((name) => name.startsWith("x-gateway") && name !== "x-gateway-hops")).toEqual([])
    expect(JSON.stringify(entry)).not.toContain(client.owner)
    expect(lab.gateway.output()).not.toContain(client.owner)
    expect(JSON.stringify(await changesOf(lab, client.owner))).not.toContain(client.owner)
    expect(JSON.stringify(await lab.gateway.rows())).not.toContain(client.owner)
  })

  it("is fenced before each attempt: a lease that ends during the first one lets no second one out, also on a connection that is free", async () => {
    const { credentials, prefix, session } = await pool(2)
    const model = `${prefix}/twice-1`
    const client = session()
    await client.acquire(model)
    await lab.sim.rule({ match: { model: "twice-1" }, script: { status: 503, latencyMs: 700 } })
    const reply = client.chat(lab, model, 1)
    await eventually(() => credentialsOf(lab, "twice-1"), (calls) => calls.length === 1, "the first attempt")
    expect((await client.ask({ action: "release", generation: 1 })).status).toBe(200)
    expect([(await reply).status, JSON.parse((await reply).text)]).toEqual([409, stale])
    expect(await credentialsOf(lab, "twice-1")).toEqual([credentials[0]])
  })

  it("a model that the leased connection does not serve is LEASE_CONNECTION_MISMATCH", async () => {
    const one = await pool(1)
    const two = await pool(1)
    const key = await managedKey(lab.gateway, "both", [...one.connections, ...two.connections])
    const client = new Session(lab.gateway, key.key)
    await client.acquire(one.model)
    const reply = await client.chat(lab, `${two.prefix}/mismatch-1`, 1)
    expect([reply.status, codeOf(reply)]).toEqual([409, "LEASE_CONNECTION_MISMATCH"])
    expect(await credentialsOf(lab, "mismatch-1")).toEqual([])
    expect((await client.acquire(two.model)).generation).toBe(2)
    expect((await client.chat(lab, two.model, 2)).status).toBe(200)
  })

  it("a route that cannot be fenced is LEASE_UNSUPPORTED_ROUTE", async () => {
    const { model, session } = await pool(1)
    const client = session()
    await client.acquire(model)
    const reply = await Http.send(lab.gateway.url, {
      path: "/v1/messages/count_tokens", headers: client.headers(1), body: { model, messages: [{ role: "user", content: "hello" }] }
    })
    expect([reply.status, codeOf(reply)]).toEqual([400, "LEASE_UNSUPPORTED_ROUTE"])
  })

  it("a key without the scope is not bound to leases, also on a connection that is leased", async () => {
    const { connections, model, session } = await pool(1)
    await session().acquire(model)
    const plain = await lab.gateway.operator.createKey("ordinary", { allowedConnections: connections })
    expect((await lab.chat({ model }, { authorization: `Bearer ${plain.key}` })).status).toBe(200)
  })

  it("a combo is served by the leased connection, wherever it stands in it", async () => {
    const { connections, credentials, prefix, session } = await pool(2)
    await lab.gateway.operator.call("POST", "/api/combos", {
      name: `combo-${prefix}`, strategy: "priority", models: connections.map((connectionId) => ({ model: `${prefix}/combo-1`, connectionId }))
    })
    const [first, second] = [session(), session()]
    for (const client of [first, second]) await client.acquire(`combo-${prefix}`)
    for (const client of [second, first]) {
      const reply = await Http.send(lab.gateway.url, {
        path: "/v1/chat/completions", headers: client.headers(1), body: { model: `combo-${prefix}`, messages: [{ role: "user", content: "hello" }] }
      })
      expect([reply.status, reply.status === 200 ? "" : reply.text]).toEqual([200, ""])
    }
    expect(await credentialsOf(lab, "combo-1")).toEqual([credentials[1], credentials[0]])
  })
})

describe("a lease moves", () => {
  it("when its connection fails and another one is free: same generation, the new name in status, the old connection free", async () => {
    const { credentials, prefix, session } = await pool(2)
    const model = `${prefix}/moving-1`
    const client = session()
    const lease = await client.acquire(model)
    await lab.sim.rule({ match: { model: "moving-1" }, times: 1, script: { status: 503 } })
    expect((await client.chat(lab, model, 1)).status).toBe(200)
    expect(await credentialsOf(lab, "moving-1")).toEqual(credentials)
    expect(JSON.parse((await client.status(1)).text)).toEqual({ ...lease, connection: { displayName: `${prefix}-1`, provider: prefix } })
    expect((await client.chat(lab, model, 1)).status).toBe(200)
    expect(await credentialsOf(lab, "moving-1")).toEqual([...credentials, credentials[1]])
    const next = session()
    await next.acquire(model)
    expect(JSON.parse((await next.status(1)).text)).toMatchObject({ connection: { displayName: `${prefix}-0` } })
    const kinds = (await eventually(() => changesOf(lab, client.owner), (seen) => seen.length === 2, "two changes")).map(({ kind }) => kind)
    expect(kinds).toEqual(["MOVED", "ACQUIRED"])
  })

  it("also to a connection that stands before its own", async () => {
    const { credentials, prefix, session } = await pool(2)
    const model = `${prefix}/back-1`
    const [other, client] = [session(), session()]
    await other.acquire(model)
    await client.acquire(model)
    await other.ask({ action: "release", generation: 1 })
    await lab.sim.rule({ match: { model: "back-1" }, times: 1, script: { status: 503 } })
    expect((await client.chat(lab, model, 1)).status).toBe(200)
    expect(await credentialsOf(lab, "back-1")).toEqual([...credentials].reverse())
  })

  it("not to a connection that is held by another session: the upstream's failure is the answer, and nobody else's account is used", async () => {
    const { credentials, prefix, session } = await pool(2)
    const model = `${prefix}/staying-1`
    const [one, two] = [session(), session()]
    await one.acquire(model)
    await two.acquire(model)
    await lab.sim.rule({ match: { model: "staying-1" }, times: 1, script: { status: 503 } })
    expect((await one.chat(lab, model, 1)).status).toBe(503)
    expect(await credentialsOf(lab, "staying-1")).toEqual([credentials[0]])
    expect([(await one.status(1)).status, (await two.status(1)).status]).toEqual([200, 200])
  })
})

describe("a lease is ended by the gateway", () => {
  const auditOf = (connection: string) => lab.gateway.operator.call<ReadonlyArray<Record<string, unknown>>>(
    "GET", `/api/compliance/audit-log?action=lease.invalidated&target=${connection}`
  )
  const reasonOf = async (owner: string) =>
    (await eventually(() => changesOf(lab, owner), ([last]) => last?.kind === "INVALIDATED", "the invalidation"))[0]?.reason

  it.each([
    ["connection is switched off", "CONNECTION_INELIGIBLE", async (_key: string, connection: string) => lab.gateway.operator.changeConnection(connection, { isActive: false })],
    ["connection is deleted", "CONNECTION_INELIGIBLE", async (_key: string, connection: string) => lab.gateway.operator.removeConnection(connection)],
    ["key loses the connection", "AUTHORIZATION_CHANGED", async (key: string, _connection: string) =>
      lab.gateway.operator.changeKey(key, { allowedConnections: [lab.connection] })],
    ["key loses the scope", "AUTHORIZATION_CHANGED", async (key: string, _connection: string) => lab.gateway.operator.changeKey(key, { scopes: [] })],
    ["key is disabled", "MANAGED_KEY_REVOKED", async (key: string, _connection: string) => lab.gateway.operator.changeKey(key, { isActive: false })],
    ["key is banned", "MANAGED_KEY_REVOKED", async (key: string, _connection: string) => lab.gateway.operator.changeKey(key, { isBanned: true })],
    ["key is deleted", "MANAGED_KEY_REVOKED", async (key: string, _connection: string) => lab.gateway.operator.call("DELETE", `/api/keys/${key}`)],
    ["key is regenerated", "MANAGED_KEY_REVOKED", async (key: string, _connection: string) => lab.gateway.operator.call("POST", `/api/keys/${key}/regenerate`)]
  ])("when its %s: %s, and the connection is free for others at once", async (_what, reason, change) => {
    const { connections, key, model, session } = await pool(1)
    const client = session()
    const lease = await client.acquire(model)
    await change(key.id, connections[0] ?? "")
    expect((await client.chat(lab, model, 1)).status).not.toBe(200)
    expect(await reasonOf(client.owner)).toBe(reason)
    const entries = await eventually(() => auditOf(connections[0] ?? ""), ({ length }) => length > 0, "the audit entry")
    expect(entries).toEqual([expect.objectContaining({
      action: "lease.invalidated", actor: "gateway", resource_type: "lease", status: "success",
      details: { reason, keyId: key.id, connectionId: connections[0], generation: 1, acquiredAt: lease.acquiredAt }
    })])
    for (const secret of [client.owner, hashOf(client.owner), key.key]) expect(JSON.stringify(entries)).not.toContain(secret)
  })

  it("and the audit log tells it once, however often the lease is presented after it; a release is no entry", async () => {
    const { connections, model, session } = await pool(2)
    const [cut, done] = [session(), session()]
    await cut.acquire(model)
    await done.acquire(model)
    await done.ask({ action: "release", generation: 1 })
    await lab.gateway.operator.removeConnection(connections[0] ?? "")
    await Promise.all([1, 2, 3, 4].map(() => cut.status(1)))
    // A later invalidation is behind all entries of the first one.
    await done.acquire(model)
    await lab.gateway.operator.removeConnection(connections[1] ?? "")
    await eventually(() => auditOf(connections[1] ?? ""), ({ length }) => length > 0, "the later entry")
    expect((await auditOf(connections[0] ?? "")).length).toBe(1)
    expect(await auditOf(connections[1] ?? "")).toMatchObject([{ details: { generation: 2 } }])
  })

  it("a regenerated key's new value does not reach the lease of the old one, and may acquire its own", async () => {
    const { key, model, session } = await pool(1)
    const client = session()
    await client.acquire(model)
    const { key: next } = await lab.gateway.operator.call<{ key: string }>("POST", `/api/keys/${key.id}/regenerate`)
    const renewed = new Session(lab.gateway, next, client.owner)
    expect(JSON.parse((await renewed.status(1)).text)).toEqual(stale)
    expect((await renewed.acquire(model)).generation).toBe(2)
  })
})
