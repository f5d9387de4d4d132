/** The tool over the database's schema: what it finds, what it mends, and for whom. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as SqlClient from "effect/sql/SqlClient"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { agentOf, type Audited, type McpLab, startMcp } from "./lab.ts"

let lab: McpLab
beforeAll(async () => {
  lab = await startMcp("streamable-http")
})
afterAll(() => lab.close())

const run = (statement: string) => {
  const sql = Context.get(lab.gateway.services(), SqlClient.SqlClient)
  return Effect.runPromise(Effect.asVoid(sql.unsafe(statement)))
}
const check = "db_health_check"
const repair = { autoRepair: true }

describe("the tool of the database", () => {
  it("tells what differs, and mends it for a caller that governs the gateway", async () => {
    const [own, admin] = [await agentOf(lab, "read:health", "write:resilience"), await agentOf(lab, "admin")]
    const healthy = { isHealthy: true, issues: [], repairedCount: 0, backupCreated: false }
    expect(await own.call(check)).toEqual(healthy)
    await run("DROP INDEX compression_hours_hour")
    await run("DROP TABLE compression_batches")
    await run("ALTER TABLE mcp_calls ALTER COLUMN output_summary TYPE varchar(500)")
    await run("ALTER TABLE mcp_calls ALTER COLUMN error_code TYPE varchar(500)")
    const column = { type: "column_changed", table: "mcp_calls", count: 2, description: expect.stringMatching(/(?:error_code|output_summary) \(no repair: rows would change\), /) as string }
    const { issues, ...found } = await own.call(check)
    expect(found).toEqual({ isHealthy: false, repairedCount: 0, backupCreated: false })
    expect(issues).toHaveLength(3)
    expect(issues).toEqual(expect.arrayContaining([
      { type: "table_missing", table: "compression_batches", count: 1, description: "compression_batches" },
      { type: "index_missing", table: "compression_hours", count: 1, description: "compression_hours_hour" }, column
    ]))
    expect(await own.call(check, repair)).toMatchObject({ error: { code: "AUTH_004" } })
    expect(await own.call(check)).toMatchObject({ issues })
    const mended = await admin.call(check, repair)
    expect(mended).toMatchObject({ isHealthy: false, issues: [column], backupCreated: false })
    expect(mended["repairedCount"]).toBeGreaterThanOrEqual(2)
    const [noted] = await lab.gateway.operator.call<ReadonlyArray<unknown>>("GET", "/api/compliance/audit-log?action=database.repaired&limit=1")
    expect(noted).toMatchObject({ details: { failed: [] } })

    // What the rows forbid is told with its reason.
    await run("ALTER TABLE compression_batches DROP CONSTRAINT compression_batches_id_key")
    for (const at of [1, 2]) await run(`INSERT INTO compression_batches (id, at) VALUES ('twice', ${at})`)
    expect(await admin.call(check, repair)).toMatchObject({
      repairedCount: 0, issues: expect.arrayContaining([
        expect.objectContaining({ type: "constraint_missing", table: "compression_batches", description: expect.stringMatching(/^compression_batches_id_key \(.+\)$/) as string })
      ]) as unknown
    })
    await run("DELETE FROM compression_batches")
    for (const column of ["output_summary", "error_code"]) await run(`ALTER TABLE mcp_calls ALTER COLUMN ${column} TYPE text`)
    expect(await admin.call(check, repair)).toMatchObject({ isHealthy: true, issues: [] })
    const { entries } = await lab.gateway.operator.call<{ readonly entries: ReadonlyArray<Audited> }>("GET", `/api/mcp/audit?tool=gateway_${check}`)
    expect(entries[0]).toMatchObject({ success: true, apiKeyId: admin.id, outputSummary: expect.stringContaining("isHealthy") as string })
    await Promise.all([own.close(), admin.close()])
  })

  it("needs both of its scopes, and takes no other arguments", async () => {
    const [reader, own] = [await agentOf(lab, "read:health"), await agentOf(lab, "read:health", "write:resilience")]
    expect(await reader.call(check)).toMatchObject({ error: { code: "scope_denied:write:resilience" } })
    for (const wrong of [{ autoRepair: "yes" }, { repair: true }]) expect(await own.call(check, wrong)).toMatchObject({ error: { code: "invalid_arguments" } })
    await Promise.all([reader.close(), own.close()])
  })
})
