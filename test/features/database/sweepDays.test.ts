/** The setting `database.retention` decides how long records are kept, from the next sweep on. */
import { assert, describe, it } from "@effect/vitest"
import { databaseDefaults, databaseSettingsOf, removedBefore } from "#schemas/upkeep/DatabaseSettings.ts"

const DAY_MS = 86_400_000

describe("database settings", () => {
  it("have their defaults where nothing is stored, and where a member is not allowed any more", () => {
    for (const stored of [undefined, null, 7, "text", [], {}, { logs: 1, backup: null, retention: "x" }]) assert.deepStrictEqual(databaseSettingsOf(stored), databaseDefaults)
    assert.deepStrictEqual(databaseSettingsOf({
      logs: { ring: -1 }, backup: { auto: "yes", frequency: "hourly", keep: 0 },
      retention: { quotaSnapshots: 1.5, compressionAnalytics: -1, mcpAudit: "30", usageHistory: 31, autoCleanup: 0 }
    }), databaseDefaults)
  })

  it("are read member by member", () => {
    assert.deepStrictEqual(databaseSettingsOf({
      logs: { ring: 5 }, backup: { auto: true, frequency: "weekly", keep: 7 },
      retention: { quotaSnapshots: 1, compressionAnalytics: 2, mcpAudit: 3, usageHistory: 0, memoryEntries: 4, autoCleanup: false }
    }), {
      logs: { ring: 5 }, backup: { auto: true, frequency: "weekly", keep: 7 },
      retention: { quotaSnapshots: 1, compressionAnalytics: 2, mcpAudit: 3, usageHistory: 0, memoryEntries: 4, autoCleanup: false }
    })
  })

  it("remove nothing for 0 days, or without a clean-up", () => {
    const { retention } = databaseDefaults
    assert.strictEqual(removedBefore(retention, 3, 10 * DAY_MS), 7 * DAY_MS)
    assert.isNull(removedBefore(retention, 0, 10 * DAY_MS))
    assert.isNull(removedBefore({ ...retention, autoCleanup: false }, 3, 10 * DAY_MS))
  })
})
