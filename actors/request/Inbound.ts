/** One admitted request with its plan, as the request actor is given it. */
import type * as Effect from "effect/Effect"
import type { Body } from "#actors/request/ports/Body.ts"
import type { Interceptor } from "#actors/request/ports/Interceptor.ts"
import type { Dialect, Face } from "#actors/request/ports/Face.ts"
import type { TargetGuard, Target } from "#actors/request/ports/Target.ts"
import type { Unavailable } from "#actors/request/ports/Resilience.ts"
import type { Timeouts } from "#actors/request/ports/Upstream.ts"
import type { WalkPolicy } from "#actors/request/ports/WalkPolicy.ts"
import type { Pulse } from "#actors/request/client/ClientStream.ts"
import type { PublicError } from "#schemas/errors.ts"
import type { ApiKey } from "#schemas/records/ApiKey.ts"
import type { LedgerRow } from "#schemas/records/LedgerRow.ts"
import type { Units } from "#schemas/records/Units.ts"

/** The client as the actor needs it; the Exchange of `src/platform/server` has this shape. */
export interface Client {
  readonly start: (status: number, headers: ReadonlyArray<string>) => void
  readonly relay: (chunk: Uint8Array) => boolean
  readonly onDrain: (listener: () => void) => void
  readonly end: (chunk?: Uint8Array | string) => void
  readonly respond: (status: number, headers: ReadonlyArray<string>, body: Uint8Array | string) => void
  readonly close: () => void
}

/** The facts that the gateway's response headers state. */
export interface ResponseFacts {
  readonly target: Target
  readonly latencyMs: number
  readonly fallbackAttempts: number
  /** A combo's strategy, or `single`. */
  readonly strategy: string
  /** Null for a stream, whose headers leave before its usage is known. */
  readonly settled: Pick<LedgerRow, "tokensIn" | "tokensOut" | "costUsd"> | null
  readonly upstreamHeaders: ReadonlyArray<string>
  /** Media type of a whole answer; null = JSON. */
  readonly contentType: string | null
  /** Fields of the client's request that the target's format cannot say and that were left out. */
  readonly omitted: ReadonlyArray<string>
}

/** What one attempt became, for explanations. */
export interface AttemptNote {
  /** Place among the targets. */
  readonly index: number
  /** HTTP status of the upstream; 0 when it never answered. */
  readonly status: number
  /** Public error code; null for an answer. */
  readonly code: string | null
  readonly ms: number
}

/** A target that was passed over without a wire call. */
export interface SkipNote {
  readonly index: number
  readonly unavailable: Unavailable
}

/** What became known while the targets were walked; it grows during the request. */
export interface RouteNotes {
  /** Attempts so far. */
  readonly tried: number
  /** One of each attempt; made when it is asked for. */
  readonly notes: ReadonlyArray<AttemptNote>
  readonly skips: ReadonlyArray<SkipNote>
}

/** Notes of several calls; both lists may grow. */
export const notesOf = (notes: ReadonlyArray<AttemptNote>, skips: ReadonlyArray<SkipNote>): RouteNotes => ({
  get tried() {
    return notes.length
  },
  notes, skips
})

/** How the targets are walked, and the callbacks about it. A part of it is changed with `changedView`: a spread would lose methods. */
export interface RouteView {
  readonly strategy: string
  readonly combo: string | null
  readonly policy: WalkPolicy
  /** No target is free: soft blocks are ignored. */
  readonly lastResort: boolean
  /** Target `index` answered. */
  readonly succeeded: (index: number) => void
  /** Called when the request is over; null when no strategy needs it. `ok` is null for a client that left. */
  readonly finished: ((ok: boolean | null, notes: RouteNotes, latencyMs: number) => void) | null
  /** Adds what a terminal error of this route says beside its message. */
  readonly terminal: (error: PublicError, attempts: ReadonlyArray<AttemptNote>, skipped: ReadonlyArray<SkipNote>) => PublicError
  /** What became of the targets, in one short line for the log. */
  readonly line: (notes: RouteNotes) => string
}

/** One admitted request with its plan. A part of it is changed with `changed`: a spread would lose methods. */
export interface Inbound {
  readonly requestId: string
  readonly client: Client
  readonly face: Face
  readonly endpoint: string
  readonly requestedModel: string
  readonly stream: boolean
  readonly forwardUsage: boolean
  /** The client asked for progress frames (X-Gateway-Progress), and its stream has a place for them. */
  readonly progress: boolean
  /** The response cache was read and had no entry; default `off`. */
  readonly cache?: "miss" | "off" | undefined
  /** When its waiting for a turn began, ms since the epoch; absent = it did not wait. */
  readonly since?: number | undefined
  readonly recovery: RecoveryOptions
  readonly key: ApiKey | null
  readonly sessionTag: string | null
  /** In the order of preference; never empty. */
  readonly targets: ReadonlyArray<Target>
  /** Whether the key may use each target, whichever rule chose it. */
  readonly refusalOf: TargetGuard
  readonly route: RouteView
  /** Interceptors: leases, limits, recorders; called in this order. */
  readonly interceptors: ReadonlyArray<Interceptor>
  /**
   * Makes a large body elsewhere, before it is asked for; `partialText` as for `continuationFor`, null for the body itself. Answers null,
   * and is absent, when there is nothing to wait for.
   */
  readonly prepare?: ((target: Target, partialText: string | null) => Effect.Effect<void> | null) | undefined
  /** The body in the target's format, or why that format cannot say it. */
  readonly bodyFor: (target: Target) => Body | PublicError
  /** What `bodyFor` left out; asked for after it. */
  readonly omittedFor: (target: Target) => ReadonlyArray<string>
  /** The body that asks the target to continue a broken-off answer. */
  readonly continuationFor: (target: Target, partialText: string) => Uint8Array | PublicError
  /** How the target's answer is read for this client; asked for after its body. */
  readonly dialectFor: (target: Target) => Dialect
  /** `continues`: they go with the body of `continuationFor`. */
  readonly headersFor: (target: Target, continues: boolean) => ReadonlyArray<string>
  /** The parameters of a target that is asked by GET and without a body; absent or null: by POST. Asked for after its body. */
  readonly askedBy?: (() => string | null) | undefined
  /** The part of the client's query that is sent to the target; absent or empty: nothing. */
  readonly queryFor?: ((target: Target) => string) | undefined
  /** True when the client's headers choose the account at the target. */
  readonly namesAccount?: ((target: Target) => boolean) | undefined
  /** The call uses no model, such as a provider's token count: its row has no tokens, and none are estimated. */
  readonly tokenless?: boolean | undefined
  /** What each answer is expected to use beside tokens, and did unless it says otherwise; null = nothing. */
  readonly units: Units | null
  /** How long its answers may take, where that is not what the settings say. */
  readonly timeouts?: Timeouts | undefined
  /** Text of the prompt for the tokenizer, when the upstream gave no usage. */
  readonly promptText: () => string
  /** Estimated tokens by which the prompt is sent shorter than its client wrote it; null = as it came. */
  readonly tokensCompressed?: (() => number | null) | undefined
  /** Called at the commit point: the body will not be sent again, so a long prompt need not live as long as its stream. */
  readonly release: () => void
  readonly responseHeaders: (facts: ResponseFacts, notes: RouteNotes) => ReadonlyArray<string>
  readonly errorHeaders: (error: PublicError, fallbackAttempts: number, notes: RouteNotes) => ReadonlyArray<string>
}

/** The stream recovery flags as they stood when the request came. */
export interface RecoveryOptions {
  /** STREAM_RECOVERY_ENABLED: the first bytes are held shortly, so that a stream cut in them is repeated unseen. */
  readonly holds: boolean
  /** STREAM_RECOVERY_MIDSTREAM_ENABLED: another call continues an answer that broke off. */
  readonly continues: boolean
  /** STREAM_RECOVERY_TOOLCALL_ORDER_FIX: a continuation that said nothing is the last one. */
  readonly stopsAtEmpty: boolean
  /** STREAM_EARLY_EOF_SIBLING_FAILOVER_ENABLED: after the repetition one other connection of the same model is tried. */
  readonly sibling: boolean
}

export interface RequestLimits {
  readonly pulse: Pulse
  readonly timeouts: Timeouts
  /** Wire calls one request may cost. */
  readonly maxAttempts: number
  /** How long a stream is read on for its usage after the client left, under the policy drain-for-usage. */
  readonly drainForUsageMs: number
}

/** Every member, also those that may be absent: a new one cannot be forgotten below. */
type Whole = { readonly [K in keyof Required<Inbound>]: Inbound[K] }

/** The request with some of it changed. */
export const changed = (inbound: Inbound, change: Partial<Inbound>): Inbound => ({
  ...partsOf(inbound),
  ...change
})

const partsOf = (inbound: Inbound): Whole => ({
  requestId: inbound.requestId,
  client: inbound.client,
  face: inbound.face,
  endpoint: inbound.endpoint,
  requestedModel: inbound.requestedModel,
  stream: inbound.stream,
  forwardUsage: inbound.forwardUsage,
  progress: inbound.progress,
  cache: inbound.cache,
  since: inbound.since,
  recovery: inbound.recovery,
  key: inbound.key,
  sessionTag: inbound.sessionTag,
  targets: inbound.targets,
  refusalOf: (target) => inbound.refusalOf(target),
  route: inbound.route,
  interceptors: inbound.interceptors,
  prepare: inbound.prepare === undefined ? undefined : (target, partialText) => inbound.prepare?.(target, partialText) ?? null,
  bodyFor: (target) => inbound.bodyFor(target),
  omittedFor: (target) => inbound.omittedFor(target),
  continuationFor: (target, partialText) => inbound.continuationFor(target, partialText),
  dialectFor: (target) => inbound.dialectFor(target),
  headersFor: (target, continues) => inbound.headersFor(target, continues),
  askedBy: () => inbound.askedBy?.() ?? null,
  queryFor: (target) => inbound.queryFor?.(target) ?? "",
  namesAccount: (target) => inbound.namesAccount?.(target) === true,
  tokenless: inbound.tokenless === true,
  units: inbound.units,
  timeouts: inbound.timeouts,
  promptText: () => inbound.promptText(),
  tokensCompressed: inbound.tokensCompressed === undefined ? undefined : () => inbound.tokensCompressed?.() ?? null,
  release: () => inbound.release(),
  responseHeaders: (facts, notes) => inbound.responseHeaders(facts, notes),
  errorHeaders: (error, fallbackAttempts, notes) => inbound.errorHeaders(error, fallbackAttempts, notes)
})

/** The view with some of it changed. */
export const changedView = (view: RouteView, change: Partial<RouteView>): RouteView => ({
  strategy: view.strategy,
  combo: view.combo,
  policy: view.policy,
  lastResort: view.lastResort,
  succeeded: (index) => view.succeeded(index),
  finished: view.finished === null ? null : (ok, notes, latencyMs) => view.finished?.(ok, notes, latencyMs),
  terminal: (error, attempts, skipped) => view.terminal(error, attempts, skipped),
  line: (notes) => view.line(notes),
  ...change
})
