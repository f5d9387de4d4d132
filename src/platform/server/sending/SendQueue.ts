/**
 * Chunks that wait for the socket, taken out in batches of bounded size without copying large ones. A borrowed chunk is copied if
 * it has to wait, into memory that the queue keeps: a client that is always a little behind costs no allocation per chunk.
 */
const ROOM_STEP_BYTES = 16 * 1024
/** A longer rest is no stream's, and does not keep its room. */
const ROOM_BYTES = 128 * 1024
/** Bytes in the queue at which a producer must wait for the flush. */
export const HIGH_WATER_BYTES = 64 * 1024

export const bytesOf = (text: Uint8Array | string): Uint8Array => typeof text === "string" ? Buffer.from(text) : text

export class SendQueue {
  private chunks: Array<Uint8Array> = []
  private first = 0
  private room: Buffer | undefined
  /** A chunk in the queue lies in the room. */
  private occupied = false
  /** Bytes in the queue. */
  bytes = 0

  push(chunk: Uint8Array): void {
    if (chunk.byteLength === 0) return
    this.chunks.push(chunk)
    this.bytes += chunk.byteLength
  }

  /** Copies what the queue still has of `borrowed`, the chunk that was pushed last. */
  own(borrowed: Uint8Array): void {
    if (this.bytes === 0 || borrowed.byteLength === 0) return
    const last = this.chunks.length - 1
    this.chunks[last] = this.kept(this.chunks[last]!)
  }

  /** The next bytes, at most `limit` and at least one, to be used before anything is pushed; the queue must not be empty. */
  take(limit: number): Uint8Array {
    const chunks = this.chunks
    const first = chunks[this.first]!
    if (first.byteLength > limit) {
      chunks[this.first] = first.subarray(limit)
      this.bytes -= limit
      return first.subarray(0, limit)
    }
    let size = first.byteLength
    let next = this.first + 1
    while (next < chunks.length && size + chunks[next]!.byteLength <= limit) {
      size += chunks[next]!.byteLength
      next++
    }
    const batch = next === this.first + 1 ? first : Buffer.concat(chunks.slice(this.first, next), size)
    this.bytes -= size
    this.first = next
    if (next === chunks.length) this.reset()
    return batch
  }

  clear(): void {
    this.reset()
    this.bytes = 0
    this.room = undefined
  }

  private kept(chunk: Uint8Array): Uint8Array {
    const length = chunk.byteLength
    if (this.occupied || length > ROOM_BYTES) return Buffer.from(chunk)
    if (this.room === undefined || this.room.length < length) {
      this.room = Buffer.allocUnsafeSlow(Math.ceil(length / ROOM_STEP_BYTES) * ROOM_STEP_BYTES)
    }
    this.occupied = true
    this.room.set(chunk)
    return this.room.subarray(0, length)
  }

  private reset(): void {
    this.chunks = []
    this.first = 0
    this.occupied = false
  }
}
