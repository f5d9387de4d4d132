/** Where minutes, hours, days, weeks and months of a zone begin. Pure. */
import type { Trend } from "#src/features/usage/api.ts"

export type Unit = Trend["bucket"]

/** Of one answer. */
export const MOST = 400

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS
/** The shortest that each may be, ms. */
const least: Readonly<Record<Unit, number>> = { minute: MINUTE_MS, hour: HOUR_MS, day: 23 * HOUR_MS, week: 7 * DAY_MS - HOUR_MS, month: 28 * DAY_MS - HOUR_MS }
/** 1970-01-05 was a Monday. */
const MONDAY_MS = 4 * DAY_MS

/** What a clock of the zone shows, as if it stood in UTC: ms since the epoch. */
const wallOf = (zone: string): (at: number) => number => {
  if (zone === "UTC") return (at) => at
  const format = new Intl.DateTimeFormat("en-US", { timeZone: zone, hourCycle: "h23", year: "numeric", month: "numeric", day: "numeric", hour: "numeric", minute: "numeric", second: "numeric" })
  return (at) => {
    const part: Record<string, number> = {}
    for (const { type, value } of format.formatToParts(at)) part[type] = Number(value)
    return Date.UTC(part["year"] ?? 0, (part["month"] ?? 1) - 1, part["day"] ?? 1, part["hour"] ?? 0, part["minute"] ?? 0, part["second"] ?? 0) + ((at % 1_000) + 1_000) % 1_000
  }
}

const truncated = (wall: number, unit: Unit): number => {
  switch (unit) {
    case "minute":
      return Math.floor(wall / MINUTE_MS) * MINUTE_MS
    case "hour":
      return Math.floor(wall / HOUR_MS) * HOUR_MS
    case "day":
      return Math.floor(wall / DAY_MS) * DAY_MS
    case "week":
      return Math.floor((wall - MONDAY_MS) / (7 * DAY_MS)) * 7 * DAY_MS + MONDAY_MS
    case "month":
      return Date.UTC(new Date(wall).getUTCFullYear(), new Date(wall).getUTCMonth(), 1)
  }
}

const following = (wall: number, unit: Unit): number => {
  switch (unit) {
    case "day":
      return wall + DAY_MS
    case "week":
      return wall + 7 * DAY_MS
    case "month":
      return Date.UTC(new Date(wall).getUTCFullYear(), new Date(wall).getUTCMonth() + 1, 1)
    default:
      return wall + least[unit]
  }
}

/** Beginnings of the buckets that hold [from, to), and the end of the last; null = more than MOST. */
export const boundsOf = (from: number, to: number, unit: Unit, zone: string): ReadonlyArray<number> | null => {
  if ((to - from) / least[unit] > MOST) return null
  const wallAt = wallOf(zone)
  /** The moment at which the zone's clock shows this; twice, because the offset may change in between. */
  const momentOf = (wall: number): number => {
    const near = wall - (wallAt(wall) - wall)
    return near - (wallAt(near) - wall)
  }
  const first = truncated(wallAt(from), unit)
  if (unit === "minute" || unit === "hour") {
    // An hour that a clock shows twice is two buckets.
    const start = from - (wallAt(from) - first)
    const count = Math.max(1, Math.ceil((to - start) / least[unit]))
    return Array.from({ length: count + 1 }, (_, index) => start + index * least[unit])
  }
  const bounds: Array<number> = []
  for (let wall = first; bounds.length < 2 || (bounds.at(-1) ?? to) < to; wall = following(wall, unit)) bounds.push(momentOf(wall))
  return bounds
}
