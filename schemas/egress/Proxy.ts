/** Outbound proxies, and what leaves by them. */
import * as Schema from "effect/Schema"

export const ProxyType = Schema.Literals(["http", "https", "socks5"])
export type ProxyType = typeof ProxyType.Type

/** Which addresses of the proxy's name are used. */
export const ProxyFamily = Schema.Literals(["auto", "ipv4", "ipv6"])

/** One proxy as stored: its credentials are sealed at rest. Times are ISO 8601 strings. */
export const Proxy = Schema.Struct({
  id: Schema.String,
  name: Schema.String,
  /** `https`: TLS to the proxy itself. */
  type: ProxyType,
  /** Name or address, without brackets. */
  host: Schema.String,
  port: Schema.Int,
  username: Schema.NullOr(Schema.Redacted(Schema.String)),
  password: Schema.NullOr(Schema.Redacted(Schema.String)),
  region: Schema.NullOr(Schema.String),
  notes: Schema.NullOr(Schema.String),
  /** What is assigned to an inactive proxy fails: it does not go another way. */
  status: Schema.Literals(["active", "inactive"]),
  /** `settings`: made by PUT /api/settings/proxy, which removes it with its last assignment; `subscription`: of a list. */
  source: Schema.Literals(["manual", "settings", "subscription"]),
  /** The list that it came from. */
  subscriptionId: Schema.NullOr(Schema.String),
  /** Since when the list does not name it any more. What is assigned to it fails, as with an inactive proxy. */
  leftAt: Schema.NullOr(Schema.String),
  family: ProxyFamily,
  createdAt: Schema.String,
  updatedAt: Schema.String
})
export interface Proxy extends Schema.Schema.Type<typeof Proxy> {}

/** The sealed fields. */
export const proxySecrets = ["username", "password"] as const

/** `account`: a connection. */
export const ProxyScope = Schema.Literals(["global", "provider", "account", "combo", "key"])
export type ProxyScope = typeof ProxyScope.Type

/** What leaves by a proxy; one for each scope and id. */
export const ProxyAssignment = Schema.Struct({
  scope: ProxyScope,
  /** Provider or node id, connection id, combo id or key id; "" for `global`. */
  scopeId: Schema.String,
  proxyId: Schema.String,
  assignedAt: Schema.String
})
export interface ProxyAssignment extends Schema.Schema.Type<typeof ProxyAssignment> {}
