/**
 * Plays one plan to one client: head, frames in their pace and cut, backpressure, faults, and the truth about all of it.
 *
 * The head goes through node's response; body bytes go straight to the socket in our own transfer coding, which makes a paced
 * frame one write and lets a fault strike at an exact byte. No timer of its own: the shared pacer calls.
 */
import type { IncomingMessage, ServerResponse } from "node:http"
import type { Socket } from "node:net"
import { gzipSync } from "node:zlib"
import { chunkOf, type SimulatedFrame } from "./framing.ts"
import type { PacerEntry, Pacer } from "./Pacer.ts"
import type { AnswerPlan, Stop } from "./plans.ts"
import { random } from "./text.ts"
import type { TruthEntry, TruthLog } from "./TruthLog.ts"

/** Frames taken into one write when nothing paces the stream. */
const BATCH_FRAMES = 64
const BATCH_BYTES = 32 * 1024
/** Written in one turn of the event loop before other streams get theirs. */
const TURN_BYTES = 256 * 1024
const DEFAULT_RANDOM_PIECE = 64

interface Piece {
  readonly bytes: Buffer
  readonly wire: Buffer
  readonly frames: number
  readonly tokens: number
  readonly usage: boolean
}

export class Player {
  readonly #req: IncomingMessage
  readonly #res: ServerResponse
  readonly #plan: AnswerPlan
  readonly #pacer: Pacer
  readonly #log: TruthLog
  readonly #entry: TruthEntry
  readonly #timer: PacerEntry
  readonly #cut: () => number
  #keepalive: PacerEntry | null = null
  #socket: Socket | null = null
  #chunked = false
  #deadline = 0
  #framesTaken = 0
  #bytesTaken = 0
  #held: SimulatedFrame | null = null
  #exhausted = false
  #waiting: Array<Piece> = []
  #after: (() => void) | null = null
  #over = false
  #next: (now: number) => void

  constructor(req: IncomingMessage, res: ServerResponse, plan: AnswerPlan, pacer: Pacer, log: TruthLog, entry: TruthEntry) {
    this.#req = req
    this.#res = res
    this.#plan = plan
    this.#pacer = pacer
    this.#log = log
    this.#entry = entry
    this.#next = this.#head
    this.#timer = pacer.entry((now) => this.#advance(now))
    const split = plan.split
    if (split === "byte") this.#cut = () => 1
    else if (split === "frame") this.#cut = () => Infinity
    else if ("every" in split) this.#cut = () => split.every
    else {
      const next = random(split.random)
      const max = split.max ?? DEFAULT_RANDOM_PIECE
      this.#cut = () => 1 + Math.floor(next() * max)
    }
    entry.promptTokens = plan.promptTokens
    entry.tokensPlanned = plan.tokens
  }

  play(): void {
    this.#res.once("close", () => this.#gone())
    if (this.#res.destroyed) return this.#gone()
    // Pipelined behind an unfinished reply: node hands the socket over when it is our turn.
    if (this.#res.socket === null) this.#res.once("socket", () => this.#begin())
    else this.#begin()
  }

  /** Ends the call at once, as a lost connection does; an answer that is complete stays. */
  cut(): void {
    if (this.#over) return
    this.#release()
    this.#log.settle(this.#entry, "reset-by-script")
    this.#res.destroy()
  }

  #begin(): void {
    const socket = this.#res.socket
    if (socket === null) return
    this.#socket = socket
    const plan = this.#plan
    if (plan.stop?.at === "request") {
      if (plan.stop.how === "hang") return
      if (plan.latencyMs === 0) return this.#strike(plan.stop)
      const stop = plan.stop
      this.#next = () => this.#strike(stop)
    }
    const now = this.#pacer.now()
    this.#deadline = now + plan.latencyMs
    if (plan.latencyMs > 0) this.#pacer.schedule(this.#timer, this.#deadline)
    else this.#advance(now)
  }

  #advance(now: number): void {
    if (this.#over) return
    try {
      this.#next(now)
    } catch (error) {
      // A format that throws must not end the process of every other stream.
      this.#release()
      this.#log.fail(this.#entry, error)
      this.#socket?.destroy()
    }
  }

  #head(now: number): void {
    const { length, stop, transfer, ttftMs } = this.#plan
    const res = this.#res
    const socket = this.#socket!
    const headers: Record<string, string | number> = { ...this.#plan.headers }
    this.#chunked = length === null && transfer === "chunked" && this.#req.httpVersion !== "1.0"
    if (length !== null) headers["content-length"] = length
    else if (this.#chunked) headers["transfer-encoding"] = "chunked"
    else res.useChunkedEncodingByDefault = false
    socket.cork()
    res.writeHead(this.#plan.status, headers)
    res.flushHeaders()
    this.#entry.status = this.#plan.status
    this.#entry.headAt = this.#log.now()
    if (this.#plan.keepaliveMs !== null) this.#startKeepalive(this.#plan.keepaliveMs)
    if (stop?.at === "head") this.#strike(stop)
    else if (ttftMs > 0) {
      this.#deadline += ttftMs
      this.#next = this.#step
      this.#pacer.schedule(this.#timer, this.#deadline)
    } else this.#step(now)
    socket.uncork()
  }

  /** Sends what is due and arranges what comes next. */
  #step(now: number): void {
    const { burst, paceMs, stop } = this.#plan
    this.#next = this.#step
    let turn = 0
    while (!this.#over) {
      const taken = this.#take()
      const tokens = taken.reduce((sum, frame) => sum + frame.tokens, 0)
      if (taken.length > 0) turn += this.#send(taken)
      const after = stop !== null && this.#reached(stop)
        ? () => this.#strike(stop)
        : this.#peek() === null
        ? () => this.#finish()
        : null
      if (this.#waiting.length > 0) {
        this.#after = after ?? (() => this.#again(tokens))
        this.#drip()
        return
      }
      if (after !== null) return after()
      if (this.#socket!.writableNeedDrain) return this.#whenDrained(() => this.#again(tokens))
      if (paceMs > 0) {
        this.#deadline += paceMs * Math.max(1, tokens)
        // Paces below the pacer's millisecond, and what a stalled loop is late with, are sent in this turn.
        if (this.#deadline <= now && turn < TURN_BYTES) continue
        this.#pacer.schedule(this.#timer, this.#deadline)
        return
      }
      if (burst !== null || turn >= TURN_BYTES) {
        setImmediate(this.#timer.fire, 0)
        return
      }
    }
  }

  #again(tokens: number): void {
    if (this.#over) return
    const { paceMs } = this.#plan
    if (paceMs === 0) {
      setImmediate(this.#timer.fire, 0)
      return
    }
    this.#deadline += paceMs * Math.max(1, tokens)
    this.#pacer.schedule(this.#timer, this.#deadline)
  }

  #whenDrained(resume: () => void): void {
    this.#socket!.once("drain", () => {
      if (this.#over) return
      // A reader that stopped us sets the pace anew: what it missed is not sent in a rush.
      this.#deadline = Math.max(this.#deadline, this.#pacer.now())
      resume()
    })
  }

  #peek(): SimulatedFrame | null {
    if (this.#held === null && !this.#exhausted) {
      const next = this.#plan.frames.next()
      if (next.done === true) this.#exhausted = true
      else this.#held = next.value
    }
    return this.#held
  }

  #reached(stop: Stop): boolean {
    if (typeof stop.at === "string") return false
    return "frames" in stop.at ? this.#framesTaken >= stop.at.frames : this.#bytesTaken >= stop.at.bytes
  }

  /** The frames of the next write. A paced write is `burst` tokens, with the frames around them that carry none. */
  #take(): Array<SimulatedFrame> {
    const { burst, paceMs, stop } = this.#plan
    const paced = paceMs > 0
    const limit = burst ?? (paced ? 1 : BATCH_FRAMES)
    const taken: Array<SimulatedFrame> = []
    let tokens = 0
    let bytes = 0
    for (let frame = this.#peek(); frame !== null; frame = this.#peek()) {
      if (stop !== null && this.#reached(stop)) break
      if (paced ? frame.tokens > 0 && tokens >= limit : taken.length >= limit || (burst === null && bytes >= BATCH_BYTES)) break
      if (frame.raw === true && taken.length > 0) break
      this.#held = null
      if (stop !== null && typeof stop.at === "object" && "bytes" in stop.at && this.#bytesTaken + frame.bytes.length > stop.at.bytes) {
        const part = frame.bytes.subarray(0, stop.at.bytes - this.#bytesTaken)
        this.#bytesTaken += part.length
        taken.push({ bytes: part, tokens: 0, usage: false, partial: true })
        break
      }
      this.#framesTaken++
      this.#bytesTaken += frame.bytes.length
      bytes += frame.bytes.length
      tokens += frame.tokens
      taken.push(frame)
      if (frame.raw === true) break
    }
    return taken
  }

  /** Hands frames to the socket, or to the queue of a slow split; returns the bytes handed over. */
  #send(frames: ReadonlyArray<SimulatedFrame>): number {
    const { burst, gzip, split } = this.#plan
    const only = frames.length === 1 ? frames[0]! : null
    if (only !== null && split === "frame" && !gzip) {
      return this.#write({
        bytes: only.bytes,
        wire: only.wire !== undefined && this.#chunked ? only.wire : only.raw === true ? only.bytes : this.#coded(only.bytes),
        frames: only.partial === true ? 0 : 1,
        tokens: only.tokens,
        usage: only.usage
      })
    }
    const pieces = split === "frame" && burst === null && !gzip ? frames.map((frame) => this.#piece(frame.bytes, [frame])) : this.#pieces(frames)
    if (typeof split === "object" && split.turns === true) {
      this.#waiting = pieces
      return 0
    }
    return this.#write({
      bytes: Buffer.concat(pieces.map((piece) => piece.bytes)),
      wire: Buffer.concat(pieces.map((piece) => piece.wire)),
      ...totals(frames)
    })
  }

  #coded(bytes: Buffer): Buffer {
    return this.#chunked && bytes.length > 0 ? chunkOf(bytes) : bytes
  }

  #piece(bytes: Buffer, done: ReadonlyArray<SimulatedFrame>): Piece {
    return { bytes, wire: this.#coded(bytes), ...totals(done) }
  }

  /** Joins frames and cuts them anew; a frame counts with the piece that holds its last byte. */
  #pieces(frames: ReadonlyArray<SimulatedFrame>): Array<Piece> {
    const plain = Buffer.concat(frames.map((frame) => frame.bytes))
    if (this.#plan.gzip) return [this.#piece(gzipSync(plain), frames)]
    const pieces: Array<Piece> = []
    let index = 0
    let frameEnd = frames.length > 0 ? frames[0]!.bytes.length : 0
    for (let start = 0; start < plain.length;) {
      const end = Math.min(plain.length, start + this.#cut())
      const done: Array<SimulatedFrame> = []
      while (index < frames.length && frameEnd <= end) {
        done.push(frames[index]!)
        index++
        frameEnd += frames[index]?.bytes.length ?? 0
      }
      pieces.push(this.#piece(plain.subarray(start, end), done))
      start = end
    }
    return pieces
  }

  /** One piece per turn of the event loop, so that each is its own segment. */
  #drip = (): void => {
    if (this.#over) return
    const piece = this.#waiting.shift()
    if (piece === undefined) {
      const after = this.#after
      this.#after = null
      after?.()
      return
    }
    this.#write(piece)
    if (this.#socket!.writableNeedDrain) this.#whenDrained(this.#drip)
    else setImmediate(this.#drip)
  }

  #write(piece: Piece): number {
    const socket = this.#socket!
    if (this.#over || !socket.writable) return 0
    const entry = this.#entry
    socket.write(piece.wire)
    entry.framesSent += piece.frames
    entry.bytesSent += piece.bytes.length
    entry.tokensSent += piece.tokens
    if (piece.usage) entry.usageSent = this.#plan.usage
    if (this.#log.enabled) {
      entry.lastFrameAt = this.#log.now()
      entry.firstFrameAt ??= entry.lastFrameAt
    }
    return piece.bytes.length
  }

  #startKeepalive(every: number): void {
    const beat = (now: number): void => {
      if (this.#over) return
      // Never into the middle of a frame that is still being dripped.
      if (this.#waiting.length === 0) {
        this.#socket!.write(this.#coded(this.#plan.keepalive))
        this.#entry.bytesSent += this.#plan.keepalive.length
      }
      this.#pacer.schedule(this.#keepalive!, now + every)
    }
    this.#keepalive = this.#pacer.entry(beat)
    this.#pacer.schedule(this.#keepalive, this.#pacer.now() + every)
  }

  #finish(): void {
    this.#release()
    this.#res.end()
    // When the kernel has taken every byte, nothing can be lost on our side any more.
    if (this.#socket!.writableLength === 0) this.#log.settle(this.#entry, "completed")
    else this.#res.once("finish", () => this.#log.settle(this.#entry, "completed"))
  }

  #strike(stop: Stop): void {
    const socket = this.#socket!
    if (stop.how === "hang") {
      this.#pacer.cancel(this.#timer)
      this.#next = () => {}
      return
    }
    this.#release()
    if (stop.how === "reset") {
      const reset = (): void => {
        this.#log.settle(this.#entry, "reset-by-script")
        socket.resetAndDestroy()
      }
      if (stop.at === "request") return reset()
      // After what was written has left, and after the client has most likely read it: a reset throws away what is not sent,
      // and a client of libuv that finds data and reset together reports a plain end.
      socket.write("", () => setTimeout(reset, this.#plan.resetDelayMs))
    } else if (stop.how === "end" && this.#plan.length === null && stop.at !== "request") {
      this.#log.settle(this.#entry, "ended-by-script")
      this.#res.end()
    } else {
      this.#log.settle(this.#entry, "closed-by-script")
      socket.end()
    }
  }

  /** The simulator must not write any more. */
  #release(): void {
    this.#over = true
    this.#pacer.cancel(this.#timer)
    if (this.#keepalive !== null) this.#pacer.cancel(this.#keepalive)
  }

  #gone(): void {
    this.#release()
    this.#log.settle(this.#entry, "client-aborted")
    // Lets a generator's memory go at once.
    this.#plan.frames.return?.()
  }
}

const totals = (frames: ReadonlyArray<SimulatedFrame>): { readonly frames: number; readonly tokens: number; readonly usage: boolean } => {
  let count = 0
  let tokens = 0
  let usage = false
  for (const frame of frames) {
    if (frame.partial !== true) count++
    tokens += frame.tokens
    usage ||= frame.usage
  }
  return { frames: count, tokens, usage }
}
