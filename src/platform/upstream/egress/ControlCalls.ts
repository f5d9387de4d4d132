/**
 * Calls that serve no request: tokens, sign-ins, tests of connections, lists of models, quotas. They leave by the proxy of their connection,
 * provider or everything. While the flag GATEWAY_CONTROL_PLANE_PROXY_DIRECT_FALLBACK is on, one whose proxy makes no tunnel goes direct.
 */
import * as Effect from "effect/Effect"
import type { Caller } from "#actors/egress/Egress.ts"
import { Configuration } from "#actors/ports/Configuration.ts"
import { Flags } from "#actors/ports/Flags.ts"
import { Upstream, type UpstreamCall, type UpstreamHandler, type UpstreamRequest } from "#actors/request/ports/Upstream.ts"
import { RedialedCall } from "./RedialedCall.ts"

export type ControlRequest = Omit<UpstreamRequest, "proxy">

/** Who asks, of the control plane: no key and no combo. */
export type Asker = Pick<Caller, "connection" | "provider">

export interface ControlCalls {
  readonly dispatch: (asker: Asker, request: ControlRequest, handler: UpstreamHandler) => UpstreamCall
}

export const make: Effect.Effect<ControlCalls, never, Upstream | Configuration | Flags> = Effect.gen(function*() {
  const configuration = yield* Configuration
  const flags = yield* Flags
  const upstream = yield* Upstream
  const log = Effect.runForkWith(yield* Effect.context<never>())

  return {
    dispatch: (asker, request, handler) => {
      const { egress } = configuration.current()
      const proxy = egress === null ? null : egress.of(asker).proxy
      if (proxy === null || !flags.isOn("GATEWAY_CONTROL_PLANE_PROXY_DIRECT_FALLBACK")) return upstream.dispatch({ ...request, proxy }, handler)
      return new RedialedCall(handler, (by, failure) => {
        if (failure === null) return upstream.dispatch({ ...request, proxy }, by)
        log(Effect.logWarning(`${failure.message}; the call to ${request.origin} goes direct (GATEWAY_CONTROL_PLANE_PROXY_DIRECT_FALLBACK)`))
        return upstream.dispatch({ ...request, proxy: null }, by)
      })
    }
  }
})
