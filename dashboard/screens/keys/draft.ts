/** A key's rights while they are edited: the form's texts, and the fields that differ from the stored key. Pure. */
import type { Body } from "../../api/contract.ts"
import { changedIn } from "../../format/members.ts"
import type { Key } from "./sentence.ts"

const MINUTE_MS = 60_000

export const dayNames = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"] as const
const workdays = [1, 2, 3, 4, 5]

export interface Draft {
  readonly name: string
  readonly expires: string
  readonly models: boolean
  readonly allowedModels: string
  readonly allowedCombos: string
  readonly blockedModels: string
  readonly connections: boolean
  readonly allowedConnections: ReadonlyArray<string>
  readonly scopes: string
  readonly perMinute: string
  readonly perDay: string
  readonly sessions: string
  readonly money: boolean
  readonly usdADay: string
  readonly usdAWeek: string
  readonly scheduled: boolean
  readonly from: string
  readonly until: string
  readonly days: ReadonlyArray<number>
  readonly zone: string
  readonly addresses: string
  readonly noLog: boolean
  readonly allowUsageCommand: boolean
}

const linesOf = (text: string): Array<string> => text.split(/[\n,]/).map((line) => line.trim()).filter((line) => line !== "")
const numberOf = (text: string): number | null => text.trim() === "" ? null : Number(text)
const textOf = (value: number | null): string => value === null ? "" : String(value)

/** The form of the browser's own field: local time to the minute. */
const localOf = (iso: string | null): string => {
  if (iso === null) return ""
  const at = new Date(iso)
  return new Date(at.getTime() - at.getTimezoneOffset() * MINUTE_MS).toISOString().slice(0, 16)
}

export const draftOf = (key: Key): Draft => ({
  name: key.name, expires: localOf(key.expiresAt), models: key.modelAccessMode === "restricted", allowedModels: key.allowedModels.join("\n"), allowedCombos: key.allowedCombos.join("\n"), blockedModels: key.blockedModels.join("\n"),
  connections: key.connectionAccessMode === "restricted", allowedConnections: key.allowedConnections, scopes: key.scopes.join("\n"), perMinute: textOf(key.maxRequestsPerMinute), perDay: textOf(key.maxRequestsPerDay),
  sessions: key.maxSessions === 0 ? "" : String(key.maxSessions), money: key.usageLimitEnabled, usdADay: textOf(key.dailyUsageLimitUsd), usdAWeek: textOf(key.weeklyUsageLimitUsd),
  scheduled: key.accessSchedule?.enabled === true, from: key.accessSchedule?.from ?? "09:00", until: key.accessSchedule?.until ?? "18:00", days: key.accessSchedule?.days ?? workdays, zone: key.accessSchedule?.tz ?? Intl.DateTimeFormat().resolvedOptions().timeZone,
  addresses: key.ipAllowlist.join("\n"), noLog: key.noLog, allowUsageCommand: key.allowUsageCommand
})

type Change = NonNullable<Body<"PATCH /api/keys/:id">>

const bodyOf = (draft: Draft) => ({
  name: draft.name, expiresAt: draft.expires === "" ? null : new Date(draft.expires).toISOString(), modelAccessMode: draft.models ? "restricted" as const : "all" as const, allowedModels: linesOf(draft.allowedModels), allowedCombos: linesOf(draft.allowedCombos),
  blockedModels: linesOf(draft.blockedModels), connectionAccessMode: draft.connections ? "restricted" as const : "all" as const, allowedConnections: [...draft.allowedConnections], scopes: linesOf(draft.scopes), maxRequestsPerMinute: numberOf(draft.perMinute),
  maxRequestsPerDay: numberOf(draft.perDay), maxSessions: numberOf(draft.sessions) ?? 0, usageLimitEnabled: draft.money, dailyUsageLimitUsd: numberOf(draft.usdADay), weeklyUsageLimitUsd: numberOf(draft.usdAWeek),
  accessSchedule: { enabled: draft.scheduled, from: draft.from, until: draft.until, days: [...draft.days].sort(), tz: draft.zone }, ipAllowlist: linesOf(draft.addresses), noLog: draft.noLog, allowUsageCommand: draft.allowUsageCommand
})

/** Fields that the form changed; what it does not show stays as it is. */
export const changeOf = (draft: Draft, key: Key): Change => {
  return changedIn(bodyOf(draft), bodyOf(draftOf(key)))
}

/** The stored values of changed fields: they take a change back. */
export const inverseOf = (change: Change, key: Key): Change => Object.fromEntries(Object.keys(change).map((name) => [name, key[name as keyof Key]])) as Change
