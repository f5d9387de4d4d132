import postgres from "postgres"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { findServers, type Ground, ground, SECRET } from "#test/support/cluster.ts"
import { inProcess, type InProcess } from "#test/support/gateway.ts"
import * as Http from "#test/support/http.ts"
import { eventually } from "#test/support/operator.ts"

const servers = await findServers()

describe.skipIf(servers.missing !== null)("nodes and their master secret", { timeout: 180_000 }, () => {
  let common: Ground
  let first: InProcess
  const nodeOf = (environment: Record<string, string>) => inProcess({ environment: { ...common.environment, ...environment } })
  beforeAll(async () => {
    common = await ground(servers.postgres)
    first = await nodeOf({ GATEWAY_NODE_ID: "first" })
  }, 180_000)
  afterAll(async () => {
    await first.close()
    await common.close()
  })

  it("a node with another secret does not start; one that knows the old one does", async () => {
    const other = "a master secret of one node alone"
    await expect(nodeOf({ GATEWAY_NODE_ID: "stranger", GATEWAY_SECRET: other })).rejects.toThrow(/another master secret\. Set GATEWAY_SECRET/)
    const heir = await nodeOf({ GATEWAY_NODE_ID: "heir", GATEWAY_SECRET: other, GATEWAY_SECRET_PREVIOUS: SECRET })
    await heir.close()
  })

  it("a node that cannot apply the newest configuration for ten seconds is not ready, says why, and recovers", async () => {
    const provider = await first.operator.createNode({ prefix: "sealed", baseUrl: "http://127.0.0.1:9/v1" })
    const connection = await first.operator.createConnection({ provider, apiKey: "a-credential-to-seal" })
    const sql = postgres(common.database, { max: 1, onnotice: () => undefined })
    try {
      const [row] = await sql<ReadonlyArray<{ api_key: string }>>`SELECT api_key FROM connections WHERE id = ${connection}`
      await sql`UPDATE connections SET api_key = ${row!.api_key.replace(/^v1\.[0-9a-f]+/, "v1.00000000")} WHERE id = ${connection}`
      const ping = () => Http.send(first.url, { path: "/api/health/ping" })
      const spoiledAt = performance.now()
      const failing = await eventually(ping, (reply) => reply.status === 503, "the node that is not ready", 30_000)
      expect(performance.now() - spoiledAt).toBeGreaterThan(9_000)
      expect(JSON.parse(failing.text)).toMatchObject({ status: "outdated", reason: expect.stringMatching(/cannot be applied on this node since .*key 00000000/) })
      expect((await Http.send(first.url, { path: "/api/health" })).status).toBe(503)
      await sql`UPDATE connections SET api_key = ${row!.api_key} WHERE id = ${connection}`
      const healed = await eventually(ping, (reply) => reply.status === 200, "the node that recovered", 10_000)
      expect(JSON.parse(healed.text)).not.toHaveProperty("reason")
    } finally {
      await sql.end()
    }
  })
})
