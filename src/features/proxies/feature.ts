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
import * as PostgresProxyStore from "./PostgresProxyStore.ts"
import * as Proxies from "./Proxies.ts"
import * as ProxyTest from "./ProxyTest.ts"
import { ProxySettingsGroup } from "./settings/api.ts"
import * as SettingsHttp from "./settings/http.ts"

export const proxies = Feature.make({
  name: "proxies",
  groups: [ProxiesGroup, ProxySettingsGroup],
  handlers: Layer.merge(Http.layer, SettingsHttp.layer).pipe(Layer.provide(Proxies.layer)),
  services: (settings) => Layer.merge(ProxyHealth.layer, ProxyTest.layerOf(settings)),
  stores: (options) => Layer.merge(PostgresProxyStore.layer(options), PostgresProxyHealthStore.layer(options)),
  migrations: { "42_proxies": version42, "43_proxyHealth": version43 },
  acting: [Acting.proxy],
  degradation
})
