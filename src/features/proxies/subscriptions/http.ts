import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import { answer } from "#src/management/answer.ts"
import { Audit } from "#src/management/audit/Audit.ts"
import * as Surface from "#src/management/Surface.ts"
import { ProxySubscriptionsGroup } from "./api.ts"
import type { ProxySubscription } from "./ProxySubscription.ts"
import { Subscriptions } from "./Subscriptions.ts"
import * as Views from "./views.ts"

export const layer = HttpApiBuilder.group(Surface.make(ProxySubscriptionsGroup), "proxySubscriptions", Effect.fn(function*(handlers) {
  const audit = yield* Audit
  const subscriptions = yield* Subscriptions

  const note = (action: string, subscription: ProxySubscription, details: Readonly<Record<string, number>> = {}) =>
    audit.note({ action, target: subscription.id, resourceType: "proxy", details: { name: subscription.name, url: Views.shownUrl(subscription), ...details } })

  return handlers.handleAll({
    list: () => answer(Effect.map(subscriptions.list, (all) => ({ items: all.map(Views.viewOf), total: all.length }))),
    create: ({ payload }) => answer(subscriptions.create(payload).pipe(Effect.tap((made) => note("proxy.subscription_created", made)), Effect.map(Views.viewOf))),
    update: ({ payload }) => answer(subscriptions.update(payload).pipe(Effect.tap((changed) => note("proxy.subscription_updated", changed)), Effect.map(Views.viewOf))),
    remove: ({ query }) => answer(subscriptions.remove(query.id, query.force === "1" || query.force === "true").pipe(
      Effect.tap((gone) => note("proxy.subscription_deleted", gone)), Effect.as({ success: true as const })
    )),
    refresh: ({ payload }) => answer(subscriptions.refresh(payload.id).pipe(
      Effect.tap(({ added, removed, subscription }) => note("proxy.subscription_refreshed", subscription, { added, removed })),
      Effect.map(({ subscription, ...counts }) => ({ subscription: Views.viewOf(subscription), ...counts }))
    ))
  })
}))
