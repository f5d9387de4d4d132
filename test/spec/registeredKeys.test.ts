/** Keys that clients issue with their own key, the limits of issuing, and reports of issues. */
import * as http from "node:http"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import * as Http from "#test/support/http.ts"
import { type Lab, startLab } from "#test/support/lab.ts"
import { at } from "#test/support/management.ts"

let lab: Lab
beforeAll(async () => {
  lab = await startLab()
})
afterAll(() => lab.close())

const as = (key: string | null) => async (method: string, path: string, body?: unknown) => {
  const reply = await Http.send(lab.gateway.url, { method, path, body, headers: key === null ? {} : { authorization: `Bearer ${key}` } })
  const json: unknown = JSON.parse(reply.text)
  return { status: reply.status, json, headers: reply.headers }
}
const path = "/api/v1/registered-keys"
const works = async (key: string, model = "m") => (await lab.chat({ model }, { authorization: `Bearer ${key}` })).status

describe("registered keys", () => {
  it("a Bearer key issues a key that works, is shown once, listed masked, and dead once revoked", async () => {
    const issuer = as((await lab.gateway.operator.createKey("issuer")).key)
    const made = await issuer("POST", path, { name: "child", provider: "lab", accountId: "team-1", dailyBudget: 5, expiresAt: "2099-01-01T00:00:00Z" })
    expect(made.status).toBe(201)
    expect(made.json).toMatchObject({ name: "child", provider: "lab", accountId: "team-1", expiresAt: "2099-01-01T00:00:00.000Z" })
    const raw = String(at(made.json, "key"))
    const id = String(at(made.json, "keyId"))
    expect(raw.startsWith(String(at(made.json, "keyPrefix")))).toBe(true)
    expect(await works(raw)).toBe(200)
    const listed = await issuer("GET", path)
    expect([at(listed.json, "total"), JSON.stringify(listed.json).includes(raw)]).toEqual([1, false])
    expect(at((await issuer("GET", `${path}/${id}`)).json, "isActive")).toBe(true)
    expect(await issuer("POST", `${path}/${id}/revoke`)).toMatchObject({ status: 200, json: { revoked: true, keyId: id } })
    expect(await works(raw)).toBe(401)
    expect(await issuer("DELETE", `${path}/${id}`)).toMatchObject({ status: 200 })
    expect((await issuer("DELETE", `${path}/nobody`)).status).toBe(404)
  })

  it("needs a valid key or an operator; a key sees only what it issued", async () => {
    expect((await as(null)("GET", path)).status).toBe(401)
    expect((await as("sk-wrong")("POST", path, { name: "x" })).status).toBe(401)
    const [one, other] = [as((await lab.gateway.operator.createKey("one")).key), as((await lab.gateway.operator.createKey("other")).key)]
    const made = await one("POST", path, { name: "mine" })
    const id = String(at(made.json, "keyId"))
    expect([(await other("GET", `${path}/${id}`)).status, (await other("DELETE", `${path}/${id}`)).status]).toEqual([404, 404])
    expect(at((await other("GET", path)).json, "total")).toBe(0)
    expect((await lab.gateway.operator.raw("GET", `${path}/${id}`)).status).toBe(200)
  })

  it("refusals below /v1 are those of the inference surface, as its clients read them", async () => {
    const issuer = as((await lab.gateway.operator.createKey("reads errors")).key)
    for (const [method, at, body] of [
      ["GET", "/v1/quotas/check", undefined], ["POST", "/v1/issues/report", { title: "x" }], ["GET", "/v1/providers/lab/limits", undefined], ["GET", "/v1/accounts/a/limits", undefined]
    ] as const) {
      const { json, status } = await as("sk-wrong")(method, at, body)
      expect([at, status, json]).toEqual([at, 401, { error: { message: expect.any(String) as unknown, type: "authentication_error", code: "AUTH_001" } }])
    }
    const wrong = await issuer("POST", "/v1/issues/report", { title: 7 })
    expect([wrong.status, wrong.json]).toMatchObject([400, { error: { type: "invalid_request_error", param: "title", message: expect.stringContaining("title") as unknown } }])
    expect((await as(null)("PUT", "/v1/accounts/a/limits", {})).json).toMatchObject({ error: { type: "invalid_request", code: "AUTH_001" } })
    expect((await issuer("POST", path, { name: 7 })).json).toMatchObject({ error: { type: "invalid_request" }, requestId: expect.any(String) as unknown })
  })

  it("an issued key may do no more than its issuer, and a key with limits issues none", async () => {
    const narrow = await lab.gateway.operator.createKey("narrow", { modelAccessMode: "restricted", allowedModels: ["lab/m"] })
    const child = String(at((await as(narrow.key)("POST", path, { name: "child" })).json, "key"))
    expect([await works(child, "m"), await works(child, "n")]).toEqual([200, 403])
    expect((await as(child)("POST", path, { name: "grandchild" })).status).toBe(403)
    const limited = await lab.gateway.operator.createKey("limited", { maxRequestsPerDay: 10 })
    expect((await as(limited.key)("POST", path, { name: "escape" })).status).toBe(403)
    const elsewhere = String(at((await as((await lab.gateway.operator.createKey("free")).key)("POST", path, { name: "openai only", provider: "openai" })).json, "key"))
    expect(await works(elsewhere)).toBe(403)
    expect((await as(narrow.key)("POST", path, { name: "x", provider: "nowhere" })).status).toBe(400)
  })

  it("is bound by its issuer's lists as they are now: calls, combos and the list of models follow each change", async () => {
    const { operator } = lab.gateway
    const issuer = await operator.createKey("changing")
    const raw = String(at((await as(issuer.key)("POST", path, { name: "child" })).json, "key"))
    await operator.call("POST", "/api/combos", { name: "issued-pair", models: ["lab/left", "lab/right"], strategy: "priority" })
    await operator.call("PUT", "/api/models/alias", { alias: "issued-alias", model: "lab/left" })
    const headers = { authorization: `Bearer ${raw}` }
    const statuses = async () => [await works(raw, "left"), await works(raw, "right"), await works(raw, "combo/issued-pair")]
    const isListed = async () => {
      const { data } = JSON.parse((await Http.send(lab.gateway.url, { path: "/v1/models", headers })).text) as { data: ReadonlyArray<{ id: string }> }
      return data.some(({ id }) => id === "issued-pair")
    }
    expect([await statuses(), await isListed()]).toEqual([[200, 200, 200], true])
    await operator.changeKey(issuer.id, { blockedModels: ["issued-alias"] })
    expect(await statuses()).toEqual([403, 200, 200])
    await operator.changeKey(issuer.id, { blockedModels: [], allowedModels: ["lab/left"] })
    expect([await statuses(), await isListed()]).toEqual([[200, 403, 403], false])
    await operator.changeKey(issuer.id, { modelAccessMode: "all", allowedModels: [], connectionAccessMode: "restricted" })
    expect(await statuses()).toEqual([403, 403, 403])
    // Wider again, because nothing was copied.
    await operator.changeKey(issuer.id, { connectionAccessMode: "all", allowedEndpoints: ["models"] })
    expect([await statuses(), await isListed()]).toEqual([[403, 403, 403], true])
    await operator.changeKey(issuer.id, { allowedEndpoints: [] })
    expect(await statuses()).toEqual([200, 200, 200])
    await operator.call("DELETE", `/api/keys/${issuer.id}`)
    expect((await Http.send(lab.gateway.url, { path: "/v1/models", headers })).status).toBe(401)
    expect((await Http.send(lab.gateway.url, { path: "/v1/messages/count_tokens", headers, body: { model: "lab/left", messages: [{ role: "user", content: "x" }] } })).status).toBe(401)
    expect((await as(raw)("GET", path)).status).toBe(401)
  })

  it("its budgets are requests per hour and day", async () => {
    const issuer = as((await lab.gateway.operator.createKey("issuer")).key)
    const raw = String(at((await issuer("POST", path, { name: "twice", hourlyBudget: 2, dailyBudget: 50 })).json, "key"))
    expect([await works(raw), await works(raw), await works(raw)]).toEqual([200, 200, 429])
  })

  it("an idempotency key issues one key; again it is 409 IDEMPOTENCY_CONFLICT with the existing one", async () => {
    const issuer = as((await lab.gateway.operator.createKey("issuer")).key)
    const made = await Promise.all([1, 2].map(() => issuer("POST", path, { name: "once", idempotencyKey: "abc" })))
    expect(made.map(({ status }) => status).sort()).toEqual([201, 409])
    const refused = made.find(({ status }) => status === 409)
    expect(refused?.json).toMatchObject({ errorCode: "IDEMPOTENCY_CONFLICT", existing: { name: "once" } })
    const another = as((await lab.gateway.operator.createKey("another")).key)
    expect((await another("POST", path, { name: "own", idempotencyKey: "abc" })).status).toBe(201)
  })

  it("issue limits refuse with 429 and their code, and quotas/check says so before", async () => {
    const key = await lab.gateway.operator.createKey("issuer")
    const issuer = as(key.key)
    expect((await issuer("PUT", "/v1/providers/lab/limits", { maxActiveKeys: 1 })).status).toBe(403)
    expect((await issuer("GET", "/v1/accounts/team-9/limits")).json).toEqual({ maxActiveKeys: 0, dailyIssueLimit: 0, hourlyIssueLimit: 0 })
    await lab.gateway.operator.call("PUT", "/v1/accounts/team-9/limits", { hourlyIssueLimit: 1 })
    await lab.gateway.operator.call("PUT", "/v1/accounts/team-8/limits", { maxActiveKeys: 1 })
    const check = async (accountId: string) => (await issuer("GET", `/v1/quotas/check?accountId=${accountId}`)).json
    expect(await check("team-9")).toMatchObject({ allowed: true, accountId: "team-9", provider: "" })
    const [nine] = [await issuer("POST", path, { name: "a", accountId: "team-9" }), await issuer("POST", path, { name: "b", accountId: "team-8" })]
    expect(nine?.status).toBe(201)
    const hourly = await issuer("POST", path, { name: "c", accountId: "team-9" })
    expect([hourly.status, at(hourly.json, "errorCode")]).toEqual([429, "ACCOUNT_QUOTA_EXCEEDED"])
    expect(Number(hourly.headers["retry-after"])).toBeGreaterThan(3_500)
    expect(at((await issuer("POST", path, { name: "d", accountId: "team-8" })).json, "errorCode")).toBe("MAX_ACTIVE_KEYS_EXCEEDED")
    expect(await check("team-9")).toMatchObject({ allowed: false, errorCode: "ACCOUNT_QUOTA_EXCEEDED" })
  })

  it("issues at once never pass a limit, and the key of a refused one does not stay", async () => {
    const key = await lab.gateway.operator.createKey("issuer")
    const issuer = as(key.key)
    await lab.gateway.operator.call("PUT", "/v1/accounts/team-race/limits", { maxActiveKeys: 3 })
    const made = await Promise.all(Array.from({ length: 12 }, (_, i) => issuer("POST", path, { name: `race-${i}`, accountId: "team-race" })))
    expect(made.map(({ status }) => status).sort()).toEqual([201, 201, 201, ...Array.from({ length: 9 }, () => 429)])
    expect(made.filter(({ status }) => status === 429).every(({ json }) => at(json, "errorCode") === "MAX_ACTIVE_KEYS_EXCEEDED")).toBe(true)
    const { keys } = await lab.gateway.operator.call<{ keys: ReadonlyArray<{ name: string }> }>("GET", "/api/keys")
    expect(keys.filter(({ name }) => name.startsWith("race-")).length).toBe(3)
  })

  it("a provider's limit holds under each of its names", async () => {
    const issuer = as((await lab.gateway.operator.createKey("issuer")).key)
    await lab.gateway.operator.call("PUT", "/v1/providers/claude/limits", { maxActiveKeys: 1 })
    const limits = { maxActiveKeys: 1, dailyIssueLimit: 0, hourlyIssueLimit: 0 }
    for (const name of ["claude", "anthropic"]) expect((await issuer("GET", `/v1/providers/${name}/limits`)).json).toEqual(limits)
    expect((await issuer("POST", path, { name: "first", provider: "claude" })).json).toMatchObject({ provider: "anthropic" })
    expect((await issuer("POST", path, { name: "second", provider: "anthropic" })).status).toBe(429)
    expect((await issuer("GET", `${path}?provider=claude`)).json).toMatchObject({ total: 1 })
  })
  it("a managed key issues none: they would use its connections without a lease", async () => {
    const managed = await lab.gateway.operator.createKey("managed", { scopes: ["lease:exclusive"], allowedConnections: [lab.connection] })
    const refused = await as(managed.key)("POST", path, { name: "unfenced" })
    expect(refused).toMatchObject({ status: 403, json: { error: { message: expect.stringContaining("lease") as unknown } } })
  })

  it("is refused while its issuer is disabled, banned, expired, fenced or limited, and for good once the issuer is deleted", async () => {
    const { operator } = lab.gateway
    const issuer = await operator.createKey("issuer")
    const child = await as(issuer.key)("POST", path, { name: "child" })
    const raw = String(at(child.json, "key"))
    expect(await works(raw)).toBe(200)
    const change = (fields: Readonly<Record<string, unknown>>) => operator.call("PATCH", `/api/keys/${issuer.id}`, fields)
    for (const [worse, better] of [
      [{ isActive: false }, { isActive: true }], [{ isBanned: true }, { isBanned: false }], [{ expiresAt: "2020-01-01T00:00:00Z" }, { expiresAt: null }],
      [{ maxRequestsPerDay: 1_000 }, { maxRequestsPerDay: null }],
      [{ scopes: ["lease:exclusive"], allowedConnections: [lab.connection] }, { scopes: [], allowedConnections: [], connectionAccessMode: "all" }]
    ]) {
      await change(worse ?? {})
      expect([worse, await works(raw)]).toEqual([worse, 403])
      await change(better ?? {})
      expect([better, await works(raw)]).toEqual([better, 200])
    }
    await operator.call("POST", "/api/usage/budget", { apiKeyId: issuer.id, dailyLimitUsd: 5 })
    expect(await works(raw)).toBe(403)
    await operator.call("DELETE", `/api/keys/${issuer.id}`)
    expect(await works(raw)).toBe(401)
  })

  it("says who issued it where keys are listed", async () => {
    const issuer = await lab.gateway.operator.createKey("issuer")
    const keyId = String(at((await as(issuer.key)("POST", path, { name: "child" })).json, "keyId"))
    expect(await lab.gateway.operator.call("GET", `/api/keys/${keyId}`)).toMatchObject({ issuerId: issuer.id })
    expect(await lab.gateway.operator.call("GET", `/api/keys/${issuer.id}`)).toMatchObject({ issuerId: null })
    const { keys } = await lab.gateway.operator.call<{ keys: ReadonlyArray<Record<string, unknown>> }>("GET", path)
    expect(keys.find((key) => key["keyId"] === keyId)).toMatchObject({ issuerId: issuer.id })
  })

  it("shows what /api/keys has made of an issued key, and one that was deleted there leaves its place", async () => {
    const { operator } = lab.gateway
    await operator.call("PUT", "/v1/accounts/team-place/limits", { maxActiveKeys: 1 })
    const issuer = as((await operator.createKey("issuer")).key)
    const issue = () => issuer("POST", path, { name: "child", accountId: "team-place", dailyBudget: 9 })
    const id = String(at((await issue()).json, "keyId"))
    const view = async () => (await issuer("GET", `${path}/${id}`)).json
    expect(await view()).toMatchObject({ isActive: true, dailyBudget: 9 })
    const full = await issue()
    expect([full.status, full.headers["retry-after"]]).toEqual([429, "1"])
    await operator.call("PATCH", `/api/keys/${id}`, { isActive: false, rateLimits: [{ limit: 4, window: 3_600 }], expiresAt: "2099-01-01T00:00:00.000Z", name: "renamed" })
    const { key } = await operator.call<{ key: string }>("POST", `/api/keys/${id}/regenerate`)
    expect(await view()).toMatchObject({ isActive: false, dailyBudget: null, hourlyBudget: 4, keyPrefix: key.slice(0, 8), name: "renamed", expiresAt: "2099-01-01T00:00:00.000Z" })
    await operator.call("DELETE", `/api/keys/${id}`)
    expect(await view()).toMatchObject({ isActive: false, revokedAt: expect.any(String) as unknown })
    expect((await issue()).status).toBe(201)
  })

  it("limits of a provider that does not exist are refused, where a typing error limited nothing", async () => {
    const operator = lab.gateway.operator
    const refused = await operator.raw("PUT", "/v1/providers/opneai/limits", { maxActiveKeys: 1 })
    expect([refused.status, refused.text]).toEqual([404, expect.stringContaining("No provider has the id or prefix 'opneai'")])
    expect((await operator.raw("PUT", "/v1/providers/openai/limits", { maxActiveKeys: 0 })).status).toBe(200)
  })

  it("quotas/check says what issuing would say", async () => {
    const { operator } = lab.gateway
    const free = as((await operator.createKey("free")).key)
    expect((await free("GET", "/v1/quotas/check?provider=nowhere")).json).toMatchObject({ allowed: false, reason: expect.stringContaining("No provider has the id or prefix 'nowhere'") as unknown })
    const limited = as((await operator.createKey("limited", { maxRequestsPerDay: 10 })).key)
    expect((await limited("GET", "/v1/quotas/check?provider=lab")).json).toMatchObject({ allowed: false })
    expect((await free("GET", "/v1/quotas/check?provider=lab")).json).toMatchObject({ allowed: true })
  })
})

describe("POST /v1/issues/report", () => {
  const report = { title: "cannot issue", errorCode: "X", accountId: "", details: "it said ```no``` to sk-live-0123456789abcdef and Bearer abcdefgh12345678", labels: ["quota"] }
  interface Entry { readonly target: string | null; readonly status: string; readonly details: Record<string, unknown> }
  const kept = (of: Lab) => of.gateway.operator.call<ReadonlyArray<Entry>>("GET", "/api/compliance/audit-log?action=issue.reported")

  it("is 202 while no tracker is configured, and kept in the audit log without what looks like a credential", async () => {
    const key = await lab.gateway.operator.createKey("issuer")
    expect(await as(key.key)("POST", "/v1/issues/report", report)).toMatchObject({ status: 202, json: { logged: true, configured: false } })
    const [entry] = await kept(lab)
    expect(entry).toMatchObject({ target: key.id, status: "success", details: { title: "cannot issue", errorCode: "X", labels: ["quota"], apiKeyId: key.id } })
    expect(JSON.stringify(entry)).not.toMatch(/0123456789abcdef|abcdefgh12345678/)
    expect(entry?.details).not.toHaveProperty("accountId")
    expect((await as(null)("POST", "/v1/issues/report", { title: "t" })).status).toBe(401)
    expect((await as(key.key)("POST", "/v1/issues/report", { title: "" })).status).toBe(400)
  })

  it("is 200 with the filed issue, and 207 when the tracker fails; both are kept", async () => {
    const seen: Array<{ readonly path: string; readonly authorization: string; readonly body: Record<string, unknown> }> = []
    let status = 201
    const tracker = http.createServer((request, response) => {
      const chunks: Array<Buffer> = []
      request.on("data", (chunk: Buffer) => chunks.push(chunk))
      request.on("end", () => {
        seen.push({ path: request.url ?? "", authorization: request.headers.authorization ?? "", body: JSON.parse(Buffer.concat(chunks).toString("utf8")) as Record<string, unknown> })
        response.writeHead(status, { "content-type": "application/json" })
        response.end(JSON.stringify({ html_url: "https://tracker.example/acme/ops/issues/7", number: 7, message: "no" }))
      })
    })
    await new Promise<void>((resolve) => void tracker.listen(0, "127.0.0.1", resolve))
    const address = tracker.address()
    const other = await startLab({
      environment: {
        GATEWAY_ISSUES_REPO: "acme/ops", GATEWAY_ISSUES_TOKEN: "canary_tracker_token_0001",
        GATEWAY_ISSUES_API_URL: `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}/api`
      }
    })
    const key = await other.gateway.operator.createKey("issuer")
    const send = async () => {
      const reply = await Http.send(other.gateway.url, { path: "/v1/issues/report", body: report, headers: { authorization: `Bearer ${key.key}` } })
      return [reply.status, JSON.parse(reply.text) as unknown] as const
    }
    expect(await send()).toEqual([200, { url: "https://tracker.example/acme/ops/issues/7", number: 7 }])
    const [first] = seen
    expect([first?.path, first?.authorization]).toEqual(["/api/repos/acme/ops/issues", "Bearer canary_tracker_token_0001"])
    expect(first?.body).toMatchObject({ title: "cannot issue", labels: ["quota"] })
    const text = String(first?.body["body"])
    expect(text).toContain("errorCode: X")
    expect(text).toContain("````text\nit said ```no``` to [redacted] and [redacted]\n````")
    status = 403
    const [failed, body] = await send()
    expect([failed, body]).toMatchObject([207, { logged: true, configured: true }])
    expect(JSON.stringify(body)).not.toContain("canary_tracker_token_0001")
    tracker.closeAllConnections()
    await new Promise((resolve) => tracker.close(resolve))
    expect((await send())[0]).toBe(207)
    const entries = await kept(other)
    expect(entries.map((entry) => entry.status)).toEqual(["failure", "failure", "success"])
    expect(entries[2]?.details["issue"]).toBe("https://tracker.example/acme/ops/issues/7")
    expect(JSON.stringify(entries) + other.gateway.output()).not.toContain("canary_tracker_token_0001")
    await other.close()
  })
})
