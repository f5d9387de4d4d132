/**
 * What a pass-through tap forwards of the bytes it is fed: ranges of the upstream's own chunks. Almost always it is one range that
 * is the whole chunk, which is then handed on as it came.
 */
export class Ranges {
  private source: Buffer | null = null
  private from = 0
  private to = 0
  private pieces: Array<Buffer> | null = null

  /** Adds `bytes[start, end)`; neighbours grow together. */
  add(bytes: Buffer, start: number, end: number): void {
    if (this.source === bytes && this.to === start) {
      this.to = end
      return
    }
    if (this.source !== null) (this.pieces ??= []).push(this.source.subarray(this.from, this.to))
    this.source = bytes
    this.from = start
    this.to = end
  }

  /** Everything added since the last call; null for nothing. */
  take(): Buffer | null {
    const { source } = this
    if (source === null) return null
    this.source = null
    const last = this.from === 0 && this.to === source.length ? source : source.subarray(this.from, this.to)
    const { pieces } = this
    if (pieces === null) return last
    this.pieces = null
    pieces.push(last)
    return Buffer.concat(pieces)
  }
}
