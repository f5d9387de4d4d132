/**
 * A call that may leave by one of several proxies: the first that is not set aside. Where it makes no tunnel the next one is asked, so that
 * one dead proxy fails no call; the call never goes direct.
 */
import * as Asides from "#actors/egress/Asides.ts"
import type { OutboundProxy } from "#actors/request/ports/OutboundProxy.ts"
import type { Upstream, UpstreamCall, UpstreamHandler, UpstreamRequest } from "#actors/request/ports/Upstream.ts"
import { RedialedCall } from "./RedialedCall.ts"

/** Proxies that one call asks at most. */
const TRIES_MAX = 3

export interface Choice {
  readonly asides: Asides.Asides
  /** ms since the epoch. */
  readonly now: () => number
  readonly dispatch: Upstream["Service"]["dispatch"]
}

export const chosenCall = (choice: Choice, request: UpstreamRequest, among: ReadonlyArray<OutboundProxy>, handler: UpstreamHandler): UpstreamCall => {
  const { asides, now } = choice
  const asked: Array<OutboundProxy> = []
  const startedAt = now()
  return new RedialedCall(handler, (by) => {
    const proxy = asked.length >= TRIES_MAX ? null : Asides.choose(among, asked, asides, now())
    if (proxy === null) return null
    const { timeouts } = request
    const total = asked.length === 0 || timeouts.total === 0 ? timeouts.total : Math.max(1, timeouts.total - (now() - startedAt))
    asked.push(proxy)
    handler.onProxy?.(proxy.id)
    return choice.dispatch({ ...request, proxy, timeouts: { ...timeouts, total } }, by)
  })
}
