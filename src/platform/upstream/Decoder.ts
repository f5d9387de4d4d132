/**
 * Undoes a content-encoding that the upstream used although `accept-encoding: identity` was sent.
 *
 * Off the hot path: bytes pass through a node zlib stream, which keeps its own backpressure and calls back in a later turn.
 */
import * as zlib from "node:zlib"
import type { Transform } from "node:stream"

export interface Receiver {
  readonly onData: (chunk: Uint8Array) => void
  readonly onEnd: () => void
  readonly onError: (reason: "truncated" | "protocol", message: string) => void
  /** The decoder has enough input for now; `onReady` follows. */
  readonly onFull: () => void
  readonly onReady: () => void
}

/** Decoded bytes that are always accepted; above it the ratio counts. */
const freeBytes = 16 * 1024 * 1024
/** Largest accepted ratio of decoded to received bytes: text compresses up to about 1:50, a bomb 1:1000. */
const maxRatio = 200

type Factory = () => Transform

const factories: Readonly<Record<string, Factory>> = {
  gzip: () => zlib.createGunzip(),
  "x-gzip": () => zlib.createGunzip(),
  br: () => zlib.createBrotliDecompress(),
  zstd: () => zlib.createZstdDecompress()
}

/** Whether the encoding can be undone; `identity` and an empty value need no decoder. */
export const supports = (encoding: string): boolean => encoding === "deflate" || Object.hasOwn(factories, encoding)

/** `content-encoding` as one lower-case name. */
export const encodingOf = (value: string): string => {
  const name = value.trim().toLowerCase()
  return name === "identity" ? "" : name
}

export class Decoder {
  readonly #encoding: string
  readonly #receiver: Receiver
  #stream: Transform | null = null
  #received = 0
  #decoded = 0
  #closed = false
  #paused = false

  constructor(encoding: string, receiver: Receiver) {
    this.#encoding = encoding
    this.#receiver = receiver
  }

  /** The chunk is the decoder's from now on. */
  write(chunk: Uint8Array): void {
    if (this.#closed || chunk.length === 0) return
    this.#received += chunk.length
    this.#stream ??= this.#open(chunk)
    if (!this.#stream.write(chunk)) this.#receiver.onFull()
  }

  /** The compressed body is complete; `onEnd` follows once all of it was decoded. */
  end(): void {
    if (this.#closed) return
    if (this.#stream === null) {
      this.#closed = true
      this.#receiver.onEnd()
    } else this.#stream.end()
  }

  pause(): void {
    this.#paused = true
    this.#stream?.pause()
  }

  resume(): void {
    this.#paused = false
    this.#stream?.resume()
  }

  close(): void {
    this.#closed = true
    this.#stream?.destroy()
  }

  #open(first: Uint8Array): Transform {
    const stream = this.#encoding === "deflate"
      // "deflate" means zlib, but some servers send it without the zlib header.
      ? ((first[0] ?? 0) & 0x0f) === 8 ? zlib.createInflate() : zlib.createInflateRaw()
      : (factories[this.#encoding] ?? zlib.createGunzip)()
    stream.on("data", (chunk: Buffer) => {
      if (this.#closed) return
      this.#decoded += chunk.length
      if (this.#decoded > freeBytes && this.#decoded > this.#received * maxRatio) {
        this.#fail("protocol", `the body decodes to more than ${maxRatio} times its size (${this.#encoding}); refused as a bomb`)
      } else this.#receiver.onData(chunk)
    })
    stream.on("drain", () => {
      if (!this.#closed) this.#receiver.onReady()
    })
    stream.on("end", () => {
      if (this.#closed) return
      this.#closed = true
      this.#receiver.onEnd()
    })
    stream.on("error", (error: Error) => {
      const early = /unexpected end/i.test(error.message)
      this.#fail(early ? "truncated" : "protocol", `the ${this.#encoding} body cannot be decoded: ${error.message}`)
    })
    if (this.#paused) stream.pause()
    return stream
  }

  #fail(reason: "truncated" | "protocol", message: string): void {
    if (this.#closed) return
    this.#closed = true
    this.#stream?.destroy()
    this.#receiver.onError(reason, message)
  }
}
