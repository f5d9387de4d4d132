/**
 * A large body in one piece of memory that grows: nothing is joined in the end, which would hold the loop, and other threads may read
 * it without a copy. Pages that no byte came for are not touched.
 */

/** The first piece of a body of unknown length; a piece that is full is replaced by one of twice its size. */
const FIRST_BYTES = 1024 * 1024

export class SharedBytes {
  #piece: Buffer
  #used = 0

  /** `expected`: bytes of the whole body; null where they are not known. */
  constructor(expected: number | null) {
    this.#piece = Buffer.from(new SharedArrayBuffer(expected ?? FIRST_BYTES))
  }

  /** Copies borrowed bytes. */
  append(bytes: Uint8Array): void {
    const end = this.#used + bytes.byteLength
    if (end > this.#piece.byteLength) {
      const larger = Buffer.from(new SharedArrayBuffer(Math.max(end, 2 * this.#piece.byteLength)))
      larger.set(this.#piece.subarray(0, this.#used))
      this.#piece = larger
    }
    this.#piece.set(bytes, this.#used)
    this.#used = end
  }

  /** What was appended; a view of the piece, not a copy. */
  get bytes(): Uint8Array {
    return this.#piece.byteLength === this.#used ? this.#piece : this.#piece.subarray(0, this.#used)
  }
}
