/** Fixed windows of limits in UTC: which one a moment belongs to. Pure. */

export interface FixedWindow {
  readonly interval: "hourly" | "daily" | "weekly" | "monthly"
  /** Minutes after midnight UTC at which a day, a week (Monday) or a month (its first day) begins. */
  readonly minutes: number
}

/** [start, end) in ms since the epoch. */
export interface Span {
  readonly start: number
  readonly end: number
}

const minuteMs = 60_000
const hourMs = 60 * minuteMs
const dayMs = 24 * hourMs
const weekMs = 7 * dayMs
/** The epoch was a Thursday: the Monday before it. */
const mondayMs = -3 * dayMs

/** `HH:MM` to minutes; what is no time of day is midnight. */
export const minutesOf = (clock: string): number => {
  const [hours = 0, minutes = 0] = clock.split(":").map(Number)
  const all = hours * 60 + minutes
  return Number.isInteger(all) && all >= 0 && all < 1_440 ? all : 0
}

const stepped = (now: number, origin: number, length: number): Span => {
  const start = origin + Math.floor((now - origin) / length) * length
  return { start, end: start + length }
}

/** The window that holds `now`; windows follow each other without gap or overlap. */
export const spanAt = ({ interval, minutes }: FixedWindow, now: number): Span => {
  const offset = minutes * minuteMs
  switch (interval) {
    case "hourly":
      return stepped(now, (minutes % 60) * minuteMs, hourMs)
    case "daily":
      return stepped(now, offset, dayMs)
    case "weekly":
      return stepped(now, mondayMs + offset, weekMs)
    case "monthly": {
      const shifted = new Date(now - offset)
      const year = shifted.getUTCFullYear()
      const month = shifted.getUTCMonth()
      return { start: Date.UTC(year, month, 1) + offset, end: Date.UTC(year, month + 1, 1) + offset }
    }
  }
}

/** Whole seconds until a time, rounded up, at least 1. */
export const secondsUntil = (time: number, now: number): number => Math.max(1, Math.ceil((time - now) / 1_000))
