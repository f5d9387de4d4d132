/** Which fields of outbound proxies act. */
import { actIn, type Row } from "#schemas/acting/row.ts"
import * as ActingTable from "#src/management/acting/ActingTable.ts"
import type { NewProxy } from "./api.ts"
import type { NewSubscription } from "./subscriptions/api.ts"

const rows: Readonly<Record<keyof NewProxy, Row>> = {
  ...actIn("actors/egress/Egress.ts", "type", "host", "port", "username", "password", "status", "family"),
  ...actIn("src/features/proxies/Proxies.ts", "name", "region", "notes")
}

export const proxy = ActingTable.make("Outbound proxy", rows, "POST /api/v1/management/proxies", "PATCH /api/v1/management/proxies")

const subscriptionRows: Readonly<Record<keyof NewSubscription, Row>> = {
  ...actIn("src/features/proxies/subscriptions/Subscriptions.ts", "name", "url", "type"),
  ...actIn("src/features/proxies/subscriptions/ProxySubscription.ts", "enabled", "intervalSeconds")
}

export const subscription = ActingTable.make(
  "Proxy subscription", subscriptionRows, "POST /api/v1/management/proxy-subscriptions", "PATCH /api/v1/management/proxy-subscriptions"
)
