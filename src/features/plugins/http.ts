import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import { answer } from "#src/management/answer.ts"
import * as Surface from "#src/management/Surface.ts"
import { PluginsGroup } from "./api.ts"
import { Installations } from "./Installations.ts"
import { PluginMarket } from "./PluginMarket.ts"
import type { Plugin } from "./ports/Plugin.ts"
import { PluginStore } from "./ports/PluginStore.ts"
import * as View from "./view.ts"

/** Entries of the marketplace that a search answers. */
const FOUND = 50

const configured = ({ config, manifest }: Plugin) => ({ config, schema: manifest.configSchema })
const done = (plugin: Plugin) => ({ success: true as const, plugin: View.of(plugin) })

export const layer = HttpApiBuilder.group(Surface.make(PluginsGroup), "plugins", Effect.fn(function*(handlers) {
  const installations = yield* Installations
  const market = yield* PluginMarket
  const store = yield* PluginStore

  return handlers.handleAll({
    list: () => answer(Effect.map(store.list, (all) => ({ plugins: all.map(View.of) }))),
    install: ({ payload }) => answer(Effect.map(installations.install(payload), done)),
    marketplace: ({ query: { limit = FOUND, q = "" } }) => answer(Effect.map(market.search(q, limit), (plugins) => ({ plugins, total: plugins.length }))),
    installMarketplace: ({ payload }) => answer(Effect.map(installations.installFrom(payload), done)),
    get: ({ params }) => answer(Effect.map(installations.get(params.name), (plugin) => ({ plugin: View.of(plugin) }))),
    remove: ({ params }) => answer(Effect.as(installations.remove(params.name), { success: true as const })),
    activate: ({ params }) => answer(Effect.map(installations.activate(params.name), done)),
    deactivate: ({ params }) => answer(Effect.map(installations.deactivate(params.name), done)),
    config: ({ params }) => answer(Effect.map(installations.get(params.name), configured)),
    configure: ({ params, payload }) => answer(Effect.map(installations.configure(params.name, payload.config), configured))
  })
}))
