/**
 * One attempt: one wire call to one target, from its start record to the moment it is decided.
 *
 * A plain callback machine, because a stream's chunks must cost nothing but a tap and a write. A try of the request actor holds it
 * (`Try.ts`); the machine calls `ended` exactly once and never again touches the client after it.
 */
import type { AttemptOptions, AttemptOwner } from "#actors/request/steps/attemptValues.ts"
import * as HeldStream from "#actors/request/HeldStream.ts"
import type { AnswerReader } from "#actors/request/ports/AnswerCheck.ts"
import type { Body } from "#actors/request/ports/Body.ts"
import type { AnswerFacts, StreamTap, UpstreamErrorBody } from "#actors/request/ports/Face.ts"
import type { Ledger, LedgerUnavailable, Opening } from "#actors/request/ports/Ledger.ts"
import type { Phase, Upstream, UpstreamCall, UpstreamFailure, UpstreamHandler } from "#actors/request/ports/Upstream.ts"
import * as AttemptFailure from "#actors/request/steps/attemptFailure.ts"
import * as AnswerReading from "#actors/request/steps/answerReading.ts"
import * as SecondCall from "#actors/request/steps/secondCall.ts"
import * as UsageEstimate from "#actors/request/client/UsageEstimate.ts"
import * as Resumption from "#actors/request/Resumption.ts"
import * as Job from "#actors/request/steps/Job.ts"
import { type Answered, WholeAnswer } from "#actors/request/steps/WholeAnswer.ts"
import type { PublicError } from "#schemas/errors.ts"
import type { Outcome } from "#schemas/records/LedgerRow.ts"
import * as StatusReason from "#schemas/statusReason.ts"

/** After the final event the upstream has this long to end its body, ms, so that its socket can be used again. */
const lingerMs = 1_000

const noText = () => ""
const noBytes = new Uint8Array(0)
const noHeaders: ReadonlyArray<string> = []

export class Attempt implements UpstreamHandler, Answered, Opening {
  readonly options: AttemptOptions
  private readonly owner: AttemptOwner
  private call: UpstreamCall | null = null
  private upstream: Upstream["Service"] | null = null
  ended = false
  private opened = false
  status = 0
  /** Of the upstream's response, flat; empty before the head. */
  headers = noHeaders
  /** Set once the response is known to be a stream that is forwarded. */
  tap: StreamTap | null = null
  /** Reads a stream that is held until its end, for the rules of its combo. */
  private reader: AnswerReader | null = null
  /** What is held back before the commit point; null while nothing was. */
  private held: HeldStream.HeldStream | null = null
  /** What is no stream. */
  private whole: WholeAnswer | null = null
  private bytesOut = 0
  private committed = false
  /** Content of the answer came, and the client does not have it yet. */
  private spoke = false
  private repeatable = false
  private rejected = false
  private holdTimer: ReturnType<typeof setTimeout> | null = null
  /** The format's final event was seen. */
  private concluded = false
  private linger: ReturnType<typeof setTimeout> | null = null
  /** A stream was asked for, and made from a whole answer. */
  private replayed = false
  private paused = false
  /** The client has left and the rest is read for its usage only (disconnect policy `drain-for-usage`). */
  private detached = false
  private firstContentAt: number | null = null
  private sentAt: number | null = null
  private headAt: number | null = null
  /** Made when the client is behind for the first time. */
  private drained: (() => void) | null = null

  constructor(options: AttemptOptions, owner: AttemptOwner) {
    this.options = options
    this.owner = owner
    this.committed = options.continues
  }

  /** Journals the start, then dispatches: no upstream byte leaves before the start record is on disk. */
  run(ledger: Ledger["Service"], upstream: Upstream["Service"]): void {
    this.upstream = upstream
    // From here on there is a start record: an attempt that is cut before its dispatch has a row, too.
    this.opened = true
    ledger.open(this.options.start, this)
  }

  go(unavailable: LedgerUnavailable | null): void {
    if (this.ended) return
    if (unavailable !== null) {
      this.opened = false
      return this.finish("policy", AttemptFailure.ledgerUnavailable(unavailable.message), false, null)
    }
    const { body, method, query, stream, target } = this.options
    this.ask(method, (stream ? target.streamPath : target.path) + query, method === "GET" ? null : body)
    this.options.body = noBytes
  }

  ask(method: "GET" | "POST", path: string, body: Body | null): void {
    const { requestHeaders, target: { origin, proxy }, timeouts } = this.options
    const headers = this.whole === null || !this.whole.isOfJob ? requestHeaders : Job.headersOf(requestHeaders)
    this.call = (this.upstream as Upstream["Service"]).dispatch({ origin, path, method, headers, body, timeouts, proxy }, this)
  }

  /** Ends the wire call at once; the attempt is decided as `outcome`. */
  cut(outcome: Outcome, error: PublicError | null): void {
    if (this.ended) return
    this.call?.abort()
    this.finish(outcome, error, false, null)
  }

  /** The client has left: keep reading for usage, forward nothing. Answers false when there is nothing worth reading. */
  detach(): boolean {
    if (this.ended || !this.committed) return false
    this.detached = true
    if (this.paused) {
      this.paused = false
      this.call?.resume()
    }
    return true
  }

  onSent(): void {
    this.sentAt ??= this.options.now()
  }

  onProxy(id: string): void {
    this.options.start.proxyId = id
  }

  onHead(status: number, headers: ReadonlyArray<string>): void {
    this.headAt ??= this.options.now()
    this.status = status
    this.headers = headers
    if (this.options.stream && StatusReason.isOk(status) && !AnswerReading.isPlainDocument(headers)) {
      this.tap = Resumption.tapOf(this.options.resumption, this.options.dialect, this.options)
      if (this.options.check?.holds === true) this.reader = this.options.dialect.makeReader()
    }
  }

  onData(chunk: Uint8Array): void {
    if (this.ended) return
    try {
      this.take(chunk)
    } catch (defect) {
      this.call?.abort()
      this.finish("policy", AttemptFailure.internal(), false, null)
      throw defect
    }
  }

  private take(chunk: Uint8Array): void {
    const tap = this.tap
    if (tap === null) {
      (this.whole ??= new WholeAnswer(this)).push(chunk)
      return
    }
    this.reader?.push(chunk)
    this.pass(tap, tap.push(chunk))
  }

  /** What a tap made of some bytes: content before a bad frame is content as if it had come alone (split invariance). */
  private pass(tap: StreamTap, out: Uint8Array | null): void {
    if (out !== null) {
      if (this.committed) this.forward(out)
      else this.beforeCommit(tap, out)
    }
    if (this.ended) return
    if (tap.malformed) this.failMalformed()
    else if (tap.error !== null) this.failInStream(tap.error)
    else if (!this.committed) this.beforeContent(tap)
    if (tap.terminal && !this.concluded && !this.ended) {
      this.concluded = true
      // The end of the body is nearly always in the same read; if not, the client does not wait for it.
      setImmediate(() => this.conclude())
    }
  }

  /** A head frame: the upstream works on it, and its silence is over. Content that is still held back: it is the one that answers. */
  private beforeContent(tap: StreamTap): void {
    if (tap.alive) this.call?.useful()
    if (!tap.useful || this.spoke) return
    this.spoke = true
    this.owner.speaks()
  }

  /**
   * The upstream sent its final event but has not ended its body: the attempt is decided, and the socket gets a short time to
   * become free.
   */
  private conclude(): void {
    if (this.ended) return
    this.onEnd()
    if (this.paused) this.call?.resume()
    this.linger = setTimeout(() => this.call?.abort(), lingerMs)
    this.linger.unref()
  }

  private stopLingering(): void {
    if (this.linger !== null) clearTimeout(this.linger)
    this.linger = null
  }

  onEnd(): void {
    this.stopLingering()
    if (this.ended) return
    const tap = this.tap
    if (tap === null) return (this.whole ??= new WholeAnswer(this)).end()
    this.pass(tap, tap.end())
    if (this.ended) return
    if (!this.committed && tap.useful && (tap.terminal || tap.finished)) this.releaseWhole()
    if (!this.committed) {
      this.repeatable = true
      const { target } = this.options
      this.finish("upstream-reset", tap.useful ? AttemptFailure.truncated(target) : AttemptFailure.earlyEof(target), true, null)
    } else if (tap.terminal || tap.finished) this.finish("completed", null, false, null)
    else this.finish("upstream-reset", AttemptFailure.truncated(this.options.target), false, null)
  }

  onFailure(failure: UpstreamFailure): void {
    this.stopLingering()
    if (this.ended) return
    if (this.whole !== null && AttemptFailure.isBreak(failure) && this.whole.asksAgain()) return
    const tap = this.tap
    // The client has none of it: the same connection may be asked once more.
    this.repeatable = tap !== null && !this.committed && this.options.holdMs > 0 && (failure.reason === "reset" || failure.reason === "truncated")
    // The vendor's final event was seen: what happens to the socket afterwards changes nothing.
    if (tap !== null && this.committed && tap.terminal) return this.finish("completed", null, false, null)
    this.finish(
      AttemptFailure.outcomeOf(failure),
      AttemptFailure.ofFailure(failure, this.options.target, this.options.start.proxyId),
      // What could not be read for this target cannot be read for another one.
      !this.committed && failure.reason !== "lost-body",
      failure.phase
    )
  }

  private beforeCommit(tap: StreamTap, out: Uint8Array): void {
    if (!tap.useful) {
      this.hold(out, HeldStream.MOST_BYTES)
      return
    }
    if (this.reader !== null) {
      this.holdWhole(tap, out)
      return
    }
    if (this.options.holdMs > 0 && !tap.terminal && (this.held?.bytes ?? 0) + out.length <= HeldStream.RECOVERABLE_BYTES) {
      this.hold(out, HeldStream.MOST_BYTES)
      this.call?.useful()
      this.holdTimer ??= setTimeout(() => this.release(), this.options.holdMs)
      return
    }
    // The event that commits may be larger than all that is ever held: it goes out behind what was held, as it came.
    this.release()
    this.forward(out)
  }

  /** The commit point: what was held goes out, and nothing is taken back any more. */
  private release(): void {
    if (this.ended || this.committed) return
    this.stopHolding()
    this.commit()
    if (this.held !== null) for (const chunk of this.held.take()) this.forward(chunk)
  }

  /** Keeps content for the rules of the combo, which need the whole answer. */
  private holdWhole(tap: StreamTap, out: Uint8Array): void {
    this.firstContentAt ??= this.options.now()
    this.call?.useful()
    if ((this.held?.bytes ?? 0) + out.length > HeldStream.CHECKED_BYTES) this.reject("maxCheckedBytes", null)
    else {
      this.hold(out, HeldStream.CHECKED_BYTES)
      if (tap.terminal) this.releaseWhole()
    }
  }

  /** The stream is complete: it goes out, unless it breaks a rule. */
  private releaseWhole(): void {
    const rule = this.reader === null ? null : AnswerReading.brokenRule(this.options.check, this.reader.end())
    if (rule === null) this.release()
    else this.reject(rule, null)
  }

  /** The answer was complete and is refused: the model has worked for it, and its upstream is healthy. */
  reject(rule: string, facts: AnswerFacts | null): void {
    this.call?.abort()
    this.rejected = true
    const error = AttemptFailure.rejected(this.options.target, rule)
    this.finish("policy", error, true, null, facts)
  }

  private stopHolding(): void {
    if (this.holdTimer !== null) clearTimeout(this.holdTimer)
    this.holdTimer = null
  }

  private commit(): void {
    this.owner.commit()
    this.committed = true
    this.firstContentAt ??= this.options.now()
  }

  private forward(chunk: Uint8Array): void {
    this.call?.useful()
    if (this.detached || this.ended) return
    this.bytesOut += chunk.length
    if (this.options.client.relay(chunk) || this.paused) return
    this.paused = true
    this.call?.pause()
    this.options.client.onDrain(this.drained ??= () => this.drain())
  }

  private drain(): void {
    if (!this.paused || this.ended) return
    this.paused = false
    this.call?.resume()
  }

  private hold(chunk: Uint8Array, limit: number): void {
    if ((this.held ??= new HeldStream.HeldStream()).push(chunk, limit)) return
    this.call?.abort()
    this.finish("parse-error", AttemptFailure.tooLarge(this.options.target, limit), !this.committed, null)
  }

  /** A frame that is no frame: before the commit point another target may do better, after it the stream is broken. */
  private failMalformed(): void {
    this.call?.abort()
    this.finish("parse-error", AttemptFailure.malformed(this.options.target), !this.committed, null)
  }

  /**
   * The upstream's error object. As the first useful frame it is a failed call with a late status; later the client gets it in a
   * frame that the gateway writes: its text without the stored credential, which it may quote.
   */
  private failInStream(body: UpstreamErrorBody): void {
    this.call?.abort()
    const error = AttemptFailure.inStream({ ...this.reply, body })
    this.finish("upstream-status", error, !this.committed && error.source !== "client", null)
  }

  /** What a failed reply is judged by, but its body. */
  get reply(): Omit<AttemptFailure.FailedReply, "body"> {
    const { now, requestHeaders, target } = this.options
    return { status: this.status, headers: this.headers, target, sent: requestHeaders, now: now() }
  }

  abort(): void {
    this.call?.abort()
  }

  /** A whole answer failed. The target may be asked once more in another way. */
  fail(outcome: Outcome, error: PublicError, retryable: boolean): void {
    this.repeatable = outcome === "upstream-status" && SecondCall.targetAfter(this.options.target, this.status, error) !== null
    this.finish(outcome, error, retryable || this.repeatable, null)
  }

  /** A whole answer is given to the client: as a stream, where it asked for one. */
  succeed(facts: AnswerFacts): void {
    const { now, stream } = this.options
    if (stream) {
      this.commit()
      this.forward(UsageEstimate.streamOf(this.options, facts))
      this.replayed = true
    } else this.firstContentAt = now()
    this.finish("completed", null, false, null, facts)
  }

  /** `whole`: an answer that was no stream. */
  private finish(outcome: Outcome, error: PublicError | null, retryable: boolean, phase: Phase | null, whole: AnswerFacts | null = null): void {
    if (this.ended) return
    this.ended = true
    const { tap } = this
    const said = whole ?? tap
    const usage = said === null ? null : said.usage
    const units = said === null ? null : said.units ?? null
    const given = outcome === "completed" ? whole : null
    this.held?.take()
    this.stopHolding()
    this.whole?.close()
    tap?.close()
    this.reader?.close()
    this.owner.ended({
      outcome, error, retryable, phase, usage, units,
      estimate: UsageEstimate.given(this.options.estimate, tap, usage),
      usageIsPartial: usage !== null && tap !== null && tap.usageIsPartial === true,
      outputText: whole === null ? tap === null ? noText : () => tap.outputText() : whole.outputText,
      answer: given === null || this.replayed ? null : given.body,
      contentType: given === null ? null : given.contentType ?? null,
      upstreamStatus: this.status,
      committed: this.committed,
      opened: this.opened,
      repeatable: this.repeatable,
      rejected: this.rejected,
      terminated: this.replayed || (tap !== null && tap.terminal),
      tap,
      bytesOut: this.bytesOut,
      firstContentAt: this.firstContentAt, sentAt: this.sentAt, headAt: this.headAt, endedAt: this.options.now(),
      headers: this.headers
    })
  }
}
