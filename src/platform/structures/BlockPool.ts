/**
 * Blocks of memory of one size that are used again and again. Bytes on their way to and from files would otherwise be garbage as fast
 * as they come, and the collector does not hurry for memory outside of its heap.
 */
export class BlockPool {
  /** Of one block, bytes. */
  readonly bytes: number
  readonly #most: number
  readonly #free: Array<Buffer> = []

  /** `most`: blocks that are kept for later. */
  constructor(bytes: number, most: number) {
    this.bytes = bytes
    this.#most = most
  }

  take(): Buffer {
    return this.#free.pop() ?? Buffer.allocUnsafeSlow(this.bytes)
  }

  /** The block must not be used any more. */
  give(block: Buffer): void {
    if (this.#free.length < this.#most) this.#free.push(block)
  }
}
