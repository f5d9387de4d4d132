/** Names in the policy of a key: each one names something, or is refused by its field; what is gone since may stay. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type Lab, startLab } from "#test/support/lab.ts"

let lab: Lab
beforeAll(async () => {
  lab = await startLab()
})
afterAll(() => lab.close())

interface Refused {
  readonly error: { readonly details?: ReadonlyArray<{ readonly field: string; readonly message: string }> }
}
const issuesOf = async (policy: Record<string, unknown>) => {
  const reply = await lab.gateway.operator.raw("POST", "/api/keys", { name: "names", ...policy })
  return [reply.status, (JSON.parse(reply.text) as Refused).error?.details]
}
const refused = (field: string, told: string) => [400, [{ field, message: expect.stringContaining(told) as string }]]

describe("a name in the policy of a key", () => {
  it.each([
    ["allowedConnections.0", { allowedConnections: ["nobody"] }, "nobody"],
    ["preferredConnections.0", { preferredConnections: ["nobody"] }, "GET /api/providers"],
    ["allowedCombos.1", { allowedCombos: ["auto/coding", "nowhere"] }, "nowhere"],
    ["allowedCombos.0", { allowedCombos: ["combo/known"] }, "GET /api/combos"],
    ["scopes.0", { scopes: ["manages"] }, "manage, admin"],
    ["scopes.0", { scopes: ["raed:*"] }, "read:health"]
  ])("%s is refused where it names nothing", async (field, policy, told) => {
    await lab.gateway.operator.raw("POST", "/api/combos", { name: "known", models: ["lab/echo"] })
    expect(await issuesOf(policy)).toEqual(refused(field, told))
  })

  it("is taken where it names something, in each of its forms", async () => {
    const combo = await lab.gateway.operator.call<{ readonly id: string }>("POST", "/api/combos", { name: "taken", models: ["lab/echo"] })
    expect(combo.id).not.toBe("")
    expect(await issuesOf({
      allowedConnections: [lab.connection], preferredConnections: [lab.connection], allowedCombos: ["taken", "auto"],
      scopes: ["mcp:connect", "mcp", "read:*", "*", "execute:search", "cache:isolated", "self:account-quota", "policy:bypass-provider-quota"]
    })).toEqual([201, undefined])
  })

  it("stays when it is gone, and other fields can still be changed", async () => {
    const { operator } = lab.gateway
    const [gone] = await lab.pool("keynames", ["sk-gone"])
    const combo = await operator.call<{ readonly id: string }>("POST", "/api/combos", { name: "gone", models: ["lab/echo"] })
    const key = await operator.createKey("keeps", { allowedConnections: [gone, lab.connection], allowedCombos: ["gone"] })
    await operator.removeConnection(gone ?? "")
    await operator.call("DELETE", `/api/combos/${combo.id}`)
    const change = (policy: Record<string, unknown>) => operator.raw("PATCH", `/api/keys/${key.id}`, policy)
    expect(await change({ noLog: true })).toMatchObject({ status: 200 })
    expect(await change({ allowedConnections: [gone], allowedCombos: ["gone"] })).toMatchObject({ status: 200 })
    expect(await change({ allowedConnections: [gone, "nobody"] })).toMatchObject({ status: 400, text: expect.stringContaining("allowedConnections.1") as string })
  })
})
