/**
 * A long body in one piece of memory: nothing is joined in the end, which would hold the loop, and other threads may read it without a
 * copy. Pages that no byte came for are not touched. Without a known length the piece is replaced by one of twice its size.
 */
const FIRST_BYTES = 1024 * 1024

export class OnePiece {
  private piece: Buffer
  private used = 0

  /** `declared`: bytes of the whole body; -1 where they are not known. */
  constructor(declared: number) {
    this.piece = Buffer.from(new SharedArrayBuffer(declared === -1 ? FIRST_BYTES : declared))
  }

  /** Copies borrowed bytes. */
  append(bytes: Uint8Array): void {
    const end = this.used + bytes.byteLength
    if (end > this.piece.byteLength) {
      const larger = Buffer.from(new SharedArrayBuffer(Math.max(end, 2 * this.piece.byteLength)))
      larger.set(this.piece.subarray(0, this.used))
      this.piece = larger
    }
    this.piece.set(bytes, this.used)
    this.used = end
  }

  /** What was appended. */
  get bytes(): Uint8Array {
    return this.piece.byteLength === this.used ? this.piece : this.piece.subarray(0, this.used)
  }
}
