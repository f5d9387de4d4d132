/** Tries a proxy: makes a tunnel through it to a service that answers the caller's public address. */
import { randomUUID } from "node:crypto"
import * as net from "node:net"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { OutboundProxy } from "#actors/request/ports/OutboundProxy.ts"
import { Upstream } from "#actors/request/ports/Upstream.ts"
import * as StatusReason from "#schemas/statusReason.ts"
import type { Values } from "#src/platform/configuration/Settings.ts"
import * as SmallAnswer from "#src/platform/upstream/egress/smallAnswer.ts"

export type Tried =
  | { readonly success: true; readonly publicIp: string | null; readonly latencyMs: number }
  | { readonly success: false; readonly error: string }

export class ProxyTest extends Context.Service<ProxyTest, {
  /** Never fails. A success is a tunnel that was made; `publicIp` is null where the service said nothing of use. At most 10 s. */
  readonly run: (proxy: OutboundProxy) => Effect.Effect<Tried>
}>()("gateway/proxies/ProxyTest") {}

const TEST_MS = 10_000
/** Of the service's answer. */
const ANSWER_MAX = 4_096

const timeouts = { connect: TEST_MS, headers: TEST_MS, firstEvent: 0, idle: TEST_MS, total: TEST_MS }
const headers = ["accept", "application/json, text/plain", "accept-encoding", "identity", "user-agent", "gateway"]

/** The address in the answer: the text itself, or the member `ip` or `origin` of an object. */
export const addressIn = (text: string): string | null => {
  let found: unknown = text.trim()
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === "object" && value !== null) found = Reflect.get(value, "ip") ?? Reflect.get(value, "origin")
  } catch {
    // It is plain text.
  }
  return typeof found === "string" && net.isIP(found) !== 0 ? found : null
}

/** `url`: where the service is. */
const make = (url: string) => Effect.map(Upstream, (upstream) => {
  const { origin, pathname, search } = new URL(url)
  return ProxyTest.of({
    run: (proxy) => Effect.suspend(() => {
      const since = performance.now()
      let latencyMs: number | null = null
      const onSent = (): void => {
        latencyMs ??= Math.round(performance.now() - since)
      }
      const stood = (publicIp: string | null): Tried => ({ success: true, publicIp, latencyMs: latencyMs ?? Math.round(performance.now() - since) })
      return SmallAnswer.read<Tried>(ANSWER_MAX, (handler) => upstream.dispatch({
        // A tunnel of its own: one that stands already would prove nothing.
        origin, path: pathname + search, method: "GET", headers, body: null, timeouts, proxy: { ...proxy, revision: `test ${randomUUID()}` }
      }, { ...handler, onSent }), {
        // TLS inside a tunnel, and whatever comes after the request has left, is the service's.
        failed: ({ message, reason }) => latencyMs !== null || reason === "tls" ? stood(null) : { success: false, error: message },
        tooLarge: () => stood(null)
      }).pipe(Effect.match({
        onFailure: (tried) => tried,
        onSuccess: ({ body, status }) => stood(StatusReason.of(status) === "ok" ? addressIn(body) : null)
      }))
    })
  })
})

export const layer = (url: string) => Layer.effect(ProxyTest, make(url))

export const layerOf = ({ publicIpUrl }: Values) => layer(publicIpUrl)
