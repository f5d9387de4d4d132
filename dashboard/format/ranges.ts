/** Ranges of time that screens of calls share: by name, or from one moment to another. Pure. */
import { zoneNow } from "./zone.ts"

const HOUR_MS = 3_600_000

export type Unit = "minute" | "hour" | "day" | "week" | "month"

/** `unit`: the bucket that shows the range well. */
export const ranges = {
  "15m": { word: "Last 15 min", ms: HOUR_MS / 4, unit: "minute" },
  "1h": { word: "Last hour", ms: HOUR_MS, unit: "minute" },
  "24h": { word: "Last 24 h", ms: 24 * HOUR_MS, unit: "hour" },
  "7d": { word: "Last 7 days", ms: 168 * HOUR_MS, unit: "day" },
  "30d": { word: "Last 30 days", ms: 720 * HOUR_MS, unit: "day" },
  "90d": { word: "Last 90 days", ms: 2_160 * HOUR_MS, unit: "week" },
  "2y": { word: "Last 2 years", ms: 17_520 * HOUR_MS, unit: "month" }
} as const satisfies Readonly<Record<string, { readonly word: string; readonly ms: number; readonly unit: Unit }>>
export type RangeName = keyof typeof ranges

/** What an address says of time. */
export interface Asked {
  readonly range?: string | undefined
  readonly from?: string | undefined
  readonly to?: string | undefined
}

export const isRange = (name: string | undefined): name is RangeName => name !== undefined && Object.hasOwn(ranges, name)

const isTime = (iso: string | undefined): iso is string => iso !== undefined && !Number.isNaN(Date.parse(iso))

/** The beginning of a range that ends now. */
export const beginOf = (name: RangeName, now: number): string => new Date(now - ranges[name].ms).toISOString()

/** A bucket that cuts a stretch of time into some tens. */
export const unitOf = (ms: number): Unit => ms <= 2 * HOUR_MS ? "minute" : ms <= 72 * HOUR_MS ? "hour" : ms <= 1_440 * HOUR_MS ? "day" : ms <= 8_760 * HOUR_MS ? "week" : "month"

/** Times of the address; what is no time is left out. */
export const timesOf = ({ from, to }: Asked): { readonly from?: string; readonly to?: string } => ({ ...(isTime(from) ? { from } : {}), ...(isTime(to) ? { to } : {}) })

/** `Mar 4, 14:03 to now`. */
export const spanWord = ({ from, to }: Asked): string => {
  const short = (iso: string | undefined, none: string): string => isTime(iso)
    ? new Date(iso).toLocaleString("en", { month: "short", day: "numeric", hour: "2-digit", minute: "2-digit", hourCycle: "h23", timeZone: zoneNow() }) : none
  return `${short(from, "…")} to ${short(to, "now")}`
}
