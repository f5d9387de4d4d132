/** Whether an address is served: an operator's list and the bans that end by themselves. Pure; compiled once per stored filter. */
import type { AddressFilter } from "#schemas/AddressFilter.ts"
import { AddressSet } from "./addressSet.ts"
import * as IpRange from "./ipRange.ts"

/** Why an address is refused. `unknown`: it cannot be read, so that no list may be asked. */
export type Refused =
  | { readonly reason: "banned"; /** ms since the epoch. */ readonly until: number }
  | { readonly reason: "blacklist" | "whitelist" | "unknown" }

/** `now`: ms since the epoch. Null: the address is served. */
export type Rules = (address: string, now: number) => Refused | null

const isMember = (): boolean => true

/** Null when the filter is off. */
export const compile = ({ blacklist, enabled, mode, tempBans, whitelist }: AddressFilter): Rules | null => {
  if (!enabled) return null
  const listed = new AddressSet((mode === "blacklist" ? blacklist : whitelist).map((entry) => [entry, true] as const))
  const bans = new AddressSet(tempBans.map(({ ip, until }) => [ip, until] as const))
  return (address, now) => {
    const value = IpRange.parse(address)
    if (value === null) return { reason: "unknown" }
    const until = bans.find(value, (end) => end > now)
    if (until !== undefined) return { reason: "banned", until }
    const isListed = listed.find(value, isMember) !== undefined
    return isListed === (mode === "blacklist") ? { reason: mode } : null
  }
}
