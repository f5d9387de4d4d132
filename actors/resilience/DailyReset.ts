/**
 * When an upstream's daily quota is new again: the first moment of each day of a time zone at which its clock shows the hour, or is
 * past it because the hour was skipped. Pure.
 */
import * as DateTime from "effect/DateTime"
import * as Option from "effect/Option"
import type { Verdict } from "#actors/request/ports/Resilience.ts"
import type { ProviderNode } from "#schemas/records/ProviderNode.ts"
import * as StatusReason from "#schemas/statusReason.ts"

export interface DailyReset {
  readonly zone: DateTime.TimeZone
  /** 0 to 23. */
  readonly hour: number
}

/** What a node says of its resets; null = nothing, or a zone that this machine does not know. The half that is absent is UTC, or midnight. */
export const of = ({ dailyQuotaResetHour: hour, dailyQuotaResetTimezone: zone }: Pick<ProviderNode, "dailyQuotaResetHour" | "dailyQuotaResetTimezone">): DailyReset | null =>
  hour === null && zone === null ? null : Option.getOrNull(Option.map(DateTime.zoneMakeNamed(zone ?? "UTC"), (known) => ({ zone: known, hour: hour ?? 0 })))

/** The next reset after `now`; both ms since the epoch. */
export const nextAfter = ({ hour, zone }: DailyReset, now: number): number => {
  const { day, month, year } = DateTime.toParts(DateTime.makeZonedUnsafe(now, { timeZone: zone }))
  const onDay = (ahead: number): number => DateTime.toEpochMillis(DateTime.makeZonedUnsafe(
    new Date(Date.UTC(year, month - 1, day + ahead, hour)), { timeZone: zone, adjustForTimeZone: true, disambiguation: "compatible" }
  ))
  const today = onDay(0)
  return today > now ? today : onDay(1)
}

const daily = /daily.{0,30}(?:quota|limit|allowance)|(?:quota|limit|allowance).{0,40}\bdaily\b|today.{0,2}s? (?:quota|limit|allowance)|per[ _-]?day|again tomorrow/i

/** A message that names a shorter limit, too, may mean that one. */
const shorter = /per[ _-]?(?:sec|min|hour)/i

/** Words that make a message tell of a day, with those that stand around a model id in it. */
const dayWord = /daily|today|per[ _-]?day|again tomorrow/i

/** Characters of a message that are read. */
const READ = 2_000

const says = (message: string): boolean => daily.test(message) && !shorter.test(message)

/**
 * The upstream refuses because the quota of this day is spent. Only where it speaks of the account, and never where the model id that
 * was asked for says it: a client must not be able to rest a connection for a day.
 */
export const isSpent = ({ message, status }: Pick<Verdict, "message" | "status">, model: string): boolean => {
  switch (StatusReason.of(status)) {
    case "payment":
    case "forbidden":
    case "rate-limit":
      return says(message.slice(0, READ)) && !dayWord.test(model)
  }
  return false
}
