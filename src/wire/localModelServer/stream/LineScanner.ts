/** Finds the lines of newline-delimited JSON whatever the segment boundaries; a line inside one chunk is handed on as offsets. */
import * as Json from "#src/wire/json/json.ts"
import { EventMemory } from "#src/wire/stream/EventMemory.ts"
import { longEventBytes, type LongStrings } from "#src/wire/json/LongStrings.ts"

const LF = 0x0a
const BOM = /^\uFEFF/

/** Called with each line: `bytes[start, end)` includes its line end, and is borrowed like the chunk it came in. */
export interface LineSink {
  readonly line: (bytes: Buffer, start: number, end: number) => void
}

export class LineScanner {
  private readonly sink: LineSink
  private held: Array<Buffer> = []
  private heldLength = 0
  private readonly memory = new EventMemory()

  constructor(sink: LineSink) {
    this.sink = sink
  }

  /** Feeds bytes; answers false when there is no room for a line (the scanner must not be fed again). */
  push(chunk: Buffer): boolean {
    let start = 0
    let at = chunk.indexOf(LF)
    if (this.heldLength > 0 && at !== -1) {
      this.held.push(chunk.subarray(0, at + 1))
      start = at + 1
      this.release()
      at = chunk.indexOf(LF, start)
    }
    while (at !== -1) {
      this.sink.line(chunk, start, at + 1)
      start = at + 1
      at = chunk.indexOf(LF, start)
    }
    if (start < chunk.length) {
      this.held.push(Buffer.from(chunk.subarray(start)))
      this.heldLength += chunk.length - start
    }
    return this.memory.holds(this.heldLength)
  }

  /** The stream ended: a line that lacks nothing but its line end is handed over with one; what was cut is no line. */
  flush(): void {
    const text = Buffer.concat(this.held).toString("utf8").replace(BOM, "")
    if (!Json.isWhole(text)) {
      this.close()
      return
    }
    this.held.push(Buffer.from("\n"))
    this.release()
  }

  /** Nothing more will be fed: what is held is forgotten. */
  close(): void {
    this.held = []
    this.heldLength = 0
    this.memory.holds(0)
  }

  private release(): void {
    const line = this.held.length === 1 ? this.held[0] as Buffer : Buffer.concat(this.held)
    this.close()
    this.sink.line(line, 0, line.length)
  }
}

/** The text of a line without its line end. `long` takes the long strings of a long line. */
export const textOf = (bytes: Buffer, start: number, end: number, long?: LongStrings): string => {
  let stop = end
  if (stop > start && bytes[stop - 1] === LF) stop--
  if (stop > start && bytes[stop - 1] === 0x0d) stop--
  return long !== undefined && end - start > longEventBytes ? long.shorten(bytes, start, stop) : bytes.toString("utf8", start, stop)
}
