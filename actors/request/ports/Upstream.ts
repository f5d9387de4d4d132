/** One wire call to a provider, by callbacks: no fiber, no promise and no allocation per chunk. */
import * as Context from "effect/Context"
import type { Body } from "./Body.ts"
import type { OutboundProxy } from "./OutboundProxy.ts"

/** The first value of a header in a flat list of lower-case names, or undefined. */
export const headerOf = (headers: ReadonlyArray<string>, name: string): string | undefined => {
  for (let i = 0; i + 1 < headers.length; i += 2) if (headers[i] === name) return headers[i + 1]
  return undefined
}

/** The phase that a deadline belongs to. */
export type Phase = "queue" | "connect" | "headers" | "first-event" | "idle" | "total"

/** Deadlines in ms; 0 = off. `firstEvent` and `idle` are re-armed by the caller through `UpstreamCall.useful`. */
export interface Timeouts {
  readonly connect: number
  readonly headers: number
  readonly firstEvent: number
  readonly idle: number
  readonly total: number
}

export interface UpstreamRequest {
  /** `https://host[:port]`, lower case, no path. Checked by the URL guard when the target was configured and on connect. */
  readonly origin: string
  /** Path with query. */
  readonly path: string
  readonly method: "GET" | "POST" | "DELETE" | "PUT" | "PATCH"
  /** Flat: name, value, name, value; lower-case names. */
  readonly headers: ReadonlyArray<string>
  readonly body: Body | string | null
  readonly timeouts: Timeouts
  /** What it leaves by; null = it goes direct. A call with a proxy never goes direct. */
  readonly proxy: OutboundProxy | null
}

/** Why a wire call failed, whose fault it is and whether a retry is safe. */
export interface UpstreamFailure {
  readonly _tag: "UpstreamFailure"
  /** `lost-body`: the rest of the request could not be read. */
  readonly reason: "timeout" | "connect-refused" | "dns" | "tls" | "reset" | "truncated" | "protocol" | "blocked-url" | "proxy" | "aborted" | "lost-body"
  readonly phase: Phase
  readonly source: "upstream" | "gateway" | "client"
  readonly retry: "safe" | "before-first-byte" | "never"
  /** Safe to show an operator: no credential, no full URL query. */
  readonly message: string
}

export interface UpstreamHandler {
  /** The request is on a connection; again when a kept one turned out to be closed. Must not throw. */
  readonly onSent?: () => void
  /** It leaves by this proxy, of several that it may leave by; again when that one made no tunnel and the next is asked. Must not throw. */
  readonly onProxy?: (id: string) => void
  /** Response head; `headers` flat, lower-case names. Called at most once, never for 1xx. */
  readonly onHead: (status: number, headers: ReadonlyArray<string>) => void
  /** Borrowed body bytes: valid until the call returns. Copy them to keep them, because the next read goes to the same memory. */
  readonly onData: (chunk: Uint8Array) => void
  /** Complete body received. Exactly one of onEnd and onFailure ends a call. */
  readonly onEnd: () => void
  readonly onFailure: (failure: UpstreamFailure) => void
}

export interface UpstreamCall {
  readonly pause: () => void
  readonly resume: () => void
  /** Ends the call at once and frees the socket; no callback follows. Safe to call twice. */
  readonly abort: () => void
  /** Tells the deadlines that a useful event arrived: ends `first-event`, re-arms `idle`. Cheap: stores a time. */
  readonly useful: () => void
}

export class Upstream extends Context.Service<Upstream, {
  readonly dispatch: (request: UpstreamRequest, handler: UpstreamHandler) => UpstreamCall
  /** Open and queued calls per origin, for metrics. */
  readonly stats: () => ReadonlyArray<{ readonly origin: string; readonly running: number; readonly pending: number }>
}>()("gateway/ports/Upstream") {}
