/**
 * A strict, incremental parser of HTTP/1.x responses: bytes in, what became of them in fields, no callback.
 *
 * A read is parsed whole before any callback, and its body bytes are one piece of the read itself, in which the chunks were moved
 * together: a read with several chunks costs one callback and no allocation.
 */
import { ResponseHead, chunked, isValueByte, untilClose } from "./ResponseHead.ts"

const cr = 13
const lf = 10
const semicolon = 59

const endOfHead = Buffer.from("\r\n\r\n", "latin1")
const startOfHead = Buffer.from("HTTP/1.", "latin1")

/** Digits of a chunk size, leading zeros included. */
const maxSizeDigits = 16
/** Bytes of one chunk's extensions. */
const maxExtensionBytes = 4 * 1024

/** A larger buffer for split heads is not kept for the next response. */
const keptStashBytes = 4 * 1024

/** RFC 9112, 7.1.1, without blanks around the signs. */
const extensionPattern = /^(?:;[\w!#$%&'*+.^`|~-]+(?:=(?:[\w!#$%&'*+.^`|~-]+|"(?:[\t !#-[\]-~\x80-\xff]|\\[\t -~\x80-\xff])*"))?)+$/

/** Value of a hex digit; 255 for any other byte. */
const hexValues = new Uint8Array(256).fill(255)
for (let value = 0; value < 16; value++) {
  hexValues[value.toString(16).charCodeAt(0)] = value
  hexValues[value.toString(16).toUpperCase().charCodeAt(0)] = value
}

const atHead = 0
const atLength = 1
const atClose = 2
const atChunkSize = 3
const atChunkExtension = 4
const atChunkSizeEnd = 5
const atChunkData = 6
const atChunkDataCr = 7
const atChunkDataLf = 8
const atTrailer = 9
const atEnd = 10
const atFailure = 11

/** Begin and end of the body bytes in the read that is being parsed; shared, because parsing never calls out. */
const segments: Array<number> = []

export class ResponseParser {
  readonly head = new ResponseHead()
  /** True when a final head was read and not taken yet; the reader sets it back. */
  headReady = false
  /** Body bytes that were not taken yet, borrowed until the next read; the reader sets it back to null. */
  body: Buffer | null = null
  /** `body` lies in memory that the next read goes to. */
  #borrowed = false
  /** The response is complete. */
  complete = false
  /** What broke the rules; null while nothing has. */
  failure: string | null = null
  /** True when the peer closed before the response was complete. */
  cut = false
  /** True when bytes followed the end of the response. */
  surplus = false
  readonly #maxHeadBytes: number
  #state = atHead
  #bodiless = false
  /** Bytes of the body, or of the current chunk, that are still to come. */
  #remaining = 0
  #digits = 0
  #extension = ""
  /** The beginning of a head or trailer whose end has not arrived. */
  #stash: Buffer | null = null
  #stashed = 0

  constructor(maxHeadBytes: number) {
    this.#maxHeadBytes = maxHeadBytes
  }

  /** Prepares for the next response; `bodiless` when the request was a HEAD. */
  reset(bodiless: boolean): void {
    this.headReady = false
    this.body = null
    this.complete = false
    this.failure = null
    this.cut = false
    this.surplus = false
    this.#state = atHead
    this.#bodiless = bodiless
    this.#stashed = 0
    if (this.#stash !== null && this.#stash.length > keptStashBytes) this.#stash = null
  }

  /** Copies the body bytes that were not taken: the read that they are a part of may be reused afterwards. */
  own(): void {
    if (this.body === null || !this.#borrowed) return
    this.body = Buffer.from(this.body)
    this.#borrowed = false
  }

  /** Parses the first `size` bytes of `bytes`, which may be reused after `own`, and in which the body's bytes are moved together. */
  feed(bytes: Buffer, size: number): void {
    if (size === 0) return
    if (this.#stashed > 0) {
      const searched = this.#stashed
      const stash = this.#append(bytes, 0, size)
      this.#stashed = 0
      this.#parse(stash, searched + size, searched)
    } else this.#parse(bytes, size, 0)
  }

  /** The peer closed its side: completes a body without length, and cuts any other. */
  eof(): void {
    if (this.#state === atClose) {
      this.#state = atEnd
      this.complete = true
    } else if (!this.complete && this.failure === null) this.cut = true
  }

  #parse(bytes: Buffer, size: number, searched: number): void {
    let at = 0
    let used = 0
    let total = 0
    while (at < size) {
      switch (this.#state) {
        case atHead: {
          const end = bytes.indexOf(endOfHead, Math.max(at, searched - 3))
          // A match beyond `size` is what an earlier read left in the buffer.
          if (end < 0 || end + 4 > size) {
            this.#hold(bytes, at, size, searched, true)
            at = size
            break
          }
          if (end + 4 - at > this.#maxHeadBytes) this.#overLimit()
          else {
            const problem = this.head.read(bytes, at, end + 2)
            if (problem !== null) this.#fail(problem)
            else this.#begin()
          }
          at = end + 4
          break
        }
        case atLength:
        case atChunkData: {
          const end = Math.min(size, at + this.#remaining)
          segments[used++] = at
          segments[used++] = end
          total += end - at
          this.#remaining -= end - at
          at = end
          if (this.#remaining > 0) break
          if (this.#state === atLength) this.#finish()
          else if (at + 1 < size && bytes[at] === cr && bytes[at + 1] === lf) {
            at += 2
            this.#nextChunk()
          } else this.#state = atChunkDataCr
          break
        }
        case atClose:
          segments[used++] = at
          segments[used++] = size
          total += size - at
          at = size
          break
        case atChunkSize:
          at = this.#size(bytes, at, size)
          break
        case atChunkExtension:
          at = this.#extend(bytes, at, size)
          break
        case atChunkSizeEnd:
          if (bytes[at++] !== lf) this.#fail("a chunk size does not end with CRLF")
          else this.#state = this.#remaining === 0 ? atTrailer : atChunkData
          break
        case atChunkDataCr:
          if (bytes[at++] !== cr) this.#fail("a chunk does not end with CRLF")
          else this.#state = atChunkDataLf
          break
        case atChunkDataLf:
          if (bytes[at++] !== lf) this.#fail("a chunk does not end with CRLF")
          else this.#nextChunk()
          break
        case atTrailer:
          at = this.#trailer(bytes, at, size, searched)
          break
        case atEnd:
          this.surplus = true
          at = size
          break
        default:
          at = size
      }
    }
    if (total > 0) this.#collect(bytes, used, total)
  }

  #collect(bytes: Buffer, used: number, total: number): void {
    const start = segments[0] ?? 0
    let to = segments[1] ?? 0
    for (let i = 2; i < used; i += 2) {
      const from = segments[i] ?? 0
      const end = segments[i + 1] ?? 0
      bytes.copyWithin(to, from, end)
      to += end - from
    }
    const out = bytes.subarray(start, start + total)
    this.#borrowed = this.body === null
    this.body = this.body === null ? out : Buffer.concat([this.body, out])
  }

  /** A whole head was read. */
  #begin(): void {
    const { length, status } = this.head
    if (status === 101) return this.#fail("it changes the protocol, which the gateway did not ask for (status 101)")
    if (status < 200) return
    this.headReady = true
    if (this.#bodiless || status === 204 || status === 304) this.#finish()
    else if (length === chunked) this.#nextChunk()
    else if (length === untilClose) {
      this.#state = atClose
      this.head.keepAlive = false
    } else if (length === 0) this.#finish()
    else {
      this.#state = atLength
      this.#remaining = length
    }
  }

  #nextChunk(): void {
    this.#state = atChunkSize
    this.#remaining = 0
    this.#digits = 0
  }

  #finish(): void {
    this.#state = atEnd
    this.complete = true
  }

  #fail(problem: string): void {
    this.#state = atFailure
    this.failure = problem
  }

  #overLimit(): void {
    this.#fail(`the response head is over the limit of ${this.#maxHeadBytes} bytes`)
  }

  /** Reads digits; answers where it stopped. */
  #size(bytes: Buffer, from: number, size: number): number {
    let at = from
    let value = this.#remaining
    let digits = this.#digits
    for (; at < size; at++) {
      const digit = hexValues[bytes[at] ?? 0] ?? 255
      if (digit === 255) break
      value = value * 16 + digit
      digits++
    }
    if (digits > maxSizeDigits || value > Number.MAX_SAFE_INTEGER) {
      this.#fail("a chunk size is too large")
      return at
    }
    this.#remaining = value
    this.#digits = digits
    if (at === size) return at
    const next = bytes[at]
    if (digits > 0 && next === cr) {
      if (at + 1 < size && bytes[at + 1] === lf) {
        this.#state = value === 0 ? atTrailer : atChunkData
        return at + 2
      }
      this.#state = atChunkSizeEnd
    } else if (digits > 0 && next === semicolon) {
      this.#state = atChunkExtension
      this.#extension = ""
      return at
    } else this.#fail("a chunk size is not a hex number")
    return at + 1
  }

  /** Reads extensions, which are checked and dropped; answers where it stopped. */
  #extend(bytes: Buffer, from: number, size: number): number {
    for (let at = from; at < size; at++) {
      const byte = bytes[at] ?? 0
      if (byte === cr) {
        if (extensionPattern.test(this.#extension)) this.#state = atChunkSizeEnd
        else this.#fail("a chunk extension cannot be read")
        return at + 1
      }
      if (!isValueByte(byte) || this.#extension.length >= maxExtensionBytes) {
        this.#fail("a chunk extension is too long or holds a character that is not allowed")
        return at
      }
      this.#extension += String.fromCharCode(byte)
    }
    return size
  }

  /** Reads the lines after the last chunk; answers where it stopped. */
  #trailer(bytes: Buffer, at: number, size: number, searched: number): number {
    if (bytes[at] === cr && at + 1 < size) {
      if (bytes[at + 1] === lf) this.#finish()
      else this.#fail("the body does not end with CRLF")
      return at + 2
    }
    const end = bytes[at] === cr ? -1 : bytes.indexOf(endOfHead, Math.max(at, searched - 3))
    if (end < 0 || end + 4 > size) {
      this.#hold(bytes, at, size, searched, false)
      return size
    }
    if (end + 4 - at > this.#maxHeadBytes) this.#overLimit()
    else {
      const problem = this.head.readTrailers(bytes, at, end + 2)
      if (problem !== null) this.#fail(problem)
      else this.#finish()
    }
    return end + 4
  }

  /** Keeps the lines from `at` on until more arrives, and refuses now what no further byte can heal. */
  #hold(bytes: Buffer, at: number, size: number, searched: number, head: boolean): void {
    if (size - at > this.#maxHeadBytes) return this.#overLimit()
    if (head) {
      for (let i = 0; i < startOfHead.length && at + i < size; i++) {
        if (bytes[at + i] !== startOfHead[i]) return this.#fail("the status line does not begin with HTTP/1.0 or HTTP/1.1")
      }
    }
    for (let i = Math.max(at, searched); i < size; i++) {
      const byte = bytes[i] ?? 0
      const before = i > at ? bytes[i - 1] : 0
      if (byte === 0 || (byte === lf) !== (before === cr)) return this.#fail("a line holds a NUL, or a CR or LF of its own")
    }
    if (bytes === this.#stash && at === 0) this.#stashed = size
    else {
      // What stands before `at` in the old stash may be body bytes, which are still to be taken.
      if (bytes === this.#stash) this.#stash = null
      this.#stashed = 0
      this.#append(bytes, at, size)
    }
  }

  #append(bytes: Buffer, from: number, to: number): Buffer {
    const needed = this.#stashed + to - from
    let stash = this.#stash
    if (stash === null || stash.length < needed) {
      const larger = Buffer.allocUnsafeSlow(Math.max(needed, 2 * (stash?.length ?? 512)))
      stash?.copy(larger, 0, 0, this.#stashed)
      stash = this.#stash = larger
    }
    bytes.copy(stash, this.#stashed, from, to)
    this.#stashed = needed
    return stash
  }
}
