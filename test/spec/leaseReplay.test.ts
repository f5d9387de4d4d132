/** A lease that is presented with another key than its own: over HTTP, for keys that need none and for no key. */
import { afterAll, beforeAll, expect, it } from "vitest"
import { codeOf, credentialsOf, managedKey, Session } from "#test/features/leases/support.ts"
import * as Http from "#test/support/http.ts"
import { type Lab, startLab } from "#test/support/lab.ts"

let lab: Lab
beforeAll(async () => {
  lab = await startLab()
})
afterAll(() => lab.close())

it("a lease that another key presents is stale, whatever that key may use, and nothing reaches the upstream", async () => {
  const connections = await lab.pool("replay", ["credential_replay"])
  const model = "replay/replayed-1"
  const client = new Session(lab.gateway, (await managedKey(lab.gateway, "managed", connections)).key)
  const { generation } = await client.acquire(model)
  const ordinary = await lab.gateway.operator.call<{ key: string }>("POST", "/api/keys", { name: "ordinary", allowedConnections: connections })
  const lease = { "x-gateway-lease-owner": client.owner, "x-gateway-lease-generation": String(generation) }
  for (const key of [`Bearer ${ordinary.key}`, ""]) {
    const caller: Readonly<Record<string, string>> = key === "" ? {} : { authorization: key }
    for (const [status, code, headers] of [
      [409, "LEASE_FENCE_STALE", lease],
      [409, "LEASE_FENCE_STALE", { ...lease, "x-gateway-lease-generation": String(generation + 1) }],
      [400, "LEASE_CONTEXT_INVALID", { ...lease, "x-gateway-lease-owner": "junk" }]
    ] as const) {
      const reply = await lab.chat({ model }, { ...caller, ...headers })
      expect([reply.status, codeOf(reply)]).toEqual([status, code])
    }
    const unfenced = await Http.send(lab.gateway.url, { path: "/v1/embeddings", headers: { ...caller, ...lease }, body: { model, input: "x" } })
    expect([unfenced.status, codeOf(unfenced)]).toEqual([409, "LEASE_FENCE_STALE"])
    if (key !== "") expect((await lab.chat({ model: "replay/alone-1" }, caller)).status).toBe(200)
  }
  expect(await credentialsOf(lab, "replayed-1")).toEqual([])
})
