/** Outbound proxies: what calls of upstreams leave by. */
import * as Layer from "effect/Layer"
import * as Feature from "#src/management/Feature.ts"
import * as Acting from "./acting.ts"
import { ProxiesGroup } from "./api.ts"
import { degradation } from "./degradation.ts"
import * as PostgresProxyHealthStore from "./health/PostgresProxyHealthStore.ts"
import * as ProxyHealth from "./health/ProxyHealth.ts"
import * as Http from "./http.ts"
import version42 from "./migrations/0042_proxies.ts"
import version43 from "./migrations/0043_proxyHealth.ts"
import version54 from "./migrations/0054_proxySubscriptions.ts"
import * as PostgresProxyStore from "./PostgresProxyStore.ts"
import * as Proxies from "./Proxies.ts"
import * as ProxyTest from "./ProxyTest.ts"
import { ProxySettingsGroup } from "./settings/api.ts"
import * as SettingsHttp from "./settings/http.ts"
import { ProxySubscriptionsGroup } from "./subscriptions/api.ts"
import * as SubscriptionsHttp from "./subscriptions/http.ts"
import * as PostgresProxySubscriptionStore from "./subscriptions/PostgresProxySubscriptionStore.ts"
import * as RefreshLoop from "./subscriptions/RefreshLoop.ts"
import * as Subscriptions from "./subscriptions/Subscriptions.ts"

export const proxies = Feature.make({
  name: "proxies",
  groups: [ProxiesGroup, ProxySettingsGroup, ProxySubscriptionsGroup],
  handlers: Layer.mergeAll(Http.layer, SettingsHttp.layer, Layer.provide(Layer.merge(SubscriptionsHttp.layer, RefreshLoop.layer), Subscriptions.layer)).pipe(Layer.provide(Proxies.layer)),
  services: (settings) => Layer.merge(ProxyHealth.layer, ProxyTest.layerOf(settings)),
  stores: (options) => Layer.mergeAll(PostgresProxyStore.layer(options), PostgresProxyHealthStore.layer(options), PostgresProxySubscriptionStore.layer(options)),
  migrations: { "42_proxies": version42, "43_proxyHealth": version43, "54_proxySubscriptions": version54 },
  acting: [Acting.proxy, Acting.subscription],
  degradation
})
