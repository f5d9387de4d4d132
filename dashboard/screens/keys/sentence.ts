/** What a key may do, as a sentence. */
import type { Answer } from "../../api/contract.ts"
import { count, counted, money } from "../../format/numbers.ts"

export type Key = Answer<"GET /api/keys">["keys"][number]

const MOST_NAMED = 3
const days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]

const listed = (names: ReadonlyArray<string>): string => names.length <= MOST_NAMED ? names.join(", ") : `${names.slice(0, MOST_NAMED).join(", ")} and ${names.length - MOST_NAMED} more`

const window = (seconds: number): string => seconds === 60 ? "a minute" : seconds === 3_600 ? "an hour" : seconds === 86_400 ? "a day" : `in ${count(seconds)} s`

const modelsOf = (key: Key): string => {
  if (key.modelAccessMode !== "restricted") return "any model"
  const names = [...key.allowedModels, ...key.allowedCombos]
  return names.length === 0 ? "no model" : listed(names)
}

const connectionsOf = (key: Key): string => key.allowedConnections.length === 0 ? "over no connection" : `over ${counted(key.allowedConnections.length, "connection", "connections")}`

const hoursOf = ({ accessSchedule }: Key): string | null => {
  if (accessSchedule === null || !accessSchedule.enabled) return null
  const on = accessSchedule.days.length === 7 ? "every day" : accessSchedule.days.length === 0 ? "never" : accessSchedule.days.map((day) => days[day] ?? "").join(" ")
  return `${on} ${accessSchedule.from} to ${accessSchedule.until} ${accessSchedule.tz}`
}

export const sentenceOf = (key: Key): string => {
  const bounds = [
    key.blockedModels.length === 0 ? null : `but not ${listed(key.blockedModels)}`,
    key.connectionAccessMode === "restricted" ? connectionsOf(key) : null,
    ...(key.rateLimits ?? []).map(({ limit, window: seconds }) => `${counted(limit, "request", "requests")} ${window(seconds)}`),
    key.maxRequestsPerMinute === null ? null : `${counted(key.maxRequestsPerMinute, "request", "requests")} a minute`,
    key.maxRequestsPerDay === null ? null : `${counted(key.maxRequestsPerDay, "request", "requests")} a day`,
    key.maxSessions === 0 ? null : `${counted(key.maxSessions, "session", "sessions")} at once`,
    key.usageLimitEnabled && key.dailyUsageLimitUsd !== null ? `for ${money(key.dailyUsageLimitUsd)} a day` : null,
    key.usageLimitEnabled && key.weeklyUsageLimitUsd !== null ? `for ${money(key.weeklyUsageLimitUsd)} a week` : null,
    key.ipAllowlist.length === 0 ? null : `from ${listed(key.ipAllowlist)}`,
    hoursOf(key),
    key.scopes.length === 0 ? null : `with scope ${listed(key.scopes)}`,
    key.expiresAt === null ? null : `until ${key.expiresAt.slice(0, 10)}`
  ].filter((bound) => bound !== null)
  return `May call ${[modelsOf(key), ...bounds].join(", ")}.`
}
