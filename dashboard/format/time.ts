/** Times as they are shown: how long ago in lists, the exact time with its zone on hover. */
import { duration, unknown } from "./numbers.ts"
import { zoneNow } from "./zone.ts"

const WHOLE_SECONDS_MS = 1_000

/** Formats are costly to make: one of each kind per zone. */
const formatOf = (options: Intl.DateTimeFormatOptions): (() => Intl.DateTimeFormat) => {
  const made = new Map<string, Intl.DateTimeFormat>()
  return () => {
    const timeZone = zoneNow()
    const known = made.get(timeZone) ?? new Intl.DateTimeFormat("en", { ...options, timeZone })
    made.set(timeZone, known)
    return known
  }
}
const exactly = formatOf({ dateStyle: "medium", timeStyle: "long" })
const clockOf = formatOf({ hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" })
const minuteOf = formatOf({ hour: "2-digit", minute: "2-digit", hourCycle: "h23" })
const day = formatOf({ month: "short", day: "numeric" })

const timeOf = (iso: string | null | undefined): number => iso === null || iso === undefined ? Number.NaN : Date.parse(iso)

export const exact = (iso: string | null | undefined): string => Number.isNaN(timeOf(iso)) ? unknown : exactly().format(timeOf(iso))

/** `14:03:21`, with the day when it is another one. */
export const clock = (iso: string, now: number): string => {
  const at = timeOf(iso)
  if (Number.isNaN(at)) return unknown
  return day().format(at) === day().format(now) ? clockOf().format(at) : `${day().format(at)} ${clockOf().format(at)}`
}

/** `12 s ago`; a time to come is `in 12 s`. */
export const ago = (iso: string | null | undefined, now: number): string => {
  const at = timeOf(iso)
  if (Number.isNaN(at)) return unknown
  const ms = Math.floor(Math.abs(now - at) / WHOLE_SECONDS_MS) * WHOLE_SECONDS_MS
  if (ms < 2 * WHOLE_SECONDS_MS) return "just now"
  const short = duration(ms).replace(/\.\d+ s$/, " s")
  return at > now ? `in ${short}` : `${short} ago`
}

/** What is left until a time, in ms; 0 when it is over. */
export const left = (iso: string | null | undefined, now: number): number => {
  const at = timeOf(iso)
  return Number.isNaN(at) ? 0 : Math.max(0, at - now)
}

/** The beginning of a stretch of time: `14:03` or `Mar 4`. */
export const startName = (iso: string, unit: "minute" | "hour" | "day" | "week" | "month"): string => {
  const at = timeOf(iso)
  if (Number.isNaN(at)) return unknown
  return unit === "minute" ? minuteOf().format(at) : unit === "hour" ? `${day().format(at)} ${minuteOf().format(at)}` : day().format(at)
}
