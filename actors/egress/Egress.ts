/**
 * What each call leaves by: the assignments of proxies as maps, made once per configuration snapshot. Pure.
 *
 * The nearest assignment wins: key, connection, provider, combo, everything. What is assigned to a proxy never goes direct or by
 * another proxy because that one is inactive or unreachable. What is assigned to none may leave by the first working proxy of all (flag
 * PROXY_AUTO_SELECT_ENABLED).
 */
import * as Redacted from "effect/Redacted"
import type { OutboundProxy } from "#actors/request/ports/OutboundProxy.ts"
import type { Connection } from "#schemas/records/Connection.ts"
import type { Proxy, ProxyAssignment, ProxyScope } from "#schemas/egress/Proxy.ts"

/** Who calls what. */
export interface Caller {
  /** Registry id or node id. */
  readonly provider: string
  readonly connection: Pick<Connection, "id" | "proxyEnabled" | "perKeyProxyEnabled"> | null
  /** Ids of the combos that the model is asked through, the innermost first. */
  readonly combos?: ReadonlyArray<string>
  readonly key?: string | null
}

export interface Way {
  /** `auto`: nothing is assigned, and a proxy is chosen. */
  readonly level: ProxyScope | "auto" | "direct"
  /** Of the assignment; null for `global`, `auto` and `direct`. */
  readonly levelId: string | null
  /** Null for `direct`. */
  readonly proxy: OutboundProxy | null
}

export interface Egress {
  readonly of: (caller: Caller) => Way
  /** Of a key's calls; null when it has none, or keys have none of their own (setting `perKeyProxyEnabled`). */
  readonly ofKey: (key: string) => OutboundProxy | null
  readonly ofCombo: (combo: string) => OutboundProxy | null
  /** Of every proxy, assigned or not. */
  readonly revisions: ReadonlySet<string>
}

/** The built-in simulator is this process: a proxy would look for it on its own machine. */
const SIMULATOR = "sim"

const direct: Way = { level: "direct", levelId: null, proxy: null }
const families = { auto: 0, ipv4: 4, ipv6: 6 } as const
const none = Redacted.make("")
const noCombos: ReadonlyArray<string> = []

/** Proxies that a call is offered at most, the first of their order: more would make no difference to a call. */
const AMONG_MAX = 64

/** Null where no proxy may be used: nothing is chosen, and the call goes direct. */
const chosen = (proxies: Iterable<OutboundProxy>): Way | null => {
  const among = Array.from(proxies).filter(({ refusal }) => refusal === null).slice(0, AMONG_MAX)
  const [first] = among
  return first === undefined ? null : { level: "auto", levelId: null, proxy: { ...first, among } }
}

/** A record as calls use it. */
export const outbound = (proxy: Proxy, socks5: boolean): OutboundProxy => ({
  id: proxy.id,
  // Each change of a record has a later time.
  revision: `${proxy.id} ${proxy.updatedAt}`,
  kind: proxy.type === "socks5" ? "socks5" : "http",
  host: proxy.host,
  port: proxy.port,
  secure: proxy.type === "https",
  family: families[proxy.family],
  username: proxy.username ?? none,
  password: proxy.password ?? none,
  refusal: proxy.status === "inactive"
    ? "is inactive: activate it, or remove its assignments"
    : proxy.leftAt !== null ? "has left its list: assign another one, or remove its assignments"
    : proxy.type === "socks5" && !socks5 ? "is a SOCKS5 proxy, which the setting enableSocks5Proxy does not allow" : null
})

export interface Records {
  /** In the order in which one is chosen. */
  readonly proxies: ReadonlyArray<Proxy>
  readonly assignments: ReadonlyArray<ProxyAssignment>
  /** Stored settings. */
  readonly settings: ReadonlyMap<string, unknown>
  /** Calls without an assignment leave by the first working proxy. */
  readonly chooses: boolean
}

/** Null when every call goes direct. */
export const make = ({ assignments, chooses, proxies, settings }: Records): Egress | null => {
  if ((assignments.length === 0 && !(chooses && proxies.length > 0)) || settings.get("proxyEnabled") === false) return null
  const socks5 = settings.get("enableSocks5Proxy") === true
  const perKey = settings.get("perKeyProxyEnabled") === true
  const byId = new Map(proxies.map((proxy) => [proxy.id, outbound(proxy, socks5)]))
  const ways: Readonly<Record<ProxyScope, Map<string, Way>>> = { global: new Map(), provider: new Map(), account: new Map(), combo: new Map(), key: new Map() }
  for (const { proxyId, scope, scopeId } of assignments) {
    const proxy = byId.get(proxyId)
    if (proxy !== undefined) ways[scope].set(scopeId, { level: scope, levelId: scope === "global" ? null : scopeId, proxy })
  }
  const everything = ways.global.get("") ?? (chooses ? chosen(byId.values()) : null) ?? direct
  const ofCombos = (combos: ReadonlyArray<string>): Way | undefined => {
    for (const combo of combos) {
      const way = ways.combo.get(combo)
      if (way !== undefined) return way
    }
    return undefined
  }
  return {
    of: ({ combos = noCombos, connection, key = null, provider }) => {
      if (provider === SIMULATOR || (connection !== null && !connection.proxyEnabled)) return direct
      const ofKey = perKey && key !== null && (connection === null || connection.perKeyProxyEnabled) ? ways.key.get(key) : undefined
      return ofKey ?? (connection === null ? undefined : ways.account.get(connection.id)) ?? ways.provider.get(provider) ?? ofCombos(combos) ?? everything
    },
    ofKey: (key) => perKey ? ways.key.get(key)?.proxy ?? null : null,
    ofCombo: (combo) => ways.combo.get(combo)?.proxy ?? null,
    revisions: new Set(Array.from(byId.values(), ({ revision }) => revision))
  }
}
