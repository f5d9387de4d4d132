/** Signing in at providers, and the tokens that come of it. */
import * as Layer from "effect/Layer"
import * as Feature from "#src/management/Feature.ts"
import * as Connections from "#src/features/providers/ports/Connections.ts"
import { OAuthGroup } from "./api.ts"
import * as Http from "./http.ts"
import * as SharedSignIns from "./sharedSignIns.ts"
import * as SignedInConnections from "./SignedInConnections.ts"
import { degradation } from "./degradation.ts"
import * as ConnectionCredentials from "./tokens/ConnectionCredentials.ts"
import * as RefreshSweep from "./tokens/RefreshSweep.ts"

export const oauth = Feature.make({
  name: "oauth",
  groups: [OAuthGroup],
  handlers: Layer.provide(Http.layer, Layer.provide(SignedInConnections.layer, Connections.layer)),
  degradation,
  shared: (settings) => Layer.merge(
    Layer.provideMerge(RefreshSweep.layer(), ConnectionCredentials.layer(settings)),
    SharedSignIns.layerOf(settings)
  )
})
