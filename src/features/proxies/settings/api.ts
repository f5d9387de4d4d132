import * as Schema from "effect/Schema"
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as OpenApi from "effect/http-api/OpenApi"
import { Access, reads, writes } from "#schemas/api/Access.ts"
import { clearable, text } from "#schemas/api/fields.ts"
import { ProxyType } from "#schemas/egress/Proxy.ts"
import { host, port } from "#src/features/proxies/api.ts"

const opt = Schema.optionalKey

/** A username or password `[redacted]` keeps what is stored at this place. */
export const ProxyPlace = Schema.Struct({ type: opt(ProxyType), host, port, username: clearable(text(0, 2_000)), password: clearable(text(0, 2_000)) }).annotate({ identifier: "ProxyPlace" })
export type ProxyPlace = typeof ProxyPlace.Type

const masked = Schema.NullOr(Schema.Literal("[redacted]"))
export const ProxyPlaceView = Schema.Struct({ type: ProxyType, host: Schema.String, port: Schema.Int, username: masked, password: masked }).annotate({ identifier: "ProxyPlaceView" })
export type ProxyPlaceView = typeof ProxyPlaceView.Type

const mapOf = <S extends Schema.Top>(value: S) => Schema.Record(text(1, 200), value)

/** Providers by their id or a node's prefix, combos and keys by id. */
const MapView = Schema.Struct({ global: Schema.NullOr(ProxyPlaceView), providers: mapOf(ProxyPlaceView), combos: mapOf(ProxyPlaceView), keys: mapOf(ProxyPlaceView) }).annotate({ identifier: "ProxyMap" })
export type MapView = typeof MapView.Type

const place = Schema.NullOr(ProxyPlace)

/** Either one place by `level`, `id` and `proxy`, or whole members of the map: what a given member does not name is removed from it. */
export const MapChange = Schema.Struct({
  level: opt(Schema.Literals(["global", "provider", "combo", "key"])), id: clearable(text(1, 200)), proxy: opt(place),
  global: opt(place), providers: opt(mapOf(place)), combos: opt(mapOf(place)), keys: opt(mapOf(place))
})
export type MapChange = typeof MapChange.Type

/** The older way to assign proxies: by their addresses instead of records. */
export const ProxySettingsGroup = HttpApiGroup.make("proxySettings").add(
  HttpApiEndpoint.get("get", "/api/settings/proxy", { success: MapView })
    .annotate(Access, reads).annotate(OpenApi.Summary, "The assigned proxies by what leaves by them, credentials masked; those of connections are not among them"),
  HttpApiEndpoint.put("put", "/api/settings/proxy", { payload: MapChange, success: MapView })
    .annotate(Access, writes).annotate(OpenApi.Summary, "Assign proxies by their addresses; records of the registry are used, or made and removed as needed"),
  HttpApiEndpoint.post("test", "/api/settings/proxy/test", {
    payload: Schema.Struct({ proxy: opt(ProxyPlace), proxyId: opt(text(1, 200)) }),
    success: Schema.Union([
      Schema.Struct({ success: Schema.Literal(true), publicIp: Schema.NullOr(Schema.String), latencyMs: Schema.Int, proxyUrl: Schema.String }),
      Schema.Struct({ success: Schema.Literal(false), error: Schema.String })
    ])
  }).annotate(Access, writes).annotate(OpenApi.Summary, "Make a tunnel through a proxy, given or stored, within 10 s, and ask for the public address behind it")
).annotateMerge(OpenApi.annotations({ title: "Outbound proxies by address", description: "The assignments of proxies as one map, and a test of a proxy." }))
