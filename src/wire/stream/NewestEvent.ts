/** The newest event of a stream, unparsed: it is looked at once, when the stream ends otherwise than it should. */

/** A larger copy is not kept for the next event. */
const keptBytes = 64 * 1024

export class NewestEvent {
  private source: Buffer | null = null
  private start = 0
  private end = 0
  private room: Buffer | null = null

  /** `bytes[start, end)`, borrowed until `own`. */
  note(bytes: Buffer, start: number, end: number): void {
    this.source = bytes
    this.start = start
    this.end = end
  }

  /** Copies the event, because the read that it is a part of is borrowed: one copy per read. */
  own(): void {
    const { end, source, start } = this
    if (source === null || source === this.room) return
    const size = end - start
    let room = this.room
    if (room === null || room.length < size || room.length > keptBytes) room = this.room = Buffer.allocUnsafe(size)
    source.copy(room, 0, start, end)
    this.note(room, 0, size)
  }

  /** Null before the first one. */
  get bytes(): Buffer | null {
    return this.source === null ? null : this.source.subarray(this.start, this.end)
  }
}
