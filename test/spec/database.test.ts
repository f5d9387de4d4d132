/** Database settings and the database's upkeep over HTTP. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as SqlClient from "effect/sql/SqlClient"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { DocumentStore } from "#actors/ports/Stores.ts"
import { type InProcess, inProcess } from "#test/support/gateway.ts"
import * as Http from "#test/support/http.ts"
import { eventually } from "#test/support/operator.ts"

const PATH = "/api/settings/database"
const BACKUPS = "/api/db-backups"

let gateway: InProcess
beforeAll(async () => {
  gateway = await inProcess({ environment: { GATEWAY_USAGE_RETENTION_DAYS: "400" } })
})
afterAll(() => gateway.close())

type View = Readonly<Record<"logs" | "backup" | "retention" | "schedule", Readonly<Record<string, unknown>>>>
const read = () => gateway.operator.call<View>("GET", PATH)
const change = (body: object) => gateway.operator.call<View>("PATCH", PATH, body)
const refused = async (body: unknown) => {
  const reply = await gateway.operator.raw("PATCH", PATH, body)
  const { error } = JSON.parse(reply.text) as { error: { code: string; details?: ReadonlyArray<{ field: string }> } }
  return [reply.status, error.code, error.details?.map(({ field }) => field)]
}

const defaults = {
  logs: { detailed: false, pipeline: true, maxDetailSizeKb: 64, ring: 1_000 },
  backup: { auto: false, frequency: "never", keep: 3 },
  retention: { quotaSnapshots: 90, compressionAnalytics: 30, mcpAudit: 30, a2aEvents: null, callLogs: null, usageHistory: 400, memoryEntries: 180, autoCleanup: true },
  aggregation: { enabled: false, after: 7, frequency: "daily" },
  optimization: {},
  schedule: { lastAt: null, nextAt: null }
}

describe("database settings", () => {
  it("have their defaults, and the variables' where those decide", async () => {
    expect(await read()).toEqual(defaults)
    expect(await gateway.operator.call("GET", "/api/settings")).not.toHaveProperty("database")
  })

  it("are changed field by field, and the log fields are the settings of kept bodies", async () => {
    const after = await change({ logs: { detailed: true, maxDetailSizeKb: 100 }, backup: { keep: 5 }, retention: { usageHistory: 90, mcpAudit: 0, memoryEntries: 7 } })
    expect(after).toEqual({
      ...defaults, logs: { ...defaults.logs, detailed: true, maxDetailSizeKb: 100 }, backup: { ...defaults.backup, keep: 5 },
      retention: { ...defaults.retention, usageHistory: 90, mcpAudit: 0, memoryEntries: 7 }
    })
    expect(await change({ backup: { frequency: "weekly" } })).toEqual({ ...after, backup: { auto: false, frequency: "weekly", keep: 5 } })
    expect(await gateway.operator.call("GET", "/api/settings")).toMatchObject({ callLogBodies: true, callLogBodyMaxKb: 100 })
    await gateway.operator.call("PATCH", "/api/settings", { callLogBodies: false, callLogBodyMaxKb: 64 })
    expect((await read()).logs).toEqual(defaults.logs)
    expect(await gateway.operator.call("GET", "/api/storage/health")).toMatchObject({ retentionDays: { call: 90 } })
    const [entry] = await gateway.operator.call<ReadonlyArray<unknown>>("GET", "/api/compliance/audit-log?action=settings.updated&limit=1&offset=1")
    expect(entry).toMatchObject({ details: { changed: ["database.backup.frequency"] } })
  })

  it("refuse what does not act, values out of range and empty changes, by field", async () => {
    expect(await refused({ logs: { pipeline: false } })).toEqual([400, "not_supported_yet", ["logs.pipeline"]])
    expect(await refused({ retention: { callLogs: 90, a2aEvents: 1 } })).toEqual([400, "not_supported_yet", ["retention.a2aEvents", "retention.callLogs"]])
    expect(await refused({ aggregation: { enabled: true } })).toEqual([400, "not_supported_yet", ["aggregation.enabled"]])
    expect(await refused({ optimization: { autoVacuum: "full" } })).toEqual([400, "not_supported_yet", ["optimization"]])
    for (const [body, field] of [
      [{ backup: { keep: 0 } }, "backup.keep"], [{ backup: { keep: 101 } }, "backup.keep"], [{ backup: { frequency: "hourly" } }, "backup.frequency"],
      [{ retention: { usageHistory: 31 } }, "retention.usageHistory"], [{ retention: { quotaSnapshots: 36_501 } }, "retention.quotaSnapshots"],
      [{ logs: { maxDetailSizeKb: 1_025 } }, "logs.maxDetailSizeKb"], [{ logs: { lines: 1 } }, "logs.lines"]
    ] as const) expect((await refused(body)).at(2), JSON.stringify(body)).toEqual([field])
    for (const body of [{}, { logs: {} }]) expect((await refused(body))[0]).toBe(400)
    expect((await change({ logs: { pipeline: true }, aggregation: { enabled: false }, optimization: {}, retention: { a2aEvents: null } })).backup).toMatchObject({ keep: 5 })
  })

  it("need an operator with all rights, also while no login is required", async () => {
    const calls = [["GET", PATH], ["PATCH", PATH], ["POST", `${PATH}/refresh-stats`], ["POST", `${PATH}/vacuum`]] as const
    const { key } = await gateway.operator.createKey("weak", { scopes: ["manage"] })
    await gateway.operator.call("PATCH", "/api/settings", { requireLogin: false })
    for (const [method, path] of calls) {
      const ask = async (headers: Readonly<Record<string, string>>) =>
        (await Http.send(gateway.url, { method, path, headers, ...(method === "PATCH" ? { body: { backup: { keep: 9 } } } : {}) })).status
      expect([method, path, await ask({}), await ask({ authorization: `Bearer ${key}` })]).toEqual([method, path, 401, 403])
    }
    await gateway.operator.call("PATCH", "/api/settings", { requireLogin: true })
    expect((await read()).backup).toMatchObject({ keep: 5 })
  })

  it("make a backup on a schedule, tell when, and a start repeats none", async () => {
    const { schedule } = await change({ backup: { auto: true, frequency: "monthly", keep: 2 } })
    expect(schedule["lastAt"]).toBeNull()
    expect(Date.parse(String(schedule["nextAt"]))).toBeLessThanOrEqual(Date.now())
    const list = async () => (await gateway.operator.call<{ backups: ReadonlyArray<{ reason: string; createdAt: string }> }>("GET", BACKUPS)).backups
    const [made] = await eventually(list, (all) => all.length > 0, "the scheduled backup")
    expect(made?.reason).toBe("scheduled")
    const told = await eventually(read, (view) => view.schedule["lastAt"] !== null, "the turn")
    expect(told.schedule["lastAt"]).toBe(made?.createdAt)
    const next = new Date(String(told.schedule["nextAt"]))
    expect([next.getUTCDate(), next.getUTCHours(), next.getTime() > Date.now()]).toEqual([1, 0, true])
    await eventually(() => gateway.operator.call<ReadonlyArray<unknown>>("GET", "/api/compliance/audit-log?action=backup.created"), (all) => all.length === 1, "its entry")
    await gateway.restart()
    expect((await read()).schedule).toEqual(told.schedule)
    expect((await read()).backup).toEqual({ auto: true, frequency: "monthly", keep: 2 })
    // A restore brings back settings, and not when the last backup was made here.
    const { id } = (await list())[0] as unknown as { id: string }
    await Effect.runPromise(Context.get(gateway.services(), DocumentStore).put("backup-schedule", "last", { lastAt: 1_000, claimedAt: Date.now() }))
    await gateway.operator.call("POST", BACKUPS, { backupId: id })
    expect((await read()).schedule["lastAt"]).toBe(new Date(1_000).toISOString())
  })
})

describe("the upkeep of the database", () => {
  it("counts its tables anew, and frees the room of removed rows", async () => {
    interface Sizes { readonly success: boolean; readonly sizeBytes: number; readonly tables: ReadonlyArray<{ name: string; rows: number; deadRows: number; bytes: number }> }
    const counted = await gateway.operator.call<Sizes>("POST", `${PATH}/refresh-stats`)
    const documents = counted.tables.find(({ name }) => name === "documents")
    expect(counted.success).toBe(true)
    expect(documents?.rows).toBeGreaterThan(3)
    expect(documents?.bytes).toBeGreaterThan(0)
    expect(counted.tables.map(({ name }) => name)).toContain("usage")
    const swept = await gateway.operator.call<Sizes & { durationMs: number }>("POST", `${PATH}/vacuum`)
    expect(swept).toMatchObject({ success: true, durationMs: expect.any(Number) })
    expect(swept.sizeBytes).toBeGreaterThan(1_000_000)
    const audit = await gateway.operator.call<ReadonlyArray<{ action: string }>>("GET", "/api/compliance/audit-log?resourceType=database")
    expect(audit.map(({ action }) => action)).toEqual(["database.vacuumed", "database.analyzed"])
  })
})

describe("the schema of the database", () => {
  it("is checked and mended over HTTP", async () => {
    const PATH_OF_HEALTH = "/api/db/health"
    const healthy = await gateway.operator.call<{ parts: number }>("GET", PATH_OF_HEALTH)
    expect(healthy).toEqual({ status: "healthy", parts: healthy.parts, drift: [] })
    const sql = Context.get(gateway.services(), SqlClient.SqlClient)
    await Effect.runPromise(sql.unsafe("DROP INDEX compression_hours_hour"))
    const lost = { kind: "index", table: "compression_hours", name: "compression_hours_hour", problem: "missing", repairable: true }
    expect(await gateway.operator.call("GET", PATH_OF_HEALTH)).toEqual({ status: "drifted", parts: healthy.parts, drift: [lost] })
    expect(await gateway.operator.call("POST", PATH_OF_HEALTH)).toEqual({ status: "healthy", parts: healthy.parts, drift: [], repaired: [lost], failed: [] })
    expect(await gateway.operator.call("GET", PATH_OF_HEALTH)).toMatchObject({ status: "healthy" })
    const [entry] = await gateway.operator.call<ReadonlyArray<unknown>>("GET", "/api/compliance/audit-log?action=database.repaired")
    expect(entry).toMatchObject({ status: "success", details: { repaired: ["index compression_hours.compression_hours_hour"] } })
    expect((await Http.send(gateway.url, { method: "POST", path: PATH_OF_HEALTH })).status).toBe(401)
  })
})
