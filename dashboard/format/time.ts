/** Times as they are shown: how long ago in lists, the exact time with its zone on hover. */
import { duration, unknown } from "./numbers.ts"

const WHOLE_SECONDS_MS = 1_000

const exactly = new Intl.DateTimeFormat("en", { dateStyle: "medium", timeStyle: "long" })
const clockOf = new Intl.DateTimeFormat("en", { hour: "2-digit", minute: "2-digit", second: "2-digit", hour12: false })
const day = new Intl.DateTimeFormat("en", { month: "short", day: "numeric" })

const timeOf = (iso: string | null | undefined): number => iso === null || iso === undefined ? Number.NaN : Date.parse(iso)

export const exact = (iso: string | null | undefined): string => Number.isNaN(timeOf(iso)) ? unknown : exactly.format(timeOf(iso))

/** `14:03:21`, with the day when it is another one. */
export const clock = (iso: string, now: number): string => {
  const at = timeOf(iso)
  if (Number.isNaN(at)) return unknown
  return new Date(at).toDateString() === new Date(now).toDateString() ? clockOf.format(at) : `${day.format(at)} ${clockOf.format(at)}`
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

/** `2026-03-04` as `Mar 4`. */
export const dayName = (date: string): string => {
  const at = Date.parse(`${date.slice(0, 10)}T12:00:00Z`)
  return Number.isNaN(at) ? date : day.format(at)
}
