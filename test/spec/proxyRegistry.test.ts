/** The registry of outbound proxies: /api/v1/management/proxies, its assignments and its health. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest"
import * as Http from "#test/support/http.ts"
import { errorIn, type Lab, startLab } from "#test/support/lab.ts"
import { fresh, proxiesOf, type ProxyView } from "#test/support/proxyRecords.ts"
import * as ScriptedServer from "#test/upstream/support/scriptedServer.ts"

const PATH = "/api/v1/management/proxies"
const CANARY = "canary-pr0xy-passw0rd"

let lab: Lab
beforeAll(async () => {
  lab = await startLab()
})
afterAll(() => lab.close())
afterEach(() => clear())

const { assign, call, clear, create, raw, say, start } = proxiesOf(() => lab)

const refusal = async (method: string, path: string, body?: unknown) => {
  const reply = await raw(method, path, body)
  return [reply.status, errorIn(reply)] as const
}

describe("the registry", () => {
  it("keeps proxies with their credentials masked, changes and removes them", async () => {
    const made = await create(8080, { type: "https", username: "user", password: CANARY, region: "eu", notes: "the office", family: "ipv4" })
    expect(made).toEqual({
      id: made.id, name: "office", type: "https", host: "127.0.0.1", port: 8080, username: "[redacted]", password: "[redacted]", region: "eu", notes: "the office",
      status: "active", source: "manual", subscriptionId: null, leftAt: null, family: "ipv4", createdAt: made["createdAt"], updatedAt: made["createdAt"]
    })
    expect(await call("GET", PATH)).toEqual({ items: [made], total: 1 })
    expect(await call("GET", `${PATH}?id=${made.id}`)).toEqual(made)
    const changed = await call<ProxyView>("PATCH", PATH, { id: made.id, name: "home", username: null, password: "[redacted]", status: "inactive", host: "[::1]" })
    expect(changed).toEqual({ ...made, name: "home", username: null, status: "inactive", host: "::1", updatedAt: changed["updatedAt"] })
    expect(String(changed["updatedAt"]) > String(made["updatedAt"])).toBe(true)
    expect(await call("DELETE", `${PATH}?id=${made.id}`)).toEqual({ success: true })
    for (const [method, path, body] of [["GET", `${PATH}?id=${made.id}`], ["PATCH", PATH, { id: made.id }], ["DELETE", `${PATH}?id=${made.id}`]] as const) {
      expect((await raw(method, path, body)).status).toBe(404)
    }
  })

  it("refuses what is no proxy, naming the field", async () => {
    const wrong: ReadonlyArray<readonly [Record<string, unknown>, string, string]> = [
      [{ host: "http://p.test" }, "host", "Expected a host name or an IP address, without scheme, port and path"],
      [{ host: "user@p.test" }, "host", "Expected a host name or an IP address, without scheme, port and path"],
      [{ host: "169.254.169.254" }, "host", "169.254.169.254 is refused as a proxy URL (metadata): no flag opens the metadata services of a cloud"],
      [{ type: "socks5" }, "type", "SOCKS5 proxies are switched off: set enableSocks5Proxy with PATCH /api/settings"]
    ]
    for (const [over, field, message] of wrong) {
      const [status, error] = await refusal("POST", PATH, { name: "x", host: "p.test", port: 1, ...over })
      expect([status, error["details"]]).toEqual([400, [{ field, message }]])
    }
    for (const over of [{ port: 0 }, { port: 65_536 }, { name: "" }, { name: "x".repeat(121) }, { host: "h".repeat(256) }, { type: "ftp" }, { family: "ipv5" }, { color: "red" }]) {
      expect((await raw("POST", PATH, { name: "x", host: "p.test", port: 1, ...over })).status, JSON.stringify(over)).toBe(400)
    }
    await call("PATCH", "/api/settings", { enableSocks5Proxy: true })
    expect(await create(1, { type: "SOCKS5" })).toMatchObject({ type: "socks5" })
    const [, long] = await refusal("POST", PATH, { name: "x", host: "p.test", port: 1, type: "socks5", password: "ü".repeat(128) })
    expect(long["details"]).toEqual([{ field: "password", message: "SOCKS5 takes at most 255 bytes" }])
  })

  it("is not for callers without management rights", async () => {
    for (const path of [PATH, `${PATH}/assignments`]) expect((await Http.send(lab.gateway.url, { path })).status).toBe(401)
  })
})

describe("assignments", () => {
  it("are listed by filters, shown as a graph, and keep their proxy from being removed", async () => {
    const made = await create(1)
    const { id: key } = await lab.gateway.operator.createKey("assigned")
    const combo = await call<{ id: string }>("POST", "/api/combos", { name: `c-${fresh()}`, models: ["lab/echo"], strategy: "priority" })
    const scopes = [["global", null], ["provider", "lab"], ["account", lab.connection], ["combo", combo.id], ["key", key]] as const
    for (const [scope, scopeId] of scopes) {
      expect(await assign(scope, scopeId, made.id)).toMatchObject({ success: true, assignment: { scope, scopeId, proxyId: made.id } })
    }
    const all = await call<{ items: ReadonlyArray<Record<string, unknown>>; total: number }>("GET", `${PATH}/assignments`)
    expect([all.total, all.items.map(({ scope, scopeId }) => [scope, scopeId])]).toEqual([5, [["account", lab.connection], ["combo", combo.id], ["global", null], ["key", key], ["provider", "lab"]]])
    for (const [query, total] of [[`proxy_id=${made.id}`, 5], ["proxy_id=none", 0], ["scope=connection", 1], ["scope=provider&scope_id=lab", 1], [`scope_id=${key}`, 1]] as const) {
      expect(await call("GET", `${PATH}/assignments?${query}`), query).toMatchObject({ total })
    }
    expect(await call("GET", `${PATH}?id=${made.id}&where_used=1`)).toMatchObject({ id: made.id, count: 5 })
    const [status, error] = await refusal("DELETE", `${PATH}?id=${made.id}`)
    expect([status, error["code"]]).toEqual([409, "PROXY_IN_USE"])
    expect(await assign("provider", "lab", null)).toEqual({ success: true, assignment: null })
    await call("DELETE", `${PATH}?id=${made.id}&force=1`)
    expect(await call("GET", `${PATH}/assignments`)).toEqual({ items: [], total: 0 })
  })

  it("are for what exists only, and go with it", async () => {
    const made = await create(1)
    for (const [scope, scopeId, field] of [["provider", "nobody", "scopeId"], ["account", "nobody", "scopeId"], ["combo", "nobody", "scopeId"], ["key", "nobody", "scopeId"], ["key", null, "scopeId"]] as const) {
      const [status, error] = await refusal("PUT", `${PATH}/assignments`, { scope, ...(scopeId === null ? {} : { scopeId }), proxyId: made.id })
      expect([status, (error["details"] as ReadonlyArray<{ field: string }>)[0]?.field]).toEqual([400, field])
    }
    const [status, error] = await refusal("PUT", `${PATH}/assignments`, { scope: "global", proxyId: "nobody" })
    expect([status, error["details"]]).toEqual([400, [{ field: "proxyId", message: "No proxy has this id: see GET /api/v1/management/proxies" }]])
    const { id: key } = await lab.gateway.operator.createKey("short-lived")
    const [connection = ""] = await lab.pool(`p${fresh()}`, ["short-lived-credential"])
    await assign("key", key, made.id)
    await assign("connection", connection, made.id)
    await call("DELETE", `/api/keys/${key}`)
    await lab.gateway.operator.removeConnection(connection)
    expect(await call("GET", `${PATH}/assignments`)).toEqual({ items: [], total: 0 })
  })

  it("are made for several ids at once; what is unknown is listed", async () => {
    const made = await create(1)
    const bulk = (body: Record<string, unknown>) => call("PUT", `${PATH}/bulk-assign`, body)
    expect(await bulk({ scope: "provider", scopeIds: ["lab", "openai", "nobody"], proxyId: made.id })).toEqual({
      success: true, requested: 3, updated: 2,
      failed: [{ scopeId: "nobody", reason: "No provider has the id or prefix 'nobody': see GET /api/providers and GET /api/provider-nodes" }]
    })
    expect(await call("GET", `${PATH}/assignments?scope=provider`)).toMatchObject({ total: 2 })
    expect(await bulk({ scope: "provider", scopeIds: ["lab", "openai"] })).toEqual({ success: true, requested: 2, updated: 2, failed: [] })
    expect(await call("GET", `${PATH}/assignments`)).toEqual({ items: [], total: 0 })
  })

  it("say what a connection leaves by", async () => {
    const resolve = (id: string) => call("GET", `${PATH}/assignments?resolve_connection_id=${id}`)
    expect(await resolve(lab.connection)).toEqual({ connectionId: lab.connection, level: "direct", levelId: null, proxy: null })
    const [all, own] = [await create(1), await create(2)]
    await assign("global", null, all.id)
    expect(await resolve(lab.connection)).toEqual({ connectionId: lab.connection, level: "global", levelId: null, proxy: all })
    await assign("provider", "lab", own.id)
    expect(await resolve(lab.connection)).toEqual({ connectionId: lab.connection, level: "provider", levelId: "lab", proxy: own })
    await call("PATCH", "/api/settings", { proxyEnabled: false })
    expect(await resolve(lab.connection)).toMatchObject({ level: "direct", proxy: null })
    expect((await raw("GET", `${PATH}/assignments?resolve_connection_id=nobody`)).status).toBe(404)
  })
})

describe("GET /api/v1/management/proxies/health", () => {
  it("tells how many tunnels each proxy made, how many calls got none, and how long they took", async () => {
    await using well = await start({ name: "a-well" })
    const away = await create(await ScriptedServer.unusedPort(), { name: "b-away" })
    await create(1, { name: "c-unused" })
    const none = { successCount: 0, failureCount: 0, successRate: null, avgLatencyMs: null, lastError: null, failuresInARow: 0, setAsideUntil: null }
    const health = (query = "") => call<{ items: ReadonlyArray<Record<string, unknown>> }>("GET", `${PATH}/health${query}`)
    expect(await health()).toMatchObject({ total: 3, windowHours: 24, items: [{ name: "a-well", ...none }, { name: "b-away", ...none }, { name: "c-unused", ...none }] })
    for (const [id, status] of [[well.record.id, 200], [away.id, 502]] as const) {
      await assign("provider", "lab", id)
      for (let i = 0; i < 2; i++) expect((await say("echo")).status).toBe(status)
    }
    const { items } = await health("?hours=1")
    const { avgLatencyMs, ...first } = items[0] ?? {}
    expect(first).toEqual({ proxyId: well.record.id, name: "a-well", successCount: well.proxy.tunnels.length, failureCount: 0, successRate: 1, lastError: null, failuresInARow: 0, setAsideUntil: null })
    expect(Number(avgLatencyMs)).toBeLessThan(5_000)
    expect(items[1]).toEqual({ ...none, proxyId: away.id, name: "b-away", failureCount: 2, successRate: 0, lastError: `the proxy ${away.id} cannot be reached (ECONNREFUSED)`, failuresInARow: 1, setAsideUntil: expect.stringMatching(/^2\d{3}-.*Z$/) })
    for (const hours of ["0", "721", "x", "1.5"]) expect((await raw("GET", `${PATH}/health?hours=${hours}`)).status, hours).toBe(400)
  })
})

describe("an import", () => {
  it("adds what can be added, leaves what is there as it is, and names the rest by its place", async () => {
    const item = (port: number, over: Record<string, unknown> = {}) => ({ name: `p-${port}`, host: "127.0.0.1", port, ...over })
    const before = await create(9001, { username: "user", password: CANARY })
    const items = [
      item(9001, { username: "user", password: CANARY, name: "another name" }), item(9002), item(9002, { name: "twice" }), item(9003, { host: "not a host" }), item(9004, { type: "socks5" }),
      item(9001)
    ]
    expect(await call("POST", `${PATH}/bulk-import`, { items })).toEqual({
      success: true, requested: 6, created: 2, skipped: 2, failed: [
        { index: 3, reason: "Expected a host name or an IP address, without scheme, port and path" },
        { index: 4, reason: "SOCKS5 proxies are switched off: set enableSocks5Proxy with PATCH /api/settings" }
      ]
    })
    const { items: found } = await call<{ items: ReadonlyArray<ProxyView> }>("GET", PATH)
    expect(found.map(({ name, password, port }) => [name, port, password])).toEqual([["office", 9001, "[redacted]"], ["p-9001", 9001, null], ["p-9002", 9002, null]])
    expect(found[0]).toEqual(before)
    expect((await refusal("POST", `${PATH}/bulk-import`, { items: Array.from({ length: 101 }, () => item(9005)) }))[0]).toBe(400)
    const audit = await raw("GET", "/api/compliance/audit-log?action=proxy.imported")
    expect(audit.text).toContain("\"created\":2")
    expect(audit.text).not.toContain(CANARY)
  })
})

describe("the second name of the registry's paths", () => {
  const TWIN = "/api/settings/proxies"

  it("is answered as the first, and to the same callers", async () => {
    const made = await call<ProxyView>("POST", TWIN, { name: "twin", host: "127.0.0.1", port: 9010 })
    expect(await call("GET", TWIN)).toEqual(await call("GET", PATH))
    expect(await call("GET", `${TWIN}?id=${made.id}`)).toEqual(made)
    await call("PUT", `${TWIN}/assignments`, { scope: "provider", scopeId: "lab", proxyId: made.id })
    expect(await call("GET", `${TWIN}/assignments?scope=provider`)).toMatchObject({ total: 1, items: [{ scopeId: "lab", proxyId: made.id }] })
    expect(await call("PUT", `${TWIN}/bulk-assign`, { scope: "provider", scopeIds: ["lab"] })).toMatchObject({ updated: 1 })
    expect(await call("GET", `${TWIN}/health?hours=1`)).toMatchObject({ windowHours: 1 })
    expect(await call("POST", `${TWIN}/bulk-import`, { items: [{ name: "twin", host: "127.0.0.1", port: 9010 }] })).toMatchObject({ created: 0, skipped: 1 })
    expect(await call("PATCH", TWIN, { id: made.id, name: "renamed" })).toMatchObject({ id: made.id, name: "renamed" })
    expect((await raw("DELETE", `${TWIN}?id=${made.id}`)).status).toBe(200)
    for (const method of ["GET", "POST"]) expect((await Http.send(lab.gateway.url, { method, path: TWIN, ...(method === "GET" ? {} : { body: { name: "x", host: "127.0.0.1", port: 1 } }) })).status).toBe(401)
    expect((await raw("PUT", TWIN, {})).status).toBe(405)
    for (const path of [`${TWIN}/none`, `${TWIN}x`, "/api/settings/proxiesx/health"]) expect([path, (await raw("GET", path)).status]).toEqual([path, 404])
  })

  it("has a migration that keeps what the older map made", async () => {
    await call("PUT", "/api/settings/proxy", { global: { host: "127.0.0.1", port: 9020 } })
    expect(await call("POST", `${TWIN}/migrate`)).toEqual({ success: true, migrated: 1 })
    expect(await call("POST", `${PATH}/migrate`)).toEqual({ success: true, migrated: 0 })
    await call("PUT", "/api/settings/proxy", { global: null })
    expect(await call("GET", TWIN)).toMatchObject({ total: 1, items: [{ port: 9020, source: "manual" }] })
  })
})
