/** What of a stream is held back before its commit point. Without a chunk it holds no memory. */

/** Bytes held before the first content: the head of a stream may repeat the whole request. */
export const MOST_BYTES = 32 * 1024 * 1024
/** Bytes held for stream recovery; a faster stream is released earlier than its time. */
export const RECOVERABLE_BYTES = 32 * 1024
/** Bytes of a stream that is held until its rules were asked. */
export const CHECKED_BYTES = 4 * 1024 * 1024

const nothing: ReadonlyArray<Uint8Array> = []

export class HeldStream {
  #chunks: Array<Uint8Array> | null = null
  /** Of all that was pushed, also after it was taken. */
  bytes = 0

  /** Copies a borrowed chunk; false when `limit` bytes are exceeded. */
  push(chunk: Uint8Array, limit: number): boolean {
    this.bytes += chunk.length
    if (this.bytes > limit) return false
    ;(this.#chunks ??= []).push(Buffer.from(chunk))
    return true
  }

  /** All of it, which is held no more. */
  take(): ReadonlyArray<Uint8Array> {
    const chunks = this.#chunks ?? nothing
    this.#chunks = null
    return chunks
  }
}
