/** A call that is made again by another way when its proxy makes no tunnel: nothing of the request has left then. */
import type { UpstreamCall, UpstreamFailure, UpstreamHandler } from "#actors/request/ports/Upstream.ts"

/** Makes the call for `handler`; `failure` says what became of the way before, null the first time. Null = no way is left. */
export type Dial = (handler: UpstreamHandler, failure: UpstreamFailure | null) => UpstreamCall | null

/** No tunnel was made. A proxy that may not be used is no such case. */
const hasNoTunnel = ({ phase, reason }: UpstreamFailure): boolean => reason === "proxy" && phase === "connect"

export class RedialedCall implements UpstreamCall, UpstreamHandler {
  readonly #handler: UpstreamHandler
  /** Null once the request has left. */
  #dial: Dial | null
  #call: UpstreamCall
  #paused = false

  /** `dial` has a way the first time. */
  constructor(handler: UpstreamHandler, dial: Dial) {
    this.#handler = handler
    this.#dial = dial
    this.#call = dial(this, null) as UpstreamCall
  }

  onProxy(id: string): void {
    this.#handler.onProxy?.(id)
  }

  onSent(): void {
    this.#dial = null
    this.#handler.onSent?.()
  }

  onHead(status: number, headers: ReadonlyArray<string>): void {
    this.#handler.onHead(status, headers)
  }

  onData(chunk: Uint8Array): void {
    this.#handler.onData(chunk)
  }

  onEnd(): void {
    this.#handler.onEnd()
  }

  onFailure(failure: UpstreamFailure): void {
    const again = this.#dial !== null && hasNoTunnel(failure) ? this.#dial(this, failure) : null
    if (again === null) return this.#handler.onFailure(failure)
    this.#call = again
    if (this.#paused) again.pause()
  }

  pause(): void {
    this.#paused = true
    this.#call.pause()
  }

  resume(): void {
    this.#paused = false
    this.#call.resume()
  }

  useful(): void {
    this.#call.useful()
  }

  abort(): void {
    this.#dial = null
    this.#call.abort()
  }
}
