/** Words of the gateway's own are taken in any case: headers that say true, as Python's str(True) does, and words of queries and bodies. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { managedKey, Session } from "#test/features/leases/support.ts"
import * as Http from "#test/support/http.ts"
import { type Lab, startLab } from "#test/support/lab.ts"

let lab: Lab
beforeAll(async () => {
  lab = await startLab()
})
afterAll(() => lab.close())

describe.each(["true", "True", "TRUE"])("a header that says %s", (yes) => {
  it("asks for progress events", async () => {
    const reply = await lab.chat({ model: "echo", stream: true }, { "x-gateway-progress": yes })
    expect([reply.headers["x-gateway-progress"], reply.text.includes("event: progress")]).toEqual(["enabled", true])
  })

  it("asks why the request went there, also where it went nowhere", async () => {
    const headers = { "x-gateway-explain": yes }
    expect((await lab.chat({ model: "echo" }, headers)).headers["x-gateway-trace"]).toContain("lab/echo")
    await lab.gateway.operator.createNode({ prefix: "idle", baseUrl: `${lab.sim.url}/v1` })
    const [reply, plain] = [await lab.chat({ model: "idle/echo" }, headers), await lab.chat({ model: "idle/echo" }, { "x-gateway-explain": "true" })]
    expect([reply.status, reply.headers["x-gateway-trace"]]).toEqual([plain.status, plain.headers["x-gateway-trace"]])
  })
})

describe("a word in capitals", () => {
  it("is a prefix mode of a list of models", async () => {
    await lab.gateway.operator.createConnection({ provider: "openai", apiKey: "sk-any-case-000000000001" })
    for (const mode of ["alias", "canonical"]) {
      const [small, large] = await Promise.all([mode, mode.toUpperCase()].map((prefix) => Http.send(lab.gateway.url, { path: `/v1/models?prefix=${prefix}` })))
      expect(large?.text).toBe(small?.text)
    }
  })

  it("asks a generateContent stream for its events", async () => {
    const path = "/v1beta/models/lab/echo:streamGenerateContent?alt=SSE"
    const reply = await Http.send(lab.gateway.url, { path, body: { contents: [{ role: "user", parts: [{ text: "Hi." }] }] } })
    expect([reply.status, reply.headers["content-type"]]).toEqual([200, "text/event-stream"])
  })

  it("is an action of a lease, and a small one a reason to end it", async () => {
    const session = new Session(lab.gateway, (await managedKey(lab.gateway, "any case", [lab.connection])).key)
    const { generation } = await session.acquire("lab/echo")
    for (const action of ["RENEW", "Status"]) expect([action, (await session.ask({ action, generation })).status]).toEqual([action, 200])
    const ended = await session.ask({ action: "RELEASE", generation, reason: "client_cancelled" })
    expect([ended.status, JSON.parse(ended.text)]).toMatchObject([200, { state: "RELEASED" }])
    expect((await session.ask({ action: "STEAL", generation })).status).toBe(400)
  })
})
