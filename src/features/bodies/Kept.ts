/** The first bytes of one body, copied, and how many there were. */
import type { Body } from "#actors/request/ports/Body.ts"
import { isStored } from "#actors/request/ports/Body.ts"
import type { HeldBytes } from "#src/platform/structures/HeldBytes.ts"

export class Kept {
  /** Bytes of the whole body. */
  bytes = 0
  /** Bytes that are copied. */
  held = 0
  readonly #room: HeldBytes
  #left: number
  #chunks: Array<Buffer> = []

  /** `most`: bytes that are copied at most; fewer when there is no `room`. */
  constructor(most: number, room: HeldBytes) {
    this.#left = most
    this.#room = room
  }

  /** The bytes may be borrowed. */
  push(chunk: Uint8Array): void {
    this.bytes += chunk.length
    if (this.#left === 0 || chunk.length === 0) return
    const length = Math.min(chunk.length, this.#left)
    if (!this.#room.take(length)) {
      this.#left = 0
      return
    }
    this.#left -= length
    this.held += length
    this.#chunks.push(Buffer.from(chunk.subarray(0, length)))
  }

  /** A body that is not in memory counts, and what stands behind it is not copied. */
  pushBody(body: Body | string | null): void {
    if (body === null) return
    if (typeof body === "string") this.push(Buffer.from(body))
    else if (body instanceof Uint8Array) this.push(body)
    else {
      for (const piece of body.list) {
        if (isStored(piece)) this.skip(piece.length)
        else this.push(piece)
      }
    }
  }

  /** Bytes that are counted alone; what follows them is not copied either. */
  skip(bytes: number): void {
    this.bytes += bytes
    this.#left = 0
  }

  get isCut(): boolean {
    return this.bytes > this.held
  }

  /** The copied bytes as text; null when they are no text. */
  get text(): string | null {
    try {
      // A character that the cut divides is left out.
      return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(Buffer.concat(this.#chunks), { stream: this.isCut })
    } catch {
      return null
    }
  }

  /** Gives the memory back; to be called once. */
  release(): void {
    this.#room.give(this.held)
    this.#chunks = []
    this.#left = 0
  }
}
