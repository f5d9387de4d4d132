/** Between the form of the database settings in the API and what is stored. Pure. */
import { type DatabaseSettings, databaseSettingsOf, settingKey } from "#schemas/upkeep/DatabaseSettings.ts"
import { settingDefaults } from "#schemas/settingDefaults.ts"
import type { DatabaseChange, DatabaseView } from "./api.ts"
import type { DatabaseOptions } from "./DatabaseOptions.ts"

/** General settings that have a name of their own in `logs`. */
const DETAILED = "callLogBodies"
const MAX_KB = "callLogBodyMaxKb"

type Stored = ReadonlyMap<string, unknown>

export const settingsIn = (stored: Stored): DatabaseSettings => databaseSettingsOf(stored.get(settingKey))

export const viewOf = (stored: Stored, { memoryDays, usageDays }: DatabaseOptions["Service"]): Omit<DatabaseView, "schedule"> => {
  const { backup, logs, retention } = settingsIn(stored)
  const maxKb = stored.get(MAX_KB) ?? settingDefaults[MAX_KB]
  return {
    logs: { detailed: stored.get(DETAILED) === true, pipeline: true, maxDetailSizeKb: Number(maxKb), ring: logs.ring },
    backup,
    retention: {
      ...retention, usageHistory: retention.usageHistory ?? usageDays, memoryEntries: retention.memoryEntries ?? memoryDays, a2aEvents: null, callLogs: null
    },
    aggregation: { enabled: false, after: 7, frequency: "daily" },
    optimization: {}
  }
}

/** Names of the fields that a change gives. */
export const namesOf = ({ aggregation = {}, backup = {}, logs = {}, optimization, retention = {} }: DatabaseChange): ReadonlyArray<string> => [
  ...Object.entries({ logs, backup, retention, aggregation }).flatMap(([section, members]) => Object.keys(members).map((name) => `${section}.${name}`)),
  ...optimization === undefined ? [] : ["optimization"]
]

/** The settings to store, by their keys. Fields that do not act are asked for with the value that they have anyway. */
export const entriesOf = (stored: Stored, { backup, logs, retention }: DatabaseChange): ReadonlyArray<readonly [key: string, value: unknown]> => {
  const before = settingsIn(stored)
  const { detailed, maxDetailSizeKb, pipeline: _pipeline, ...ownLogs } = logs ?? {}
  const { a2aEvents: _events, callLogs: _calls, ...ownRetention } = retention ?? {}
  const own = [ownLogs, backup ?? {}, ownRetention].some((members) => Object.keys(members).length > 0)
  const next: DatabaseSettings = {
    logs: { ...before.logs, ...ownLogs }, backup: { ...before.backup, ...backup }, retention: { ...before.retention, ...ownRetention }
  }
  return [
    ...detailed === undefined ? [] : [[DETAILED, detailed] as const],
    ...maxDetailSizeKb === undefined ? [] : [[MAX_KB, maxDetailSizeKb] as const],
    ...own ? [[settingKey, next] as const] : []
  ]
}
