/** Opens the port for a test and records what a call does. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Scope from "effect/Scope"
import type { OutboundProxy } from "#actors/request/ports/OutboundProxy.ts"
import { Upstream } from "#actors/request/ports/Upstream.ts"
import type { Timeouts, UpstreamCall, UpstreamFailure, UpstreamRequest } from "#actors/request/ports/Upstream.ts"
import { UrlGuard } from "#actors/ports/UrlGuard.ts"
import type { Policy } from "#src/platform/upstream/addressRules.ts"
import * as AddressGuard from "#src/platform/upstream/AddressGuard.ts"
import * as EgressProxy from "#src/platform/upstream/EgressProxy.ts"
import * as HttpUpstream from "#src/platform/upstream/HttpUpstream.ts"
import { latch } from "./scriptedServer.ts"

export const noTimeouts: Timeouts = { connect: 0, headers: 0, firstEvent: 0, idle: 0, total: 0 }

export const defaultPolicy: Policy = { local: true, private: false, guard: true }

export interface Opened extends AsyncDisposable {
  readonly upstream: Upstream["Service"]
  readonly close: () => Promise<void>
}

export const open = async (
  options: HttpUpstream.Options & { readonly policy?: () => Policy } = {}
): Promise<Opened> => {
  const { policy, ...rest } = options
  const guard = Layer.succeed(UrlGuard, UrlGuard.of(AddressGuard.make({ policy: policy ?? (() => defaultPolicy) })))
  const scope = await Effect.runPromise(Scope.make())
  const layer = HttpUpstream.layer(rest).pipe(Layer.provide(guard))
  const context = await Effect.runPromise(Layer.buildWithScope(layer, scope))
  const close = () => Effect.runPromise(Scope.close(scope, Exit.void))
  return { upstream: Context.get(context, Upstream), close, [Symbol.asyncDispose]: close }
}

/** All that a call told its receiver. */
export interface Recorded {
  status: number
  headers: ReadonlyArray<string>
  readonly chunks: Array<Uint8Array>
  bytes: number
  ended: boolean
  failure: UpstreamFailure | null
  /** Callbacks after the end, or a second end: must stay 0. */
  late: number
}

export interface Running {
  readonly call: UpstreamCall
  readonly seen: Recorded
  readonly head: Promise<number>
  /** The next chunk that arrives after the question. */
  readonly nextData: () => Promise<Uint8Array>
  readonly over: Promise<Recorded>
  readonly text: () => string
}

export interface Hooks {
  readonly onHead?: (call: () => UpstreamCall) => void
  readonly onData?: (chunk: Uint8Array, call: () => UpstreamCall) => void
  readonly onEnd?: () => void
}

export const requestTo = (origin: string, over: Partial<UpstreamRequest> = {}): UpstreamRequest => ({
  origin,
  path: "/v1/x",
  method: "POST",
  headers: ["content-type", "application/json"],
  body: "{}",
  timeouts: noTimeouts,
  proxy: null,
  ...over
})

/** The proxy that a URL describes. */
export const proxyAt = (url: string, over: Partial<OutboundProxy> = {}): OutboundProxy => {
  const parsed = EgressProxy.parse(url)
  if (typeof parsed === "string") throw new Error(parsed)
  const { host, password, port, type, username } = parsed
  return {
    id: "p1", revision: url, kind: type === "socks5" ? "socks5" : "http", host, port, secure: type === "https", family: 0,
    username: Redacted.make(username), password: Redacted.make(password), refusal: null, ...over
  }
}

export const run = (upstream: Upstream["Service"], request: UpstreamRequest, hooks: Hooks = {}): Running => {
  const seen: Recorded = { status: 0, headers: [], chunks: [], bytes: 0, ended: false, failure: null, late: 0 }
  const head = latch<number>()
  const over = latch<Recorded>()
  let onNext: Array<(chunk: Uint8Array) => void> = []
  const isOver = () => seen.ended || seen.failure !== null
  const handle = () => call
  const call: UpstreamCall = upstream.dispatch(request, {
    onHead: (status, headers) => {
      if (isOver() || seen.status !== 0) seen.late++
      seen.status = status
      seen.headers = headers
      hooks.onHead?.(handle)
      head.open(status)
    },
    onData: (bytes) => {
      if (isOver()) seen.late++
      seen.chunks.push(Buffer.from(bytes))
      seen.bytes += bytes.length
      hooks.onData?.(bytes, handle)
      const listeners = onNext
      onNext = []
      for (const listener of listeners) listener(bytes)
    },
    onEnd: () => {
      if (isOver()) seen.late++
      seen.ended = true
      hooks.onEnd?.()
      over.open(seen)
    },
    onFailure: (failure) => {
      if (isOver()) seen.late++
      seen.failure = failure
      over.open(seen)
    }
  })
  return {
    call,
    seen,
    head: head.done,
    nextData: () => new Promise((resolve) => onNext.push(resolve)),
    over: over.done,
    text: () => Buffer.concat(seen.chunks).toString()
  }
}
