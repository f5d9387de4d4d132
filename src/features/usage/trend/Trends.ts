/** Use by buckets of a zone, beside the same length of time before. */
import * as Cache from "effect/Cache"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type { Configuration } from "#actors/ports/Configuration.ts"
import type { UsageStore } from "#actors/ports/UsageStore.ts"
import * as Refusal from "#schemas/api/Refusal.ts"
import { isTimeZone } from "#schemas/timeZone.ts"
import { knownProvider } from "#src/management/knownProvider.ts"
import type { Trend } from "#src/features/usage/api.ts"
import { noSlice } from "#src/features/usage/statistics.ts"
import * as Buckets from "./buckets.ts"

const DEFAULT_MS = 7 * 86_400_000

const iso = (at: number): string => new Date(at).toISOString()

export interface Question {
  readonly from?: string
  readonly to?: string
  readonly bucket?: Buckets.Unit
  readonly zone?: string
  readonly provider?: string
  readonly model?: string
  readonly connection?: string
  readonly apiKey?: string
}

const asking = (store: UsageStore["Service"], configuration: Configuration["Service"]) => Effect.fnUntraced(function*({ apiKey, bucket = "day", connection, from, model, provider, to, zone = "UTC" }: Question) {
  const until = to === undefined ? (yield* Clock.currentTimeMillis) + 1 : Date.parse(to)
  const since = from === undefined ? until - DEFAULT_MS : Date.parse(from)
  if (!(since < until)) return yield* Effect.fail(Refusal.badRequest("from must be before to"))
  if (!isTimeZone(zone)) return yield* Effect.fail(Refusal.badRequest(`zone ${zone} is not an IANA time zone, such as Europe/Berlin`))
  const bounds = Buckets.boundsOf(since, until, bucket, zone)
  if (bounds === null) return yield* Effect.fail(Refusal.badRequest(`More than ${Buckets.MOST} buckets: choose a longer bucket than ${bucket}, or a shorter time`))
  const target = {
    ...(provider === undefined ? {} : { provider: knownProvider(configuration.current(), provider) ?? provider }),
    ...(model === undefined ? {} : { model }), ...(connection === undefined ? {} : { connectionId: connection }), ...(apiKey === undefined ? {} : { apiKeyId: apiKey })
  }
  const before = { since: since - (until - since), until: since }
  const starts = bounds.slice(0, -1)
  const { slices, total } = yield* store.trend({ ...target, since, until }, starts)
  const previous = yield* store.trend({ ...target, ...before }, [before.since])
  return {
    from: iso(since), to: iso(until), zone, bucket, total,
    buckets: starts.map((start, index) => ({ start: iso(start), end: iso(bounds[index + 1] ?? until), ...(slices.get(index) ?? noSlice) })),
    previous: { from: iso(before.since), to: iso(before.until), total: previous.total }
  } satisfies Trend
})

/** How much longer an answer is given again than it took to make. */
const SHARE = 10
/** Questions whose answers are kept. */
const QUESTIONS = 100

/**
 * Of millions of rows an answer takes seconds, and every open page asks for the same every few of them: together they take a tenth
 * of the database's time at most, and what is quick is always new.
 */
export const make = Effect.fnUntraced(function*(store: UsageStore["Service"], configuration: Configuration["Service"]) {
  const ask = asking(store, configuration)
  const answers = yield* Cache.makeWith(
    (question: string) => Effect.timed(ask(JSON.parse(question) as Question)),
    { capacity: QUESTIONS, timeToLive: (exit) => Exit.isSuccess(exit) ? Duration.times(exit.value[0], SHARE) : 0 }
  )
  return (question: Question) => Effect.map(Cache.get(answers, JSON.stringify(question)), ([, answer]) => answer)
})
