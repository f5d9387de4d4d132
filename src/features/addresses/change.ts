/** What a change makes of the stored filter, and which of its fields are wrong. Pure. */
import { keyOf, parseEntry } from "#actors/keys/addressSet.ts"
import type { FieldIssue } from "#schemas/api/Refusal.ts"
import { type AddressFilter, BAN_MS, BANS_MAX, LIST_MAX } from "#schemas/AddressFilter.ts"
import type { AddressFilterChange } from "./api.ts"

const noEntry = "Expected an IP address, a CIDR range, or a pattern such as 10.1.*"

export const issuesOf = ({ addBlacklist, addWhitelist, blacklist = [], tempBan, whitelist = [] }: AddressFilterChange): ReadonlyArray<FieldIssue> =>
  [
    ...blacklist.map((entry, index) => [`blacklist.${index}`, entry] as const),
    ...whitelist.map((entry, index) => [`whitelist.${index}`, entry] as const),
    ["addBlacklist", addBlacklist] as const, ["addWhitelist", addWhitelist] as const, ["tempBan.ip", tempBan?.ip] as const
  ].flatMap(([field, entry]) => entry === undefined || parseEntry(entry) !== null ? [] : [{ field, message: noEntry }])

/** The list with one entry more and one less; each entry stands once, however it is spelled. */
const listed = (list: ReadonlyArray<string>, added: string | undefined, removed: string | undefined): ReadonlyArray<string> => {
  const byKey = new Map<string, string>()
  for (const entry of added === undefined ? list : [...list, added]) {
    const key = keyOf(entry)
    if (!byKey.has(key)) byKey.set(key, entry)
  }
  if (removed !== undefined) byKey.delete(keyOf(removed))
  return [...byKey.values()]
}

/** Bans that are over go. `now`: ms since the epoch. */
export const changed = (filter: AddressFilter, change: AddressFilterChange, now: number): AddressFilter => {
  const { removeBan, tempBan } = change
  const gone = new Set([tempBan?.ip, removeBan].flatMap((ip) => ip === undefined ? [] : [keyOf(ip)]))
  const bans = filter.tempBans.filter(({ ip, until }) => until > now && !gone.has(keyOf(ip)))
  return {
    enabled: change.enabled ?? filter.enabled,
    mode: change.mode ?? filter.mode,
    blacklist: listed(change.blacklist ?? filter.blacklist, change.addBlacklist, change.removeBlacklist),
    whitelist: listed(change.whitelist ?? filter.whitelist, change.addWhitelist, change.removeWhitelist),
    tempBans: tempBan === undefined || (removeBan !== undefined && keyOf(removeBan) === keyOf(tempBan.ip))
      ? bans
      : [...bans, { ip: tempBan.ip, until: now + (tempBan.durationMs ?? BAN_MS), reason: tempBan.reason ?? "" }]
  }
}

/** Lists that grew too long. */
export const excessOf = ({ blacklist, tempBans, whitelist }: AddressFilter): ReadonlyArray<FieldIssue> => [
  ...blacklist.length > LIST_MAX ? [{ field: "addBlacklist", message: `The blacklist holds ${LIST_MAX} entries already: use a range` }] : [],
  ...whitelist.length > LIST_MAX ? [{ field: "addWhitelist", message: `The whitelist holds ${LIST_MAX} entries already: use a range` }] : [],
  ...tempBans.length > BANS_MAX ? [{ field: "tempBan", message: `${BANS_MAX} bans are running already: use a range, or the blacklist` }] : []
]
