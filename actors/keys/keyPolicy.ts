/** May this key make a call now, from here, to this endpoint? Pure over the key and the time; which models it may use: `src/routing/Rights.ts`. */
import * as Errors from "#schemas/errors.ts"
import type { PublicError } from "#schemas/errors.ts"
import { leaseScope } from "#schemas/protocols/Lease.ts"
import type { AccessSchedule, ApiKey } from "#schemas/records/ApiKey.ts"
import * as IpRange from "./ipRange.ts"

/** Where a call comes from; the address is read only when the key asks for it, because reading it costs a native call. */
export interface Peer {
  readonly remoteAddress: string
}

const ends = new WeakMap<ApiKey, number>()

/** ms since the epoch; Infinity for a key that does not expire. */
const endOf = (key: ApiKey): number => {
  let end = ends.get(key)
  if (end === undefined) ends.set(key, end = key.policy.expiresAt === null ? Infinity : Date.parse(key.policy.expiresAt))
  return end
}

const refuse = (message: string): PublicError => Errors.make("insufficient_permissions", message)

/** The key itself, its schedule, its addresses and endpoints (`chat` for /v1/chat/completions). `now` in ms since the epoch. */
export const admit = (key: ApiKey, endpoint: string, peer: Peer, now: number): PublicError | null => {
  const { policy } = key
  if (key.revokedAt !== null) return Errors.make("invalid_api_key", "This API key was revoked.")
  if (!policy.isActive) return refuse("This API key is disabled.")
  if (policy.isBanned) return refuse("This API key is banned.")
  if (now >= endOf(key)) return refuse(`This API key expired at ${policy.expiresAt}.`)
  if (policy.accessSchedule !== null && !withinSchedule(policy.accessSchedule, now)) {
    return refuse(`This API key may be used from ${policy.accessSchedule.from} until ${policy.accessSchedule.until} (${policy.accessSchedule.tz}) only.`)
  }
  if (policy.ipAllowlist.length > 0 && !IpRange.contains(policy.ipAllowlist, peer.remoteAddress)) {
    return refuse("This API key may not be used from this address.")
  }
  if (policy.allowedEndpoints.length > 0 && !policy.allowedEndpoints.includes(endpoint)) {
    return refuse(`This API key may not use the ${endpoint} endpoint.`)
  }
  return null
}

/** What `admitIssued` needs to know of an issuer: the key as it stands (null = it is gone), and whether amounts or rates limit it. */
export interface Issuer {
  readonly key: ApiKey | null
  readonly isLimited: boolean
}

/** An issued key may do no more than its issuer: it is refused whenever its issuer would be, or would be counted. */
export const admitIssued = ({ isLimited, key }: Issuer, endpoint: string, peer: Peer, now: number): PublicError | null => {
  if (key === null) return Errors.make("invalid_api_key", "The key that issued this API key was deleted.")
  const refused = admit(key, endpoint, peer, now)
  if (refused !== null) {
    const message = `The key that issued this API key is refused: ${refused.message}`
    return refused.reason === "credential" ? Errors.make("invalid_api_key", message) : refuse(message)
  }
  if (key.policy.scopes.includes(leaseScope)) return refuse(`The key that issued this API key needs a lease for its calls (scope ${leaseScope}).`)
  return isLimited ? refuse("The key that issued this API key has limits of its own, which calls of this key would pass.") : null
}

/** A window of the week; `until` before `from` runs past midnight and belongs to the day it began. */
export const withinSchedule = (schedule: typeof AccessSchedule.Type, now: number): boolean => {
  if (!schedule.enabled) return true
  const { day, minutes } = localTime(schedule.tz, now)
  const from = minutesOf(schedule.from)
  const until = minutesOf(schedule.until)
  const onDay = (d: number) => schedule.days.length === 0 || schedule.days.includes(d)
  if (from <= until) return onDay(day) && minutes >= from && minutes < until
  return (onDay(day) && minutes >= from) || (onDay((day + 6) % 7) && minutes < until)
}

const formats = new Map<string, Intl.DateTimeFormat>()
const days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]

const localTime = (tz: string, now: number): { readonly day: number; readonly minutes: number } => {
  let format = formats.get(tz)
  if (format === undefined) {
    format = new Intl.DateTimeFormat("en-US", { timeZone: tz, weekday: "short", hour: "2-digit", minute: "2-digit", hourCycle: "h23" })
    formats.set(tz, format)
  }
  let day = 0
  let minutes = 0
  for (const part of format.formatToParts(now)) {
    if (part.type === "weekday") day = days.indexOf(part.value)
    else if (part.type === "hour") minutes += Number(part.value) * 60
    else if (part.type === "minute") minutes += Number(part.value)
  }
  return { day, minutes }
}

const minutesOf = (clock: string): number => {
  const [hours, minutes] = clock.split(":")
  return Number(hours) * 60 + Number(minutes)
}
