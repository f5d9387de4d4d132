/** The tap of an answer whose bytes mean nothing to the gateway, such as audio: they pass as they come. */
import type { StreamTap } from "#actors/request/ports/Face.ts"

const noBytes = new Uint8Array(0)

export class OpaqueTap implements StreamTap {
  readonly terminal = false
  /** HTTP itself says where the answer ends. */
  readonly finished = true
  readonly error = null
  readonly malformed = false
  readonly usage = null
  useful = false

  get alive(): boolean {
    return this.useful
  }

  push(chunk: Uint8Array): Uint8Array | null {
    if (chunk.length === 0) return null
    this.useful = true
    return chunk
  }

  end(): null {
    return null
  }

  close(): void {}

  /** Nothing can be said among such bytes: the connection is cut. */
  fail(): Uint8Array {
    return noBytes
  }

  outputText(): string {
    return ""
  }
}
