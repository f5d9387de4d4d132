/** GET, PUT /api/settings/ip-filter: which addresses may use the gateway, on every surface, at once. */
import * as http from "node:http"
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest"
import * as Http from "#test/support/http.ts"
import { errorIn, type Lab, messages, startLab } from "#test/support/lab.ts"
import { eventually, PASSWORD } from "#test/support/operator.ts"
import { freePort } from "#test/support/redis.ts"
import { connect, refused } from "#test/support/webSocket.ts"

const PATH = "/api/settings/ip-filter"
interface Filter {
  readonly enabled: boolean
  readonly mode: string
  readonly blacklist: ReadonlyArray<string>
  readonly whitelist: ReadonlyArray<string>
  readonly tempBans: ReadonlyArray<{ readonly ip: string; readonly until: string; readonly reason: string; readonly remainingMs: number }>
}

let lab: Lab
let livePort: number
beforeAll(async () => {
  livePort = await freePort()
  lab = await startLab({ environment: { GATEWAY_TRUSTED_PROXIES: "127.0.0.1", LIVE_WS_PORT: String(livePort) } })
})
afterAll(() => lab.close())
afterEach(async () => {
  const { tempBans } = await read()
  for (const { ip } of tempBans) await put({ removeBan: ip })
  await put({ enabled: false, mode: "blacklist", blacklist: [], whitelist: [] })
})

/** As a trusted proxy passes a client on. */
const from = (address: string) => ({ "x-forwarded-for": address })
const read = () => lab.gateway.operator.call<Filter>("GET", PATH)
const put = (change: unknown) => lab.gateway.operator.call<Filter>("PUT", PATH, change)
const raw = (change: unknown, headers: Readonly<Record<string, string>> = {}) => lab.gateway.operator.raw("PUT", PATH, change, headers)
const chat = (headers: Readonly<Record<string, string>>) => lab.chat({ model: "echo" }, headers)
const statusFrom = async (address: string): Promise<number> => (await chat(from(address))).status
const at = (path: string, address: string, body?: unknown) => Http.send(lab.gateway.url, { path, headers: from(address), ...(body === undefined ? {} : { body }) })

describe("the filter", () => {
  it("is off and empty at first, and shown by no other setting", async () => {
    expect(await read()).toEqual({ enabled: false, mode: "blacklist", blacklist: [], whitelist: [], tempBans: [] })
    expect(await lab.gateway.operator.call("GET", "/api/settings")).not.toHaveProperty("ipFilter")
  })

  it("refuses the addresses of the blacklist from the next request on", async () => {
    expect(await put({ enabled: true, blacklist: ["203.0.113.0/24", "2001:db8::/32", "198.51.*"] })).toMatchObject({ enabled: true, mode: "blacklist" })
    const all = ["203.0.113.9", "::ffff:203.0.113.9", "2001:db8::7", "198.51.100.7", "192.0.2.1"]
    expect(await Promise.all(all.map(statusFrom))).toEqual([403, 403, 403, 403, 200])
    await put({ enabled: false })
    expect(await Promise.all(all.map(statusFrom))).toEqual([200, 200, 200, 200, 200])
  })

  it("serves the addresses of the whitelist only, and this machine", async () => {
    await put({ enabled: true, mode: "whitelist", whitelist: ["192.0.2.0/24"] })
    expect(await Promise.all(["192.0.2.1", "203.0.113.9", "127.0.0.1"].map(statusFrom))).toEqual([200, 403, 200])
    expect((await chat({})).status).toBe(200)
  })

  it("believes a trusted proxy only, and refuses a client whose address is hidden", async () => {
    await put({ enabled: true, blacklist: ["203.0.113.9"] })
    expect(await statusFrom("192.0.2.1, 203.0.113.9")).toBe(403)
    expect(await statusFrom("203.0.113.9, 192.0.2.1")).toBe(200)
    const hidden = await chat({ ...from("203.0.113.9"), forwarded: "for=192.0.2.1" })
    expect([hidden.status, errorIn(hidden)["message"]]).toEqual([403, expect.stringContaining("GATEWAY_TRUSTED_PROXIES")])
  })

  it("answers in the form of each surface, before it reads a body or asks for a credential", async () => {
    await put({ enabled: true, blacklist: ["203.0.113.9"] })
    const told = { code: "address_not_allowed", message: "Address 203.0.113.9 may not use this gateway: its address filter refuses it." }
    const forms = [
      ["/v1/chat/completions", { error: { ...told, type: "permission_error" } }],
      ["/v1/messages", { type: "error", error: { type: "permission_error", message: told.message } }],
      ["/v1beta/models/lab/echo:generateContent", { error: { code: 403, status: "PERMISSION_DENIED", message: told.message } }],
      ["/v1/no/such/path", { error: told }],
      ["/api/auth/login", { error: { ...told, type: "invalid_request" }, requestId: expect.any(String) }],
      ["/a2a", { jsonrpc: "2.0", id: null, error: { code: -32003, message: told.message } }],
      ["/api/mcp/stream", { error: told }]
    ] as const
    for (const [path, body] of forms) {
      const reply = await at(path, "203.0.113.9", "{ this is no JSON")
      expect([path, reply.status, JSON.parse(reply.text)]).toMatchObject([path, 403, body])
    }
    for (const path of ["/dashboard", "/metrics", "/api/settings", "/v1/models", "/api/health"]) expect([path, (await at(path, "203.0.113.9")).status]).toEqual([path, 403])
    expect((await at("/api/health/ping", "203.0.113.9")).status).toBe(200)
  })

  it("refuses the handshake of a socket, and the requests of one that is open", async () => {
    const socket = await connect(lab.gateway.url, "/v1/ws", { headers: from("203.0.113.9") })
    const ask = async (id: string) => {
      socket.send({ type: "request", id, payload: { model: "lab/echo", messages } })
      return JSON.stringify(await socket.until((frame) => frame["id"] === id && frame["type"] !== "chunk"))
    }
    expect(await ask("before")).not.toContain("address_not_allowed")
    await put({ enabled: true, blacklist: ["203.0.113.9"] })
    expect(await ask("after")).toContain("address_not_allowed")
    await socket.close()
    expect((await refused(lab.gateway.url, "/v1/ws", { headers: from("203.0.113.9") })).status).toBe(403)
  })

  it("refuses the live events, on the second port, too", async () => {
    const { key } = await lab.gateway.operator.createKey("listens", { scopes: ["manage"] })
    const headers = { ...from("203.0.113.9"), authorization: `Bearer ${key}` }
    const places = [[lab.gateway.url, "/api/live"], [`http://127.0.0.1:${livePort}`, "/"]] as const
    for (const [url, path] of places) await (await connect(url, path, { headers })).close()
    await put({ enabled: true, blacklist: ["203.0.113.9"] })
    for (const [url, path] of places) expect([path, (await refused(url, path, { headers })).status]).toEqual([path, 403])
  })

  it("refuses an upload that has only begun, at once", async () => {
    await put({ enabled: true, blacklist: ["203.0.113.9"] })
    const request = http.request(`${lab.gateway.url}/v1/files`, { method: "POST", headers: { ...from("203.0.113.9"), "content-length": "100000000", "content-type": "multipart/form-data; boundary=x" } })
    request.on("error", () => undefined).write("--x")
    const status = await new Promise((resolve) => request.once("response", ({ statusCode }) => resolve(statusCode)))
    expect(status).toBe(403)
    request.destroy()
  })
})

describe("a ban", () => {
  it("is shown with its end and its reason, says when to come back, and ends by itself", async () => {
    await put({ enabled: true, tempBan: { ip: "203.0.113.9", durationMs: 1_500, reason: "too many guesses" } })
    const { tempBans: [ban] } = await read()
    expect(ban).toEqual({ ip: "203.0.113.9", until: expect.any(String), reason: "too many guesses", remainingMs: expect.any(Number) })
    const reply = await chat(from("203.0.113.9"))
    expect([reply.status, reply.headers["retry-after"], errorIn(reply)["message"]]).toEqual([403, expect.stringMatching(/^[12]$/), expect.stringContaining(`until ${ban?.until ?? ""}`)])
    expect(reply.text).not.toContain("guesses")
    expect(await eventually(() => statusFrom("203.0.113.9"), (status) => status === 200, "the end of the ban")).toBe(200)
    expect((await read()).tempBans).toEqual([])
  })

  it("lasts an hour by default, is taken back in any spelling, and stands above the whitelist", async () => {
    await put({ enabled: true, mode: "whitelist", whitelist: ["203.0.113.0/24"], tempBan: { ip: "203.0.113.9" } })
    const { tempBans } = await read()
    expect(tempBans[0]?.remainingMs).toBeGreaterThan(3_590_000)
    expect(await statusFrom("203.0.113.9")).toBe(403)
    expect((await put({ removeBan: "::ffff:203.0.113.9" })).tempBans).toEqual([])
    expect(await statusFrom("203.0.113.9")).toBe(200)
  })
})

describe("a change", () => {
  it("adds and removes single entries, each once in whatever spelling", async () => {
    expect((await put({ addBlacklist: "203.0.113.9", addWhitelist: "192.0.2.*" }))).toMatchObject({ blacklist: ["203.0.113.9"], whitelist: ["192.0.2.*"] })
    expect((await put({ addBlacklist: "::ffff:203.0.113.9", addWhitelist: "192.0.2.0/24" }))).toMatchObject({ blacklist: ["203.0.113.9"], whitelist: ["192.0.2.*"] })
    expect((await put({ removeBlacklist: "203.0.113.9/32", removeWhitelist: "192.0.2.0/24" }))).toMatchObject({ blacklist: [], whitelist: [] })
  })

  it("of two at once both stand", async () => {
    await Promise.all(["203.0.113.1", "203.0.113.2", "203.0.113.3"].map((addBlacklist) => put({ addBlacklist })))
    expect((await read()).blacklist.toSorted()).toEqual(["203.0.113.1", "203.0.113.2", "203.0.113.3"])
  })

  it.each([
    [{ blacklist: ["1.2.3.4", "nonsense"] }, "blacklist.1"], [{ addWhitelist: "10.0.0.0/40" }, "addWhitelist"], [{ mode: "greylist" }, "mode"],
    [{ tempBan: { ip: "localhost" } }, "tempBan.ip"], [{ tempBan: { ip: "1.2.3.4", durationMs: 0 } }, "tempBan.durationMs"],
    [{ tempBan: { ip: "1.2.3.4", reason: "x".repeat(201) } }, "tempBan.reason"], [{ whitelists: [] }, "whitelists"]
  ])("%j is refused with the field's name, and nothing of it is stored", async (change, field) => {
    const reply = await raw({ enabled: true, ...change })
    expect([reply.status, errorIn(reply)["details"]]).toEqual([400, [expect.objectContaining({ field })]])
    expect((await read()).enabled).toBe(false)
  })

  it("without a field is refused", async () => {
    expect((await raw({})).status).toBe(400)
  })

  it("that would refuse its own caller is not made", async () => {
    const own = from("203.0.113.9")
    const issues: ReadonlyArray<readonly [unknown, string]> = [
      [{ enabled: true, addBlacklist: "203.0.113.0/24" }, "blacklist"], [{ enabled: true, mode: "whitelist", whitelist: ["192.0.2.1"] }, "whitelist"],
      [{ enabled: true, tempBan: { ip: "203.0.113.9" } }, "tempBan.ip"]
    ]
    for (const [change, field] of issues) {
      const reply = await raw(change, own)
      expect([reply.status, errorIn(reply)["details"]]).toEqual([400, [{ field, message: expect.stringContaining("203.0.113.9") }]])
    }
    const hidden = await raw({ enabled: true }, { ...own, forwarded: "for=192.0.2.1" })
    expect([hidden.status, errorIn(hidden)["details"]]).toEqual([400, [{ field: "enabled", message: expect.stringContaining("GATEWAY_TRUSTED_PROXIES") }]])
    expect(await read()).toMatchObject({ enabled: false, blacklist: [], whitelist: [], tempBans: [] })
    expect((await raw({ enabled: true, mode: "whitelist", whitelist: ["203.0.113.9"] }, own)).status).toBe(200)
  })

  it("needs a session, or scope admin; also while no login is required", async () => {
    const { operator } = lab.gateway
    const manage = (await operator.createKey("manages", { scopes: ["manage"] })).key
    const call = (method: string, headers: Readonly<Record<string, string>>) =>
      Http.send(lab.gateway.url, { method, path: PATH, headers, ...(method === "PUT" ? { body: { enabled: true } } : {}) })
    expect((await call("GET", { authorization: `Bearer ${manage}` })).status).toBe(200)
    expect((await call("PUT", { authorization: `Bearer ${manage}` })).status).toBe(403)
    await operator.call("PATCH", "/api/settings", { requireLogin: false })
    try {
      expect([(await call("GET", {})).status, (await call("PUT", {})).status]).toEqual([200, 401])
    } finally {
      await operator.call("PATCH", "/api/settings", { requireLogin: true })
    }
  })

  it("is in the audit log", async () => {
    await put({ enabled: true, tempBan: { ip: "203.0.113.9", reason: "too many guesses" } })
    const [row] = await lab.gateway.operator.call<ReadonlyArray<{ target: string; details: Record<string, unknown> }>>("GET", "/api/compliance/audit-log?action=ip_filter.updated")
    expect(row).toMatchObject({ target: "203.0.113.9", details: { changed: ["enabled", "tempBan"], enabled: true, tempBans: 1, reason: "too many guesses" } })
  })
})

it("stands after a restart, from the first request on", async () => {
  await put({ enabled: true, blacklist: ["203.0.113.9"], tempBan: { ip: "198.51.100.7" } })
  const before = await read()
  await lab.gateway.restart()
  await lab.gateway.operator.login(PASSWORD)
  expect(await Promise.all(["203.0.113.9", "198.51.100.7", "192.0.2.1"].map(statusFrom))).toEqual([403, 403, 200])
  expect(await read()).toMatchObject({ ...before, tempBans: [{ ip: "198.51.100.7", until: before.tempBans[0]?.until }] })
})
