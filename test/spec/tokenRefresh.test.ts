/** A terminal status is never overwritten by what a call saw. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type Lab, startLab } from "#test/support/lab.ts"

let lab: Lab
beforeAll(async () => {
  lab = await startLab()
})
afterAll(() => lab.close())

const statusOf = async (id: string) => {
  const { connection } = await lab.gateway.operator.call<{ connection: Record<string, unknown> }>("GET", `/api/providers/${id}`)
  return [connection["testStatus"], connection["lastError"]]
}

describe("a terminal status", () => {
  it.each([200, 401, 500])("stands when a call that was under way ends with %i", async (status) => {
    const prefix = `term${status}`
    const key = `${prefix}-credential-number-0`
    await lab.sim.rule({ id: prefix, match: { key }, script: { latencyMs: 300, ...(status === 200 ? {} : { status }) } })
    const [id = ""] = await lab.pool(prefix, [key])
    const reply = lab.chat({ model: `${prefix}/tokens-2` })
    await lab.sim.ended({ key, outcome: "open" })
    await lab.gateway.operator.changeConnection(id, { testStatus: "banned", lastError: "The account is closed" })
    expect((await reply).status).toBe(status)
    // Writers take turns: after another change the mark of the call has had its own.
    await lab.gateway.operator.changeConnection(lab.connection, { name: `after ${status}` })
    expect(await statusOf(id)).toEqual(["banned", "The account is closed"])
    expect((await lab.chat({ model: `${prefix}/tokens-2` })).status).not.toBe(200)
  })

  it("does not keep a healthy connection from being marked", async () => {
    const [id = ""] = await lab.pool("well", ["well-credential-number-0"])
    expect((await lab.chat({ model: "well/tokens-2" })).status).toBe(200)
    await lab.gateway.operator.changeConnection(lab.connection, { name: "after" })
    expect(await statusOf(id)).toEqual(["active", null])
  })
})
