/** Session leases as operators see and end them. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { changesOf, codeOf, hashOf, poolsOf } from "#test/features/leases/support.ts"
import { type Lab, startLab } from "#test/support/lab.ts"
import { eventually } from "#test/support/operator.ts"

let lab: Lab
beforeAll(async () => {
  lab = await startLab()
})
afterAll(() => lab.close())

const pool = poolsOf(() => lab, "seen")

describe("leases as operators see them", () => {
  interface Row {
    readonly connectionId: string
    readonly provider: string | null
    readonly keyName: string | null
    readonly owner: string
    readonly generation: number
    readonly expiresAt: string
  }
  const list = () => lab.gateway.operator.call<{ count: number; leases: ReadonlyArray<Row> }>("GET", "/api/leases")

  it("are listed with provider, key and the beginning of the owner's hash, never with the owner", async () => {
    const { connections, key, prefix, session } = await pool(1)
    const own = session()
    const lease = await own.acquire(`${prefix}/listed-1`)
    const { leases } = await list()
    const row = leases.find(({ connectionId }) => connectionId === connections[0])
    expect(row).toMatchObject({ provider: prefix, keyId: key.id, generation: lease.generation, owner: hashOf(own.owner).slice(0, 12), expiresAt: lease.expiresAt })
    expect(JSON.stringify(leases)).not.toContain(own.owner)
  })

  it("are ended one by one: the holder is refused from then on, another gets the connection, the audit has the operator's act", async () => {
    const { connections, prefix, session } = await pool(1)
    const model = `${prefix}/ended-1`
    const [one, two] = [session(), session()]
    const { generation } = await one.acquire(model)
    const path = `/api/leases/${connections[0] ?? ""}/release`
    expect((await lab.gateway.operator.raw("POST", path, { generation: generation + 1 })).status).toBe(404)
    expect(await lab.gateway.operator.call("POST", path, { generation })).toEqual({ success: true, connectionId: connections[0], generation })
    expect(codeOf(await one.ask({ action: "renew", generation }))).toBe("LEASE_FENCE_STALE")
    expect((await lab.gateway.operator.raw("POST", path, { generation })).status).toBe(404)
    expect((await two.acquire(model)).state).toBe("ACTIVE")
    const [entry] = await lab.gateway.operator.call<ReadonlyArray<{ target: string; details: object }>>("GET", `/api/compliance/audit-log?action=lease.released&target=${connections[0] ?? ""}`)
    expect(entry).toMatchObject({ target: connections[0], details: { generation } })
    const changes = await eventually(() => changesOf(lab, one.owner), (seen) => seen.length === 2, "the end of the lease in its record")
    expect(changes[0]).toMatchObject({ kind: "INVALIDATED", reason: "OPERATOR_RELEASED" })
  })
})
