/** Lists of outbound proxies are read again on their intervals, on one node for all. */
import * as Crypto from "node:crypto"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Flags } from "#actors/ports/Flags.ts"
import { Placement } from "#actors/ports/Placement.ts"
import { AuditStore } from "#actors/ports/Stores.ts"
import type { StoreError } from "#actors/ports/StoreError.ts"
import * as Supervisor from "#actors/Supervisor.ts"
import type * as Refusal from "#schemas/api/Refusal.ts"
import { isDue } from "./ProxySubscription.ts"
import { type Refreshed, Subscriptions } from "./Subscriptions.ts"
import { shownUrl } from "./views.ts"

/** Between two looks whether a list is due. */
const look = "30 seconds"

const messageOf = (problem: Refusal.Refusal | StoreError): string => problem._tag === "StoreError" ? problem.message : problem.error.message

/** Reads what is due. A failure is logged and kept with its list, and tried again later. */
export const round = Effect.gen(function*() {
  const audit = yield* AuditStore
  const flags = yield* Flags
  const subscriptions = yield* Subscriptions

  const note = ({ added, removed, subscription }: Refreshed, at: number) => audit.append({
    id: Crypto.randomUUID(), timestamp: new Date(at).toISOString(), action: "proxy.subscription_refreshed", actor: "schedule", target: subscription.id,
    details: { name: subscription.name, url: shownUrl(subscription), added, removed }, ipAddress: null, resourceType: "proxy", status: "success", requestId: null
  }).pipe(Effect.catch((error) => Effect.logError(`the audit entry of proxy subscription ${subscription.name} was not stored: ${error.message}`)))

  const refresh = Effect.fnUntraced(function*(id: string) {
    const refreshed = yield* subscriptions.refresh(id)
    const { added, removed, subscription: { error, name } } = refreshed
    if (error !== null) yield* Effect.logWarning(`Proxy subscription ${name} was not read: ${error}`)
    if (added + removed > 0) yield* note(refreshed, yield* Clock.currentTimeMillis)
  })

  return Effect.gen(function*() {
    if (flags.isOn("GATEWAY_DISABLE_BACKGROUND_SERVICES")) return
    const now = yield* Clock.currentTimeMillis
    const due = (yield* subscriptions.list).filter((one) => isDue(one, now))
    for (const { id, name } of due) {
      yield* refresh(id).pipe(Effect.catch((problem) => Effect.logWarning(`Proxy subscription ${name} was not refreshed: ${messageOf(problem)}`)))
    }
  }).pipe(Effect.catch((problem) => Effect.logWarning(`Proxy subscriptions were not looked at: ${messageOf(problem)}`)))
})

export const layer = Layer.effectDiscard(Effect.gen(function*() {
  const placement = yield* Placement
  const { changed } = yield* Subscriptions
  const work = yield* round
  const next = Effect.andThen(Effect.raceFirst(changed.await, Effect.sleep(look)), Effect.sync(() => changed.closeUnsafe()))
  yield* placement.place("proxy subscriptions", Supervisor.supervised("proxy subscriptions", Effect.andThen(work, next)))
}))
