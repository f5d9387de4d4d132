/** API keys of clients, and the keys that keys issue. */
import * as Layer from "effect/Layer"
import * as Feature from "#src/management/Feature.ts"
import * as Acting from "./acting.ts"
import { KeysGroup } from "./api.ts"
import * as CachedKeys from "./CachedKeys.ts"
import * as EnvironmentKeys from "./environmentKeys.ts"
import * as Http from "./http.ts"
import { RegisteredKeysGroup } from "./issued/api.ts"
import * as IssuedHttp from "./issued/http.ts"
import * as RegisteredKeys from "./issued/RegisteredKeys.ts"
import * as RepositoryIssues from "./issued/RepositoryIssues.ts"
import { LocksGroup } from "./locks/api.ts"
import * as LocksHttp from "./locks/http.ts"
import * as ManagedKeys from "./ManagedKeys.ts"
import version11 from "./migrations/0011_issuers.ts"
import * as PostgresKeyStore from "./PostgresKeyStore.ts"
import { degradation } from "./degradation.ts"
import * as KeyDevices from "./KeyDevices.ts"

export const keys = Feature.make({
  name: "keys",
  groups: [KeysGroup, RegisteredKeysGroup, LocksGroup],
  handlers: Layer.provide(Layer.mergeAll(Http.layer, Layer.provide(IssuedHttp.layer, RegisteredKeys.layer), LocksHttp.layer), ManagedKeys.layer),
  stores: PostgresKeyStore.layer,
  migrations: { "11_issuers": version11 },
  acting: [Acting.apiKey],
  degradation,
  shared: (settings) => Layer.merge(CachedKeys.layer(settings), EnvironmentKeys.layerOf(settings)),
  services: (settings) => Layer.mergeAll(
    KeyDevices.layer,
    RepositoryIssues.layer({ repository: settings.issuesRepository, token: settings.issuesToken, api: settings.issuesApi })
  )
})
