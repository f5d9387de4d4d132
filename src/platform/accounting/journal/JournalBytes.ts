/**
 * The bytes of the journal: frames with a checksum, written in place into one growing buffer and read back.
 *
 * Frame: byte 0 = 0xA8, bytes 1-3 payload length (LE), bytes 4-7 checksum of the payload (MurmurHash3, LE), then the payload.
 * In a payload numbers are doubles, and a text is a head of two bytes (its length doubled, plus one when it is wide; 0xFFFF for
 * null) before its units: one byte each where all fit, else UTF-16, so that even a lone surrogate comes back.
 *
 * By hand, because every call into C++ costs as much as all the rest: crc32 of a small view takes 275 ns, this checksum 40.
 */

const FRAME_HEADER_BYTES = 8
/** Longest payload that is written or believed, bytes. */
const MAX_PAYLOAD_BYTES = 131_072
/** Longest text kept per field, UTF-16 units: a client must not be able to fill the journal with a model name. */
export const MAX_FIELD_LENGTH = 1024

/** No other format's frame begins like this: version 1 had 0xA7. */
export const MARKER = 0xa8
const NULL_TEXT = 0xffff
/** More than any payload of the journal takes: a context of twelve wide texts of full length has 25 kB. */
const ROOM_BYTES = 32_768

/** MurmurHash3 (32 bits) of a stretch: any change within one word is noticed for certain, any other but for one in 2^32. */
const checksum = (bytes: Uint8Array, view: DataView, from: number, to: number): number => {
  let hash = to - from
  let at = from
  for (; at + 4 <= to; at += 4) {
    let word = Math.imul(view.getInt32(at, true), 0xcc9e2d51)
    word = (word << 15) | (word >>> 17)
    hash ^= Math.imul(word, 0x1b873593)
    hash = (hash << 13) | (hash >>> 19)
    hash = (Math.imul(hash, 5) + 0xe6546b64) | 0
  }
  let rest = 0
  for (let shift = 0; at < to; at++, shift += 8) rest |= bytes[at]! << shift
  rest = Math.imul(rest, 0xcc9e2d51)
  rest = (rest << 15) | (rest >>> 17)
  hash ^= Math.imul(rest, 0x1b873593)
  hash ^= hash >>> 16
  hash = Math.imul(hash, 0x85ebca6b)
  hash ^= hash >>> 13
  hash = Math.imul(hash, 0xc2b2ae35)
  return hash ^ (hash >>> 16)
}

/** A growing buffer of frames, reused from write to write. */
export class FrameBuffer {
  bytes: Buffer = Buffer.allocUnsafeSlow(65_536)
  length = 0
  #view = new DataView(this.bytes.buffer)

  clear(): void {
    this.length = 0
  }

  /** Begins a frame and answers its offset, for `end`. */
  begin(kind: number): number {
    const offset = this.length
    if (offset + ROOM_BYTES > this.bytes.length) this.#grow()
    this.bytes[offset] = MARKER
    this.bytes[offset + FRAME_HEADER_BYTES] = kind
    this.length = offset + FRAME_HEADER_BYTES + 1
    return offset
  }

  /** Length and checksum of the frame that began at `offset`. */
  end(offset: number): void {
    const from = offset + FRAME_HEADER_BYTES
    const size = this.length - from
    this.bytes[offset + 1] = size & 0xff
    this.bytes[offset + 2] = (size >>> 8) & 0xff
    this.bytes[offset + 3] = size >>> 16
    this.#view.setInt32(offset + 4, checksum(this.bytes, this.#view, from, this.length), true)
  }

  byte(value: number): void {
    this.bytes[this.length++] = value
  }

  number(value: number): void {
    this.#view.setFloat64(this.length, value, true)
    this.length += 8
  }

  /** A text, clipped to the longest that is kept. */
  text(text: string | null): void {
    const bytes = this.bytes
    const at = this.length
    if (text === null) {
      bytes[at] = NULL_TEXT & 0xff
      bytes[at + 1] = NULL_TEXT >>> 8
      this.length = at + 2
      return
    }
    const length = text.length > MAX_FIELD_LENGTH ? MAX_FIELD_LENGTH : text.length
    for (let i = 0; i < length; i++) {
      const unit = text.charCodeAt(i)
      if (unit > 0xff) return this.#wide(text, length)
      bytes[at + 2 + i] = unit
    }
    bytes[at] = (length << 1) & 0xff
    bytes[at + 1] = length >>> 7
    this.length = at + 2 + length
  }

  #wide(text: string, length: number): void {
    const at = this.length
    this.#view.setUint16(at, (length << 1) | 1, true)
    for (let i = 0; i < length; i++) this.#view.setUint16(at + 2 + 2 * i, text.charCodeAt(i), true)
    this.length = at + 2 + 2 * length
  }

  #grow(): void {
    const bytes = Buffer.allocUnsafeSlow(this.bytes.length * 2)
    bytes.set(this.bytes.subarray(0, this.length))
    this.bytes = bytes
    this.#view = new DataView(bytes.buffer)
  }
}

/** Reads frames and their fields out of bytes; a field beyond the end of the bytes throws. */
export class FrameReader {
  readonly bytes: Buffer
  /** Where the next field is read. */
  at = 0
  /** Where the frame ends that was entered last. */
  end = 0
  readonly #view: DataView

  constructor(bytes: Uint8Array) {
    this.bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  }

  /** Where the frame at `offset` ends, or -1 when there is no whole, sound frame; then `at` is its payload. */
  enter(offset: number): number {
    const { bytes } = this
    const from = offset + FRAME_HEADER_BYTES
    if (from > bytes.length || bytes[offset] !== MARKER) return -1
    const size = bytes[offset + 1]! | (bytes[offset + 2]! << 8) | (bytes[offset + 3]! << 16)
    const end = from + size
    if (size === 0 || size > MAX_PAYLOAD_BYTES || end > bytes.length) return -1
    if (this.#view.getInt32(offset + 4, true) !== checksum(bytes, this.#view, from, end)) return -1
    this.at = from
    this.end = end
    return end
  }

  byte(): number {
    return this.#view.getUint8(this.at++)
  }

  number(): number {
    this.at += 8
    return this.#view.getFloat64(this.at - 8, true)
  }

  text(): string {
    return this.textOrNull() ?? ""
  }

  textOrNull(): string | null {
    const head = this.#view.getUint16(this.at, true)
    this.at += 2
    if (head === NULL_TEXT) return null
    const size = (head & 1) === 1 ? head & 0xfffe : head >>> 1
    this.at += size
    return this.bytes.toString((head & 1) === 1 ? "utf16le" : "latin1", this.at - size, this.at)
  }
}
