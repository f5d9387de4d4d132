import * as Schema from "effect/Schema"
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as OpenApi from "effect/http-api/OpenApi"
import { Access, alwaysProtected, reads } from "#schemas/api/Access.ts"
import { Document, Success, text } from "#schemas/api/fields.ts"
import { MarketInstall, MarketQuery } from "#src/management/markets/api.ts"
import { Entry } from "#src/management/markets/listing.ts"
import { CODE_MAX } from "./bounds.ts"
import { FailMode, PluginStatus } from "./ports/Plugin.ts"

const opt = Schema.optionalKey
const words = Schema.Array(Schema.String)

/** A folder, or a manifest with its code. */
export const NewPlugin = Schema.Struct({
  /** Folder below GATEWAY_PLUGINS_DIR that holds plugin.json and the main file. */
  path: opt(text(1, 1_000)),
  /** What plugin.json would hold (docs/plugins.md). */
  manifest: opt(Document),
  /** What the main file would hold. */
  code: opt(text(1, CODE_MAX))
})
export type NewPlugin = typeof NewPlugin.Type

export const FromMarket = Schema.Struct(MarketInstall)
export type FromMarket = typeof FromMarket.Type

export const PluginView = Schema.Struct({
  name: Schema.String, version: Schema.String, description: Schema.String, author: Schema.String, license: Schema.String, main: Schema.String,
  source: Schema.String, tags: words, requires: Schema.Struct({ permissions: words }), hooks: Schema.Record(Schema.String, Schema.Boolean), skills: words,
  configSchema: Document, integrity: Schema.String, enabledByDefault: Schema.Boolean, adminPages: words, dashboardWidgets: words,
  hookTimeoutMs: Schema.Int, failMode: FailMode, status: PluginStatus, config: Document, installedAt: Schema.String,
  activatedAt: Schema.NullOr(Schema.String), errorMessage: Schema.NullOr(Schema.String)
}).annotate({ identifier: "Plugin" })
export type PluginView = typeof PluginView.Type

const Done = Schema.Struct({ success: Schema.Literal(true), plugin: PluginView }).annotate({ identifier: "PluginDone" })
const Configured = Schema.Struct({ config: Document, schema: Document }).annotate({ identifier: "PluginConfig" })

const params = { name: Schema.String }
const path = "/api/plugins"

/** Code of the operator's that sees conversations, run in a sandbox. */
export const PluginsGroup = HttpApiGroup.make("plugins").add(
  HttpApiEndpoint.get("list", path, { success: Schema.Struct({ plugins: Schema.Array(PluginView) }) })
    .annotate(Access, reads).annotate(OpenApi.Summary, "Plugins by name"),
  HttpApiEndpoint.post("install", path, { payload: NewPlugin, success: Done })
    .annotate(Access, alwaysProtected).annotate(OpenApi.Summary, "Install a plugin from a folder, or from a manifest and its code"),
  HttpApiEndpoint.get("marketplace", `${path}/marketplace`, { query: MarketQuery, success: Schema.Struct({ plugins: Schema.Array(Entry), total: Schema.Int }) })
    .annotate(Access, reads).annotate(OpenApi.Summary, "Plugins of the marketplace"),
  HttpApiEndpoint.post("installMarketplace", `${path}/marketplace/install`, { payload: FromMarket, success: Done })
    .annotate(Access, alwaysProtected).annotate(OpenApi.Summary, "Install a plugin of the marketplace, without activating it"),
  HttpApiEndpoint.get("get", `${path}/:name`, { params, success: Schema.Struct({ plugin: PluginView }) })
    .annotate(Access, reads).annotate(OpenApi.Summary, "One plugin"),
  HttpApiEndpoint.delete("remove", `${path}/:name`, { params, success: Success })
    .annotate(Access, alwaysProtected).annotate(OpenApi.Summary, "Deactivate and uninstall a plugin"),
  HttpApiEndpoint.post("activate", `${path}/:name/activate`, { params, success: Done })
    .annotate(Access, alwaysProtected).annotate(OpenApi.Summary, "Call the plugin's hooks from now on"),
  HttpApiEndpoint.post("deactivate", `${path}/:name/deactivate`, { params, success: Done })
    .annotate(Access, alwaysProtected).annotate(OpenApi.Summary, "Call the plugin's hooks no more"),
  HttpApiEndpoint.get("config", `${path}/:name/config`, { params, success: Configured })
    .annotate(Access, reads).annotate(OpenApi.Summary, "The plugin's configuration and its schema"),
  HttpApiEndpoint.put("configure", `${path}/:name/config`, { params, payload: Schema.Struct({ config: Document }), success: Configured })
    .annotate(Access, alwaysProtected).annotate(OpenApi.Summary, "Replace the configuration; what is left out has its default")
).annotateMerge(OpenApi.annotations({ title: "Plugins", description: "Code of the operator's that sees conversations, run in a sandbox." }))
