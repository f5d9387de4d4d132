/**
 * The request body of one exchange: collected whole under a byte limit, or pulled chunk by chunk with backpressure.
 *
 * The native server drops a body without a listener, so the reader listens from the first turn on and keeps what arrives until a
 * consumer asks; past a bound it stops reading from the socket.
 */
import { Buffer } from "node:buffer"
import { SharedBytes } from "#actors/SharedBytes.ts"
import type { Arriving } from "#src/platform/server/uws/Arrivals.ts"
import type { BodyOwner } from "./BodyOwner.ts"
import { type BodyFlow, type BodySink, unguarded } from "./bodySink.ts"
import { Dropping } from "./Dropping.ts"
import { Overflow } from "./Overflow.ts"
import { takeFirst } from "./takeFirst.ts"
import type { BodyFailure } from "#src/platform/server/Exchange.ts"
import { nativeCalls } from "#src/platform/server/uws/nativeCalls.ts"
import type { NativeResponse } from "#src/platform/server/uws/native.ts"

export type BodyDone = (body: Uint8Array | null, failure: BodyFailure | null) => void

/** Bytes kept for a consumer that has not asked yet, before the socket is paused. */
export const READ_AHEAD_BYTES = 256 * 1024

/** Bytes of a body that is taken by chunks from which on the rest goes to a file until its consumer has caught up. */
export const OVERFLOW_BYTES = 16 * 1024 * 1024

/** A body that is taken whole is kept in one piece of memory from here on. */
const SHARED_BYTES = 256 * 1024

const NONE = new Uint8Array(0)
const NO_CHUNKS: ReadonlyArray<Uint8Array> = []

export class BodyReader implements Arriving {
  /** Place among the large bodies that are arriving. */
  rosterSlot = -1
  private readonly res: NativeResponse
  /** Bytes the head promised; -1 for a chunked body. */
  private readonly declared: number
  private readonly owner: BodyOwner
  /** Null while there is none: a list that grows takes room for seventeen. */
  private chunks: Array<Uint8Array> | null = null
  /** What did not fit beside the chunks. */
  private overflow: Overflow | null = null
  /** Where a long body is put together. */
  private place: SharedBytes | null = null
  private whole: Uint8Array | undefined
  /** Bytes that are counted as held. */
  private counted = 0
  /** Bytes received and not handed over yet. */
  held = 0
  private waiting: BodyDone | undefined
  private pulling = false
  /** It is taken by chunks: what has come does not wait in memory for the rest. */
  pulled = false
  private limit = Infinity
  private sink: BodySink | undefined
  /** The sink takes nothing now. */
  private stalled = false
  failure: BodyFailure | null = null
  complete = false
  /** The last byte has come, kept or not. */
  ended = false
  paused = false
  /** It is paused until the next turn of the loop. */
  private yielded = false
  private dropping: Dropping | undefined
  /** Bytes received so far, so that a watcher can tell a slow client from a silent one. */
  received = 0

  constructor(res: NativeResponse, declared: number, owner: BodyOwner) {
    this.res = res
    this.declared = declared
    this.owner = owner
    res.onData(this.arrive.bind(this))
  }

  /** Hands over all of it. Later calls get the same bytes again. */
  collect(limit: number, done: BodyDone): void {
    if (this.failure !== null) return this.tell(done, null, this.failure)
    if (this.pulled) throw new Error("The request body was already taken as a stream: read it either whole or by chunks")
    if (this.declared > limit || this.held > limit) return this.refuse(done)
    if (this.complete) return this.tell(done, this.all(), null)
    if (this.waiting !== undefined) throw new Error("The request body is being read already: wait for that reader")
    this.limit = limit
    this.waiting = done
    this.resume()
  }

  /** Hands over some of what arrived and was not handed over; null, null at the end. */
  pull(done: BodyDone): void {
    if (this.failure !== null) return this.tell(done, null, this.failure)
    if (this.waiting !== undefined) throw new Error("The request body is being read already: wait for that reader")
    this.pulled = true
    if (this.held > 0) {
      const next = this.next()
      if (this.held < READ_AHEAD_BYTES) this.resume()
      return this.tell(done, next, null)
    }
    if (this.complete) return this.tell(done, null, null)
    this.pulling = true
    this.waiting = done
    this.resume()
  }

  /** Gives what arrives to a sink, and keeps none of it. */
  flow(limit: number, sink: BodySink): BodyFlow {
    const flow: BodyFlow = {
      resume: () => {
        this.stalled = false
        if (!this.yielded && this.sink !== undefined) this.resume()
      },
      stop: () => {
        this.sink = undefined
      },
      guard: unguarded
    }
    if (this.waiting !== undefined || this.sink !== undefined) throw new Error("The request body is being read already: wait for that reader")
    this.pulled = true
    if (this.failure !== null) sink.fail(this.failure)
    else if (this.declared > limit || this.received > limit) this.refuse((_body, failure) => failure !== null && sink.fail(failure))
    else {
      this.limit = limit
      this.sink = sink
      if (this.held > 0) {
        const begun = this.take()
        if (!this.complete) this.owner.arrivals.add(this)
        this.pour(begun, this.complete)
      }
      if (this.complete) this.sinkEnds(null)
      else if (!this.stalled) this.resume()
    }
    return flow
  }

  private pour(bytes: Uint8Array, isLast: boolean): void {
    const { sink } = this
    // It may have had enough for good, and the rest of the body is dropped.
    if (sink === undefined || sink.push(bytes) || isLast || this.sink !== sink) return
    this.stalled = true
    if (!this.paused) this.pause()
  }

  private sinkEnds(failure: BodyFailure | null): void {
    const { sink } = this
    this.sink = undefined
    if (failure === null) sink?.end()
    else sink?.fail(failure)
  }

  /** Forgets the waiting consumer; what arrives is kept for the next one. */
  unwait(done: BodyDone): void {
    if (this.waiting === done) this.waiting = undefined
    this.pulling = false
  }

  /** Reads on without keeping anything; calls `done` at the end of the body, or when one of the bounds is reached. */
  drop(bytes: number, millis: number, done: () => void): void {
    this.sink = undefined
    this.empty()
    this.dropping = new Dropping(bytes, millis, done)
    this.resume()
  }

  /** Ends reading; what still arrives is dropped. */
  fail(failure: BodyFailure): void {
    if (failure === "aborted") this.dropping?.cancel()
    if (this.complete || this.failure !== null) return
    this.failure = failure
    this.stalled = false
    // The socket of an aborted exchange must not be touched.
    if (failure !== "aborted") this.takeTurn()
    this.empty()
    const waiting = this.waiting
    this.waiting = undefined
    if (waiting !== undefined) this.tell(waiting, null, failure)
    this.sinkEnds(failure)
  }

  pause(): void {
    this.paused = true
    this.res.pause()
  }

  resume(): void {
    if (!this.paused) return
    this.paused = false
    this.yielded = false
    this.res.resume()
  }

  waitTurn(): void {
    // A reader by chunks stops by itself, and its exchange may be waiting to write.
    if (this.paused || (this.sink === undefined && (this.waiting === undefined || this.pulling))) return
    this.yielded = true
    this.pause()
  }

  takeTurn(): void {
    if (!this.yielded) return
    this.yielded = false
    if (this.stalled) return
    if (this.sink?.isReady() === false) this.stalled = true
    else this.resume()
  }

  private refuse(done: BodyDone): void {
    // Only a rest of the body is refused for good; the limit is the reader's, and another reader may allow more.
    if (!this.complete) {
      this.failure = "too-large"
      this.empty()
      this.resume()
    }
    this.tell(done, null, "too-large")
  }

  /** Here rather than around each consumer, which would cost every request a closure. */
  private tell(done: BodyDone, body: Uint8Array | null, failure: BodyFailure | null): void {
    try {
      done(body, failure)
    } catch (error) {
      this.owner.defect(error)
    }
  }

  private arrive(chunk: ArrayBuffer, isLast: boolean): void {
    nativeCalls.running = true
    try {
      this.arrived(chunk, isLast)
    } finally {
      nativeCalls.running = false
    }
  }

  private arrived(chunk: ArrayBuffer, isLast: boolean): void {
    const bytes = chunk.byteLength
    const { arrivals } = this.owner
    const isLarge = this.declared === -1 || this.declared > SHARED_BYTES
    if (this.received === 0 && !isLast) {
      this.owner.bodyPartial()
      // From its first part on: a new connection brings little before it was read once.
      if (isLarge) arrivals.add(this)
    }
    this.received += bytes
    if (isLarge) arrivals.came(this, bytes)
    this.ended = isLast
    if (this.dropping !== undefined) return this.dropping.came(bytes, isLast)
    if (this.failure !== null) return
    if (isLast) {
      this.complete = true
      arrivals.remove(this)
      if (this.paused) {
        // A socket that is not read does not tell that its client left.
        this.resume()
        this.owner.bodyRearms()
      }
    }
    if (this.sink !== undefined) return this.give(chunk, isLast)
    if (bytes > 0) {
      if (this.held + bytes > this.limit) {
        this.complete = false
        return this.fail("too-large")
      }
      if (!this.keeps(new Uint8Array(chunk), isLast)) {
        this.complete = false
        return this.fail("no-room")
      }
    }
    const waiting = this.waiting
    if (waiting === undefined) {
      if (!isLast && this.held >= READ_AHEAD_BYTES && !this.paused) this.owner.bodyAhead(this)
      return
    }
    if (this.pulling) {
      if (this.held === 0 && !isLast) return
      this.waiting = undefined
      this.pulling = false
      return this.tell(waiting, this.held === 0 ? null : this.take(), null)
    }
    if (isLast) {
      this.waiting = undefined
      this.tell(waiting, this.all(), null)
    }
  }

  private give(chunk: ArrayBuffer, isLast: boolean): void {
    if (this.received > this.limit) {
      this.complete = false
      return this.fail("too-large")
    }
    if (chunk.byteLength > 0) this.pour(new Uint8Array(chunk), isLast)
    if (isLast) this.sinkEnds(null)
  }

  /** Keeps other bytes instead of those that came: what they hold decompressed. False when there is no room for them. */
  replace(bytes: Uint8Array): boolean {
    const { heldBytes } = this.owner
    heldBytes.give(this.counted)
    this.counted = 0
    if (!heldBytes.take(bytes.byteLength)) return false
    this.counted = bytes.byteLength
    this.chunks = null
    this.place = null
    this.whole = bytes
    return true
  }

  /** Keeps and counts nothing any more. */
  forget(): void {
    this.empty()
    this.whole = undefined
    if (this.complete) this.failure = "aborted"
  }

  private empty(): void {
    this.yielded = false
    this.owner.arrivals.remove(this)
    this.overflow?.close()
    this.overflow = null
    this.chunks = null
    this.place = null
    this.held = 0
    this.owner.heldBytes.give(this.counted)
    this.counted = 0
  }

  /** What came first. A socket is read until it is empty: of a fast client tens of megabytes may wait, which joined would take twice their room. */
  private next(): Uint8Array {
    if (this.overflow === null && (this.chunks === null || this.held <= READ_AHEAD_BYTES)) return this.take()
    if (this.chunks === null || this.chunks.length === 0) return this.overflowed()
    const first = takeFirst(this.chunks, READ_AHEAD_BYTES)
    this.held -= first.byteLength
    this.counted -= first.byteLength
    this.owner.heldBytes.give(first.byteLength)
    return first
  }

  private overflowed(): Uint8Array {
    const first = this.overflow!.take(READ_AHEAD_BYTES)
    this.held -= first.byteLength
    if (this.held === 0) this.empty()
    return first
  }

  private take(): Uint8Array {
    const all = this.join()
    this.empty()
    return all
  }

  private all(): Uint8Array {
    if (this.whole === undefined) {
      this.whole = this.join()
      this.chunks = null
      this.place = null
    }
    return this.whole
  }

  /** False when there is no room for them. */
  private keeps(bytes: Uint8Array, isLast: boolean): boolean {
    if (this.pulled && this.counted >= OVERFLOW_BYTES) this.overflow ??= Overflow.open(this.owner.overflow)
    if (this.overflow !== null) {
      this.held += bytes.byteLength
      return this.overflow.append(bytes)
    }
    if (!this.owner.heldBytes.take(bytes.byteLength)) return false
    this.counted += bytes.byteLength
    this.keep(bytes, isLast)
    return true
  }

  /** Copies, because the native buffer is detached when its callback returns. */
  private keep(bytes: Uint8Array, isLast: boolean): void {
    if (this.place === null && this.held > SHARED_BYTES && this.declared !== 0 && this.waiting !== undefined && !this.pulling) {
      this.place = new SharedBytes(this.declared === -1 ? null : this.declared)
      for (const chunk of this.chunks ?? NO_CHUNKS) this.place.append(chunk)
      this.chunks = null
    }
    if (this.place !== null) {
      this.place.append(bytes)
    } else {
      const copy = Buffer.allocUnsafe(bytes.byteLength)
      copy.set(bytes)
      // Most bodies come in one piece, and need no list.
      if (isLast && this.chunks === null && this.waiting !== undefined && !this.pulling) this.whole = copy
      else if (this.chunks === null) this.chunks = [copy]
      else this.chunks.push(copy)
    }
    this.held += bytes.byteLength
  }

  private join(): Uint8Array {
    if (this.place !== null) return this.place.bytes
    const chunks = this.chunks ?? NO_CHUNKS
    if (chunks.length === 1) return chunks[0]!
    return chunks.length === 0 ? NONE : Buffer.concat(chunks, this.held)
  }
}
