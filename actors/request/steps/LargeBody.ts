/**
 * A large body that is kept until it has ended, put together in one piece of memory from the start: nothing is joined in the end, which
 * would hold the loop, and other threads may read it without a copy.
 */

/** Without a known length the piece is replaced by one of twice its size. */
const firstPieceBytes = 1024 * 1024

export class LargeBody {
  private piece: Buffer
  /** Bytes so far. */
  length = 0

  /** `declared`: bytes that its head promised, and that may come; 0 when it promised none. */
  constructor(begun: ReadonlyArray<Uint8Array>, declared: number) {
    // Pages that no byte comes for are not touched.
    this.piece = Buffer.from(new SharedArrayBuffer(Math.max(declared, firstPieceBytes)))
    for (const chunk of begun) this.push(chunk)
  }

  /** The bytes are borrowed. */
  push(chunk: Uint8Array): void {
    const end = this.length + chunk.length
    if (end > this.piece.length) {
      const larger = Buffer.from(new SharedArrayBuffer(Math.max(end, 2 * this.piece.length)))
      larger.set(this.piece.subarray(0, this.length))
      this.piece = larger
    }
    this.piece.set(chunk, this.length)
    this.length = end
  }

  get bytes(): Uint8Array {
    return this.piece.length === this.length ? this.piece : this.piece.subarray(0, this.length)
  }
}
