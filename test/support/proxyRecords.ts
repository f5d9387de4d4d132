/** Records of outbound proxies in a lab. */
import * as Proxies from "#test/upstream/support/proxies.ts"
import type { Lab } from "./lab.ts"

const PATH = "/api/v1/management/proxies"

export interface ProxyView {
  readonly id: string
  readonly [field: string]: unknown
}

/** Where the simulator listens, as a proxy reaches it. */
export const simulatorOf = (lab: Lab) => ({ host: "127.0.0.1", port: Number(new URL(lab.sim.url).port) })

/** Sockets of the simulator that no proxy made would answer the next call, too: each call asks another model. */
export const fresh = () => `m-${Math.random().toString(36).slice(2)}`

export const proxiesOf = (on: () => Lab) => {
  const call = <A>(method: string, path: string, body?: unknown) => on().gateway.operator.call<A>(method, path, body)
  const create = (port: number, over: Record<string, unknown> = {}) => call<ProxyView>("POST", PATH, { name: "office", host: "127.0.0.1", port, ...over })
  return {
    call,
    create,
    raw: (method: string, path: string, body?: unknown) => on().gateway.operator.raw(method, path, body),
    assign: (scope: string, scopeId: string | null, proxyId: string | null) => call("PUT", `${PATH}/assignments`, { scope, ...(scopeId === null ? {} : { scopeId }), proxyId }),
    say: (model: string, key?: string) => on().chat({ model }, key === undefined ? {} : { authorization: `Bearer ${key}` }),
    /** A proxy to the simulator that notes its tunnels, and its record. */
    start: async (over: Record<string, unknown> = {}, options: Partial<Proxies.ProxyOptions> = {}) => {
      const proxy = await Proxies.http({ to: simulatorOf(on()), ...options })
      return { proxy, record: await create(proxy.port, over), [Symbol.asyncDispose]: () => proxy[Symbol.asyncDispose]() }
    },
    /** Removes all records, and puts the settings and flags of proxies back. */
    clear: async () => {
      for (const { id } of (await call<{ items: ReadonlyArray<ProxyView> }>("GET", PATH)).items) await call("DELETE", `${PATH}?id=${id}&force=1`)
      await call("PATCH", "/api/settings", { proxyEnabled: true, perKeyProxyEnabled: false, enableSocks5Proxy: false })
      await on().gateway.operator.clearFlags()
    }
  }
}
