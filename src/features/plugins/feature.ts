/** Plugins: code of the operator's that sees conversations. */
import * as Layer from "effect/Layer"
import * as Feature from "#src/management/Feature.ts"
import * as Acting from "./acting.ts"
import { PluginsGroup } from "./api.ts"
import { degradation } from "./degradation.ts"
import * as Http from "./http.ts"
import * as Installations from "./Installations.ts"
import version60 from "./migrations/0060_plugins.ts"
import * as PluginMarket from "./PluginMarket.ts"
import * as Plugins from "./Plugins.ts"
import * as PostgresPluginStore from "./stores/PostgresPluginStore.ts"

export const plugins = Feature.make({
  name: "plugins",
  groups: [PluginsGroup],
  handlers: Layer.provide(Http.layer, Installations.layer),
  services: (settings) => Layer.merge(Plugins.layer({ isOn: settings.plugins, folder: settings.pluginsDir }), PluginMarket.layerOf(settings)),
  stores: PostgresPluginStore.layer,
  migrations: { "60_plugins": version60 },
  acting: [Acting.plugin],
  degradation
})
