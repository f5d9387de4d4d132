/** The `Exchange` over uWebSockets: the copied request head, the body on demand, and how the exchange ends. */
import type { BodyOwner } from "#src/platform/server/body/BodyOwner.ts"
import { type BodyDone, BodyReader } from "#src/platform/server/body/BodyReader.ts"
import { type BodyFlow, type BodySink, guardedSink, pourWhole } from "#src/platform/server/body/bodySink.ts"
import * as ContentCoding from "#src/platform/server/contentCoding.ts"
import type { AbortReason, DirectRoute, Exchange } from "#src/platform/server/Exchange.ts"
import type { ExchangeHost } from "./ExchangeHost.ts"
import type { NativeRequest, NativeResponse } from "./native.ts"
import { Pace } from "./Pace.ts"
import { DONE, ENDING, OPEN, STARTED } from "#src/platform/server/exchangeState.ts"
import { Outgoing } from "#src/platform/server/Outgoing.ts"
import { headersOf } from "./headersOf.ts"
import { CHUNKED, findHeader, framing, hasOwnHeader, OWN_HEADERS, shortAddress } from "#src/platform/server/requestHead.ts"
import type { Watched } from "#src/platform/server/Watch.ts"

/** The native server cuts a socket that made no progress for 10 s (it checks every 4 s); re-arming prolongs that. */
const REARM_MILLIS = 4_000
const NATIVE_TIMEOUT_MILLIS = 9_500

/** A body that is taken by chunks may be long: beyond its time it has one ms more for each so many bytes that came, 32 kB a second. */
const STREAMED_BYTES_PER_MS = 32

/** Most bytes that are read and dropped of an unwanted body, so that the client whose connection closes sees the answer. */
const DROPPED_BYTES = 64 * 1024 * 1024
const DROPPED_MILLIS = 2_000
/** The same while the server stops: well within what its interrupted requests get. */
const DRAIN_DROPPED_MILLIS = 500

const closeToken = /(?:^|,)\s*close\s*(?:,|$)/i

const textDecoder = new TextDecoder()

export class UwsExchange extends Outgoing implements Exchange, BodyOwner, Watched {
  /** Place among the live exchanges of its server. */
  rosterSlot = -1
  readonly method: string
  readonly path: string
  readonly query: string
  readonly headers: ReadonlyArray<string>
  /** Bytes of body by the head; -1 for a chunked body. */
  readonly declared: number
  /** Why the head is invalid; no handler may see such a request. */
  readonly fault: string | undefined

  private readonly hasOwn: boolean
  private readonly host: ExchangeHost
  private reader: BodyReader | undefined
  private peer: string | undefined
  private client: string | undefined
  private closeWanted: boolean | undefined
  private isCut = false
  private decompressed = false
  private pace: Pace | undefined
  private abortReason: AbortReason | undefined
  private abortListener: ((reason: AbortReason) => void) | undefined
  private drainListener: (() => void) | undefined
  private finishListener: (() => void) | undefined
  private stopListener: (() => void) | undefined
  private releaseListener: (() => void) | undefined

  /** To be made inside the native callback; the request is not valid any more when that returns. */
  constructor(res: NativeResponse, req: NativeRequest, host: ExchangeHost) {
    super(res)
    this.host = host
    this.method = req.getCaseSensitiveMethod().toUpperCase()
    this.path = req.getUrl()
    this.query = req.getQuery() ?? ""
    this.headers = headersOf(req)
    this.hasOwn = hasOwnHeader(this.headers)
    const framed = framing(this.method, this.path, this.query, this.headers)
    if (typeof framed === "number") {
      this.declared = framed
    } else {
      this.fault = framed
      this.declared = 0
    }
    // Its end is where the native decoder believes it to be, which takes line feeds without carriage returns and does not look at the
    // two bytes behind a chunk: nothing behind such a body may be read as a request.
    if (framed === CHUNKED || this.fault !== undefined) this.closeConnection = true
    // Bound, like the reader's: an arrow function keeps a scope beside itself.
    res.onAborted(this.nativeAborted.bind(this))
    host.live.add(this)
  }

  header(lowerCaseName: string): string | undefined {
    // Most requests have none of the gateway's own headers, and each is asked for ten.
    return !this.hasOwn && lowerCaseName.startsWith(OWN_HEADERS) ? undefined : findHeader(this.headers, lowerCaseName)
  }

  get peerAddress(): string {
    if (this.peer === undefined) {
      if (this.state === DONE) return ""
      this.peer = shortAddress(textDecoder.decode(this.res.getRemoteAddressAsText()))
    }
    return this.peer
  }

  get remoteAddress(): string {
    if (this.client === undefined) {
      const peer = this.peerAddress
      if (peer === "") return ""
      this.client = this.host.clientAddress(peer, (name) => this.header(name))
    }
    return this.client
  }

  /** True when the response did not reach the client entirely: the client went, or the exchange was cut. */
  get aborted(): boolean {
    return this.isCut || this.abortReason !== undefined
  }

  // ---- request body -------------------------------------------------------------------------------------------------

  readBody(limit: number, done: BodyDone): void {
    const coded = this.header("content-encoding")
    if (coded === undefined || this.decompressed) this.collect(limit, done)
    else this.readCoded(coded, limit, done)
  }

  private collect(limit: number, done: BodyDone): void {
    const reader = this.bodyReader()
    if (reader === undefined) this.collectNothing(done)
    else reader.collect(limit, done)
  }

  private collectNothing(done: BodyDone): void {
    this.guard(() => {
      if (this.state < ENDING) done(new Uint8Array(0), null)
      else done(null, "aborted")
    })
  }

  private readCoded(header: string, limit: number, told: BodyDone): void {
    const done: BodyDone = (body, failure) => this.guard(() => told(body, failure))
    const codings = ContentCoding.parse(header)
    if (codings === null) return done(null, "coding")
    this.collect(limit, (bytes, failure) => {
      if (bytes === null || codings.length === 0) return done(bytes, failure)
      ContentCoding.decompress(bytes, codings, limit, (body, problem) => {
        if (this.state === DONE) done(null, "aborted")
        else if (body === null) done(null, problem)
        else if (this.reader?.replace(body) === false) done(null, "no-room")
        else {
          this.decompressed = true
          done(body, null)
        }
      })
    })
  }

  /** Hands over some of what arrived and was not handed over; null, null at the end. Answers the way to stop waiting. */
  pullBody(done: BodyDone): () => void {
    const reader = this.bodyReader()
    if (reader === undefined) {
      this.guard(() => done(null, this.state < ENDING ? null : "aborted"))
      return () => {}
    }
    reader.pull(done)
    return () => reader.unwait(done)
  }

  streamBody(limit: number, sink: BodySink): BodyFlow {
    const guarded = guardedSink(sink, (run) => this.guard(run))
    // A compressed body is decompressed whole.
    const reader = this.header("content-encoding") === undefined ? this.bodyReader() : undefined
    const flow = reader === undefined ? pourWhole((done) => this.readBody(limit, done), guarded) : reader.flow(limit, guarded)
    return { ...flow, guard: (run) => this.guard(run) }
  }

  onRelease(listener: () => void): void {
    if (this.state === DONE) listener()
    else this.releaseListener = listener
  }

  releaseBody(): void {
    this.reader?.forget()
    const listener = this.releaseListener
    this.releaseListener = undefined
    if (listener !== undefined) this.guard(listener)
  }

  get heldBytes(): BodyOwner["heldBytes"] {
    return this.host.heldBytes
  }

  get overflow(): BodyOwner["overflow"] {
    return this.host.overflow
  }

  get arrivals(): BodyOwner["arrivals"] {
    return this.host.arrivals
  }

  /** To be called in the turn of the request: the native side drops a body without a listener. */
  keepBody(): void {
    if (this.declared !== 0) this.bodyReader()
  }

  private bodyReader(): BodyReader | undefined {
    if (this.reader === undefined && this.declared !== 0 && this.state < ENDING) {
      this.reader = new BodyReader(this.res, this.declared, this)
    }
    return this.reader
  }

  /** More of the body is to come. The native timeout alone would cut a client that uploads slowly but steadily. */
  bodyPartial(): void {
    const pace = this.watched()
    pace.bodyStartedAt = pace.rearmedAt = performance.now()
  }

  bodyRearms(): void {
    const pace = this.watched()
    pace.rearms = true
    pace.rearmedAt = performance.now()
  }

  private watched(): Pace {
    this.host.watch.add(this)
    return this.pace ??= new Pace()
  }

  /** Pausing also stops writable events, so not while those are awaited. */
  bodyAhead(reader: BodyReader): void {
    if (!this.blocked) reader.pause()
    else if (reader.held > this.host.maxPendingBytes) this.abort("slow-reader")
  }

  // ---- listeners ----------------------------------------------------------------------------------------------------

  onAbort(listener: (reason: AbortReason) => void): void {
    this.abortListener = listener
    const reason = this.abortReason
    if (reason !== undefined) this.guard(() => listener(reason))
  }

  onDrain(listener: () => void): void {
    this.drainListener = listener
  }

  /** Registers the one listener for the end of the exchange, however it ended. */
  onFinish(listener: () => void): void {
    this.finishListener = listener
    if (this.state === DONE) listener()
  }

  /** Registers the one listener that is asked to end the exchange at shutdown, before it is cut. */
  onStop(listener: () => void): void {
    this.stopListener = listener
  }

  // ---- ends ---------------------------------------------------------------------------------------------------------

  close(): void {
    if (this.state === DONE) return
    this.isCut = true
    this.over()
    this.res.close()
  }

  /** Cuts the exchange from our side and tells the abort listener why. */
  abort(reason: AbortReason): void {
    if (this.state === DONE) return
    this.abortReason = reason
    this.over()
    this.res.close()
  }

  /** Asks the exchange to end now. `refuse` answers while the body is still to come; else its owner may answer; without an owner it is cut. */
  stop(refuse: DirectRoute): void {
    if (this.state === DONE || this.leaves) return
    const { reader } = this
    const isRefused = this.state === OPEN && reader !== undefined && !reader.complete && reader.failure === null
    if (isRefused) refuse(this)
    if (this.stopListener !== undefined) return this.stopListener()
    if (!isRefused) return this.abort("shutdown")
    // The owner hears of it now, not when the rest of the body was waited for: it must not answer any more.
    const listener = this.abortListener
    this.abortListener = undefined
    if (listener !== undefined) this.guard(() => listener("shutdown"))
  }

  /** Gives the native response away for a protocol upgrade; null when it is not free any more. */
  upgrade(): NativeResponse | null {
    if (this.state !== OPEN) return null
    this.over()
    return this.res
  }

  /** Reports a defect of a route and answers 500 if that is still possible. */
  defect(error: unknown): void {
    this.host.onDefect(error, this)
    if (this.state === OPEN) this.respond(500, JSON_HEADERS, INTERNAL_ERROR)
    else if (this.state === STARTED) this.close()
  }

  private nativeAborted(): void {
    if (this.state === DONE) return
    const stalled = this.blocked && this.pace !== undefined && performance.now() - this.pace.progressAt >= NATIVE_TIMEOUT_MILLIS
    this.abortReason = stalled ? "slow-reader" : "client-closed"
    this.over()
  }

  protected override over(): void {
    const { host } = this
    this.state = DONE
    this.discard()
    host.live.remove(this)
    if (this.reader !== undefined || this.blocked) host.watch.delete(this)
    this.reader?.fail("aborted")
    this.releaseBody()
    const reason = this.abortReason
    const listener = this.abortListener
    if (reason !== undefined && listener !== undefined) this.guard(() => listener(reason))
    this.finishListener?.()
    host.onSettled?.()
  }

  private guard(run: () => void): void {
    try {
      run()
    } catch (error) {
      this.defect(error)
    }
  }

  // ---- the writing half asks ----------------------------------------------------------------------------------------

  protected override get maxPendingBytes(): number {
    return this.host.maxPendingBytes
  }

  protected override get draining(): boolean {
    return this.host.draining
  }

  protected override get final(): boolean {
    return this.closeConnection || (this.closeWanted ??= closeToken.test(this.header("connection") ?? ""))
  }

  protected override get closesOverBody(): boolean {
    if (this.declared === 0 || this.reader?.ended === true) return false
    return this.closing()
  }

  protected override dropBody(done: () => void): void {
    const reader = this.bodyReader()
    if (reader === undefined) done()
    else reader.drop(DROPPED_BYTES, this.host.draining ? DRAIN_DROPPED_MILLIS : DROPPED_MILLIS, () => this.guard(done))
  }

  protected override unpause(): void {
    if (this.reader !== undefined) this.reader.resume()
  }

  protected override blocking(): void {
    const pace = this.watched()
    pace.progressAt = pace.rearmedAt = performance.now()
  }

  protected override drained(): void {
    const listener = this.drainListener
    if (listener !== undefined) this.guard(listener)
  }

  protected override overrun(): void {
    this.abort("slow-reader")
  }

  /** Called by the watch while the client is behind or its body is arriving. */
  tick(now: number): void {
    const { host, pace, reader } = this
    const arriving = reader !== undefined && !reader.complete && reader.failure === null
    if (this.state === DONE || pace === undefined || (!this.blocked && !arriving && !pace.rearms)) return host.watch.delete(this)
    if (this.blocked && now - pace.progressAt >= host.slowReaderMillis) return this.abort("slow-reader")
    if (arriving && now - pace.bodyStartedAt >= host.bodyMillis + (reader.pulled ? reader.received / STREAMED_BYTES_PER_MS : 0)) return reader.fail("timeout")
    if (now - pace.rearmedAt < REARM_MILLIS) return
    // A silent uploader is left to the native timeout; a slow but steady one and a blocked reader live on.
    const progressed = arriving && !reader.paused && reader.received > pace.bodySeen
    if (!this.blocked && !progressed && !pace.rearms) return
    pace.bodySeen = reader?.received ?? 0
    pace.rearmedAt = now
    this.res.pause()
    this.res.resume()
  }
}

export const JSON_HEADERS = ["Content-Type", "application/json"]
export const INTERNAL_ERROR = JSON.stringify({
  error: { message: "Internal server error", type: "server_error", code: "internal_error" }
})
