/**
 * A stream as clients without `alt=sse` read it: one JSON array whose items are the data of the events. It is written as it comes;
 * between two items stands nothing but white space, so that heartbeats are line ends.
 */
import * as EventData from "#src/wire/eventData.ts"
import type { SseScanner } from "#src/wire/stream/SseScanner.ts"

const opening = Buffer.from("[")
const between = Buffer.from(",\r\n")
const closing = Buffer.from("\r\n]")
const empty = Buffer.from("[]")
const whiteSpace = Buffer.from("\n")
const nothing = Buffer.alloc(0)

export class JsonArray {
  private readonly scanner: SseScanner
  private out: Array<Buffer> = []
  private hasItems = false

  constructor() {
    this.scanner = EventData.scanner((data) => {
      // The scanner's bytes are borrowed.
      this.out.push(this.hasItems ? between : opening, Buffer.from(data))
      this.hasItems = true
    })
  }

  /** Bytes of the array for bytes of events: empty within an event, a line end for what holds no data; null when an event is too long. */
  push(chunk: Buffer): Buffer | null {
    if (chunk.length === 0) return nothing
    if (!this.scanner.push(chunk)) return null
    return this.out.length > 0 ? this.take() : this.scanner.held === 0 ? whiteSpace : nothing
  }

  /** The rest, with the end of the array. */
  end(): Buffer {
    this.scanner.flush()
    this.out.push(this.hasItems ? closing : empty)
    return this.take()
  }

  /** Nothing more will be fed. */
  close(): void {
    this.scanner.close()
  }

  private take(): Buffer {
    const bytes = Buffer.concat(this.out)
    this.out = []
    return bytes
  }
}
