/** Reads an upstream's stream (server-sent events, each a whole chunk; the end of the body is the end) into a sink. */
import { ChunkReader } from "./ChunkReader.ts"
import { quickDataOf } from "./frameData.ts"
import { PlainFrame } from "./PlainFrame.ts"
import * as LongIntegers from "#src/wire/longIntegers/longIntegers.ts"
import { longEventBytes } from "#src/wire/json/LongStrings.ts"
import { dataOf, SseScanner } from "#src/wire/stream/SseScanner.ts"
import type { StreamDecoder, StreamSink } from "#src/wire/stream/StreamSink.ts"
import type { TokenUsage } from "#schemas/wire/conversation.ts"

export class GenerateContentDecoder implements StreamDecoder {
  private readonly sink: StreamSink
  private readonly scanner: SseScanner
  private readonly reader: ChunkReader
  private readonly plain = new PlainFrame()
  private broken = false
  private ended = false
  private told: TokenUsage | null = null

  constructor(sink: StreamSink) {
    this.sink = sink
    this.reader = new ChunkReader(sink)
    this.scanner = new SseScanner(this)
  }

  push(chunk: Buffer): boolean {
    if (this.broken) return false
    if (!this.scanner.push(chunk)) this.broken = true
    return !this.broken
  }

  end(): boolean {
    if (this.broken || this.ended) return !this.broken
    this.ended = true
    this.scanner.flush()
    if (this.broken) return false
    if (this.reader.finished && !this.reader.failed) this.sink.done()
    return true
  }

  close(): void {
    this.scanner.close()
  }

  /** One complete event (called by the scanner). */
  event(bytes: Buffer, start: number, end: number): void {
    if (this.broken || this.reader.failed) return
    const isLong = end - start > longEventBytes
    const data = isLong ? dataOf(bytes, start, end, this.sink.long) : quickDataOf(bytes, start, end)
    if (data === null) return
    const { plain, reader } = this
    if (!isLong && plain.fits(data)) {
      const literal = data.slice(plain.start, plain.end)
      if (plain.thought) reader.thought(plain.choice, literal)
      else if (literal !== "") reader.text(plain.choice, literal)
      // Every chunk carries the counts so far; they are what is known when the stream breaks.
      const { usage } = plain
      if (usage !== null && usage !== this.told) {
        this.told = usage
        this.sink.tokens(usage)
      }
      return
    }
    if (data === "" || data.trim() === "[DONE]") return
    const frame = LongIntegers.parseEvent(data, '"functionCall"')
    if (frame === null) {
      this.broken = true
      return
    }
    reader.read(frame)
    if (!isLong) plain.learn(data, frame)
  }
}
