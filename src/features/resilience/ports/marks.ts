/** What a cooldown leaves in its connection's record. Pure. */
import type { Connection } from "#schemas/records/Connection.ts"
import { storedCooldown } from "#src/features/resilience/local/places.ts"

/** Terminal states: only a test, a re-login or an edit ends them. */
export const isTerminal = ({ testStatus }: Pick<Connection, "testStatus">): boolean =>
  testStatus === "expired" || testStatus === "banned" || testStatus === "credits_exhausted"

type Marks = Partial<Pick<Connection, "rateLimitedUntil" | "backoffLevel" | "testStatus">>

/**
 * What must change in a connection's record so that it says this cooldown: a longer one of another node stands, and a terminal
 * status is never overwritten. `ours` is what this node wrote last. Empty when the record says it already.
 */
export const marksOf = (
  record: Connection,
  cooldown: { readonly until: number; readonly level: number },
  ours: { readonly until: number },
  now: number
): Marks => {
  const stored = storedCooldown(record)
  const running = now < cooldown.until
  const foreign = stored.until > now && stored.until !== ours.until
  const until = Math.max(running ? cooldown.until : 0, foreign ? stored.until : 0)
  const cools = until > now
  const status = isTerminal(record) ? record.testStatus : cools ? "unavailable" : record.testStatus === "unavailable" ? "active" : record.testStatus
  return {
    ...(until === stored.until ? {} : { rateLimitedUntil: until === 0 ? null : new Date(until).toISOString() }),
    ...(cooldown.level === record.backoffLevel ? {} : { backoffLevel: cooldown.level }),
    ...(status === record.testStatus ? {} : { testStatus: status })
  }
}
