/** The agent-to-agent server: skills of the gateway for other agents. */
import * as Layer from "effect/Layer"
import * as Feature from "#src/management/Feature.ts"
import type { Values } from "#src/platform/configuration/Settings.ts"
import { A2aOptions } from "./A2aOptions.ts"
import { A2aGroup } from "./api.ts"
import { degradation } from "./degradation.ts"
import * as Http from "./http.ts"
import version26 from "./migrations/0026_a2a.ts"
import * as Pushes from "./Pushes.ts"
import * as PostgresA2aTaskStore from "./stores/PostgresA2aTaskStore.ts"
import * as Sweep from "./sweep.ts"
import * as Tasks from "./Tasks.ts"

const options = (settings: Values) => Layer.succeed(A2aOptions, {
  publicUrl: settings.publicUrl?.replace(/\/+$/, "") ?? null,
  heartbeatMs: settings.sseComments ? settings.heartbeatMs : 0
})

export const a2a = Feature.make({
  name: "a2a",
  groups: [A2aGroup],
  handlers: Layer.provide(Http.layer, Tasks.layer),
  stores: PostgresA2aTaskStore.layer,
  migrations: { "26_a2a": version26 },
  degradation,
  services: (settings) => Sweep.layer.pipe(Layer.provideMerge(Pushes.layer()), Layer.merge(options(settings)))
})
