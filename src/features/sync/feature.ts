/** One gateway follows the configuration of another: sync tokens, the bundle, and what clients beside a gateway ask. */
import * as Layer from "effect/Layer"
import * as Feature from "#src/management/Feature.ts"
import { CloudGroup, SyncGroup } from "./api.ts"
import * as CloudHttp from "./cloudHttp.ts"
import * as Http from "./http.ts"
import version62 from "./migrations/0062_syncTokens.ts"
import * as PostgresSyncTokenStore from "./tokens/PostgresSyncTokenStore.ts"

export const sync = Feature.make({
  name: "sync",
  groups: [SyncGroup, CloudGroup],
  handlers: Layer.merge(Http.layer, CloudHttp.layer),
  stores: PostgresSyncTokenStore.layer,
  migrations: { "62_syncTokens": version62 }
})
