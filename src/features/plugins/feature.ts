/** Plugins: code of the operator's that sees conversations. */
import * as Feature from "#src/management/Feature.ts"
import * as Acting from "./acting.ts"
import { PluginsGroup } from "./api.ts"
import { degradation } from "./degradation.ts"
import * as Http from "./http.ts"
import version60 from "./migrations/0060_plugins.ts"
import * as Plugins from "./Plugins.ts"
import * as PostgresPluginStore from "./stores/PostgresPluginStore.ts"

export const plugins = Feature.make({
  name: "plugins",
  groups: [PluginsGroup],
  handlers: Http.layer,
  services: ({ plugins, pluginsDir }) => Plugins.layer({ isOn: plugins === "on", folder: pluginsDir }),
  stores: PostgresPluginStore.layer,
  migrations: { "60_plugins": version60 },
  acting: [Acting.plugin],
  degradation
})
