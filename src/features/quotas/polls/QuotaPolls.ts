/**
 * Reads quotas from the vendors' own endpoints on a schedule: on one node, a few at a time, and stored for the others. Off until the
 * setting `autoRefreshProviderQuota` is on; balances at aggregators are read while the flag NEWAPI_AGGREGATOR_BALANCE is. A reading that
 * fails leaves what was known as it is.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"
import * as Layer from "effect/Layer"
import * as Random from "effect/Random"
import * as Supervisor from "#actors/Supervisor.ts"
import { Configuration } from "#actors/ports/Configuration.ts"
import { Flags } from "#actors/ports/Flags.ts"
import { Placement } from "#actors/ports/Placement.ts"
import { UrlGuard } from "#actors/ports/UrlGuard.ts"
import type { Connection } from "#schemas/records/Connection.ts"
import * as StatusReason from "#schemas/statusReason.ts"
import { QuotaReadings } from "#src/features/quotas/ports/QuotaReadings.ts"
import { builtin } from "#src/providers/Registry.ts"
import * as ControlCalls from "#src/platform/upstream/egress/ControlCalls.ts"
import * as UpstreamEndpoint from "#src/providers/upstreamEndpoint.ts"
import * as SmallAnswer from "#src/platform/upstream/egress/smallAnswer.ts"
import * as Answers from "./answers.ts"
import * as Due from "./due.ts"

/** Between two looks for connections whose turn it is; on the other nodes, for what was stored. */
const look = "5 seconds"
/** Readings at once. */
const parallel = 4
/** Bytes of an answer that are read. */
const ANSWER_MAX = 64 * 1024
const timeouts = { connect: 5_000, headers: 10_000, firstEvent: 0, idle: 10_000, total: 12_000 }
/** A reading without a reset counts at least so long, ms, and three intervals. */
const believedMs = 3_600_000

export interface Options {
  /** Other nodes share the store. */
  readonly shared: boolean
}

const make = Effect.fnUntraced(function*({ shared }: Options) {
  const configuration = yield* Configuration
  const flags = yield* Flags
  const guard = yield* UrlGuard
  const placement = yield* Placement
  const readings = yield* QuotaReadings
  const calls = yield* ControlCalls.make
  const inUse = Latch.makeUnsafe(false)
  const last = new Map<string, Due.LastRead>()
  /** Connections whose last reading failed, so that it is logged once. */
  const failing = new Set<string>()

  /** What is read now; empty while nothing is to be read. */
  const pollable = (): ReadonlyArray<Due.Pollable> => {
    const snapshot = configuration.current()
    const reads = { quotas: Due.readsQuotas(snapshot), balances: flags.isOn("NEWAPI_AGGREGATOR_BALANCE") }
    return flags.isOn("GATEWAY_DISABLE_BACKGROUND_SERVICES") || (!reads.quotas && !reads.balances) ? [] : Due.pollable(snapshot, builtin, reads)
  }

  const send = (asker: ControlCalls.Asker, { headers, origin, path }: UpstreamEndpoint.UpstreamEndpoint): Effect.Effect<string, string> => Effect.flatMap(
    SmallAnswer.read(ANSWER_MAX, (handler) => calls.dispatch(asker, { origin, path, method: "GET", headers, body: null, timeouts }, handler), {
      failed: ({ message }) => message, tooLarge: () => `the answer is larger than ${ANSWER_MAX} bytes`
    }),
    ({ body, status }) => StatusReason.isOk(status) ? Effect.succeed(body) : Effect.fail(`the answer has status ${status}`)
  )

  const documentAt = Effect.fnUntraced(function*(connection: Connection, endpoint: UpstreamEndpoint.UpstreamEndpoint | UpstreamEndpoint.EndpointMissing) {
    if ("_tag" in endpoint) return yield* Effect.fail(endpoint.message)
    yield* Effect.mapError(guard.check(endpoint.origin, "provider"), ({ message }) => message)
    const body = yield* send({ connection, provider: connection.provider }, endpoint)
    return yield* Effect.try({ try: (): unknown => JSON.parse(body), catch: () => "the answer is no JSON" })
  })

  const read = Effect.fnUntraced(function*(one: Due.Pollable, interval: number) {
    const { connection } = one
    const believed = Math.max(believedMs, 3 * interval)
    if (one.node === undefined) {
      const document = yield* documentAt(connection, UpstreamEndpoint.ofProvider(one.row, connection, one.quota.path, "", null))
      return readings.note(connection.id, Answers.readingsOf(one.quota, document, yield* Clock.currentTimeMillis, believed))
    }
    const subscription = yield* documentAt(connection, UpstreamEndpoint.ofNode(one.node, connection, "/dashboard/billing/subscription"))
    const usage = yield* documentAt(connection, UpstreamEndpoint.ofNode(one.node, connection, "/dashboard/billing/usage"))
    const balance = Answers.balanceOf(subscription, usage, yield* Clock.currentTimeMillis, believed)
    if (balance === null) return yield* Effect.fail("the answers name no balance")
    return readings.note(connection.id, [balance])
  })

  const poll = Effect.fnUntraced(function*(one: Due.Pollable, interval: number) {
    const { id, provider } = one.connection
    // Connections that were stored together are not read together for ever.
    last.set(id, { at: yield* Clock.currentTimeMillis, part: 0.9 + 0.2 * (yield* Random.next) })
    yield* Effect.matchEffect(read(one, interval), {
      onSuccess: () => Effect.sync(() => void failing.delete(id)),
      onFailure: (message) => {
        if (failing.has(id)) return Effect.void
        failing.add(id)
        return Effect.annotateLogs(Effect.logWarning(`the quota of a connection was not read: ${message}`), { connectionId: id, provider })
      }
    })
  })

  const round = Effect.suspend(() => {
    const all = pollable()
    const interval = Due.everyMs(configuration.current())
    for (const id of last.keys()) {
      if (all.some(({ connection }) => connection.id === id)) continue
      last.delete(id)
      failing.delete(id)
    }
    return Effect.flatMap(Clock.currentTimeMillis, (now) =>
      Effect.forEach(Due.due(all, last, interval, now), (one) => poll(one, interval), { concurrency: parallel, discard: true }))
  })

  /** No timer runs for what is not in use. */
  const whileInUse = (work: Effect.Effect<void>) => Effect.andThen(inUse.await, Effect.andThen(work, Effect.sleep(look)))
  const changed = (): void => {
    if (pollable().length > 0) inUse.openUnsafe()
    else inUse.closeUnsafe()
  }
  changed()
  yield* Effect.acquireRelease(Effect.sync(() => configuration.onChange(changed)), (quiet) => Effect.sync(quiet))
  yield* placement.place("quota polls", Supervisor.supervised("quota polls", whileInUse(round)))
  if (shared) yield* Supervisor.loop("quota polls elsewhere", whileInUse(readings.follow))
})

export const layer = (options: Options) => Layer.effectDiscard(make(options))
