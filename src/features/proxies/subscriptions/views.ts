/** Proxy subscriptions as replies show them: of the URL its host alone. Pure. */
import * as Redacted from "effect/Redacted"
import { REDACTED } from "#src/management/redact.ts"
import type { SubscriptionView } from "./api.ts"
import type { ProxySubscription } from "./ProxySubscription.ts"

/** Its path and query may hold a token. */
export const shownUrl = ({ url }: Pick<ProxySubscription, "url">): string => `${new URL(Redacted.value(url)).origin}/${REDACTED}`

export const viewOf = (subscription: ProxySubscription): SubscriptionView => ({ ...subscription, url: shownUrl(subscription) })
