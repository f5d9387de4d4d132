/** Chunks that wait for the socket, taken out in batches of bounded size without copying large ones. */
export class SendQueue {
  private chunks: Array<Uint8Array> = []
  private first = 0
  /** Bytes in the queue. */
  bytes = 0

  push(chunk: Uint8Array): void {
    if (chunk.byteLength === 0) return
    this.chunks.push(chunk)
    this.bytes += chunk.byteLength
  }

  /** The next bytes, at most `limit` and at least one; the queue must not be empty. */
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
    if (next === chunks.length) {
      this.chunks = []
      this.first = 0
    }
    return batch
  }

  clear(): void {
    this.chunks = []
    this.first = 0
    this.bytes = 0
  }
}
