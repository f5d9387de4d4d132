/**
 * An exchange whose request came in a message of a WebSocket, and whose response leaves in messages: a direct route serves it as it
 * serves HTTP, so admission, limits, ledger and errors are the same. Work that a client left with the gateway asks in the same way.
 */
import { type BodyFlow, type BodySink, pour, stopped } from "#src/platform/server/body/bodySink.ts"
import type { AbortReason, ActsAs, BodyFailure, Continues, Exchange } from "#src/platform/server/Exchange.ts"
import { findHeader, hasOwnHeader, OWN_HEADERS } from "#src/platform/server/requestHead.ts"
import type { HeldBytes } from "#src/platform/structures/HeldBytes.ts"

/** Where the response goes. */
export interface Reply {
  /** The head of a response whose body follows in pieces. Flat headers: name, value. */
  readonly start: (status: number, headers: ReadonlyArray<string>) => void
  /** Bytes of its body, borrowed; false when the client is behind. */
  readonly bytes: (chunk: Uint8Array) => boolean
  /** The body is complete. */
  readonly end: () => void
  /** A whole response. */
  readonly whole: (status: number, headers: ReadonlyArray<string>, body: Uint8Array | string) => void
  /** The response broke off. */
  readonly cut: () => void
}

/** The head of a request that came in a message. */
export type FramedHead = Pick<Exchange, "method" | "path" | "query" | "headers" | "peerAddress" | "remoteAddress"> & {
  /** Set by the gateway alone: a head that a client wrote has none. */
  readonly actsAs?: ActsAs | undefined
  /** Set by the gateway alone, too. */
  readonly continues?: Continues | undefined
}

const OPEN = 0
const STARTED = 1
const DONE = 2

export class FramedExchange implements Exchange {
  readonly method: string
  readonly path: string
  readonly query: string
  readonly headers: ReadonlyArray<string>
  readonly peerAddress: string
  readonly remoteAddress: string
  readonly actsAs: ActsAs | undefined
  readonly continues: Continues | undefined

  private readonly hasOwn: boolean
  private readonly reply: Reply
  private readonly held: HeldBytes
  private readonly pending: () => number
  private body: Uint8Array | null
  private release: (() => void) | null = null
  private state = OPEN
  private added: ReadonlyArray<string> = []
  private reason: AbortReason | undefined
  private abortListener: ((reason: AbortReason) => void) | undefined
  private drainListener: (() => void) | undefined
  private releaseListener: (() => void) | undefined

  /** `pending`: bytes that the client has not taken yet. */
  constructor(head: FramedHead, body: Uint8Array, reply: Reply, held: HeldBytes, pending: () => number) {
    this.method = head.method
    this.path = head.path
    this.query = head.query
    this.headers = head.headers
    this.hasOwn = hasOwnHeader(head.headers)
    this.peerAddress = head.peerAddress
    this.remoteAddress = head.remoteAddress
    this.actsAs = head.actsAs
    this.continues = head.continues
    this.body = body
    this.reply = reply
    this.held = held
    this.pending = pending
  }

  header(lowerCaseName: string): string | undefined {
    // As over a socket: most requests have none of the gateway's own headers, and each is asked for ten.
    return !this.hasOwn && lowerCaseName.startsWith(OWN_HEADERS) ? undefined : findHeader(this.headers, lowerCaseName)
  }

  get closed(): boolean {
    return this.state === DONE
  }

  /** No response has begun. */
  get isOpen(): boolean {
    return this.state === OPEN
  }

  get pendingBytes(): number {
    return this.pending()
  }

  readBody(limit: number, done: (body: Uint8Array | null, failure: BodyFailure | null) => void): void {
    const { body } = this
    if (body === null || this.state === DONE) return done(null, "aborted")
    if (body.byteLength > limit) return done(null, "too-large")
    this.release ??= this.held.hold(body.byteLength)
    if (this.release === null) done(null, "no-room")
    else done(body, null)
  }

  streamBody(limit: number, sink: BodySink): BodyFlow {
    let flow: BodyFlow = stopped
    this.readBody(limit, (body, failure) => {
      if (body === null) sink.fail(failure ?? "aborted")
      else flow = pour(body, sink)
    })
    return flow
  }

  onRelease(listener: () => void): void {
    if (this.state === DONE) listener()
    else this.releaseListener = listener
  }

  releaseBody(): void {
    const listener = this.releaseListener
    this.releaseListener = undefined
    listener?.()
    this.release?.()
    this.release = null
    this.body = null
  }

  onAbort(listener: (reason: AbortReason) => void): void {
    this.abortListener = listener
    if (this.reason !== undefined) listener(this.reason)
  }

  onDrain(listener: () => void): void {
    this.drainListener = listener
  }

  addHeaders(headers: ReadonlyArray<string>): void {
    this.added = [...this.added, ...headers]
  }

  startSized(status: number, headers: ReadonlyArray<string>): void {
    this.start(status, headers)
  }

  start(status: number, headers: ReadonlyArray<string>): void {
    if (this.state === DONE) return
    if (this.state === STARTED) throw new Error(`A second response (${status}) was given to one exchange`)
    this.state = STARTED
    this.reply.start(status, [...this.added, ...headers])
  }

  write(chunk: Uint8Array): boolean {
    if (this.state !== STARTED) return false
    return this.reply.bytes(chunk)
  }

  relay(chunk: Uint8Array): boolean {
    return this.write(chunk)
  }

  end(chunk?: Uint8Array | string): void {
    if (this.state === DONE) return
    if (chunk !== undefined) this.reply.bytes(typeof chunk === "string" ? Buffer.from(chunk) : chunk)
    // A client that could not be sent to is gone by now.
    if (this.closed) return
    this.over()
    this.reply.end()
  }

  respond(status: number, headers: ReadonlyArray<string>, body: Uint8Array | string): void {
    if (this.state === DONE) return
    this.over()
    this.reply.whole(status, this.added.length === 0 ? headers : [...this.added, ...headers], body)
  }

  close(): void {
    if (this.state === DONE) return
    this.over()
    this.reply.cut()
  }

  /** Tells the route that the client does not want the answer any more; nothing is said to the client. */
  abort(reason: AbortReason): void {
    if (this.state === DONE) return
    this.reason = reason
    this.over()
    this.abortListener?.(reason)
  }

  /** The client took what it was behind by. */
  drained(): void {
    if (this.state !== DONE) this.drainListener?.()
  }

  private over(): void {
    this.state = DONE
    this.releaseBody()
  }
}
