/** When backups on a schedule are made: one in each day, week (from Monday) or month of UTC, as soon as the gateway runs in it. Pure. */
import * as Schema from "effect/Schema"
import type { DatabaseSettings, Frequency } from "#schemas/upkeep/DatabaseSettings.ts"

/** Kind and key of the document that says when the last one was made. */
export const KIND = "backup-schedule"
export const KEY = "last"

/** Longest time that making one backup may take, ms; another node makes it after that. */
export const CLAIM_MS = 600_000
/** What clocks of nodes may differ by, ms. */
const SKEW_MS = 3_600_000

export const Turn = Schema.Struct({
  /** When the last one was made, ms since the epoch; null before the first. */
  lastAt: Schema.NullOr(Schema.Finite),
  /** Since when one is being made; null while none is. */
  claimedAt: Schema.NullOr(Schema.Finite)
})
export interface Turn extends Schema.Schema.Type<typeof Turn> {}

const decode = Schema.decodeUnknownOption(Turn)
const none: Turn = { lastAt: null, claimedAt: null }

/** Of a stored document; one that cannot be read counts as none. */
export const turnOf = (stored: unknown): Turn => {
  const read = decode(stored)
  return read._tag === "Some" ? read.value : none
}

/** Null while no backup is made on a schedule. */
export const frequencyOf = ({ backup: { auto, frequency } }: Pick<DatabaseSettings, "backup">): Exclude<Frequency, "never"> | null =>
  auto && frequency !== "never" ? frequency : null

/** Begin of the period of a time and of the one behind it, ms since the epoch. */
export const periodOf = (frequency: Exclude<Frequency, "never">, at: number): { readonly start: number; readonly next: number } => {
  const time = new Date(at)
  const [year, month, day] = [time.getUTCFullYear(), time.getUTCMonth(), time.getUTCDate()]
  if (frequency === "monthly") return { start: Date.UTC(year, month, 1), next: Date.UTC(year, month + 1, 1) }
  if (frequency === "daily") return { start: Date.UTC(year, month, day), next: Date.UTC(year, month, day + 1) }
  const monday = day - (time.getUTCDay() + 6) % 7
  return { start: Date.UTC(year, month, monday), next: Date.UTC(year, month, monday + 7) }
}

/** Whether one is to be made now. What was missed is made up for by one. A clock that was set back must not stop them. */
export const isDue = (frequency: Exclude<Frequency, "never">, { claimedAt, lastAt }: Turn, now: number): boolean => {
  if (claimedAt !== null && claimedAt <= now + SKEW_MS && now - claimedAt < CLAIM_MS) return false
  return lastAt === null || lastAt > now + SKEW_MS || lastAt < periodOf(frequency, now).start
}

/** When the next one is made, ms since the epoch; `now` when it is due. */
export const nextAt = (frequency: Exclude<Frequency, "never">, turn: Turn, now: number): number =>
  isDue(frequency, { ...turn, claimedAt: null }, now) ? now : periodOf(frequency, now).next
