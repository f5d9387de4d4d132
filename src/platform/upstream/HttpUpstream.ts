/**
 * The `Upstream` port over an HTTP/1.1 client of our own.
 *
 * A call is one object and plain callbacks. Per origin and proxy there is one pool of sockets; one coarse timer wheel serves every
 * deadline; the guard sees every address before a socket is opened to it.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as Supervisor from "#actors/Supervisor.ts"
import { Configuration } from "#actors/ports/Configuration.ts"
import { NodeGroup } from "#actors/ports/NodeGroup.ts"
import { Upstream } from "#actors/request/ports/Upstream.ts"
import type { UpstreamCall, UpstreamFailure, UpstreamHandler, UpstreamRequest } from "#actors/request/ports/Upstream.ts"
import { UrlGuard } from "#actors/ports/UrlGuard.ts"
import type { Values } from "#src/platform/configuration/Settings.ts"
import { SimulatorAddress } from "#src/platform/configuration/SimulatorAddress.ts"
import { HttpCall } from "./HttpCall.ts"
import * as Dialer from "./Dialer.ts"
import * as Resolver from "./Resolver.ts"
import { SocketPool } from "./SocketPool.ts"
import type { PoolSettings } from "./SocketPool.ts"
import { type Choice, chosenCall } from "./egress/chosenCall.ts"
import { TunnelCounts, Tunnels } from "./egress/TunnelCounts.ts"
import { Roster } from "#src/platform/structures/Roster.ts"
import { TimerWheel } from "./TimerWheel.ts"

export interface Options {
  /** How long an idle socket is kept, in ms (FETCH_KEEPALIVE_TIMEOUT_MS); below the 5 s after which Node servers close. */
  readonly keepAliveMs?: number
  /** Sockets per origin and proxy. */
  readonly connections?: number
  /** Calls that may wait for a socket, per origin and proxy. */
  readonly maxQueued?: number
  /** Age in ms after which a socket serves no further call. */
  readonly maxSocketAgeMs?: number
  /** Pools (origin and proxy) that are remembered; above it the longest idle one is closed. */
  readonly maxPools?: number
  /** Largest response head in bytes. */
  readonly maxHeadBytes?: number
  /** How long the guard's word on the address of an idle socket holds, in ms. */
  readonly recheckMs?: number
  /** Resolution of the deadlines in ms. */
  readonly tickMs?: number
  /** Resolver of names; the system's by default. */
  readonly resolve?: Resolver.Resolve
  /** How long a resolved name is used for new sockets, in ms. */
  readonly dnsTtlMs?: number
  /** Extra certificate authorities in PEM. */
  readonly ca?: ReadonlyArray<string>
  /** What this gateway calls itself in the header of hops; no header without. */
  readonly hop?: string
  /** Time for TCP and TLS to a proxy, in ms (PROXY_FAST_FAIL_TIMEOUT_MS). */
  readonly proxyConnectMs?: number
  /** Where tunnels are counted. */
  readonly tunnels?: TunnelCounts
  /** Calls the listener with the revisions of the proxies in use whenever they change; sockets of all others are closed. */
  readonly onProxies?: (listener: (revisions: ReadonlySet<string>) => void) => () => void
  /** Origins of this process itself (the built-in simulator), which no flag may close. Asked once per pool. */
  readonly isTrusted?: (origin: string) => boolean
}

const defaultKeepAliveMs = 4_000
const defaultConnections = 4_096
const defaultMaxQueued = 16_384
const defaultMaxSocketAgeMs = 300_000
const defaultMaxPools = 512
const defaultMaxHeadBytes = 64 * 1024
const defaultRecheckMs = 1_000
const defaultProxyConnectMs = 2_000

type Service = Upstream["Service"]

/** The handle of a call that failed before it began. */
class RefusedCall implements UpstreamCall {
  #silent = false

  constructor(handler: UpstreamHandler, failure: UpstreamFailure) {
    queueMicrotask(() => {
      if (this.#silent) return
      try {
        handler.onFailure(failure)
      } catch {
        // There is nothing left to tell.
      }
    })
  }

  pause(): void {}

  resume(): void {}

  useful(): void {}

  abort(): void {
    this.#silent = true
  }
}

const parseOrigin = (origin: string): Dialer.DialTarget & { readonly hostHeader: string } | null => {
  const url = URL.parse(origin)
  if (url === null || (url.protocol !== "https:" && url.protocol !== "http:") || url.hostname === "" || url.username !== "") return null
  const secure = url.protocol === "https:"
  return {
    host: url.hostname.replace(/^\[|\]$/g, ""),
    port: url.port === "" ? secure ? 443 : 80 : Number(url.port),
    secure,
    hostHeader: url.host
  }
}

/** The service, closed with the scope: live calls fail with `aborted`, every socket and the timer end. */
export const make = (options: Options = {}): Effect.Effect<Service, never, UrlGuard | Scope.Scope> =>
  Effect.gen(function*() {
    const guard = yield* UrlGuard
    const ticker = yield* Supervisor.ticker("upstream deadlines")
    const wheel = new TimerWheel(options.tickMs === undefined ? { ticker } : { ticker, tickMs: options.tickMs })
    const dialer = Dialer.make({
      resolve: Resolver.cached(options.resolve ?? Resolver.system, options.dnsTtlMs === undefined ? {} : { ttlMs: options.dnsTtlMs }),
      checkAddress: guard.checkAddress,
      ca: options.ca
    })
    const settings: PoolSettings = {
      connections: options.connections ?? defaultConnections,
      maxQueued: options.maxQueued ?? defaultMaxQueued,
      keepAliveMs: options.keepAliveMs ?? defaultKeepAliveMs,
      maxSocketAgeMs: options.maxSocketAgeMs ?? defaultMaxSocketAgeMs,
      maxHeadBytes: options.maxHeadBytes ?? defaultMaxHeadBytes,
      recheckMs: options.recheckMs ?? defaultRecheckMs,
      hop: options.hop ?? null,
      proxyConnectMs: options.proxyConnectMs ?? defaultProxyConnectMs
    }
    const clock = yield* Clock.Clock
    // Calls that choose their proxy must know of failures, also where nothing counts them.
    const tunnels = options.tunnels ?? new TunnelCounts(() => clock.currentTimeMillisUnsafe())
    const maxPools = options.maxPools ?? defaultMaxPools
    const pools = new Map<string, SocketPool>()
    const live = new Roster<HttpCall>()
    let closed = false

    const forgetOne = () => {
      let oldest: SocketPool | null = null
      for (const pool of pools.values()) {
        if (pool.running === 0 && (oldest === null || pool.lastUsedAt < oldest.lastUsedAt)) oldest = pool
      }
      if (oldest === null) return
      pools.delete(oldest.key)
      oldest.close()
    }

    /** A string says why no pool can be made. */
    const open = (key: string, request: UpstreamRequest): SocketPool | string => {
      const target = parseOrigin(request.origin)
      if (target === null) return "the origin of the upstream is not http(s)://host[:port]"
      if (pools.size >= maxPools) forgetOne()
      const pool = new SocketPool({
        key,
        origin: request.origin,
        host: target.hostHeader,
        target,
        proxy: request.proxy,
        tunnels,
        trusted: request.proxy === null && options.isTrusted?.(request.origin) === true,
        dialer,
        settings,
        wheel
      })
      pools.set(key, pool)
      return pool
    }

    const refuse = (handler: UpstreamHandler, reason: UpstreamFailure["reason"], message: string): UpstreamCall =>
      new RefusedCall(handler, { _tag: "UpstreamFailure", reason, phase: "queue", source: "gateway", retry: "never", message })

    const onOver = (call: HttpCall) => live.remove(call)

    const quiet = options.onProxies?.((revisions) => {
      tunnels.asides.keep(revisions)
      for (const [key, pool] of pools) {
        if (pool.proxy === null || revisions.has(pool.proxy.revision)) continue
        pools.delete(key)
        pool.retire()
      }
    })

    yield* Effect.addFinalizer(() =>
      Effect.sync(() => {
        closed = true
        quiet?.()
        for (const call of live) call.shutDown()
        for (const pool of pools.values()) pool.close()
        pools.clear()
        wheel.close()
      })
    )

    const choice: Choice = { asides: tunnels.asides, now: tunnels.now, dispatch: (request, handler) => dispatch(request, handler) }
    const dispatch: Service["dispatch"] = (request, handler) => {
      if (closed) return refuse(handler, "aborted", "the gateway is shutting down")
      const { proxy } = request
      if (proxy !== null) {
        if (proxy.refusal !== null) return refuse(handler, "proxy", `the proxy ${proxy.id} ${proxy.refusal}`)
        if (proxy.among !== undefined) return chosenCall(choice, request, proxy.among, handler)
      }
      const key = proxy === null ? request.origin : `${proxy.revision} ${request.origin}`
      const pool = pools.get(key) ?? open(key, request)
      if (typeof pool === "string") return refuse(handler, "protocol", pool)
      const head = pool.heads.of(request.method, request.path, request.headers)
      if (typeof head === "string") return refuse(handler, "protocol", `the request cannot be sent: ${head}`)
      const call = new HttpCall(request, head, handler, pool, wheel, onOver)
      pool.lastUsedAt = call.startedAt
      live.add(call)
      call.start()
      return call
    }

    return Upstream.of({
      dispatch,
      stats: () => {
        const byOrigin = new Map<string, { origin: string; running: number; pending: number }>()
        for (const pool of pools.values()) {
          const row = byOrigin.get(pool.origin) ?? { origin: pool.origin, running: 0, pending: 0 }
          row.running += pool.running - pool.pending
          row.pending += pool.pending
          byOrigin.set(pool.origin, row)
        }
        return [...byOrigin.values()]
      }
    })
  })

/** The port, over the guard. */
export const layer = (options: Options = {}): Layer.Layer<Upstream, never, UrlGuard> => Layer.effect(Upstream, make(options))

const none: ReadonlySet<string> = new Set()

/** What the operator set; the simulator on loopback is trusted. */
export const layerOf = ({ keepAliveTimeoutMs, proxyConnectMs, upstreamConnections }: Values) => Layer.unwrap(Effect.gen(function*() {
  const configuration = yield* Configuration
  const { id } = yield* NodeGroup
  const { url } = yield* SimulatorAddress
  const tunnels = yield* Tunnels
  return layer({
    hop: id, keepAliveMs: keepAliveTimeoutMs, connections: upstreamConnections, proxyConnectMs, tunnels, isTrusted: (origin) => origin === url,
    onProxies: (listener) => configuration.onChange(({ egress }) => listener(egress === null ? none : egress.revisions))
  })
}))
