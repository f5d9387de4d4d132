/** A list of outbound proxies at an operator's URL, as it is stored. Times are ISO 8601 strings. */
import * as Schema from "effect/Schema"
import { ProxyType } from "#schemas/egress/Proxy.ts"

export const ProxySubscription = Schema.Struct({
  id: Schema.String,
  name: Schema.String,
  /** May hold a token: sealed at rest. */
  url: Schema.Redacted(Schema.String),
  /** Of entries that do not say theirs. */
  type: ProxyType,
  /** Off: the list is not read, and its proxies stay as they are. */
  enabled: Schema.Boolean,
  intervalSeconds: Schema.Int,
  /** Proxies that the list named when it was read last. */
  entryCount: Schema.Int,
  /** Its lines that are no proxy, stand there twice, or may not be used. */
  skippedCount: Schema.Int,
  triedAt: Schema.NullOr(Schema.String),
  /** The last time at which it was read. */
  refreshedAt: Schema.NullOr(Schema.String),
  /** Why the last try failed; null = it did not. */
  error: Schema.NullOr(Schema.String),
  createdAt: Schema.String,
  updatedAt: Schema.String
})
export interface ProxySubscription extends Schema.Schema.Type<typeof ProxySubscription> {}

/** What a try leaves. */
export type Tried = Pick<ProxySubscription, "triedAt" | "error"> & Partial<Pick<ProxySubscription, "entryCount" | "skippedCount" | "refreshedAt">>

/** A list that could not be read is asked again after this time, ms, where its interval is longer. */
const AFTER_FAILURE_MS = 300_000

/** At once after a change of what operators say of it. */
export const isDue = ({ enabled, error, intervalSeconds, triedAt, updatedAt }: ProxySubscription, now: number): boolean => {
  if (!enabled) return false
  const everyMs = intervalSeconds * 1_000
  return triedAt === null || updatedAt > triedAt || now - Date.parse(triedAt) >= (error === null ? everyMs : Math.min(everyMs, AFTER_FAILURE_MS))
}
