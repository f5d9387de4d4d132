import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type Lab, startLab } from "#test/support/lab.ts"
import * as Http from "#test/support/http.ts"

let lab: Lab
beforeAll(async () => {
  lab = await startLab()
})
afterAll(() => lab.close())

describe("a restart on the same data directory", () => {
  it("keeps keys, flags, prices, connections with their credentials, the session, and every ledger row", async () => {
    const { gateway } = lab
    const { operator } = gateway
    const { id, key } = await operator.createKey("survivor", { blockedModels: ["lab/forbidden"] })
    await operator.setFlag("REQUIRE_API_KEY", "true")
    await operator.price(lab.node, "echo", { input: 1, output: 2 })
    const headers = { authorization: `Bearer ${key}` }
    const before = await lab.chat({ model: "echo" }, headers)
    await lab.chat({ model: "cut-4", stream: true }, headers)
    const rows = await gateway.rows()
    expect(rows.length).toBe(2)
    const shown = await operator.call("GET", `/api/keys/${id}`)

    await gateway.restart()

    expect(await gateway.rows()).toEqual(rows)
    expect(await operator.reconciliation()).toMatchObject({ gap: 0, live: 0, journaled: 0 })
    expect({ ...await operator.call<Record<string, unknown>>("GET", `/api/keys/${id}`), lastUsedAt: null }).toEqual({ ...shown as object, lastUsedAt: null })
    expect((await lab.chat({ model: "echo" })).status).toBe(401)
    expect((await lab.chat({ model: "forbidden" }, headers)).status).toBe(403)
    const after = await lab.chat({ model: "echo" }, headers)
    expect(after.status).toBe(200)
    expect(after.headers["x-gateway-response-cost"]).toBe(before.headers["x-gateway-response-cost"])
    expect(after.headers["x-gateway-response-cost"]).not.toBe("0.0000000000")
    const [first, last] = [(await lab.sim.entries()).at(0), (await lab.sim.entries()).at(-1)]
    expect(last?.key?.sha256).toBe(first?.key?.sha256)
    expect(after.headers["x-gateway-request-id"]).not.toBe(before.headers["x-gateway-request-id"])
  })

  it("INITIAL_PASSWORD does not overwrite the stored password", async () => {
    const { gateway } = lab
    await gateway.operator.call("POST", "/api/auth/change-password", { currentPassword: "a long test password", newPassword: "another long password" }).catch(() =>
      gateway.operator.call("PATCH", "/api/settings", { currentPassword: "a long test password", newPassword: "another long password" }))
    await gateway.restart()
    const old = await Http.send(gateway.url, { path: "/api/auth/login", body: { password: "a long test password" } })
    const fresh = await Http.send(gateway.url, { path: "/api/auth/login", body: { password: "another long password" } })
    expect([old.status, fresh.status]).toEqual([401, 200])
  })
})
