/**
 * A call that may leave by one of several proxies: the first that is not set aside. Where it makes no tunnel the next one is asked, so that
 * one dead proxy fails no call; the call never goes direct.
 */
import * as Asides from "#actors/egress/Asides.ts"
import type { OutboundProxy } from "#actors/request/ports/OutboundProxy.ts"
import type { Upstream, UpstreamCall, UpstreamFailure, UpstreamHandler, UpstreamRequest } from "#actors/request/ports/Upstream.ts"

/** Proxies that one call asks at most. */
const TRIES_MAX = 3

/** No tunnel was made, so that nothing of the request has left. A proxy that may not be used is no such case. */
export const hasNoTunnel = ({ phase, reason }: UpstreamFailure): boolean => reason === "proxy" && phase === "connect"

export interface Choice {
  readonly asides: Asides.Asides
  /** ms since the epoch. */
  readonly now: () => number
  readonly dispatch: Upstream["Service"]["dispatch"]
}

export class ChosenCall implements UpstreamCall, UpstreamHandler {
  readonly #choice: Choice
  readonly #handler: UpstreamHandler
  readonly #among: ReadonlyArray<OutboundProxy>
  readonly #asked: Array<OutboundProxy> = []
  readonly #startedAt: number
  /** Null once the request has left. */
  #request: UpstreamRequest | null
  #call: UpstreamCall
  #paused = false

  constructor(choice: Choice, request: UpstreamRequest, among: ReadonlyArray<OutboundProxy>, handler: UpstreamHandler) {
    this.#choice = choice
    this.#handler = handler
    this.#among = among
    this.#startedAt = choice.now()
    this.#request = request
    this.#call = this.#ask(request, this.#next() as OutboundProxy)
  }

  #next(): OutboundProxy | null {
    const { asides, now } = this.#choice
    return this.#asked.length >= TRIES_MAX ? null : Asides.choose(this.#among, this.#asked, asides, now())
  }

  #ask(request: UpstreamRequest, proxy: OutboundProxy): UpstreamCall {
    const first = this.#asked.length === 0
    this.#asked.push(proxy)
    this.#handler.onProxy?.(proxy.id)
    const { timeouts } = request
    const total = first || timeouts.total === 0 ? timeouts.total : Math.max(1, timeouts.total - (this.#choice.now() - this.#startedAt))
    return this.#choice.dispatch({ ...request, proxy, timeouts: { ...timeouts, total } }, this)
  }

  onSent(): void {
    this.#request = null
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
    const request = this.#request
    const next = request !== null && hasNoTunnel(failure) ? this.#next() : null
    if (request === null || next === null) return this.#handler.onFailure(failure)
    this.#call = this.#ask(request, next)
    if (this.#paused) this.#call.pause()
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
    this.#request = null
    this.#call.abort()
  }
}
