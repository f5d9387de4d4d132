/** A plugin as the management API shows it: its whole manifest, and how it stands. Pure. */
import type { PluginView } from "./api.ts"
import type { Plugin } from "./ports/Plugin.ts"

export const of = (plugin: Plugin): PluginView => {
  const { activatedAt, config, errorMessage, installedAt, integrity, manifest, name, status, version } = plugin
  const { author, configSchema, description, enabledByDefault, failMode, hooks, hookTimeoutMs, license, main, source, tags } = manifest
  return {
    name, version, description, author, license, main, source, tags, requires: { permissions: [] },
    hooks: Object.fromEntries(hooks.map((hook) => [hook, true])),
    skills: [], configSchema, integrity, enabledByDefault, adminPages: [], dashboardWidgets: [], hookTimeoutMs, failMode,
    status, config, installedAt, activatedAt, errorMessage
  }
}
