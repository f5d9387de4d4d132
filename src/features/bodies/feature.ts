/** Requests and answers of calls, where the operator keeps them. */
import * as Layer from "effect/Layer"
import * as Feature from "#src/management/Feature.ts"
import { BodiesGroup } from "./api.ts"
import * as CallBodies from "./CallBodies.ts"
import { degradation } from "./degradation.ts"
import * as Http from "./http.ts"
import version37 from "./migrations/0037_callBodies.ts"
import * as PostgresBodyStore from "./PostgresBodyStore.ts"

export const bodies = Feature.make({
  name: "bodies",
  groups: [BodiesGroup],
  handlers: Http.layer,
  stores: PostgresBodyStore.layer,
  migrations: { "37_callBodies": version37 },
  degradation,
  services: () => Layer.provideMerge(CallBodies.sweep, CallBodies.layer)
})
