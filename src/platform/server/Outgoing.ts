/**
 * The writing half of an exchange over uWebSockets.
 *
 * What a route writes in one turn leaves in one cork; a small response that is known whole leaves at the end of the turn. Three native
 * rules shape the code: one cork never holds more than `CORK_BYTES`, because bytes that do not fit its 16 kB buffer are lost when the
 * socket is full; the response is not touched after it was aborted or completed, because that throws; and callbacks run inside a cork
 * of the native parser, which the gateway's own corks cannot split, so that a large first flush continues in a separate turn.
 */
import { nativeCalls } from "#src/platform/server/uws/nativeCalls.ts"
import { DONE, ENDING, OPEN, STARTED } from "./exchangeState.ts"
import { hasLength, isBodyless } from "./responseHead.ts"
import { OutgoingHead } from "./sending/OutgoingHead.ts"
import { bytesOf, HIGH_WATER_BYTES, SendQueue } from "./sending/SendQueue.ts"
import { SizedBody } from "./sending/SizedBody.ts"
import * as TurnEnd from "./sending/TurnEnd.ts"
import { writeInCork } from "./sending/wholeInCork.ts"

/** Most bytes in one cork; the native buffer holds 16 KiB. */
export const CORK_BYTES = 14 * 1024

export abstract class Outgoing extends OutgoingHead {
  /** True while the client's socket is full. */
  protected blocked = false

  private queue: SendQueue | undefined
  /** Set where the length is known before the first byte; undefined: the response is chunked. */
  private sized: SizedBody | undefined
  /** Bytes that the native side buffered when the socket was full. */
  private unsent = 0
  private scheduled = false
  /** The rest of the flush waits for a turn outside the native parser. */
  private leaving = false
  /** Known to write outside the native parser's own cork, which cannot be split. */
  private outsideParser = false
  private wantsDrain = false
  private putOff = false
  private flushTask: (() => void) | undefined
  /** The body of a response that is known whole, until it is sent. */
  private whole: Uint8Array | string | undefined
  private writable: (() => boolean) | undefined

  /** The client's socket is full: writing waits for it. */
  protected abstract blocking(): void
  /** The last bytes are about to be handed over, or the socket is needed for writing: nothing may stay paused. */
  protected abstract unpause(): void
  /** Handed over entirely. Must set the state to DONE. */
  protected abstract over(): void
  /** The producer may continue. */
  protected abstract drained(): void
  /** Reports a defect of a route; a response that has begun is cut. */
  abstract defect(error: unknown): void
  /** The producer ignored that its client is behind. */
  protected abstract overrun(): void
  protected abstract readonly maxPendingBytes: number
  /** The connection will close over request bytes that are still to come; the kernel would answer those with a reset. */
  protected abstract readonly closesOverBody: boolean
  /** Reads and drops what is still to come, within bounds, then calls back. */
  protected abstract dropBody(done: () => void): void

  /** True after the client has gone, the response has ended, or it was closed by us. */
  get closed(): boolean {
    return this.state >= ENDING
  }

  get started(): boolean {
    return this.state !== OPEN
  }

  /** True after the response was handed over entirely or the exchange was cut. */
  get finished(): boolean {
    return this.state === DONE
  }

  get pendingBytes(): number {
    return (this.queue === undefined ? 0 : this.queue.bytes) + this.unsent
  }

  start(status: number, headers: ReadonlyArray<string>): void {
    if (this.state === DONE) return
    this.prepareHead(status, headers)
    this.state = STARTED
  }

  startSized(status: number, headers: ReadonlyArray<string>, length: number): void {
    this.start(status, headers)
    if (length > 0 && !isBodyless(this.method, status)) this.sized = new SizedBody(length, this.queue ??= new SendQueue())
  }

  write(chunk: Uint8Array): boolean {
    if (!this.writing) return false
    const queue = this.queue ??= new SendQueue()
    const before = this.pendingBytes
    queue.push(chunk)
    if (!this.blocked && !this.scheduled) this.schedule()
    return this.checkRoom(queue, before)
  }

  relay(chunk: Uint8Array): boolean {
    if (!this.writing) return false
    const queue = this.queue ??= new SendQueue()
    const before = this.pendingBytes
    queue.push(this.sized === undefined ? chunk : Buffer.from(chunk))
    this.outsideParser = true
    this.flush()
    queue.own(chunk)
    return this.checkRoom(queue, before)
  }

  /** True between the response's start and its end. */
  private get writing(): boolean {
    if (this.state === OPEN) throw new Error("Exchange.write came before start: call start(status, headers) first")
    return this.state === STARTED
  }

  /** Whether the producer may continue; `before`: bytes that waited already. A first chunk may be of any size. */
  private checkRoom(queue: SendQueue, before: number): boolean {
    const pending = queue.bytes + this.unsent
    if (before > 0 && pending > this.maxPendingBytes) {
      this.overrun()
      return false
    }
    if (!this.blocked && pending < HIGH_WATER_BYTES) return true
    this.wantsDrain = true
    return false
  }

  end(chunk?: Uint8Array | string): void {
    if (this.state === OPEN) throw new Error("Exchange.end came before start: use respond for a whole response")
    if (this.state !== STARTED) return
    if (chunk !== undefined && chunk.length > 0) (this.queue ??= new SendQueue()).push(bytesOf(chunk))
    this.state = ENDING
    this.flush()
  }

  respond(status: number, headers: ReadonlyArray<string>, body: Uint8Array | string): void {
    if (this.state === DONE) return
    this.prepareHead(status, headers)
    if (this.closesOverBody || this.final) this.respondLater(body)
    else this.sendWhole(body)
  }

  /**
   * The native parser continues with the bytes after a request as soon as that is answered, even when its answer closes the connection.
   * While no answer is given it closes the connection over them: a final response waits until the parser has returned.
   * A function of its own, because closures make a scope for every response that passes by.
   */
  private respondLater(body: Uint8Array | string): void {
    const send = (): void => this.leaveParser(() => this.sendWhole(body))
    this.state = ENDING
    if (this.closesOverBody) this.dropBody(send)
    else send()
  }

  private sendWhole(body: Uint8Array | string): void {
    if (isBodyless(this.method, this.status)) return this.sendBodyless(hasLength(this.status) ? Buffer.byteLength(body) : undefined)
    // A UTF-16 unit takes at most three bytes in UTF-8.
    const most = typeof body === "string" ? body.length * 3 : body.byteLength
    if (most + this.headBytes > CORK_BYTES) {
      this.state = ENDING
      const queue = this.queue ??= new SendQueue()
      queue.push(bytesOf(body))
      if (!this.final) this.sized = new SizedBody(queue.bytes, queue)
      return this.flush()
    }
    this.whole = body
    if (nativeCalls.running) return this.turnEnds()
    this.state = ENDING
    TurnEnd.add(this)
  }

  /** A whole response is given, and leaves at the end of this turn. */
  protected get leaves(): boolean {
    return this.whole !== undefined
  }

  turnEnds(): void {
    if (this.state === DONE) return
    this.unpause()
    writeInCork(this, this.res)
    this.over()
  }

  turnFails(error: unknown): void {
    // Part of it may be written.
    if (this.state === ENDING) this.state = STARTED
    this.defect(error)
  }

  /** To be called in a cork. */
  writeWhole(): void {
    this.writeHead()
    this.res.end(this.whole, this.closing())
  }

  /** Like `respond` to a HEAD request when the length is known but not the bytes. */
  respondHead(status: number, headers: ReadonlyArray<string>, length: number | undefined): void {
    if (this.state === DONE) return
    this.prepareHead(status, headers)
    const shown = hasLength(status) ? length : undefined
    if (!this.final) return this.sendBodyless(shown)
    this.state = ENDING
    this.leaveParser(() => this.sendBodyless(shown))
  }

  /** Forgets what was not sent. */
  protected discard(): void {
    this.queue?.clear()
    this.unsent = 0
    this.sized?.discard()
    this.head = undefined
    this.whole = undefined
  }

  private sendBodyless(length: number | undefined): void {
    this.unpause()
    this.res.cork(() => {
      this.writeClosingHead()
      // The native way of reporting a length leaves the response open, and the next request would be cut.
      if (length !== undefined) this.res.writeHeader("Content-Length", String(length))
      this.shutBehind()
      this.res.endWithoutBody()
    })
    this.over()
  }

  private schedule(): void {
    this.scheduled = true
    // Not queueMicrotask: Node wraps each of its calls in an async resource, which costs more than the flush.
    void turn.then(this.flushTask ??= () => {
      this.scheduled = false
      this.flush()
    })
  }

  private flush(): void {
    if (this.state === DONE || this.blocked || this.leaving) return
    if (this.sized !== undefined) return this.sendSized(this.sized)
    if (this.putsOff()) return
    const final = this.state === ENDING && this.final
    const { queue } = this
    if (isBodyless(this.method, this.status)) {
      queue?.clear()
      return this.state === ENDING ? this.sendBodyless(undefined) : this.release()
    }
    while (queue !== undefined && queue.bytes > 0) {
      const batch = queue.take(this.head === undefined ? CORK_BYTES : CORK_BYTES - this.headBytes)
      // The end of a final response goes alone, when the socket has taken all before it.
      const last = this.state === ENDING && queue.bytes === 0 && !final
      const taken = this.send(batch, last)
      if (last) return this.over()
      if (!taken) return this.block(batch.byteLength)
      if (queue.bytes > 0 && !this.outsideParser) return this.leaveParser(() => this.flush())
    }
    if (this.state === ENDING) {
      this.send(undefined, true)
      return this.over()
    }
    this.release()
  }

  private release(): void {
    if (!this.wantsDrain) return
    this.wantsDrain = false
    this.drained()
  }

  /** The native parser corks the socket around our callbacks, microtasks included: continue in a separate turn. */
  private leaveParser(send: () => void): void {
    this.leaving = true
    setImmediate(() => {
      this.outsideParser = true
      this.leaving = false
      if (this.state !== DONE) send()
    })
  }

  /** Writes one batch in one cork; false when the socket is full. */
  private send(batch: Uint8Array | undefined, last: boolean): boolean {
    const { res } = this
    let taken = true
    if (last) this.unpause()
    else this.listen()
    res.cork(() => {
      const whole = this.head !== undefined
      if (last) {
        if (whole) this.writeHead()
        else this.shutBehind()
        // After a first chunk the native `end` would write its Connection header into the body.
        res.end(batch, whole && this.closing())
      } else {
        if (whole) this.writeClosingHead()
        taken = res.write(batch!)
      }
    })
    return taken
  }

  /**
   * Reads nothing more behind a final response whose native end cannot close the connection. The head asks the client to close; a client
   * that does not is cut by the native timeout.
   */
  private shutBehind(): void {
    if (this.final) this.res.pause()
  }

  /** The end of a final response goes in a turn of its own, outside the native parser. */
  private putsOff(): boolean {
    if (this.state !== ENDING || !this.final || this.putOff) return false
    this.putOff = true
    this.leaveParser(() => this.flush())
    return true
  }

  private sendSized(sized: SizedBody): void {
    const ended = this.state === ENDING
    if (sized.breaks(this.res, ended)) {
      this.state = STARTED
      return this.defect(new Error(`The body of a response has not the ${sized.total} bytes that its head says: the connection is cut`))
    }
    if (this.putsOff()) return
    while (sized.isDue(this.res, ended)) {
      this.listen()
      this.unpause()
      const sent = sized.send(this.res, () => {
        if (this.head !== undefined) this.writeClosingHead()
        if (ended) this.shutBehind()
      })
      if (sent === "all") return this.over()
      if (sent === "part") return this.block(sized.unsent(this.res))
    }
    this.release()
  }

  private listen(): void {
    if (this.writable !== undefined) return
    this.writable = () => {
      this.onWritable()
      return true
    }
    this.res.onWritable(this.writable)
  }

  private block(bytes: number): void {
    this.blocked = true
    this.unsent = bytes
    this.unpause()
    this.blocking()
  }

  private onWritable(): void {
    if (this.state === DONE) return
    this.blocked = false
    this.outsideParser = true
    this.leaving = false
    this.unsent = 0
    if (this.sized !== undefined) return this.sendSized(this.sized)
    // Some native versions empty their own buffer after this handler, others only when something is written.
    this.res.cork(nothing)
    this.flush()
  }
}

const nothing = (): void => {}
const turn = Promise.resolve()
