/** The client's side of one request: the head, the answer or the one error, and what is said while nothing comes. */
import type { AttemptClient, AttemptEnd } from "#actors/request/steps/attemptValues.ts"
import type { History } from "./History.ts"
import type { Inbound, RequestLimits, ResponseFacts, RouteNotes } from "./Inbound.ts"
import { ClientStream } from "#actors/request/client/ClientStream.ts"
import { ProgressFrames } from "#actors/request/client/ProgressFrames.ts"
import type { LiveRules } from "./LiveRules.ts"
import type { StreamTap } from "#actors/request/ports/Face.ts"
import type { Target } from "#actors/request/ports/Target.ts"
import type { Try } from "./Try.ts"
import type { PublicError } from "#schemas/errors.ts"
import type { LedgerRow } from "#schemas/records/LedgerRow.ts"

const nothing: ReadonlyArray<string> = []
const nothingMore = new Uint8Array(0)
const silent: RequestLimits["pulse"] = { heartbeatMs: 0, earlyMs: 0 }

type Notes = RouteNotes & Pick<History, "costUsd">

export class Reply {
  /** The client has received bytes that cannot be taken back. */
  answered = false
  private readonly inbound: Inbound
  /** Where a streamed answer goes; null for a whole one. */
  private readonly clientStream: ClientStream | null
  private readonly rules: Pick<LiveRules, "startedAt">
  private readonly notes: Notes

  /** `now`: ms since the epoch. */
  constructor(inbound: Inbound, pulse: RequestLimits["pulse"], rules: Pick<LiveRules, "startedAt">, notes: Notes, now: () => number) {
    const { face } = inbound
    this.inbound = inbound
    this.rules = rules
    this.notes = notes
    this.clientStream = inbound.stream ? new ClientStream(inbound.client, face, face.opaque === true ? silent : pulse, ProgressFrames.of(inbound, rules.startedAt, now), rules.startedAt) : null
  }

  /** The head of a stream is out: the client was given 200. */
  get headSent(): boolean {
    return this.clientStream !== null && this.clientStream.started
  }

  /** Where an attempt writes its stream. */
  get stream(): AttemptClient {
    return this.clientStream ?? this.inbound.client
  }

  /** Says something on a stream that is silent; `target` and `attempts`: so far. */
  beat(now: number, target: Target, attempts: number): void {
    this.clientStream?.beat(now, () => this.headers(target, attempts, now, nothing, nothing, null))
  }

  /** The head of a stream: the commit point. */
  start(one: Try, attempts: number, now: number): void {
    this.clientStream?.start(this.headers(one.target, attempts, now, one.responseHeaders, one.omitted, null))
    this.answered = true
  }

  /** The end of a stream whose head is out; `broken`: the tap of an answer that was being continued. */
  end(end: AttemptEnd, broken: StreamTap | null): void {
    const out = this.clientStream ?? this.inbound.client
    if (end.error === null || end.terminated) {
      out.end()
      return
    }
    const tap = end.tap ?? broken
    const last = tap !== null ? tap.fail(end.error) : this.inbound.face.opaque === true ? nothingMore : this.inbound.face.errorFrames(end.error)
    // Where nothing can be said, the cut of the connection tells that the answer is not complete.
    if (last.length === 0) this.inbound.client.close()
    else out.end(last)
  }

  /** A whole answer; `row`: its tokens. Calls before it that were paid for are in its cost. */
  give(one: Try, end: AttemptEnd, row: LedgerRow | null, attempts: number, now: number): void {
    const settled = row === null || attempts === 1 ? row : { tokensIn: row.tokensIn, tokensOut: row.tokensOut, costUsd: this.notes.costUsd }
    this.inbound.client.respond(200, this.headers(one.target, attempts, now, end.headers, one.omitted, settled, end.contentType), end.answer as Uint8Array)
    this.answered = true
  }

  refuse(error: PublicError, attempts: number): void {
    const { client, face } = this.inbound
    // The response head was sent while the upstream was silent: the error goes out as a frame.
    if (this.clientStream !== null && this.clientStream.started) this.clientStream.end(face.errorFrames(error))
    else client.respond(error.status, this.inbound.errorHeaders(error, Math.max(0, attempts - 1), this.notes), face.errorBody(error))
    this.answered = true
  }

  private headers(
    target: Target,
    attempts: number,
    now: number,
    upstreamHeaders: ReadonlyArray<string>,
    omitted: ReadonlyArray<string>,
    settled: ResponseFacts["settled"],
    contentType: string | null = null
  ): ReadonlyArray<string> {
    return this.inbound.responseHeaders({
      target,
      latencyMs: now - this.rules.startedAt,
      fallbackAttempts: Math.max(0, attempts - 1),
      strategy: this.inbound.route.strategy,
      settled,
      upstreamHeaders,
      contentType,
      omitted
    }, this.notes)
  }
}
