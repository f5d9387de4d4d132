/**
 * Writes a request body of pieces on a socket: what is in memory as it is, what is stored block by block, no faster than the socket
 * takes it. One block is read while the one before is on its way.
 */
import type { Socket } from "node:net"
import type { Pieces } from "#actors/request/ports/Body.ts"
import { isStored } from "#actors/request/ports/Body.ts"
import { BlockPool } from "#src/platform/structures/BlockPool.ts"
import { BodyLost } from "#src/platform/upstream/failures.ts"

/** Bytes that are read and written at a time. */
const blockBytes = 128 * 1024
/** Blocks and pieces of one body that the socket has not taken yet. */
const mostWaiting = 2
/** Blocks that are kept between calls: 8 MB. */
const blocks = new BlockPool(blockBytes, 64)

export class BodySender {
  readonly #socket: Socket
  readonly #body: Pieces
  readonly #onLost: (error: BodyLost) => void
  #release: (() => void) | null = null
  /** The piece that is next, and how much of it was read. */
  #next = 0
  #at = 0
  #waiting = 0
  #isReading = false
  #isStopped = false

  /** `onLost`: the rest of the body cannot be read. */
  constructor(socket: Socket, body: Pieces, onLost: (error: BodyLost) => void) {
    this.#socket = socket
    this.#body = body
    this.#onLost = onLost
  }

  /** Everything was handed to the kernel. */
  get isDone(): boolean {
    return this.#next === this.#body.list.length && this.#waiting === 0
  }

  start(): void {
    this.#release = this.#body.hold()
    if (this.#release === null) this.#lose("it is not kept any more")
    else this.#send()
  }

  /** Writes no more: the connection is closed, or another call's. */
  stop(): void {
    this.#isStopped = true
    // A block that is being read belongs to its reader, and so does what it is read from.
    if (!this.#isReading) this.#releaseBody()
  }

  #releaseBody(): void {
    this.#release?.()
    this.#release = null
  }

  #send(): void {
    while (!this.#isStopped && !this.#isReading && this.#waiting < mostWaiting) {
      const piece = this.#body.list[this.#next]
      if (piece === undefined) return this.#releaseBody()
      if (isStored(piece)) {
        if (this.#at < piece.length) return this.#read(piece, Math.min(blockBytes, piece.length - this.#at))
      } else if (piece.length > 0) this.#write(piece, null)
      this.#next++
      this.#at = 0
    }
  }

  #read(piece: Extract<Pieces["list"][number], { readonly read: unknown }>, length: number): void {
    const block = blocks.take()
    this.#isReading = true
    piece.read(this.#at, block.subarray(0, length), (failure, bytes) => {
      this.#isReading = false
      if (this.#isStopped || failure !== null || bytes === 0) {
        blocks.give(block)
        if (this.#isStopped) this.#releaseBody()
        else this.#lose(failure === null ? "it is shorter than it was" : failure.message)
        return
      }
      this.#at += bytes
      this.#write(block.subarray(0, bytes), block)
      this.#send()
    })
  }

  #write(bytes: Uint8Array, block: Buffer | null): void {
    this.#waiting++
    this.#socket.write(bytes, () => {
      this.#waiting--
      if (block !== null) blocks.give(block)
      this.#send()
    })
  }

  #lose(why: string): void {
    this.stop()
    this.#onLost(new BodyLost(why))
  }
}
