/** The marketplace of plugins. */
import * as Context from "effect/Context"
import * as Layer from "effect/Layer"
import * as Market from "#src/management/markets/Market.ts"
import type { Values } from "#src/platform/configuration/Settings.ts"

export class PluginMarket extends Context.Service<PluginMarket, Market.Market>()("gateway/plugins/PluginMarket") {}

export const layerOf = ({ pluginsMarketUrl }: Pick<Values, "pluginsMarketUrl">) => Layer.effect(PluginMarket, Market.make({
  title: "The marketplace of plugins", address: pluginsMarketUrl, variable: "GATEWAY_PLUGINS_MARKET_URL", kind: "plugins"
}))
