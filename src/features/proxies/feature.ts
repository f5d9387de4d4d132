/** Outbound proxies: what calls of upstreams leave by. */
import * as Layer from "effect/Layer"
import * as Feature from "#src/management/Feature.ts"
import * as Acting from "./acting.ts"
import { ProxiesGroup } from "./api.ts"
import * as Http from "./http.ts"
import version42 from "./migrations/0042_proxies.ts"
import * as PostgresProxyStore from "./PostgresProxyStore.ts"
import * as Proxies from "./Proxies.ts"

export const proxies = Feature.make({
  name: "proxies",
  groups: [ProxiesGroup],
  handlers: Http.layer.pipe(Layer.provide(Proxies.layer)),
  stores: PostgresProxyStore.layer,
  migrations: { "42_proxies": version42 },
  acting: [Acting.proxy]
})
