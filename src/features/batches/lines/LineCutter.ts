/** The lines of a file, cut out of its bytes as they arrive: no more than one line and one chunk are held. */
import * as Stream from "effect/Stream"

/** Longest line, bytes. */
export const MOST_LINE_BYTES = 32 * 1024 * 1024

export interface Line {
  /** From 1; empty lines count, too. */
  readonly number: number
  /** Its first byte, and the first byte of the next line. */
  readonly offset: number
  readonly next: number
  /** Without its line feed; null: it is longer than a line may be. */
  readonly bytes: Buffer | null
}

const LINE_FEED = 0x0a
const CARRIAGE_RETURN = 0x0d
const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf])

export class LineCutter {
  #number: number
  #offset: number
  #length = 0
  #parts: Array<Buffer> = []
  #tooLong = false
  readonly #most: number

  constructor(from: { readonly line: number; readonly offset: number } = { line: 1, offset: 0 }, most = MOST_LINE_BYTES) {
    this.#number = from.line
    this.#offset = from.offset
    this.#most = most
  }

  /** The lines that end in the chunk. Their bytes are their own. */
  push(chunk: Uint8Array): ReadonlyArray<Line> {
    const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength)
    const lines: Array<Line> = []
    let start = 0
    for (let end = bytes.indexOf(LINE_FEED); end !== -1; end = bytes.indexOf(LINE_FEED, start)) {
      this.#take(bytes.subarray(start, end))
      lines.push(this.#finish(1))
      start = end + 1
    }
    this.#take(bytes.subarray(start))
    return lines
  }

  /** The last line, where no line feed ends it. */
  end(): ReadonlyArray<Line> {
    return this.#length === 0 ? [] : [this.#finish(0)]
  }

  #take(part: Buffer): void {
    this.#length += part.length
    if (this.#length > this.#most) {
      this.#tooLong = true
      this.#parts = []
    } else if (part.length > 0) this.#parts.push(Buffer.from(part))
  }

  #finish(feed: number): Line {
    const [whole, ...rest] = this.#parts
    let bytes = this.#tooLong ? null : whole !== undefined && rest.length === 0 ? whole : Buffer.concat(this.#parts)
    if (bytes !== null && this.#offset === 0 && bytes.subarray(0, 3).equals(BYTE_ORDER_MARK)) bytes = bytes.subarray(3)
    if (bytes !== null && bytes[bytes.length - 1] === CARRIAGE_RETURN) bytes = bytes.subarray(0, -1)
    const line = { number: this.#number, offset: this.#offset, next: this.#offset + this.#length + feed, bytes }
    this.#number++
    this.#offset = line.next
    this.#length = 0
    this.#parts = []
    this.#tooLong = false
    return line
  }
}

const space = /^[ \t]*$/

/** Nothing stands in it. */
export const isBlank = ({ bytes }: Line): boolean => bytes !== null && (bytes.length === 0 || (bytes.length < 64 && space.test(bytes.toString("latin1"))))

/** The lines of a stream of bytes, those without content left out, in groups as the bytes arrive. */
export const groupsOf = <E, R>(content: Stream.Stream<Uint8Array, E, R>, from?: { readonly line: number; readonly offset: number }): Stream.Stream<ReadonlyArray<Line>, E, R> =>
  Stream.suspend(() => {
    const cutter = new LineCutter(from)
    return Stream.map(content, (chunk) => cutter.push(chunk)).pipe(
      Stream.concat(Stream.suspend(() => Stream.succeed(cutter.end()))),
      Stream.map((lines) => lines.filter((line) => !isBlank(line)))
    )
  })
