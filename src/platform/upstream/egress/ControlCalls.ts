/**
 * Calls that serve no request: tokens, sign-ins, tests of connections, lists of models, quotas. They leave by the proxy of their connection,
 * provider or everything. While the flag GATEWAY_CONTROL_PLANE_PROXY_DIRECT_FALLBACK is on, one whose proxy makes no tunnel goes direct.
 */
import * as Effect from "effect/Effect"
import type { Caller } from "#actors/egress/Egress.ts"
import { Configuration } from "#actors/ports/Configuration.ts"
import { Flags } from "#actors/ports/Flags.ts"
import { Upstream, type UpstreamCall, type UpstreamFailure, type UpstreamHandler, type UpstreamRequest } from "#actors/request/ports/Upstream.ts"
import { hasNoTunnel } from "./ChosenCall.ts"

export type ControlRequest = Omit<UpstreamRequest, "proxy">

/** Who asks, of the control plane: no key and no combo. */
export type Asker = Pick<Caller, "connection" | "provider">

export interface ControlCalls {
  readonly dispatch: (asker: Asker, request: ControlRequest, handler: UpstreamHandler) => UpstreamCall
}

/** A call that is made a second time, direct, when its proxy makes no tunnel. */
class WithFallback implements UpstreamCall, UpstreamHandler {
  #call: UpstreamCall
  #again: ((failure: UpstreamFailure) => UpstreamCall) | null
  readonly #handler: UpstreamHandler

  constructor(first: (handler: UpstreamHandler) => UpstreamCall, again: (failure: UpstreamFailure) => UpstreamCall, handler: UpstreamHandler) {
    this.#handler = handler
    this.#again = again
    this.#call = first(this)
  }

  onProxy(id: string): void {
    this.#handler.onProxy?.(id)
  }

  onSent(): void {
    this.#handler.onSent?.()
  }

  onHead(status: number, headers: ReadonlyArray<string>): void {
    this.#again = null
    this.#handler.onHead(status, headers)
  }

  onData(chunk: Uint8Array): void {
    this.#handler.onData(chunk)
  }

  onEnd(): void {
    this.#handler.onEnd()
  }

  onFailure(failure: UpstreamFailure): void {
    const again = this.#again
    this.#again = null
    if (again === null || !hasNoTunnel(failure)) this.#handler.onFailure(failure)
    else this.#call = again(failure)
  }

  pause(): void {
    this.#call.pause()
  }

  resume(): void {
    this.#call.resume()
  }

  useful(): void {
    this.#call.useful()
  }

  abort(): void {
    this.#again = null
    this.#call.abort()
  }
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
      return new WithFallback(
        (first) => upstream.dispatch({ ...request, proxy }, first),
        ({ message }) => {
          log(Effect.logWarning(`${message}; the call to ${request.origin} goes direct (GATEWAY_CONTROL_PLANE_PROXY_DIRECT_FALLBACK)`))
          return upstream.dispatch({ ...request, proxy: null }, handler)
        },
        handler
      )
    }
  }
})
