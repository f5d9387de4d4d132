/** Which fields of a plugin act. */
import { actIn, lacks, type Rows } from "#schemas/acting/row.ts"
import * as ActingTable from "#src/management/acting/ActingTable.ts"

const installations = "src/features/plugins/Installations.ts"
const manifest = "src/features/plugins/manifest.ts"
const plugins = "src/features/plugins/Plugins.ts"

const rows: Rows = {
  ...actIn(installations, "path", "code"),
  ...ActingTable.below("manifest", {
    ...actIn(manifest, "name", "version", "integrity"),
    ...actIn("src/features/plugins/view.ts", "description", "author", "license", "source", "tags"),
    ...actIn(installations, "main", "configSchema", "enabledByDefault"),
    ...actIn("src/features/plugins/hooks/Hook.ts", "hookTimeoutMs", "failMode"),
    ...ActingTable.below("hooks", {
      ...actIn(plugins, "onRequest", "onResponse", "onError"),
      ...actIn(installations, "onInstall", "onActivate", "onDeactivate", "onUninstall")
    }),
    "requires.permissions": lacks("pluginExtras", []),
    skills: lacks("pluginExtras", []),
    adminPages: lacks("pluginExtras", []),
    dashboardWidgets: lacks("pluginExtras", [])
  })
}

export const plugin = ActingTable.make("Plugin", rows, "POST /api/plugins")
