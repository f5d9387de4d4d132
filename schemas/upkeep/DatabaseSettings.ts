/** The setting `database`: the process log in memory, backups on a schedule, and how long records are kept. */
import * as Schema from "effect/Schema"

/** Under this name among the settings. */
export const settingKey = "database"

/** Most lines of the process log that are held in memory. */
export const RING_MAX = 10_000
/** Most scheduled backups that a node keeps. */
export const KEEP_MAX = 100
/** Most days that records are kept; 0 = for ever. */
export const DAYS_MAX = 36_500
/** Fewest days of the usage history: limits count the calls of a calendar month. */
export const USAGE_DAYS_MIN = 32

export const frequencies = ["never", "daily", "weekly", "monthly"] as const
export const Frequency = Schema.Literals(frequencies)
export type Frequency = typeof Frequency.Type

export interface DatabaseSettings {
  readonly logs: {
    /** Lines of the process log that GET /api/logs/console can show. */
    readonly ring: number
  }
  readonly backup: {
    /** False: no backup is made on a schedule. */
    readonly auto: boolean
    readonly frequency: Frequency
    /** Scheduled backups that a node keeps. */
    readonly keep: number
  }
  /** Days; 0 = for ever. */
  readonly retention: {
    readonly quotaSnapshots: number
    readonly compressionAnalytics: number
    readonly mcpAudit: number
    /** Null: as GATEWAY_USAGE_RETENTION_DAYS says. */
    readonly usageHistory: number | null
    /** Null: as GATEWAY_MEMORY_RETENTION_DAYS says. */
    readonly memoryEntries: number | null
    /** False: nothing of these is removed by its age. */
    readonly autoCleanup: boolean
  }
}

export const databaseDefaults: DatabaseSettings = {
  logs: { ring: 1_000 },
  backup: { auto: false, frequency: "never", keep: 3 },
  retention: { quotaSnapshots: 90, compressionAnalytics: 30, mcpAudit: 30, usageHistory: null, memoryEntries: null, autoCleanup: true }
}

type Members = Readonly<Record<string, unknown>>

const membersOf = (value: unknown): Members => typeof value === "object" && value !== null ? value as Members : {}
const between = (value: unknown, least: number, most: number, otherwise: number): number =>
  typeof value === "number" && Number.isInteger(value) && value >= least && value <= most ? value : otherwise

/** The effective settings of a stored value; a member that is no longer allowed has its default. */
export const databaseSettingsOf = (stored: unknown): DatabaseSettings => {
  const { backup, logs, retention } = databaseDefaults
  const given = membersOf(stored)
  const givenBackup = membersOf(given["backup"])
  const givenRetention = membersOf(given["retention"])
  const days = (name: "quotaSnapshots" | "compressionAnalytics" | "mcpAudit"): number => between(givenRetention[name], 0, DAYS_MAX, retention[name])
  const usage = between(givenRetention["usageHistory"], 0, DAYS_MAX, -1)
  const memories = between(givenRetention["memoryEntries"], 0, DAYS_MAX, -1)
  return {
    logs: { ring: between(membersOf(given["logs"])["ring"], 0, RING_MAX, logs.ring) },
    backup: {
      auto: givenBackup["auto"] === true,
      frequency: frequencies.find((one) => one === givenBackup["frequency"]) ?? backup.frequency,
      keep: between(givenBackup["keep"], 1, KEEP_MAX, backup.keep)
    },
    retention: {
      quotaSnapshots: days("quotaSnapshots"), compressionAnalytics: days("compressionAnalytics"), mcpAudit: days("mcpAudit"),
      usageHistory: usage === 0 || usage >= USAGE_DAYS_MIN ? usage : null,
      memoryEntries: memories < 0 ? null : memories,
      autoCleanup: givenRetention["autoCleanup"] !== false
    }
  }
}

const DAY_MS = 86_400_000

/** Records of before this time go, ms since the epoch; null when none goes by its age. */
export const removedBefore = ({ autoCleanup }: DatabaseSettings["retention"], days: number, now: number): number | null =>
  autoCleanup && days > 0 ? now - days * DAY_MS : null
