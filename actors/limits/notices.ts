/** Tells of limits that are used up, and of budgets that are near their end: each once per key, limit and window, over nodes and restarts. */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Supervisor from "#actors/Supervisor.ts"
import { Lifecycle } from "#actors/ports/Lifecycle.ts"
import { DocumentStore } from "#actors/ports/Stores.ts"
import { Events } from "#actors/webhook/Events.ts"
import type { QuotaExceeded } from "#schemas/events.ts"
import type { Rate } from "./Rate.ts"
import type { RuleCounter } from "./RuleCounter.ts"
import * as Meter from "./Meter.ts"
import * as Rules from "./rules.ts"

/** Kind of the documents that remember for which limits the exhaustion event was sent. */
const toldKind = "quota-told"

export const make = Effect.fnUntraced(function*(now: () => number, fork: (effect: Effect.Effect<void>) => unknown) {
  const documents = yield* DocumentStore
  const events = Option.getOrNull(yield* Effect.serviceOption(Events))
  const lifecycle = yield* Lifecycle
  let sequence = 0

  const publish = (data: QuotaExceeded["data"], start: number, isNear = false): void => {
    if (events === null || !events.wants("quota.exceeded")) return
    const at = now()
    const mine = `${lifecycle.nodeId}:${at}:${++sequence}`
    const name = `${data.api_key_id}:${data.quota}:${data.scope}:${data.limit}:${isNear ? "near:" : ""}${start}`
    // The first to write it down is the one that tells.
    fork(documents.putIfAbsent(toldKind, name, mine).pipe(
      Effect.orElseSucceed(() => mine),
      Effect.map((standing) => {
        if (standing === mine) events.publish({ type: "quota.exceeded", at, data })
      })
    ))
  }

  const crossed = (keyId: string, { meter, rule }: RuleCounter): void => {
    const used = Meter.used(meter)
    const isNear = used < rule.limit
    // What is near is shown below 100.
    const pct = (isNear ? Math.floor : Math.round)(used / rule.limit * 10_000) / 100
    const shown = (amount: number) => rule.kind === "usd" ? amount / Rules.unitsPerUsd : amount
    publish({
      api_key_id: keyId, quota: rule.quota, scope: rule.scope, used: shown(used), limit: shown(rule.limit),
      pct, resets_at: new Date(meter.end).toISOString()
    }, meter.start, isNear)
  }

  const rateCrossed = (keyId: string, { rule }: Rate, waitMs: number): void => {
    const every = Math.max(rule.windowMs, 60_000)
    publish({
      api_key_id: keyId, quota: "rate_limit", scope: `${rule.windowMs / 1_000}s`, used: rule.limit, limit: rule.limit, pct: 100,
      resets_at: new Date(now() + waitMs).toISOString()
    }, Math.floor(now() / every) * every)
  }

  // The last windows' documents: a month and a bit is the longest window.
  const forgetTold = Effect.ignore(Effect.flatMap(documents.list(toldKind), (told) => Effect.forEach(told.keys(), (name) => {
    const start = Number(name.slice(name.lastIndexOf(":") + 1))
    return start + 40 * 86_400_000 < now() ? documents.remove(toldKind, name) : Effect.void
  }, { discard: true })))
  yield* Supervisor.loop("limit notices", Effect.delay(forgetTold, Duration.hours(24)))

  return { crossed, rateCrossed }
})
