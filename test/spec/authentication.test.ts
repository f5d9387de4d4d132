import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest"
import { errorIn, type Lab, messages, startLab } from "#test/support/lab.ts"
import * as Http from "#test/support/http.ts"
import { eventually } from "#test/support/operator.ts"

const PERMANENT = "permanent-key-from-the-environment"

let lab: Lab
let key = ""
beforeAll(async () => {
  lab = await startLab({ environment: { GATEWAY_API_KEY: PERMANENT } })
  key = (await lab.gateway.operator.createKey("client")).key
})
afterEach(() => lab.gateway.operator.clearFlags())
afterAll(() => lab.close())

const bearer = (secret: string) => ({ authorization: `Bearer ${secret}` })
const ask = (headers: Record<string, string>, query = "") =>
  Http.send(lab.gateway.url, { path: `/v1/chat/completions${query}`, headers, body: { model: "lab/echo", messages } })
const withPolicy = async (name: string, policy: Record<string, unknown>) => (await lab.gateway.operator.createKey(name, policy)).key

describe("whether a key is required", () => {
  it("a key is required only when flag REQUIRE_API_KEY is true, which acts at runtime through the flag table", async () => {
    expect((await ask({})).status).toBe(200)
    await lab.gateway.operator.setFlag("REQUIRE_API_KEY", "true")
    const refused = await ask({})
    expect(refused.status).toBe(401)
    expect(errorIn(refused)).toMatchObject({ type: "authentication_error", code: "invalid_api_key" })
    expect((await ask(bearer(key))).status).toBe(200)
    await lab.gateway.operator.setFlag("REQUIRE_API_KEY", "false")
    expect((await ask({})).status).toBe(200)
  })

  it("the key of 'Authorization: Bearer' is named in the ledger; the scheme is case-insensitive", async () => {
    for (const scheme of ["Bearer", "bearer", "BEARER"]) {
      const [row] = await lab.rows(await ask({ authorization: `${scheme} ${key}` }))
      expect(row).toMatchObject({ apiKeyName: "client", outcome: "completed" })
    }
  })

  it("a wrong key is 401 also when none is required", async () => {
    for (const wrong of ["sk-wrong", `${key}x`, key.slice(0, -1), "", "x".repeat(600)]) {
      const reply = await ask(bearer(wrong))
      expect([wrong, reply.status]).toEqual([wrong, 401])
      expect(errorIn(reply)["code"]).toBe("invalid_api_key")
    }
    expect((await ask({ authorization: `Basic ${Buffer.from(`u:${key}`).toString("base64")}` })).status).toBe(401)
  })

  it("GATEWAY_API_KEY acts as a permanent key", async () => {
    await lab.gateway.operator.setFlag("REQUIRE_API_KEY", "true")
    expect((await ask(bearer(PERMANENT))).status).toBe(200)
  })

  it("no upstream call and no row is made for a refused key", async () => {
    const before = (await lab.sim.summary()).requests
    const reply = await ask(bearer("sk-wrong"))
    expect((await lab.sim.summary()).requests).toBe(before)
    expect(await lab.rows(reply)).toEqual([])
  })
})

describe("which devices use a key", () => {
  it("one that calls now and then is seen beside one that calls all the time", async () => {
    const { operator } = lab.gateway
    const shared = await operator.createKey("shared")
    const call = (userAgent: string) => ask({ ...bearer(shared.key), "user-agent": userAgent })
    const agents = async () => (await operator.call<{ devices: ReadonlyArray<{ userAgent: string }> }>("GET", `/api/keys/${shared.id}/devices`)).devices.map(({ userAgent }) => userAgent)
    await call("busy/1")
    expect(await agents()).toEqual(["busy/1"])
    // A call is noted when none was for a quarter of a second.
    await eventually(async () => {
      await call("rare/2")
      return agents()
    }, (seen) => seen.length === 2 && seen[0] === "rare/2", "the second device")
  })
})

describe("where a key may stand", () => {
  it("clients may pass the key as query parameter token, apiKey, api_key or key", async () => {
    await lab.gateway.operator.setFlag("REQUIRE_API_KEY", "true")
    for (const name of ["token", "apiKey", "api_key", "key"]) {
      expect([name, (await ask({}, `?${name}=${encodeURIComponent(key)}`)).status]).toEqual([name, 200])
      expect([name, (await ask({}, `?${name}=sk-wrong`)).status]).toEqual([name, 401])
    }
    expect((await ask({}, `?apikey=${key}`)).status).toBe(401)
  })

  it("x-api-key carries the key too, and the Authorization header wins over both", async () => {
    await lab.gateway.operator.setFlag("REQUIRE_API_KEY", "true")
    expect((await ask({ "x-api-key": key })).status).toBe(200)
    expect((await ask({ "x-api-key": "sk-wrong" })).status).toBe(401)
    expect((await ask({ ...bearer("sk-wrong"), "x-api-key": key }, `?key=${key}`)).status).toBe(401)
  })

  it("the client's key never reaches the upstream, in no place it can be put", async () => {
    for (const [headers, query] of [[bearer(key), ""], [{ "x-api-key": key }, ""], [{}, `?key=${key}`]] as const) {
      const reply = await ask({ ...headers, cookie: `auth_token=${key}`, "x-gateway-lease-owner": key }, query)
      expect(reply.status).toBe(200)
      const id = (JSON.parse(reply.text) as { id: string }).id.replace("chatcmpl-", "")
      const [entry] = await lab.sim.entries({ id })
      expect(entry?.query).toBe("")
      expect(JSON.stringify([entry?.headers, entry?.body])).not.toContain(key)
      expect(entry?.headers).not.toHaveProperty("cookie")
      expect(entry?.headers).not.toHaveProperty("x-gateway-lease-owner")
    }
  })
})

describe("the policy of a key", () => {
  const cases: ReadonlyArray<readonly [string, Record<string, unknown>]> = [
    ["a disabled key", { isActive: false }],
    ["a banned key", { isBanned: true }],
    ["an expired key", { expiresAt: "2020-01-01T00:00:00.000Z" }],
    ["outside its access schedule", { accessSchedule: { enabled: true, from: "00:00", until: "00:00", days: [], tz: "UTC" } }],
    ["from an address that is not on its list", { ipAllowlist: ["192.0.2.0/24"] }],
    ["an endpoint that is not on its list", { allowedEndpoints: ["embeddings"] }],
    ["a blocked model", { blockedModels: ["lab/ec*"] }],
    ["a model that is not allowed", { modelAccessMode: "restricted", allowedModels: ["openai/*"] }],
    ["restricted with an empty list allows nothing", { modelAccessMode: "restricted", allowedModels: [] }],
    ["connections restricted to none that serve the model", { connectionAccessMode: "restricted", allowedConnections: ["elsewhere"] }]
  ]
  it.each(cases)("%s is refused with 403 permission_error", async (name, policy) => {
    const elsewhere = "allowedConnections" in policy ? { allowedConnections: await lab.pool("elsewhere", ["sk-elsewhere"]) } : {}
    const reply = await ask(bearer(await withPolicy(name.slice(0, 60), { ...policy, ...elsewhere })))
    expect([reply.status, errorIn(reply)["type"]]).toEqual([403, "permission_error"])
  })

  it("what is on the lists is allowed", async () => {
    const allowed = await withPolicy("allowed", {
      ipAllowlist: ["127.0.0.0/8"], allowedEndpoints: ["chat"], modelAccessMode: "restricted", allowedModels: ["lab/*"],
      connectionAccessMode: "restricted", allowedConnections: [lab.connection], expiresAt: "2999-01-01T00:00:00.000Z"
    })
    expect((await ask(bearer(allowed))).status).toBe(200)
  })

  it("blockedModels are checked before allowedModels", async () => {
    const both = await withPolicy("both", { modelAccessMode: "restricted", allowedModels: ["lab/*"], blockedModels: ["lab/echo"] })
    expect((await ask(bearer(both))).status).toBe(403)
  })

  it("a change of the key acts on the next request, a deleted key is 401", async () => {
    const { operator } = lab.gateway
    const made = await operator.createKey("changing")
    expect((await ask(bearer(made.key))).status).toBe(200)
    await operator.changeKey(made.id, { isActive: false })
    expect((await ask(bearer(made.key))).status).toBe(403)
    await operator.changeKey(made.id, { isActive: true })
    expect((await ask(bearer(made.key))).status).toBe(200)
    await operator.call("DELETE", `/api/keys/${made.id}`)
    expect((await ask(bearer(made.key))).status).toBe(401)
  })

  it("a regenerated key: the old value is dead at once", async () => {
    const { operator } = lab.gateway
    const made = await operator.createKey("regenerated")
    expect((await ask(bearer(made.key))).status).toBe(200)
    const { key: fresh } = await operator.call<{ key: string }>("POST", `/api/keys/${made.id}/regenerate`)
    expect((await ask(bearer(made.key))).status).toBe(401)
    expect((await ask(bearer(fresh))).status).toBe(200)
  })

  it("a restricted key sees only its models in GET /v1/models", async () => {
    await lab.gateway.operator.call("POST", "/api/provider-models", { provider: "lab", modelId: "listed-a", modelName: "A" })
    await lab.gateway.operator.call("POST", "/api/provider-models", { provider: "lab", modelId: "listed-b", modelName: "B" })
    const one = await withPolicy("one model", { modelAccessMode: "restricted", allowedModels: ["lab/listed-a"] })
    const reply = await Http.send(lab.gateway.url, { path: "/v1/models", headers: bearer(one) })
    expect((JSON.parse(reply.text) as { data: ReadonlyArray<{ id: string }> }).data.map((entry) => entry.id)).toEqual(["lab/listed-a"])
  })
})
